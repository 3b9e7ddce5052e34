// SPDX-License-Identifier: Apache-2.0
// The curve over size: where startup ends and bandwidth begins.

const curveSizes = d3.range(2, 35).map((power) => 2 ** power);

/** As many sizes as can be simulated soon: messages are as many at each. @param {number} instructions of one run */
function sizesWithin(instructions) {
  const stride = [1, 2, 4, 8, 16].find((each) => (curveSizes.length / each) * 2 * instructions <= mostCurveInstructions);
  return stride ? curveSizes.filter((_, i) => i % stride === 0) : [];
}

/** Sizes that a title speaks of.  Where messages start and fly in no time, smaller ones differ only because they
 *  cannot be cut into as many pieces. @param {KnobCurve} curve */
function toldSizes({ simulated, leastCut }) {
  const told = simulated.filter(({ x }) => x >= leastCut);
  return told.length ? told : simulated;
}

/** From which size on data are moved at half of the best rate; null where none takes any time. @param {KnobCurve} curve */
function halfRateSize(curve) {
  const told = toldSizes(curve);
  const rates = told.map(({ x, y }) => x / y);
  const best = d3.max(rates);
  return Number.isFinite(best) ? told[rates.findIndex((rate) => rate >= best / 2)].x : null;
}

/** The finding. @param {KnobCurve} curve */
function sizeCurveTitle(curve) {
  if (!curve.simulated.length) return "Too many steps to simulate other sizes";
  const half = halfRateSize(curve);
  if (half === null) return "Data of any size take no time";
  const told = toldSizes(curve);
  const rates = told.map(({ x, y }) => ({ x, rate: x / y }));
  const least = d3.min(rates.filter(({ x }) => x >= half), ({ rate }) => rate);
  if (least < d3.max(rates, ({ rate }) => rate) / 2) return `Half of the best bandwidth is reached at ${bytesText(half)}, but not at all larger sizes`;
  return half === told[0].x ? "Time grows as the size does: startup does not matter" : `Half of the best bandwidth is reached from ${bytesText(half)} on`;
}

/** @type {CurveKind} */
const sizeCurve = {
  id: "size-curve",
  knob: "size",
  question: "And for other sizes?",
  text: "The same machine and algorithm with other sizes of the data. Line: the closed form. Dots: simulated; open ones, of A. Dotted: the lower bound. Small data take as long as their startups and latencies; of large ones the time grows as the size does, and the bandwidth comes to its limit.",
  values: (_, __, instructions) => sizesWithin(instructions),
  title: sizeCurveTitle,
  verticals: (curve) => {
    const half = halfRateSize(curve);
    return half && half > toldSizes(curve)[0].x ? [{ x: half, name: `half of the best bandwidth: ${bytesText(half)}` }] : [];
  },
  column: { head: "size", cell: (dot) => bytesText(dot.x) },
};
