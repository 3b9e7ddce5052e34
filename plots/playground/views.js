// SPDX-License-Identifier: Apache-2.0
// What the page shows of one answer, or of two beside each other.

/**
 * @typedef {object} Case            a setting and what came out
 * @property {string} name           "A", or "now"
 * @property {PageSetting} setting
 * @property {EngineSetting} numbers
 * @property {Answer} answer
 */

/** @param {Case} one */
function secondsOf(one) {
  return Number(one.answer.timePs) * picosecond;
}

/** @param {Case} now @param {Case|null} pinned */
function headline(now, pinned) {
  const seconds = secondsOf(now);
  const { op, algorithm, ranks, size, shape } = now.setting;
  const what = op === "barrier" ? op : `${op} of ${bytesText(size)}`;
  const place = shape === "nodes" ? nodesText(now.setting) : shape;
  const text = `${ranks} ranks, ${place}: ${what}${rootText(now.numbers)}, algorithm ${algorithm}${chunksText(now.setting)}`;
  const bound = Number(now.answer.boundPs) * picosecond;
  const facts = [];
  if (bound > 0) facts.push(`${timesText(seconds / bound)} × the lower bound of ${timeText(bound)}`);
  if (size > 0 && seconds > 0 && op !== "barrier") facts.push(`algbw ${rateText(size / seconds)}`);
  facts.push(`${countText(now.answer.messages)} messages`);
  return { time: timeText(seconds), text, facts: facts.join(" · "), compared: pinned ? comparedWith(now, pinned) : "" };
}

/** @param {PageSetting} setting */
function chunksText(setting) {
  const parts = [];
  if (matters("chunks", setting)) parts.push(`in ${countText(setting.chunks)} chunk${setting.chunks === 1 ? "" : "s"}`);
  if (setting.channels > 1) parts.push(`over ${setting.channels} channels`);
  return parts.map((part) => `, ${part}`).join("");
}

/** @param {EngineSetting} numbers 0 where no root matters */
function rootText({ root }) {
  return root > 0 ? ` with root ${root}` : "";
}

/** @param {Case} now @param {Case} pinned */
function comparedWith(now, pinned) {
  const [a, b] = [secondsOf(pinned), secondsOf(now)];
  if (a === b) return `A takes as long: ${timeText(a)}`;
  const words = b < a ? `${timesText(a / b)} times faster than A` : `${timesText(b / a)} times slower than A`;
  return `${words} (${timeText(a)})`;
}

/** What differs between two settings: "chunks 1, overhead 5us". @param {PageSetting} one @param {PageSetting} other
 *  @param {Engine} engine */
function differences(one, other, keys, engine) {
  const words = Object.keys(keys)
    .filter((key) => one[key] !== other[key] && matters(key, one, engine))
    .map((key) => `${key.replaceAll("_", " ")} ${one[key] === noneValues[key] ? "none" : keys[key].text(one[key])}`);
  return words.join(", ");
}

/** The finding of the space-time diagram: how much the links do. @param {Case} one */
function busyTitle(one) {
  const { steps } = one.answer;
  const busiest = d3.max(steps.linkBusy) ?? 0;
  if (!busiest) return "No link does anything";
  const alike = [...steps.linkBusy].filter((busy) => busy === busiest).length;
  const used = [...steps.linkMessages].filter((count) => count > 0).length;
  const share = percentText((busiest * picosecond) / secondsOf(one));
  if (alike === used) return `Every link that is used works ${share} of the time`;
  return `The busiest link${alike > 1 ? "s work" : " works"} ${share} of the time`;
}
