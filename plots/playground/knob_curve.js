// SPDX-License-Identifier: Apache-2.0
// Time, or bus bandwidth, against the values of one knob, all else as it is set; and the same of A.

/**
 * @typedef {object} KnobPoint
 * @property {number} x        value of the knob
 * @property {number} y        seconds
 * @property {number} moved    bytes that busbw counts
 *
 * @typedef {object} KnobCurve
 * @property {KnobPoint[]} formula
 * @property {KnobPoint[]} simulated
 * @property {KnobPoint[]} bound      what no algorithm can beat
 * @property {number} leastCut        bytes that can be cut into as many pieces as the setting says, where nothing but
 *                                    that makes small data slow; else 0
 * @property {string} key             of what it is the curve
 *
 * @typedef {object} CurveKind
 * @property {string} id
 * @property {"size"|"ranks"} knob
 * @property {string} question        the title until there is a curve
 * @property {string} text            how to read it
 * @property {(setting: PageSetting, engine: Engine, instructions: number) => number[]} values   to simulate; of the present run
 * @property {(curve: KnobCurve) => string} title
 * @property {(curve: KnobCurve) => {x: number, name: string}[]} verticals
 * @property {Column} column          the knob's own, of the table
 */

/** A run of so many instructions is as long as a slice of work may be. */
const mostPointInstructions = 2e6;

/** Of one number. */
const elementBytes = 4;

/** @param {string} knob @param {PageSetting} setting */
function knobCurveKey(knob, setting) {
  return JSON.stringify({ ...setting, size_unit: "", [knob]: 0 });
}

/** A generator whose steps are single simulations. @param {Engine} engine @param {CurveKind} kind @param {PageSetting} setting */
function knobCurveWork(engine, kind, setting, numbers) {
  const { preset, overhead, latency, ranks, chunks } = setting;
  const leastCut = preset || overhead + latency > 0 ? 0 : elementBytes * ranks * chunks;
  const curve = { formula: [], simulated: [], bound: [], leastCut, key: knobCurveKey(kind.knob, setting) };
  const steps = (function* () {
    let effort = 0;
    for (const value of kind.values(setting, engine, engine.run(numbers, 0).instructions)) {
      if (effort > mostCurveInstructions) return;
      const answer = answerAt(engine, { ...setting, [kind.knob]: value });
      if (answer) {
        const bytes = kind.knob === "size" ? value : setting.size;
        const point = (seconds) => ({ x: value, y: seconds, moved: answer.busFactor * bytes });
        curve.simulated.push(point(Number(answer.timePs) * picosecond));
        if (answer.boundPs > 0) curve.bound.push(point(Number(answer.boundPs) * picosecond));
        if (Number.isFinite(answer.formulaS)) curve.formula.push(point(answer.formulaS));
        effort += 2 * answer.instructions;
        if (answer.instructions > mostPointInstructions) return;
      }
      yield;
    }
  })();
  return { next: () => steps.next(), curve };
}

/** Null where there is no such run: an algorithm that takes no such number of ranks, a link or a root that is not there.
 *  @param {Engine} engine @param {PageSetting} setting @returns {Answer|null} */
function answerAt(engine, setting) {
  if (setting.root >= setting.ranks || setting.late_rank >= setting.ranks) return null;
  try {
    const numbers = engineSetting(engine, setting);
    return setting.slow_link && numbers.slowLink < 0 ? null : engine.run(numbers, 0);
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    return null;
  }
}

/** How a curve is drawn: as time, or as bus bandwidth. @param {boolean} isRate @returns {(points: KnobPoint[]) => Point[]} */
function drawnAs(isRate) {
  return (points) => (isRate ? points.filter(({ y, moved }) => y > 0 && moved > 0).map(({ x, y, moved }) => ({ x, y: moved / y })) : points);
}

/** @param {CurveKind} kind @param {Case} one @returns {KnobPoint[]} where a setting is on its curve */
function placeOf(kind, one) {
  const x = one.setting[kind.knob];
  return x > 0 ? [{ x, y: secondsOf(one), moved: one.answer.busFactor * one.setting.size }] : [];
}

/** @param {CurveKind} kind @param {KnobCurve} curve @param {KnobCurve|null} curveOfA @param {Playground} page */
function knobSeries(kind, curve, curveOfA, page, isRate) {
  const drawn = drawnAs(isRate);
  return [
    { name: isRate ? "upper bound" : "lower bound", colour: 8, line: "limit", points: drawn(curve.bound), silent: true },
    { name: "formula", colour: 1, line: "solid", points: drawn(curve.formula), silent: true },
    ...seriesOfA(page, curveOfA && drawn(curveOfA.simulated), drawn(page.pinned ? placeOf(kind, page.pinned) : [])),
    { name: "simulated", colour: 1, mark: "dot", points: drawn(curve.simulated) },
    { name: "now", colour: 2, mark: "dot", points: drawn(placeOf(kind, page.now)), beside: isRate ? "right" : "left" },
  ].filter(({ points }) => points.length > 0);
}

