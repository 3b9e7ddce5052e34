// SPDX-License-Identifier: Apache-2.0
// Time against the size of the data, all else as it is set: where startup ends and bandwidth begins.

const curveSizes = d3.range(2, 35).map((power) => 2 ** power);

/**
 * @typedef {object} SizeCurve
 * @property {Point[]} formula
 * @property {Point[]} simulated
 * @property {Point[]} bound      what no algorithm can beat
 * @property {string} key         of what it is the curve
 */

/** A size decides no other part of the curve. @param {EngineSetting} numbers */
function sizeCurveKey(numbers) {
  return JSON.stringify({ ...numbers, bytes: 0 });
}

/** As many sizes as can be simulated soon: messages are as many at each. @param {number} instructions of one run */
function sizesWithin(instructions) {
  const stride = [1, 2, 4, 8, 16].find((each) => (curveSizes.length / each) * instructions <= mostCurveInstructions);
  return stride ? curveSizes.filter((_, i) => i % stride === 0) : [];
}

/** A generator whose steps are single simulations. @param {Engine} engine */
function sizeCurveWork(engine, setting, numbers) {
  const curve = { formula: [], simulated: [], bound: [], key: sizeCurveKey(numbers) };
  const steps = (function* () {
    const { instructions } = engine.run(numbers, 0);
    for (const bytes of sizesWithin(instructions)) {
      const answer = engine.run({ ...numbers, bytes }, 0);
      const point = (ps) => ({ x: bytes, y: Number(ps) * picosecond });
      curve.simulated.push(point(answer.timePs));
      if (answer.boundPs > 0) curve.bound.push(point(answer.boundPs));
      if (Number.isFinite(answer.formulaS)) curve.formula.push({ x: bytes, y: answer.formulaS });
      yield;
    }
  })();
  return { next: () => steps.next(), curve };
}

/** From which size on data are moved at half of the best rate; null where none takes any time. @param {SizeCurve} curve */
function halfRateSize({ simulated }) {
  const rates = simulated.map(({ x, y }) => x / y);
  const best = d3.max(rates);
  return Number.isFinite(best) ? simulated[rates.findIndex((rate) => rate >= best / 2)].x : null;
}

/** The finding. @param {SizeCurve} curve */
function sizeCurveTitle(curve) {
  if (!curve.simulated.length) return "Too many steps to simulate other sizes";
  const half = halfRateSize(curve);
  if (half === null) return "Data of any size take no time";
  return half === curve.simulated[0].x ? "Time grows as the size does: startup does not matter" : `Half of the best bandwidth is reached from ${bytesText(half)} on`;
}

/** @param {HTMLElement} host @param {number} width @param {SizeCurve} curve @param {Case} now */
function drawSizeCurve(host, width, curve, now) {
  const here = { x: now.setting.size, y: secondsOf(now) };
  const half = halfRateSize(curve);
  const shown = here.x > 0 ? [...curve.simulated, here] : curve.simulated;
  const series = [
    { name: "lower bound", colour: 8, line: "limit", points: curve.bound, silent: true },
    { name: "formula", colour: 1, line: "solid", points: curve.formula, silent: true },
    { name: "simulated", colour: 1, mark: "dot", points: curve.simulated },
    { name: "now", colour: 2, mark: "dot", points: here.x > 0 ? [here] : [], beside: "left" },
  ].filter(({ points }) => points.length > 0);
  drawXyChart(host, width, {
    x: { quantity: quantities.size, scale: "log", domain: domainOf(shown.map(({ x }) => x), "log") },
    y: { quantity: quantities.time, scale: "log", domain: domainOf([...shown, ...curve.bound].map(({ y }) => y), "log") },
    series,
    verticals: half && half > curve.simulated[0].x ? [{ x: half, name: `half of the best bandwidth: ${bytesText(half)}` }] : [],
    describe: `Time against size, both on log axes: ${sizeCurveTitle(curve)}`,
  });
}

/** @param {HTMLElement} parent @param {Playground} page */
function sizeCurveFigure(parent, page) {
  const maker = curveMaker(sizeCurveKey, (setting, numbers) => sizeCurveWork(page.engine, setting, numbers));
  /** @type {SizeCurve|null} */
  let curve = null;
  const columns = [
    { head: "size", cell: (dot) => bytesText(dot.x) },
    { head: "simulated", seconds: (dot) => dot.y },
    { head: "algbw", rate: (dot) => (dot.y > 0 ? dot.x / dot.y : null) },
  ];
  const { figure, redraw, setTitle, setRows } = addFigure(parent, {
    id: "size-curve",
    title: "And for other sizes?",
    folded: true,
    text: "The same machine and algorithm with other sizes of the data. Line: the closed form. Dots: simulated. Dotted: the lower bound. Small data take as long as their startups and latencies; of large ones the time grows as the size does.",
    hint: chartHint,
    draw: (host, width) => {
      if (curve?.simulated.length) drawSizeCurve(host, width, curve, page.now);
    },
    table: { columns, rows: [] },
  });
  const draw = () => {
    figure.classList.remove("stale-figure");
    setTitle(sizeCurveTitle(curve));
    setRows({ columns, rows: curve.simulated });
    redraw();
  };
  const seen = whenSeen(figure, () => {
    figure.classList.toggle("stale-figure", curve !== null && curve.key !== sizeCurveKey(page.now.numbers));
    maker.make(page.now.setting, page.now.numbers, (made) => {
      curve = made;
      draw();
    });
  });
  return () => {
    figure.hidden = !matters("size", page.now.setting);
    if (!figure.hidden) seen();
  };
}
