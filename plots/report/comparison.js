// SPDX-License-Identifier: Apache-2.0
// Rows below each other, where neither chunks nor size nor ranks make a curve.

const mostComparedRows = 40;

/** @param {HTMLElement} parent @param {Results} results */
function addComparison(parent, results) {
  const { rows } = results;
  const curves = [(row) => row.chunks, (row) => row.size, (row) => row.ranks].some((xOf) => distinct(rows, xOf) >= 3);
  if (curves || rows.length < 2) return;
  const shown = rows.slice(0, mostComparedRows);
  const left = rows.length - shown.length;
  const measured = rows.some((row) => row.measured);
  addFigure(parent, {
    id: `${results.id}comparison`,
    title: comparisonTitle(results),
    text: `Dots: simulated.${rows.some((row) => row.analytic !== null) ? " Upright lines: the closed form." : ""}${measured ? " Squares: measured, with the fastest and slowest run." : ""} Brackets: no schedule can be faster.${left ? ` The first ${shown.length} of ${countText(rows.length)} rows.` : ""}`,
    draw: (host, width) => drawComparison(host, width, results, shown),
    table: { columns: rowColumns(results), rows },
  });
}

/** @param {Results} results */
function comparisonTitle(results) {
  const best = fastestOf(results.rows);
  const worst = results.rows.reduce((a, b) => (b.time > a.time ? b : a));
  if (best.time === worst.time) return `All ${results.rows.length} take ${timeText(best.time)}`;
  const name = (row) => rowWords(results, row);
  const fastest = results.rows.filter((row) => row.time === best.time).map(name);
  return `${fastestWords(fastest, results.rows.length)}: ${timeText(best.time)}; ${name(worst)} takes ${timesText(worst.time / best.time)} times as long`;
}

/** @param {HTMLElement} host @param {number} width @param {Results} results @param {Row[]} rows */
function drawComparison(host, width, results, rows) {
  const names = rows.map((row) => rowWords(results, row));
  const narrow = width < 560;
  const longest = Math.min(d3.max(names, textWidth), narrow ? width - 8 : width * 0.42);
  const left = narrow ? 12 : longest + 14;
  const each = narrow ? 44 : 28;
  const bottom = 10 + rows.length * each;
  const svg = d3
    .select(host)
    .append("svg")
    .attr("class", "chart comparison")
    .attr("viewBox", `0 0 ${width} ${bottom + 44}`)
    .attr("role", "img")
    .attr("aria-label", comparisonTitle(results));
  const all = rows.flatMap((row) => [row.time, row.bound, row.analytic ?? row.time, row.measured?.high ?? row.time]);
  const axis = { quantity: quantities.time, scale: "linear", domain: [0, d3.max(all) * 1.08 || 1] };
  const x = scaleOf(axis, [left, width - (narrow ? 12 : 78)]);
  drawAxis(svg.append("g").attr("transform", `translate(0,${bottom})`), x, axis, "bottom", bottom - 10);
  svg.append("text").attr("class", "axis-name").attr("text-anchor", "end").attr("x", width - 8).attr("y", bottom + 38).text("time →");
  rows.forEach((row, i) => {
    const y = 10 + each * i + (narrow ? 30 : each / 2);
    const name = svg.append("text").attr("class", "row-name").text(shortened(names[i], Math.floor(longest / 6.2)));
    if (narrow) name.attr("x", 4).attr("y", y - 12);
    else name.attr("x", left - 10).attr("y", y).attr("dy", "0.35em").attr("text-anchor", "end");
    drawComparedRow(svg, x, y, row, results, narrow ? 0 : width);
  });
}

function drawComparedRow(svg, x, y, row, results, width) {
  const [start, end] = x.range();
  svg.append("path").attr("class", "dot-row").attr("d", `M${start},${y}H${end}`);
  if (row.bound > 0) svg.append("path").attr("class", "floor-tick").attr("d", `M${x(row.bound) + 5},${y - 8}h-5v16h5`);
  const group = svg.append("g").attr("class", "s1");
  if (row.analytic !== null) group.append("path").attr("class", "formula-tick").attr("d", `M${x(row.analytic)},${y - 9}v18`);
  const mark = group
    .append("path")
    .attr("class", "mark dot")
    .attr("d", d3.symbol(d3.symbolCircle, 80)())
    .attr("transform", `translate(${x(row.time)},${y})`);
  mark.append("title").text(rowText(results, row));
  if (width) svg.append("text").attr("class", "axis").attr("x", end + 6).attr("y", y).attr("dy", "0.35em").text(timeText(row.time));
  if (!row.measured) return;
  const { time, low, high } = row.measured;
  const squares = svg.append("g").attr("class", "s2");
  squares.append("path").attr("class", "error-bar").attr("d", `M${x(low)},${y - 4}v8M${x(low)},${y}H${x(high)}M${x(high)},${y - 4}v8`);
  squares
    .append("path")
    .attr("class", "mark square")
    .attr("d", d3.symbol(d3.symbolSquare, 60)())
    .attr("transform", `translate(${x(time)},${y})`)
    .append("title")
    .text(rowText(results, row));
}
