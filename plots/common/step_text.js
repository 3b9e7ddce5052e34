// SPDX-License-Identifier: Apache-2.0
// The text shown for a bar of a space-time diagram.

/** What pointing at a bar says. @param {Steps} steps @param {number[]} shown seconds, see SpaceTime.textOf */
function stepText(steps, step, kind, shown) {
  const at = (ps) => timeText(ps * picosecond);
  const long = (from, to) => `${at(to - from)}, from ${at(from)} to ${at(to)}`;
  if (kind === spanKinds.message) {
    const waited = steps.departed[step] - steps.ended[step];
    const lines = [
      `${carriedText(steps, step, ofHowMany(steps))}: ${bytesText(steps.bytes[step])}`,
      `rank ${steps.rank[step]} → rank ${steps.to[step]}`,
      `on the link ${timeText(shown[1] - shown[0])}, from ${timeText(shown[0])} to ${timeText(shown[1])}`,
    ];
    if (steps.arrived[step] > steps.left[step]) lines.push(`arrives at ${at(steps.arrived[step])}`);
    if (waited > 0) lines.push(`was ready at ${at(steps.ended[step])}; ${queueText(steps, step)}`);
    else lines.push(whyNotEarlier(steps, step));
    lines.push(waitsOnTheWay(steps, step));
    return lines.filter(Boolean).join("\n");
  }
  const rank = `rank ${steps.rank[step]}`;
  if (kind === spanKinds.late) return `${rank} starts late: at ${at(steps.reached[step])}`;
  if (kind === spanKinds.work) return `${rank} works ${long(steps.began[step], steps.ended[step])}`;
  if (kind === spanKinds.waitLink)
    return `a message of ${rank} waits for its link ${long(steps.ended[step], steps.departed[step])}\n${queueText(steps, step)}`;
  if (kind === spanKinds.waitSlot) return `${rank} waits ${long(steps.reached[step], steps.began[step])}\n${whyNotEarlier(steps, step)}`;
  const [from, to] = shown;
  return `${rank} sends nothing for ${timeText(to - from)}, from ${timeText(from)} to ${timeText(to)}\n${whyNotEarlier(steps, step)}`;
}

/** What a message carries: "piece 3", "piece 3 and others"; one of a barrier, or of an empty chunk, nothing.
 *  @param {Steps} steps */
function carriedText(steps, step, ofAll = "") {
  if (!(steps.bytes[step] > 0)) return "a message";
  return `piece ${steps.piece[step]}${ofAll}${steps.mixed[step] ? " and others" : ""}`;
}

/** Pieces are counted from 0, as ranks are. */
function ofHowMany({ pieces }) {
  return pieces > 1 ? ` (0 to ${countText(pieces - 1)})` : "";
}

function queueText(steps, step) {
  const behind = steps.queuedBehind[step];
  if (behind < 0) return "the link was busy";
  return `the link was busy with ${carriedText(steps, behind)} of rank ${steps.rank[behind]}`;
}

/** Behind whom it waits at links after its first. @param {Steps} steps */
function waitsOnTheWay(steps, step) {
  const route = steps.route[step];
  const links = steps.routeFirst[route + 1] - steps.routeFirst[route];
  for (let i = 1; i < links; ++i) {
    const behind = steps.crossingBehind[steps.firstCrossing[step] + i];
    if (behind >= 0) return `waits on the way behind ${carriedText(steps, behind)} of rank ${steps.rank[behind]}`;
  }
  return "";
}

function whyNotEarlier(steps, step) {
  const cause = steps.waitedFor[step];
  if (steps.wait[step] === waits.message)
    return `waited for ${carriedText(steps, cause)} from rank ${steps.rank[cause]}`;
  if (steps.wait[step] === waits.slot)
    return `waited for a free slot${cause >= 0 ? ` at rank ${steps.rank[cause]}` : ""}`;
  if (steps.wait[step] === waits.signal) return "waited for another lane of this rank";
  return "";
}
