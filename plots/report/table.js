// SPDX-License-Identifier: Apache-2.0
// The data of the page as rows.

/**
 * @typedef {object} Measured
 * @property {number} time
 * @property {number} low
 * @property {number} high
 * @property {boolean} noisy
 * @property {number|null} error   (predicted - measured) / measured
 * @property {string} data         right, wrong, unchecked
 *
 * @typedef {object} Row           seconds, bytes, bytes per second
 * @property {number} number       from 0
 * @property {string[]} params     as Results.paths
 * @property {string} op
 * @property {string} algorithm
 * @property {number} ranks
 * @property {number} size
 * @property {number} chunks
 * @property {number} time         simulated
 * @property {number|null} analytic
 * @property {number} bound
 * @property {string|null} boundCut  what must pass where, when that is the bound
 * @property {number} algbw
 * @property {number} busbw
 * @property {number|null} bestChunks   by the formula
 * @property {Measured|null} measured
 * @property {{machines: string, half: number, most: number}|null} errorClass   of predictions on such machines
 *
 * @typedef {object} Results       of one scenario
 * @property {string} id           before the ids of its figures
 * @property {string[]} paths      what the sweep changes
 * @property {string[]} names      of the paths, short
 * @property {Row[]} rows
 * @property {any} data            as app/report/report_data.cpp writes it
 */

/** @param {any} data @param {string} id @returns {Results} */
function readResults(data, id) {
  const { rows: columns, params } = data;
  const rows = columns.time_s.map((time, i) => ({
    number: i,
    params: params.map(({ values }) => values[i]),
    op: columns.op[i],
    algorithm: columns.algorithm[i],
    ranks: columns.ranks[i],
    size: columns.size_bytes[i],
    chunks: columns.chunks[i],
    time,
    analytic: columns.analytic_s[i],
    bound: columns.bound_s[i],
    boundCut: columns.bound_cut[i],
    algbw: columns.algbw_bytes_per_s[i],
    busbw: columns.busbw_bytes_per_s[i],
    bestChunks: columns.best_chunks[i],
    measured: measuredOf(columns.measured[i]),
    errorClass: errorClassOf(columns.error_class[i]),
  }));
  const paths = params.map(({ path }) => path);
  return { id, paths, names: paths.map((path) => shortPath(path, paths)), rows, data };
}

/** Nothing where no errors are known of such machines, or of such a choice, or only those of a fit to one machine. */
function errorClassOf(stored) {
  if (!(stored?.most_within > 0) || stored.forced || stored.outside || stored.own_logs) return null;
  return { machines: stored.machines, half: stored.half_within, most: stored.most_within };
}

/** @returns {Measured|null} */
function measuredOf(stored) {
  if (!stored) return null;
  const { time_s: time, min_s: low, max_s: high, noisy, error, data } = stored;
  return { time, low, high, noisy, error, data };
}

/** What a path is called: "collective.chunk_size" is "chunk size", "cluster.late.3" is "late 3"; so many
 *  of its last steps that no other has the same name. @param {string} path @param {string[]} paths */
function shortPath(path, paths) {
  const steps = path.split(".");
  const least = /^\d+$/.test(steps.at(-1)) ? 2 : 1;
  for (let count = least; count <= steps.length; ++count) {
    const end = steps.slice(-count).join(".");
    if (paths.every((other) => other === path || !`.${other}`.endsWith(`.${end}`))) return end.replace(/[._]/g, " ");
  }
  return path;
}

/** "64MiB" is "64 MiB" to people. @param {string} value */
function spaced(value) {
  return value.replace(/^([\d.]+)([A-Za-z][^\s\d]*)$/, "$1 $2");
}

/** What pointing at any mark of a row says. @param {Results} results @param {Row} row */
function rowText(results, row) {
  const lines = [rowWords(results, row), `simulated ${timeText(row.time)}`];
  if (row.analytic !== null) lines.push(`formula ${timeText(row.analytic)}`);
  if (row.measured) {
    const { time, low, high, noisy, error } = row.measured;
    lines.push(`measured ${timeText(time)} [${timeText(low)} .. ${timeText(high)}]`);
    if (noisy) lines.push("too noisy to judge");
    else if (error !== null) lines.push(`prediction is off by ${signedPercent(error)}`);
  }
  if (row.bound > 0) lines.push(`${timesText(row.time / row.bound)} × the lower bound of ${timeText(row.bound)}`);
  if (row.boundCut) lines.push(`bound: ${row.boundCut}`);
  if (row.busbw > 0) lines.push(`algbw ${rateText(row.algbw)}, busbw ${rateText(row.busbw)}`);
  return lines.join("\n");
}

/** "+1.2%" @param {number} fraction */
function signedPercent(fraction) {
  const text = percentText(fraction);
  return fraction > 0 && /^\d/.test(text) ? `+${text}` : text;
}

/** Columns of the table below a figure. @param {Results} results @returns {Column[]} */
function rowColumns(results) {
  const some = (test) => results.rows.some(test);
  const params = results.paths.map((_, i) => ({ head: results.names[i], cell: (row) => spaced(row.params[i]) }));
  const has = (name) => results.paths.some((path) => path.endsWith(`.${name}`));
  const fixed = [
    { head: "algorithm", cell: (row) => row.algorithm, words: true, unless: has("algorithm") },
    { head: "ranks", cell: (row) => row.ranks, unless: has("ranks") },
    { head: "size", cell: (row) => bytesText(row.size), unless: has("size") },
    { head: "chunks", cell: (row) => countText(row.chunks), unless: has("chunks") },
    { head: "simulated", seconds: (row) => row.time },
    { head: "formula", seconds: (row) => row.analytic, unless: !some((row) => row.analytic !== null) },
    { head: "measured", seconds: (row) => row.measured?.time ?? null, unless: !some((row) => row.measured) },
    { head: "error", cell: (row) => errorCell(row), unless: !some((row) => row.measured) },
    { head: "lower bound", seconds: (row) => row.bound },
    { head: "algbw", rate: (row) => row.algbw, unless: !some((row) => row.algbw > 0) },
    { head: "busbw", rate: (row) => row.busbw, unless: !some((row) => row.busbw > 0) },
  ];
  return [...params, ...fixed.filter((column) => !column.unless)];
}

/** @param {Row} row */
function errorCell({ measured }) {
  if (!measured) return "-";
  if (measured.data === "wrong") return "wrong data";
  return measured.noisy ? "too noisy" : measured.error === null ? "-" : signedPercent(measured.error);
}
