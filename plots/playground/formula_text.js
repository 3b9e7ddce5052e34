// SPDX-License-Identifier: Apache-2.0
// A closed form as text, and the same with the present values put in.

/** As collectives/closed_forms.hpp defines them; adding is free here.  Each: the definition, what it means.  The
 *  command line says the same, also of what does not occur here: app/explain/formula.cpp. */
const formulaDefinitions = {
  q: ["q = log2(K)", "number of doublings from 1 to K, rounded up"],
  step: ["step(n) = S*tau(n/S) + L", "n bytes over one link in S messages, and added there, which is free"],
  pass: ["pass(n) = S*tau(n/S) + L", "n bytes over one link in S messages"],
  tau: ["tau(n) = alpha + n/B", "time one n-byte message occupies a link"],
  floor: ["floor(x)", "x rounded down"],
  ceil: ["ceil(x)", "x rounded up"],
};

/** @param {PageSetting} setting @returns {Record<string, string>} */
function formulaValues(setting) {
  return {
    K: String(setting.ranks),
    q: String(Math.ceil(Math.log2(setting.ranks))),
    N: sizeText(setting),
    S: String(setting.chunks),
    B: rateText(setting.bandwidth),
    L: timeText(setting.latency * picosecond),
    alpha: timeText(setting.overhead * picosecond),
    gamma: "infinity",
  };
}

/** How the closed form's value and the simulation agree.  Where they do not, the answer knows why.
 *  @param {{timePs: bigint, formulaS: number, exact: number}} answer */
function agreementText({ timePs, formulaS, exact }) {
  const seconds = Number(timePs) * picosecond;
  const apart = seconds === formulaS ? 0 : seconds / formulaS - 1;
  if (Math.abs(apart) < 5e-7) return "as simulated";
  const why = exact ? "it rounds each message up to a picosecond" : "the data does not divide evenly, as the formula assumes";
  const far = Math.abs(apart) < 5e-4 ? "less than 0.1%" : percentText(apart);
  return `${far} from the simulation: ${why}`;
}

/** One that says what its own symbols are ("..., S = 1") is a sentence, into which no numbers can be put.
 *  @param {string} formula */
function isSentence(formula) {
  return /\b[A-Z] = /.test(formula);
}

/** @param {string} formula @param {Record<string, string>} values */
function withValues(formula, values) {
  return formula.replace(/[A-Za-z]+(?:_[A-Za-z]+)?/g, (word) => values[word] ?? word);
}

/** What the words of a formula mean, with the present values put in.
 *  @param {string} formula @param {Record<string, string>} values */
function definitionsIn(formula, values) {
  const used = [];
  let text = formula;
  for (const [word, [definition, meaning]] of Object.entries(formulaDefinitions)) {
    if (!new RegExp(`\\b${word}\\b`).test(text)) continue;
    const [, right] = definition.split("= ");
    used.push(`${definition}${right ? ` = ${withValues(right, values)}` : ""}: ${meaning}`);
    text += ` ${right ?? ""}`;
  }
  return used;
}
