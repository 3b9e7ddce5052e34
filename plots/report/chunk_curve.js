// SPDX-License-Identifier: Apache-2.0
// Time against the number of chunks: the U.

/**
 * The formula of a curve, as app/report/formula_curve.hpp writes it.
 * @typedef {{row: number, chunks: number[], time_s: (number|null)[], wire_s?: (number|null)[], startup_s?: (number|null)[],
 *            alpha_s?: number, latency_s?: number, bytes_per_s?: number}} FormulaCurve
 */

/** @param {HTMLElement} parent @param {Results} results */
function addChunkCurve(parent, results) {
  const { rows } = results;
  const xOf = (row) => row.chunks;
  if (distinct(rows, xOf) < 3) return;
  const groups = groupsOf(results, xOf, isChunkSize);
  const curve = (group) => pointsOfFormula(formulaOf(results, group), "time_s");
  const series = seriesOf(results, groups, xOf, { ...timesOfRow, curve });
  const alone = groups.shown.length === 1;
  const floor = alone && distinct(rows, (row) => row.bound) === 1 ? rows[0].bound : 0;
  const best = alone ? bestOfFormula(groups.shown[0].rows) : null;
  const domain = domainOf([...yValues(series), floor], "log");
  const limits = alone ? limitsOf(formulaOf(results, groups.shown[0])).filter(({ points }) => points.some(({ y }) => y > domain[0])) : [];
  addFigure(parent, {
    id: `${results.id}chunk-curve`,
    title: chunkCurveTitle(groups),
    text: `${chunkCurveText(results, groups, series, floor, limits)}${leftOutText(groups)}`,
    hint: chartHint,
    draw: (host, width) =>
      drawXyChart(host, width, {
        x: { quantity: quantities.chunks, scale: "log", domain: domainOf(rows.map(xOf), "log") },
        y: { quantity: quantities.time, scale: "log", domain },
        series: [...limits, ...series],
        verticals: best ? [{ x: best, name: `best by formula: ${countText(Number(best.toFixed(1)))}` }] : [],
        horizontals: floor ? [{ y: floor, name: `lower bound: ${timeText(floor)}` }] : [],
        describe: `Time against number of chunks, both on log axes. ${chunkCurveTitle(groups)}`,
      }),
    table: { columns: rowColumns(results), rows },
  });
}

function chunkCurveText(results, groups, series, floor, limits) {
  const parts = ["Few chunks: ranks wait for whole messages. Many: every message pays its start-up.", marksText(series)];
  if (limits.length) parts.push(`Faint: the formula with ${limits.map((one) => (one.name === "wire alone" ? "nothing but the wire" : "nothing but start-up")).join(", and with ")}.`);
  if (floor) parts.push("Dotted: no schedule can be faster.");
  const network = networkText(results, groups);
  if (network) parts.push(network);
  return parts.join(" ");
}

/** @param {Results} results @param {Group} group @returns {FormulaCurve|null} */
function formulaOf({ data }, { rows }) {
  return (data?.formula_curves ?? []).find((one) => rows.some((row) => row.number === one.row)) ?? null;
}

/** @param {FormulaCurve|null} formula @param {"time_s"|"wire_s"|"startup_s"} key @returns {Point[]|null} */
function pointsOfFormula(formula, key) {
  if (!formula?.[key]) return null;
  return formula.chunks.map((x, i) => ({ x, y: formula[key][i] })).filter(({ y }) => y > 0);
}

/** What the formula comes near to where chunks are few, and where they are many. @returns {Series[]} */
function limitsOf(formula) {
  if (!formula) return [];
  const all = [["wire_s", "wire alone"], ["startup_s", "start-up alone"]];
  const lines = all.map(([key, name]) => ({ name, colour: 8, line: "faint", silent: true, points: pointsOfFormula(formula, key) ?? [] }));
  return lines.every(({ points }) => points.length > 1) ? lines : []; // one of them alone is the formula itself
}

