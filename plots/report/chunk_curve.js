// SPDX-License-Identifier: Apache-2.0
// Time against the number of chunks: the U.

/** @param {HTMLElement} parent @param {Results} results */
function addChunkCurve(parent, results) {
  const { rows } = results;
  const xOf = (row) => row.chunks;
  if (distinct(rows, xOf) < 3) return;
  const groups = groupsOf(results, xOf, isChunkSize);
  const series = seriesOf(results, groups, xOf, timesOfRow);
  const alone = groups.shown.length === 1;
  const floor = alone && distinct(rows, (row) => row.bound) === 1 ? rows[0].bound : 0;
  const best = alone ? bestOfFormula(groups.shown[0].rows) : null;
  addFigure(parent, {
    id: `${results.id}chunk-curve`,
    title: chunkCurveTitle(groups),
    text: `Few chunks: ranks wait for whole messages. Many: every message pays its start-up. ${marksText(series)}${floor ? " Dotted: no schedule can be faster." : ""}${leftOutText(groups)}`,
    hint: chartHint,
    draw: (host, width) =>
      drawXyChart(host, width, {
        x: { quantity: quantities.chunks, scale: "log", domain: domainOf(rows.map(xOf), "log") },
        y: { quantity: quantities.time, scale: "log", domain: domainOf([...yValues(series), floor], "log") },
        series,
        verticals: best ? [{ x: best, name: `best by formula: ${countText(Number(best.toFixed(1)))}` }] : [],
        horizontals: floor ? [{ y: floor, name: `lower bound: ${timeText(floor)}` }] : [],
        describe: `Time against number of chunks, both on log axes. ${chunkCurveTitle(groups)}`,
      }),
    table: { columns: rowColumns(results), rows },
  });
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
  if (rows.every((row) => row.time === best.time)) return "Cutting into chunks changes nothing here";
  if (best === first) return `${chunksAreBest(best.chunks)}: more chunks only cost`;
  if (best === last) return `More chunks help up to the last, ${countText(last.chunks)}: ${timesText(first.time / last.time)} times faster than ${countText(first.chunks)}`;
  const worse = rows.find((row) => row.chunks > best.chunks && row.time > first.time);
  if (worse) return `${chunksAreBest(best.chunks)}; ${countText(worse.chunks)} are worse than ${countText(first.chunks)}`;
  return `${chunksAreBest(best.chunks)}: ${timesText(first.time / best.time)} times faster than ${countText(first.chunks)}`;
}

/** @param {Group[]} groups */
function severalCurvesTitle(groups) {
  const bests = groups.map(({ name, rows }) => ({ name, chunks: fastestOf(rows).chunks }));
  const [low, high] = d3.extent(bests, (one) => one.chunks);
  if (low === high) return `${chunksAreBest(low)} everywhere`;
  if (bests.length > 3) return `The best number of chunks lies between ${countText(low)} and ${countText(high)}`;
  return `The best number of chunks: ${bests.map(({ name, chunks }) => `${countText(chunks)} (${name})`).join(", ")}`;
}

/** @param {number} count */
function chunksAreBest(count) {
  return count === 1 ? "1 chunk is best" : `${countText(count)} chunks are best`;
}
