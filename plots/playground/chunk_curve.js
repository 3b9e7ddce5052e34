// SPDX-License-Identifier: Apache-2.0
// Time against chunks: the formula as a line, simulations as dots.  Simulating many chunk counts takes
// longer than one picture may, so it happens in slices, after the rest of the page is drawn.

/** Instructions that a curve may simulate: some tenths of a second. */
const mostCurveInstructions = 8e6;
const sliceMs = 12;
/** So long no knob is turned before a curve is begun. */
const restBeforeCurveMs = 120;
/** Instructions of a run whose critical path is looked at. */
const mostSharedInstructions = 50000;

/**
 * @typedef {object} ChunkCurve
 * @property {Point[]} formula
 * @property {Point[]} wireAlone     the formula if messages started and flew in no time
 * @property {Point[]} startAlone    the formula if links had no end of bandwidth
 * @property {Point[]} simulated
 * @property {number} best           of the formula, a real number; NaN: none
 * @property {number} floor          seconds
 * @property {number} leftOut        chunk counts that would take too long
 * @property {string} key             of what it is the curve
 * @property {CurveEnd[]} ends        what few chunks and many spend their time on
 *
 * @typedef {{chunks: number, shares: Record<string, number>}} CurveEnd   seconds by kind, see shareKinds
 */

/** A chunk count decides no other part of the curve. @param {EngineSetting} numbers */
function curveKey(numbers) {
  return JSON.stringify({ ...numbers, chunks: 0 });
}

/** @param {PageSetting} setting @param {number} best */
function curveChunks(setting, best) {
  const top = Math.max(4096, 2 ** Math.ceil(Math.log2(2 * setting.chunks)), Number.isFinite(best) ? 8 * best : 0);
  const powers = d3.range(0, 17).map((i) => 2 ** i).filter((chunks) => chunks <= Math.min(top, mostChunks));
  const wanted = Number.isFinite(best) ? [Math.floor(best), Math.ceil(best)] : [];
  return [...new Set([...powers, ...wanted.filter((chunks) => chunks >= 1 && chunks <= mostChunks)])].sort((a, b) => a - b);
}

/** @param {Engine} engine */
function chunkCurveMaker(engine) {
  return curveMaker(curveKey, (setting, numbers) => curveWork(engine, setting, numbers));
}

/** Makes curves one at a time; a new one stops the previous one.
 *  @param {(numbers: EngineSetting, setting: PageSetting) => string} keyOf   of what a curve is
 *  @param {(setting: PageSetting, numbers: EngineSetting) => {next: () => {done?: boolean}, curve: any}} workOf   in steps */
function curveMaker(keyOf, workOf) {
  let timer = 0;
  let made = null;
  return {
    /** @param {PageSetting} setting @param {EngineSetting} numbers @param {(curve: any) => void} done */
    make: (setting, numbers, done) => {
      clearTimeout(timer);
      const key = keyOf(numbers, setting);
      if (made?.key === key) return done(made);
      const work = workOf(setting, numbers);
      const go = () => {
        const until = performance.now() + sliceMs;
        while (performance.now() < until) {
          if (!work.next().done) continue;
          made = work.curve;
          return done(made);
        }
        timer = setTimeout(go);
      };
      timer = setTimeout(go, restBeforeCurveMs);
    },
  };
}

/** A generator whose steps are single simulations. */
function curveWork(engine, setting, numbers) {
  const curve = { formula: [], wireAlone: [], startAlone: [], simulated: [], best: NaN, floor: 0, leftOut: 0, key: curveKey(numbers), ends: [] };
  const steps = (function* () {
    curve.best = engine.formula(numbers).bestChunks;
    const chunks = curveChunks(setting, curve.best);
    let [effort, most] = [0, 0];
    for (const count of chunks) {
      if (effort > mostCurveInstructions) {
        curve.leftOut += 1;
        continue;
      }
      try {
        const answer = engine.run({ ...numbers, chunks: count }, 0);
        curve.simulated.push({ x: count, y: Number(answer.timePs) * picosecond });
        curve.floor = Number(answer.boundPs) * picosecond;
        effort += 2 * answer.instructions; // the next power of two
        if (answer.instructions <= mostSharedInstructions) most = count;
      } catch {
        curve.leftOut += 1;
      }
      yield;
    }
    for (const count of new Set([chunks[0], most])) {
      const { steps } = count ? engine.run({ ...numbers, chunks: count }, 2 * mostSharedInstructions) : {};
      if (steps) curve.ends.push({ chunks: count, shares: pathShares(steps) });
      yield;
    }
    // Only as far as there are dots: a line without them would puzzle readers.
    const last = Math.max(setting.chunks, curve.simulated[curve.simulated.length - 1]?.x ?? 1);
    for (const { line, changed } of curveLines(curve, setting))
      for (const count of lineChunks(last)) {
        const { formulaS } = engine.formula({ ...numbers, ...changed, chunks: count });
        if (Number.isFinite(formulaS)) line.push({ x: count, y: formulaS });
        yield;
      }
  })();
  return { next: () => steps.next(), curve };
}

/** The lines, and how the setting is changed for each.  Infinite bandwidth is no number, but no data take
 *  no time either. @param {ChunkCurve} curve @param {PageSetting} setting */
function curveLines(curve, setting) {
  const lines = [{ line: curve.formula, changed: {} }];
  if (setting.size === 0 || setting.overhead + setting.latency === 0) return lines;
  lines.push({ line: curve.wireAlone, changed: { overheadPs: 0, latencyPs: 0 } });
  lines.push({ line: curve.startAlone, changed: { bytes: 0 } });
  return lines;
}

/** Enough for a smooth line on a log axis. */
function lineChunks(last) {
  const most = Math.log2(last);
  return [...new Set(d3.range(0, 6 * most + 1).map((i) => Math.min(last, Math.round(2 ** (i / 6)))))];
}

/** The finding. @param {ChunkCurve} curve */
function curveTitle({ simulated }) {
  if (simulated.length < 2) return "Too few chunk counts could be simulated";
  return chunkCurveTitle(simulated.map(({ x, y }) => ({ chunks: x, time: y })));
}

/** Why the curve is as it is: what its ends spend their time on. @param {ChunkCurve} curve */
function curveReason({ simulated, ends }) {
  const [least, most] = d3.extent(simulated, ({ y }) => y);
  const isLast = (chunks) => chunks === ends[0].chunks || chunks === simulated.at(-1).x;
  const whose = (chunks) => `${countText(chunks)} chunk${chunks === 1 ? "" : "s"}${isLast(chunks) ? "" : ", the most whose path is followed here,"}`;
  const words = ends.map(({ chunks, shares }) => `With ${whose(chunks)} ${lowered(breakdownTitle(shares))}.`).join(" ");
  if (most <= least * 1.001) return `Cutting makes no difference here. ${words}`;
  if (simulated[0].y === least) return `Cutting does not help here. ${words}`;
  if (simulated.at(-1).y === least) return `Cutting helps as far as was simulated. ${words}`;
  return `Both too few and too many messages cost time. ${words}`;
}
