// SPDX-License-Identifier: Apache-2.0
// The curve over ranks: what it costs that more take part.

/** Whole nodes where there are nodes. @param {PageSetting} setting @param {Engine} engine */
function curveRanks(setting, engine) {
  const each = gpusOfNode(engine, setting) || 1;
  const counts = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64].map((count) => count * each);
  return counts.filter((ranks) => ranks >= 2 && ranks <= mostRanks);
}

/** The finding. @param {KnobCurve} curve */
function rankCurveTitle({ simulated, bound }) {
  if (simulated.length < 2) return "No other number of ranks can be simulated";
  const [first, last] = [simulated[0], simulated.at(-1)];
  const grows = last.y / first.y;
  if (!(first.y > 0)) return "Any number of ranks takes no time";
  const span = `From ${first.x} to ${last.x} ranks the time`;
  const floor = bound.length > 1 && bound.at(-1).x === last.x && bound[0].x === first.x ? bound.at(-1).y / bound[0].y : NaN;
  return `${span} ${growthText(grows)}${Number.isFinite(floor) ? `, its lower bound ${growthText(floor)}` : ""}`;
}

/** @param {number} ratio */
function growthText(ratio) {
  if (Math.abs(ratio - 1) < 0.005) return "stays the same";
  return ratio > 1 ? `grows ${ratioText(ratio)} times` : `falls to ${percentText(ratio)}`;
}

/** @type {CurveKind} */
const rankCurve = {
  id: "rank-curve",
  knob: "ranks",
  question: "And for other numbers of ranks?",
  text: "The same data and algorithm on machines of the same kind with other numbers of ranks; numbers that the algorithm or the network does not allow are left out. Line: the closed form. Dots: simulated; open ones, of A. Dotted: the lower bound.",
  values: curveRanks,
  title: rankCurveTitle,
  verticals: () => [],
  column: { head: "ranks", cell: (dot) => countText(dot.x) },
};
