// SPDX-License-Identifier: Apache-2.0
// Formulas as they are printed in books: "(K-2+S)*tau(N/S)" becomes MathML, which browsers typeset.

const greek = { alpha: "α", beta: "β", gamma: "γ", tau: "τ" };
/** The same names in a line of words. @param {string} text */
function inGreek(text) {
  return text.replace(/\b(?:alpha|beta|gamma|tau)\b/g, (name) => greek[name]);
}

/** The symbol that each knob is in formulas. */
const knobSymbols = { ranks: "K", size: "N", chunks: "S", bandwidth: "B", overhead: "alpha", latency: "L", gamma: "gamma" };
/** What a function's definition holds besides its argument. */
const hiddenSymbols = { tau: ["alpha", "B"] };
const enclosed = { floor: ["⌊", "⌋"], ceil: ["⌈", "⌉"], "": ["(", ")"] };

/** @param {string} tag @param {(Node|string)[]} children */
function math(tag, ...children) {
  const made = document.createElementNS("http://www.w3.org/1998/Math/MathML", tag);
  made.append(...children);
  return made;
}

/** The lines of a formula: "T = ...", and what shorthands in it stand for; null where the text is no expression,
 *  but words.  Each term is an element of its own: browsers break no line inside one.
 *  @param {string} before @param {string} text "(K-1)*t + L, t = tau(N/K)" @returns {Element[][]|null} */
function formulaMath(before, text) {
  const [main, ...shorthands] = text.split(/, (?=[a-z] = )/);
  const lines = [[before, main], ...shorthands.map((one) => [one.slice(0, 4), one.slice(4)])].map(([name, right]) => ({ name, right, parsed: parsedSum(tokensOf(right)) }));
  if (lines.some(({ parsed }) => !parsed || parsed.rest.length)) return null;
  const meanings = new Map(lines.slice(1).map(({ name, parsed }) => [name[0], parsed.symbols]));
  return lines.map(({ name, parsed }) => {
    for (const { made } of parsed.terms) made.dataset.symbols = made.dataset.symbols.split(" ").flatMap((one) => [one, ...(meanings.get(one) ?? [])]).join(" ");
    return parsed.terms.map(({ signed, text: right }, i) => {
      const start = i ? [] : name.split(" ").filter(Boolean).map((one) => math(one === "=" ? "mo" : "mi", one));
      const part = math("math", ...start, signed);
      part.setAttribute("alttext", `${i ? "" : name}${right}`);
      return part;
    });
  });
}

/** Numbers with their units, names and signs; null where there is something else. @param {string} text */
function tokensOf(text) {
  const tokens = text.match(/\d[\d,.]*(?: (?:[KMGT]i?B|[kKMGT]?B\/s|B|[pnum]?s)\b)?|[A-Za-z_]\w*|[-+*/^(),]|\S/g) ?? [];
  return tokens.every((token) => /^([\w-+*/^(),]|\d.*|[A-Za-z_]\w*)$/.test(token)) ? tokens : [];
}

/** Each term of a sum knows its symbols, and stands in a row with its sign. */
function parsedSum(tokens) {
  const symbols = new Set();
  const terms = [];
  for (let rest = tokens; ; ) {
    const sign = rest[0] === "+" || rest[0] === "-" ? rest[0] : null;
    const term = sign === "+" && !terms.length ? null : parsedProduct(rest.slice(sign ? 1 : 0));
    if (!term) return null;
    const operator = sign ? [math("mo", sign === "-" ? "−" : sign)] : [];
    if (terms.length) operator[0].setAttribute("form", "infix"); // also at the start of a row
    term.made.dataset.symbols = [...term.symbols].join(" ");
    term.symbols.forEach((one) => symbols.add(one));
    const text = rest.slice(0, rest.length - term.rest.length).join("");
    terms.push({ made: term.made, signed: math("mrow", ...operator, term.made), text });
    rest = term.rest;
    if (rest[0] !== "+" && rest[0] !== "-") return { terms, symbols, rest };
  }
}

