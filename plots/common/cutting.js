// SPDX-License-Identifier: Apache-2.0
// What cutting into chunks gains and costs: title of the curve of time over chunks, and the two costs
// whose sum it is.

/** @typedef {{chunks: number, time: number, measured?: number|null, unjudged?: "noisy"|"wrong"|null}} CutRun
 *  one run, in seconds; unjudged: why it was measured to no avail */

/**
 * "57 chunks are best: 5.7 times faster than 1; 4,096 are slower than 1"; where runs were measured, also what was
 * best then.
 * @param {CutRun[]} runs   by chunks, at least two
 */
function chunkCurveTitle(runs) {
  const unjudged = unjudgedText(runs);
  if (unjudged) return `Predicted: ${lowered(predictedCutTitle(runs)).replaceAll(": ", ", ")}; ${unjudged}`;
  return `${predictedCutTitle(runs)}${measuredCutTitle(runs)}`;
}

/** "7 measurements are too noisy to judge"; empty where one can be judged, or none was made. @param {CutRun[]} runs */
function unjudgedText(runs) {
  const whys = runs.map(({ unjudged }) => unjudged).filter(Boolean);
  if (!whys.length || runs.some(({ measured }) => measured > 0)) return "";
  const count = `${countText(whys.length)} measurement${whys.length === 1 ? "" : "s"}`;
  return whys.includes("wrong") ? `none of ${count} can be judged` : `${count} ${whys.length === 1 ? "is" : "are"} too noisy to judge`;
}

/** As the end of a sentence. @param {string} sentence */
function lowered(sentence) {
  return sentence[0].toLowerCase() + sentence.slice(1);
}

/** "; measured, 64 are best" @param {CutRun[]} runs */
function measuredCutTitle(runs) {
  const measured = runs.filter((one) => one.measured > 0);
  if (measured.length < 2) return "";
  const best = measured.reduce((a, b) => (b.measured < a.measured ? b : a));
  const isPredicted = best.time === d3.min(runs, ({ time }) => time);
  return `; measured, ${countText(best.chunks)} ${best.chunks === 1 ? "is" : "are"} best${isPredicted ? ", too" : ""}`;
}

/** @param {CutRun[]} runs */
function predictedCutTitle(runs) {
  const [least, most] = d3.extent(runs, ({ time }) => time);
  if (most <= least * 1.001) return "Cutting into chunks makes no difference here";
  const [first, last] = [runs[0], runs.at(-1)];
  const bests = runs.filter(({ time }) => time === least).map(({ chunks }) => chunks);
  const few = countText(first.chunks);
  const falls = runs.every(({ time }, i) => i === 0 || time <= runs[i - 1].time * 1.001);
  if (bests[0] === last.chunks && falls) return `More chunks help up to the last, ${countText(last.chunks)}: ${timesText(first.time / least)} times faster than ${few}`;
  const are = chunksAreBest(bests, runs.map(({ chunks }) => chunks));
  if (bests[0] === first.chunks) {
    const slowest = runs.filter(({ time }) => time === most).at(-1);
    return most > 1.02 * least ? `${are}; ${countText(slowest.chunks)} take ${timesText(most / least)} times as long` : are;
  }
  const gain = `${are}: ${timesText(first.time / least)} times faster than ${few}`;
  const worse = runs.find(({ chunks, time }) => chunks > bests.at(-1) && time > first.time);
  return worse ? `${gain}; ${countText(worse.chunks)} are slower than ${few}` : gain;
}

/** "57 chunks are best", "57 to 64 chunks are best", "8 and 32 chunks are best"
 *  @param {number[]} times   chunks of the best runs, smallest first @param {number[]} counts   of all runs */
function chunksAreBest(times, counts) {
  const [bests, all] = [[...new Set(times)], [...new Set(counts)]];
  const [first, last] = [bests[0], bests.at(-1)];
  const neighbours = all.indexOf(last) - all.indexOf(first) === bests.length - 1;
  if (last === 1) return "1 chunk is best";
  if (bests.length > 2 && !neighbours) return `${countText(bests.length)} of ${countText(all.length)} chunk counts are equally good, the smallest is ${countText(first)}`;
  const who = bests.length === 1 ? countText(first) : `${countText(first)} ${neighbours ? "to" : "and"} ${countText(last)}`;
  return `${who} chunks are best`;
}

/**
 * The formula with nothing but the wire, and with nothing but what each message pays; nothing where one
 * of them is the formula itself.
 * @param {{wire: Point[], start: Point[], overhead: number, latency: number}} costs
 * @param {number} lowest   time that is shown
 * @returns {Series[]}
 */
function costsAlone({ wire, start, overhead, latency }, lowest) {
  const each = [overhead > 0 && "startup", latency > 0 && "latency"].filter(Boolean).join(" + ");
  const line = (name, points, dash) => ({
    name: `${name} alone`,
    colour: 8,
    line: "faint",
    dash,
    points: points.filter(({ y }) => y >= lowest),
    silent: true,
  });
  if (!each || !wire.length || !start.length) return [];
  return [line("wire", wire, "7 3"), line(each, start, "2 2")].filter(({ points }) => points.length > 1);
}