/** "All of it for 8 ranks, 64 MiB, alpha = 5 us, B = 25 GB/s." @param {Results} results @param {Groups} groups */
function networkText(results, { shown }) {
  const formula = shown.length === 1 ? formulaOf(results, shown[0]) : null;
  const [row] = shown[0].rows;
  if (formula?.alpha_s === undefined || distinct(shown[0].rows, ({ size }) => size) > 1) return "";
  const latency = formula.latency_s > 0 ? `, L = ${timeText(formula.latency_s)}` : "";
  return `Dots and lines hold for ${countText(row.ranks)} ranks, ${bytesText(row.size)}, alpha = ${timeText(formula.alpha_s)}, B = ${rateText(formula.bytes_per_s)}${latency}.`;
}

/** Several sizes of a chunk may give the same number of chunks. @param {string} path */
function isChunkSize(path) {
  return /(?:^|\.)chunk_size$/.test(path);
}

/** Where the closed form has its minimum; null when it has none among these rows. @param {Row[]} rows */
function bestOfFormula(rows) {
  const best = rows.find((row) => row.bestChunks !== null)?.bestChunks ?? null;
  return best !== null && best >= rows[0].chunks && best <= rows.at(-1).chunks ? best : null;
}

/** @param {Row[]} rows */
function fastestOf(rows) {
  return rows.reduce((a, b) => (b.time < a.time ? b : a));
}

/** "57 chunks are best; 4,096 are worse than 1" @param {Groups} groups */
function chunkCurveTitle({ all }) {
  if (all.length > 1) return severalCurvesTitle(all);
  const [{ rows }] = all;
  const best = fastestOf(rows);
  const [first, last] = [rows[0], rows.at(-1)];
  const bests = rows.filter((row) => row.time === best.time);
  if (bests.length === rows.length) return "Cutting into chunks changes nothing here";
  const are = chunksAreBest(bests.map((row) => row.chunks), rows.map((row) => row.chunks));
  if (best === first) return `${are}: more chunks only cost`;
  if (best === last) return `More chunks help up to the last, ${countText(last.chunks)}: ${timesText(first.time / last.time)} times faster than ${countText(first.chunks)}`;
  const worse = rows.find((row) => row.chunks > best.chunks && row.time > first.time);
  if (worse) return `${are}; ${countText(worse.chunks)} are worse than ${countText(first.chunks)}`;
  return `${are}: ${timesText(first.time / best.time)} times faster than ${countText(first.chunks)}`;
}

/** @param {Group[]} groups */
function severalCurvesTitle(groups) {
  const bests = groups.map(({ name, rows }) => ({ name, chunks: fastestOf(rows).chunks }));
  const [low, high] = d3.extent(bests, (one) => one.chunks);
  if (low === high) return `${chunksAreBest([low], [low])} everywhere`;
  if (bests.length > 3) return `The best number of chunks lies between ${countText(low)} and ${countText(high)}`;
  return `The best number of chunks: ${bests.map(({ name, chunks }) => `${countText(chunks)} (${name})`).join(", ")}`;
}

/** "57 chunks are best", "57 to 64 chunks are best", "8 and 32 chunks are best"
 *  @param {number[]} times   chunks of the best rows, smallest first @param {number[]} counts   of all rows */
function chunksAreBest(times, counts) {
  const [bests, all] = [[...new Set(times)], [...new Set(counts)]];
  const [first, last] = [bests[0], bests.at(-1)];
  const neighbours = all.indexOf(last) - all.indexOf(first) === bests.length - 1;
  if (last === 1) return "1 chunk is best";
  if (bests.length > 2 && !neighbours) return `${countText(bests.length)} of ${countText(all.length)} numbers of chunks are equally good, the smallest is ${countText(first)}`;
  const who = bests.length === 1 ? countText(first) : `${countText(first)} ${neighbours ? "to" : "and"} ${countText(last)}`;
  return `${who} chunks are best`;
}
