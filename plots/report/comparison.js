// SPDX-License-Identifier: Apache-2.0
// Rows below each other, if neither chunks nor size nor ranks form a curve.

const mostComparedRows = 40;

/** @param {HTMLElement} parent @param {Results} results */
function addComparison(parent, results) {
  const { rows } = results;
  const curves = hasChunkCurve(results) || [(row) => row.size, (row) => row.ranks].some((xOf) => distinct(rows, xOf) >= 3);
  if (curves || rows.length < 2) return;
  const shown = rows.slice(0, mostComparedRows);
  const left = rows.length - shown.length;
  const measured = rows.some((row) => row.measured);
  addFigure(parent, {
    id: `${results.id}comparison`,
    title: comparisonTitle(results),
    text: `Dots: simulated.${rows.some((row) => row.analytic !== null) ? " Vertical lines: the closed form." : ""}${measured ? " Squares: measured, with the fastest and slowest run." : ""} Brackets: ${boundText(rows)}.${left ? ` The first ${shown.length} of ${countText(rows.length)} rows.` : ""}`,
    draw: (host, width) => drawComparison(host, width, results, shown),
    table: { columns: rowColumns(results), rows },
  });
}

/** Which row is fastest at what; if every row does a different job, how their times differ.
 *  @param {Results} results */
function comparisonTitle(results) {
  const { rows } = results;
  const [fast, slow] = d3.extent(rows, (row) => row.time);
  if (fast === slow) return `All ${countText(rows.length)} take ${timeText(fast)}`;
  const jobs = jobsOf(results);
  if (jobs.length === 1) return oneJobTitle(jobs[0]);
  const choose = jobs.filter((job) => job.rows.length > 1);
  if (!choose.length) return `${slowestJobText(results)}: ${timeText(slow)} instead of ${timeText(fast)}`;
  return severalJobsTitle(choose);
}

/** "With rank 3 late by 100 ms it takes 22 times as long as with rank 3 on time" @param {Results} results */
function slowestJobText(results) {
  const all = results.rows.map((row) => ({ name: rowWords(results, row), time: row.time }));
  const [fast, slow] = d3.extent(all, (one) => one.time);
  if (distinct(results.rows, (row) => row.op) > 1 || !(fast > 0)) return takesLongerText(all, "rows");
  const named = (time) => jointly(all.filter((one) => one.time === time).map((one) => one.name), all.length, "rows");
  return `With ${named(slow)} it takes ${timesText(slow / fast)} times as long as with ${named(fast)}`;
}

/** @param {Job} job */
function fastestIn({ rows, choiceWords }) {
  const best = fastestOf(rows).time;
  return { best, names: rows.filter((row) => row.time === best).map(choiceWords) };
}

/** "hierarchical is fastest: 30.48 ms; ring takes 2.8 times as long" @param {Job} job */
function oneJobTitle(job) {
  const { best, names } = fastestIn(job);
  const worst = job.rows.reduce((a, b) => (b.time > a.time ? b : a));
  const slowest = best > 0 ? `takes ${timesText(worst.time / best)} times as long` : `takes ${timeText(worst.time)}`;
  return `${fastestWords(names, job.rows.length, "rows")}: ${timeText(best)}; ${job.choiceWords(worst)} ${slowest}`;
}

/** "hierarchical is fastest in all 4 cases: 7.189 ms (nic 800 Gb/s) to 14.37 ms (nic 400 Gb/s)" @param {Job[]} jobs */
function severalJobsTitle(jobs) {
  const all = jobs.map((job) => ({ job, ...fastestIn(job) }));
  const words = ({ job, names }) => fastestWords(names, job.rows.length, "rows");
  const ends = d3.extent(all, (one) => one.best).map((time) => all.find((one) => one.best === time));
  const times = ends.map(({ job, best }) => `${timeText(best)} (${job.name})`);
  if (distinct(all, words) === 1) return `${words(all[0])} in ${all.length === 2 ? "both" : `all ${countText(all.length)}`} cases: ${ends[0].best === ends[1].best ? timeText(ends[0].best) : `${times[0]} to ${times[1]}`}`;
  if (all.length <= 3) return all.map((one) => `${one.job.name}: ${words(one)}`).join("; ");
  return `Which is fastest depends on the case; the best times lie between ${times[0]} and ${times[1]}`;
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
  const axis = { quantity: quantities.time, scale: "linear", domain: [0, d3.max(all.filter((time) => isDrawable(time, "linear"))) * 1.08 || 1] };
  const x = scaleOf(axis, [left, width - (narrow ? 12 : 78)]).clamp(true); // its text says a time beyond all measure
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
