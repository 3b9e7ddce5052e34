// SPDX-License-Identifier: Apache-2.0
// What the page shows of one answer, or of two side by side.

/**
 * @typedef {object} Case            a setting and its result @property {string} name           "A",
 * or "now" @property {PageSetting} setting @property {EngineSetting} numbers @property {Answer}
 * answer
 */

/** @param {Case} one */
function secondsOf(one) {
  return Number(one.answer.timePs) * picosecond;
}

/** @param {Case} now @param {Case|null} pinned @param {Engine} engine */
function headline(now, pinned, engine) {
  const seconds = secondsOf(now);
  const { op, size } = now.setting;
  const { boundCut } = now.answer;
  const facts = [boundText(now) && `${boundText(now)}${boundCut ? ` (${boundCut})` : ""}`].filter(Boolean);
  if (size > 0 && seconds > 0 && op !== "barrier") facts.push(`busbw ${rateText((now.answer.busFactor * size) / seconds)}`, `algbw ${rateText(size / seconds)}`);
  facts.push(`${countText(now.answer.messages)} messages`);
  const text = settingText(now.setting, engine);
  return { time: timeText(seconds), text, facts: facts.join(" · "), compared: pinned ? comparedWith(now, pinned) : "" };
}

/** "1.69 × the lower bound of 2.689 ms"; empty where there is none. @param {Case} one */
function boundText(one) {
  const bound = Number(one.answer.boundPs) * picosecond;
  return bound > 0 ? `${ratioText(secondsOf(one) / bound)} × the lower bound of ${timeText(bound)}` : "";
}

/** Two decimals, as the command line's column "x bound". @param {number} ratio */
function ratioText(ratio) {
  return Number.isFinite(ratio) ? ratio.toFixed(2) : "countless";
}

/** "8 ranks, chain: broadcast of 64 MiB, algorithm chain, in 8 chunks; rank 3 starts 500 us late"
 *  @param {PageSetting} setting @param {Engine} engine */
function settingText(setting, engine) {
  const { op, algorithm, ranks, preset, shape } = setting;
  const what = op === "barrier" ? op : `${op} of ${sizeText(setting)}`;
  const place = preset ? presetText(engine, setting) : shape === "nodes" ? nodesText(setting) : shape;
  const root = matters("root", setting, engine) && setting.root > 0 ? ` with root ${setting.root}` : "";
  return `${ranks} ranks, ${place}: ${what}${root}, algorithm ${algorithm}${chunksText(setting)}${wrongText(setting)}`;
}

/** "2 dgx-h100" @param {Engine} engine @param {PageSetting} setting */
function presetText(engine, setting) {
  const nodes = setting.ranks / gpusOfNode(engine, setting);
  return nodes > 1 ? `${nodes} ${setting.preset}` : setting.preset;
}

/** What goes wrong. @param {PageSetting} setting */
function wrongText(setting) {
  const { sharing, gamma, slow_link: link, slow_factor: factor, late_rank: rank, late, slots } = setting;
  const parts = [];
  if (sharing === "fair") parts.push("messages share links");
  if (gamma > 0 && matters("gamma", setting)) parts.push(`ranks add ${rateText(gamma)}`);
  if (link && factor !== 1) parts.push(`link ${linkInWords(link, setting)} is ${countText(factor)} times slower`);
  if (rank >= 0 && late > 0) parts.push(`rank ${rank} starts ${timeText(late * picosecond)} late`);
  if (slots > 0) parts.push(`${countText(slots)} slot${slots === 1 ? "" : "s"} per connection`);
  return parts.length ? `; ${parts.join(", ")}` : "";
}

/** @param {PageSetting} setting */
function chunksText(setting) {
  const parts = [];
  if (matters("chunks", setting)) parts.push(`in ${countText(setting.chunks)} chunk${setting.chunks === 1 ? "" : "s"}`);
  if (setting.channels > 1) parts.push(`over ${setting.channels} channels`);
  return parts.map((part) => `, ${part}`).join("");
}

/** @param {Case} now @param {Case} pinned */
function comparedWith(now, pinned) {
  const [a, b] = [secondsOf(pinned), secondsOf(now)];
  if (a === b) return `A takes as long: ${timeText(a)}`;
  const words = b < a ? `${ratioText(a / b)} times faster than A` : `${ratioText(b / a)} times slower than A`;
  return `${words} (${timeText(a)})`;
}

/** What differs between two settings: "chunks 1, overhead 5us". @param {PageSetting} one @param {PageSetting} other
 *  @param {Engine} engine */
function differences(one, other, keys, engine) {
  const words = Object.keys(keys)
    .filter((key) => one[key] !== other[key] && matters(key, one, engine))
    .map((key) => `${key.replaceAll("_", " ")} ${one[key] === noneValues[key] ? "none" : keys[key].text(one[key], one)}`);
  return words.join(", ");
}

/** The finding of the space-time diagram: how busy the links are. @param {Case} one */
function busyTitle(one) {
  const { steps } = one.answer;
  const busiest = d3.max(steps.linkBusy) ?? 0;
  if (!busiest) return "No link is used";
  const alike = [...steps.linkBusy].filter((busy) => busy === busiest).length;
  const used = [...steps.linkMessages].filter((count) => count > 0).length;
  const share = percentText((busiest * picosecond) / secondsOf(one));
  if (alike === used) return `Used links are busy ${share} of the time`;
  return `The busiest link${alike > 1 ? "s are" : " is"} busy ${share} of the time`;
}

/** The finding of the moving picture: how many ranks send at a time. @param {Case} one */
function sendersTitle(one) {
  const { steps } = one.answer;
  const end = secondsOf(one);
  const { most, rankSeconds } = sendersIn(steps);
  if (most === 0) return one.answer.messages ? "No message takes any time" : "Nothing moves";
  const ranks = one.setting.ranks;
  const average = end > 0 ? rankSeconds / end : most;
  if (average > ranks - 0.005) return `All ${ranks} ranks send all the time`;
  if (average > most - 0.005) return `All the time, ${most} of ${ranks} ranks send${most === 1 ? "s" : ""}`;
  return `${digits(Number(average.toFixed(1)))} of ${ranks} ranks send at a time on average, ${most} at most`;
}

/** A rank sends while one of its messages goes onto a link. @param {Steps} steps */
function sendersIn(steps) {
  const events = [];
  for (let i = 0; i < steps.rank.length; ++i)
    if (steps.route[i] >= 0) events.push([steps.departed[i], 1, steps.rank[i]], [steps.left[i], -1, steps.rank[i]]);
  events.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const sending = new Map(); // how many messages a rank sends just now
  let [now, senders, most, area] = [0, 0, 0, 0];
  for (const [time, step, rank] of events) {
    area += senders * (time - now);
    now = time;
    const before = sending.get(rank) ?? 0;
    sending.set(rank, before + step);
    senders += Number(before + step > 0) - Number(before > 0);
    most = Math.max(most, senders);
  }
  return { most, rankSeconds: area * picosecond };
}
