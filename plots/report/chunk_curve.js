// SPDX-License-Identifier: Apache-2.0
// Time against the number of chunks: the U.

/**
 * The formula of a curve, as app/report/formula_curve.hpp writes it.
 * @typedef {{rows: number[], chunks: number[], time_s: (number|null)[], wire_s?: (number|null)[], startup_s?: (number|null)[],
 *            alpha_s?: number, latency_s?: number, bytes_per_s?: number}} FormulaCurve
 */

/** Whether three numbers of chunks do the same job: NCCL takes another number for each size. @param {Results} results */
function hasChunkCurve(results) {
  const xOf = (row) => row.chunks;
  return distinct(results.rows, xOf) >= 3 && groupsOf(results, xOf, isChunkSize).all.some(({ rows }) => distinct(rows, xOf) >= 3);
}

/** @param {HTMLElement} parent @param {Results} results */
function addChunkCurve(parent, results) {
  if (!hasChunkCurve(results)) return;
  const { rows } = results;
  const xOf = (row) => row.chunks;
  const all = groupsOf(results, xOf, isChunkSize);
  const groups = withNamedShown(all, chunksTitle(all), xOf);
  const curve = (group) => pointsOfFormula(formulaOf(results, group), "time_s");
  const series = seriesOf(results, groups, xOf, { ...timesOfRow, curve });
  const alone = groups.shown.length === 1;
  const floor = alone && distinct(rows, (row) => row.bound) === 1 ? rows[0].bound : 0;
  const best = alone ? bestOfFormula(groups.shown[0].rows) : null;
  const domain = domainOf([...yValues(series), floor * 0.85], "log"); // its name has room below its line
  const limits = alone ? limitsOf(formulaOf(results, groups.shown[0]), domain[0]) : [];
  addFigure(parent, {
    id: `${results.id}chunk-curve`,
    title: chunksTitle(groups),
    text: `${chunkCurveText(results, groups, series, floor, limits)}${leftOutText(groups)}`,
    hint: chartHint,
    draw: (host, width) =>
      drawXyChart(host, width, {
        x: { quantity: quantities.chunks, scale: "log", domain: domainOf(rows.map(xOf), "log") },
        y: { quantity: quantities.time, scale: "log", domain },
        series: [...limits, ...series],
        verticals: best ? [{ x: best, name: `best by formula: ${countText(Number(best.toFixed(1)))}` }] : [],
        horizontals: floor ? [{ y: floor, name: `lower bound: ${timeText(floor)}` }] : [],
        describe: `Time against number of chunks, both on log axes. ${chunksTitle(groups)}`,
      }),
    table: { columns: rowColumns(results), rows },
  });
}

function chunkCurveText(results, groups, series, floor, limits) {
  const parts = [endsText(results, groups), marksText(series)].filter(Boolean);
  if (limits.length) parts.push(`Grey: what ${limits.map(({ name }) => name).join(" and ")} would cost.`);
  if (floor) parts.push(`Dotted: ${boundText(results.rows)}.`);
  const network = networkText(results, groups);
  if (network) parts.push(network);
  return parts.join(" ");
}

/** What the rows with the fewest and the most chunks spend their time on, of those whose critical path is known.
 *  @param {Results} results @param {Groups} groups */
function endsText({ data }, { all }) {
  if (all.length > 1) return "";
  const known = (data?.cases ?? [])
    .map(({ row, shares }) => ({ shares, chunks: all[0].rows.find((one) => one.number === row)?.chunks }))
    .filter(({ chunks }) => chunks !== undefined)
    .sort((a, b) => a.chunks - b.chunks);
  const ends = known.length > 1 ? [known[0], known.at(-1)] : known;
  return ends.map(({ chunks, shares }) => `With ${countText(chunks)} chunk${chunks === 1 ? "" : "s"} ${lowered(breakdownTitle(shares))}.`).join(" ");
}

/** The one formula of all rows of a group; null when they have several, as on other machines.
 *  @param {Results} results @param {Group} group @returns {FormulaCurve|null} */
function formulaOf({ data }, { rows }) {
  const formula = (data?.formula_curves ?? []).find((one) => one.rows.includes(rows[0].number));
  if (!formula) return null;
  const own = new Set(formula.rows);
  return rows.every((row) => own.has(row.number)) ? formula : null;
}

/** @param {FormulaCurve|null} formula @param {"time_s"|"wire_s"|"startup_s"} key @returns {Point[]|null} */
function pointsOfFormula(formula, key) {
  if (!formula?.[key]) return null;
  return formula.chunks.map((x, i) => ({ x, y: formula[key][i] })).filter(({ y }) => y > 0);
}

/** What the formula is the sum of. @param {FormulaCurve|null} formula @param {number} lowest time that is shown @returns {Series[]} */
function limitsOf(formula, lowest) {
  if (!formula) return [];
  const points = (key) => pointsOfFormula(formula, key) ?? [];
  return costsAlone({ wire: points("wire_s"), start: points("startup_s"), overhead: formula.alpha_s, latency: formula.latency_s }, lowest);
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

/** Where the closed form has its minimum; null when it has none among these rows, or they have several forms.
 *  @param {Row[]} rows */
function bestOfFormula(rows) {
  const known = rows.filter((row) => row.bestChunks !== null);
  const one = distinct(rows, (row) => row.algorithm) === 1 && distinct(known, (row) => row.bestChunks) === 1;
  const best = one ? known[0].bestChunks : null;
  return best !== null && best >= rows[0].chunks && best <= rows.at(-1).chunks ? best : null;
}

/** @param {Row[]} rows */
function fastestOf(rows) {
  return rows.reduce((a, b) => (b.time < a.time ? b : a));
}

/** @param {Row} row @returns {CutRun} */
function cutRun(row) {
  const { chunks, time, measured } = row;
  if (!measured) return { chunks, time };
  if (isJudged(row)) return { chunks, time, measured: measured.time };
  return { chunks, time, unjudged: isWrong(row) ? "wrong" : "noisy" };
}

/** The finding. @param {Groups} groups */
function chunksTitle({ all }) {
  if (all.length > 1) return severalCurvesTitle(all);
  return chunkCurveTitle(all[0].rows.map(cutRun));
}

/** @param {Group[]} groups */
function severalCurvesTitle(groups) {
  const bests = groups.map(({ name, rows }) => ({ name, chunks: fastestOf(rows).chunks }));
  const [low, high] = d3.extent(bests, (one) => one.chunks);
  if (low === high) return `${chunksAreBest([low], [low])} everywhere`;
  if (bests.length > 3) return `The best number of chunks lies between ${countText(low)} and ${countText(high)}`;
  return `The best number of chunks: ${bests.map(({ name, chunks }) => `${countText(chunks)} (${name})`).join(", ")}`;
}