/** The curve of A, where it is another one, as open dots; and A itself on it. @param {Playground} page @param {Point[]|null} simulated @param {Point[]} place */
function seriesOfA(page, simulated, place) {
  if (!page.pinned) return [];
  return [
    { name: "A", colour: 3, mark: "dot", open: true, points: simulated ?? [] },
    { name: "A", colour: 3, mark: "dot", points: place, ...(simulated ? { nameless: true } : { beside: "right" }) },
  ].filter(({ points }) => points.length > 0);
}

/** @param {CurveKind} kind */
function drawKnobCurve(host, width, kind, curve, curveOfA, page, isRate) {
  const series = knobSeries(kind, curve, curveOfA, page, isRate);
  const all = series.flatMap(({ points }) => points);
  drawXyChart(host, width, {
    x: { quantity: quantities[kind.knob], scale: "log", domain: domainOf(series.filter(({ mark }) => mark).flatMap(({ points }) => points.map(({ x }) => x)), "log") },
    y: { quantity: isRate ? { ...quantities.rate, name: "bus bandwidth" } : quantities.time, scale: "log", domain: domainOf(all.map(({ y }) => y), "log") },
    series,
    verticals: kind.verticals(curve),
    describe: `${isRate ? "Bus bandwidth" : "Time"} against ${kind.knob}, both on log axes: ${kind.title(curve)}`,
  });
}

/** @param {CurveKind} kind @param {KnobCurve} curve */
function knobCurveTable(kind, curve) {
  const rateOf = (times) => (dot) => (dot.y > 0 && dot.moved > 0 ? times(dot) / dot.y : null);
  const columns = [kind.column, { head: "simulated", seconds: (dot) => dot.y }, { head: "busbw", rate: rateOf(({ moved }) => moved) }];
  return { columns, rows: curve.simulated };
}

/** Which of the two is shown. @param {HTMLElement} figure @param {string} id @param {() => void} changed */
function timeOrRate(figure, id, changed) {
  const tools = element("div", "view-tools screen-only");
  const label = element("label", "", "Show: ");
  const select = /** @type {HTMLSelectElement} */ (element("select"));
  select.id = `${id}-shows`;
  select.append(new Option("time", "time"), new Option("bus bandwidth", "rate"));
  select.addEventListener("change", changed);
  label.append(select);
  tools.append(label);
  figure.querySelector(".drawing").before(tools);
  return {
    isRate: () => !tools.hidden && select.value === "rate",
    /** @param {boolean} has whether there is a rate */
    show: (has) => (tools.hidden = !has),
  };
}

/** @param {HTMLElement} parent @param {Playground} page @param {CurveKind} kind */
function knobCurveFigure(parent, page, kind) {
  const makerOf = () => curveMaker((_, setting) => knobCurveKey(kind.knob, setting), (setting, numbers) => knobCurveWork(page.engine, kind, setting, numbers));
  const [make, makeOfA] = [makerOf(), makerOf()];
  /** @type {KnobCurve|null} */
  let curve = null;
  /** @type {KnobCurve|null} */
  let curveOfA = null;
  let shows = null;
  const { figure, redraw, setTitle, setRows } = addFigure(parent, {
    id: kind.id,
    title: kind.question,
    folded: true,
    text: kind.text,
    hint: chartHint,
    draw: (host, width) => {
      if (curve?.simulated.length) drawKnobCurve(host, width, kind, curve, curveOfA, page, shows.isRate());
    },
    table: { columns: [kind.column], rows: [] },
  });
  shows = timeOrRate(figure, kind.id, redraw);
  const keyOf = (one) => knobCurveKey(kind.knob, one.setting);
  const draw = () => {
    figure.classList.remove("stale-figure");
    shows.show(page.now.setting.size > 0 && matters("size", page.now.setting));
    setTitle(kind.title(curve));
    setRows(knobCurveTable(kind, curve));
    redraw();
  };
  const drawWithA = () => {
    curveOfA = null;
    const { pinned } = page;
    if (pinned && keyOf(pinned) !== curve.key)
      makeOfA.make(pinned.setting, pinned.numbers, (made) => {
        if (!page.pinned || made.key !== keyOf(page.pinned)) return;
        curveOfA = made;
        draw();
      });
    draw();
  };
  const seen = whenSeen(figure, () => {
    figure.classList.toggle("stale-figure", curve !== null && curve.key !== keyOf(page.now));
    make.make(page.now.setting, page.now.numbers, (made) => {
      curve = made;
      drawWithA();
    });
  });
  return () => {
    figure.hidden = kind.knob === "size" && !matters("size", page.now.setting);
    if (!figure.hidden) seen();
  };
}