/** A sum as one row. @param {{signed: Element}[]} terms */
function sumRow(terms) {
  return math("mrow", ...terms.map(({ signed }) => signed));
}

function parsedProduct(tokens) {
  let factor = parsedPower(tokens);
  if (!factor) return null;
  const symbols = new Set(factor.symbols);
  let [factors, bare] = [[factor.made], factor.bare];
  while (factor.rest[0] === "*" || factor.rest[0] === "/") {
    const isOver = factor.rest[0] === "/";
    factor = parsedPower(factor.rest.slice(1));
    if (!factor) return null;
    factor.symbols.forEach((one) => symbols.add(one));
    if (isOver) factors = [math("mfrac", bare ?? math("mrow", ...factors), factor.bare ?? factor.made)];
    else factors = [...factors, math("mo", "·"), factor.made];
    bare = undefined;
  }
  return { made: math("mrow", ...factors), symbols, rest: factor.rest };
}

function parsedPower(tokens) {
  const base = parsedAtom(tokens);
  if (base?.rest[0] !== "^") return base;
  const exponent = parsedAtom(base.rest.slice(1));
  if (!exponent) return null;
  return { made: math("msup", base.made, exponent.bare ?? exponent.made), symbols: new Set([...base.symbols, ...exponent.symbols]), rest: exponent.rest };
}

/** `bare`: without its brackets, above or below a line. */
function parsedAtom(tokens) {
  const [token, next] = tokens;
  if (token === undefined) return null;
  if (/^\d/.test(token)) return { made: math("mn", token), symbols: new Set(), rest: tokens.slice(1) };
  const isCall = /^[A-Za-z]/.test(token) && next === "(";
  if (token === "(" || isCall) {
    const inside = parsedList(tokens.slice(isCall ? 2 : 1));
    if (!inside) return null;
    const [open, close] = enclosed[isCall ? token : ""] ?? enclosed[""];
    const brackets = math("mrow", math("mo", open), inside.made, math("mo", close));
    if (!isCall) return { made: brackets, bare: inside.made, symbols: inside.symbols, rest: inside.rest };
    const symbols = new Set([...inside.symbols, ...(hiddenSymbols[token] ?? [])]);
    return { made: token in enclosed ? brackets : math("mrow", symbolOf(token), brackets), symbols, rest: inside.rest };
  }
  if (!/^[A-Za-z]/.test(token)) return null;
  return { made: symbolOf(token), symbols: new Set([token]), rest: tokens.slice(1) };
}

/** Up to the closing bracket. */
function parsedList(tokens) {
  const row = math("mrow");
  const symbols = new Set();
  for (let rest = tokens; ; rest = rest.slice(1)) {
    const one = parsedSum(rest);
    if (!one) return null;
    row.append(sumRow(one.terms));
    one.symbols.forEach((symbol) => symbols.add(symbol));
    rest = one.rest;
    if (rest[0] === ")") return { made: row, symbols, rest: rest.slice(1) };
    if (rest[0] !== ",") return null;
    row.append(math("mo", ","));
  }
}

function symbolOf(name) {
  const made = math("mi", greek[name] ?? name);
  made.dataset.symbol = name;
  return made;
}

/** Lights the terms in which a knob is. @param {HTMLElement} place @param {string[]} keys of the knobs that were moved */
function lightTerms(place, keys) {
  const moved = keys.map((key) => knobSymbols[key]).filter(Boolean);
  const terms = place.querySelectorAll("math > mrow > [data-symbols]");
  for (const term of terms) term.classList.toggle("lit", moved.some((symbol) => term.dataset.symbols.split(" ").includes(symbol)));
  for (const symbol of place.querySelectorAll("[data-symbol]")) symbol.classList.toggle("lit-symbol", moved.includes(symbol.dataset.symbol));
}
