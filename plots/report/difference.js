// SPDX-License-Identifier: Apache-2.0
// Two results of the same sweep, row by row: what a change has changed, as `collsim diff` lists it.

/**
 * @typedef {object} Change
 * @property {Row} before
 * @property {Row} after
 * @property {number} ratio    after / before; above 1: slower
 */

const mostChangedRows = 40;
/** Smaller changes are none: what times are rounded to. */
const leastChange = 1e-9;

/** @param {HTMLElement} parent @param {Results} before @param {Results} after */
function addDifference(parent, before, after) {
  const changes = changesOf(before, after);
  if (!changes.length) return;
  const section = element("section");
  parent.append(section);
  section.append(element("h2", "", "Before and after"));
  const rows = changes.map((one) => one.after);
  const page = { ...after, rows };
  const ratioOf = new Map(changes.map(({ after: row, ratio }) => [row, ratio]));
  const left = before.rows.length + after.rows.length - 2 * changes.length;
  const curve = [
    { xOf: (row) => row.size, quantity: quantities.size },
    { xOf: (row) => row.chunks, quantity: quantities.chunks },
    { xOf: (row) => row.ranks, quantity: quantities.ranks },
  ].find(({ xOf }) => distinct(rows, xOf) >= 3 && rows.every((row) => xOf(row) > 0));
  const title = differenceTitle(changes, (row) => rowWords(page, row));
  addFigure(section, {
    id: "difference",
    title,
    text: `${curve ? "Dots" : "Bars"}: the time after (the second results), divided by that before (the first). ${curve ? "Below" : "To the left of"} the line it became faster.${curve ? leftOutText(changedGroups(page, ratioOf, curve.xOf)) : ""}${left ? ` ${countText(left)} rows are in one of the two only.` : ""}${!curve && changes.length > mostChangedRows ? ` The ${mostChangedRows} rows with the largest changes.` : ""}`,
    hint: curve ? chartHint : "",
    draw: (host, width) => (curve ? drawRatioCurve(host, width, page, ratioOf, curve, title) : drawRatios(host, width, changes, (row) => rowWords(page, row), title)),
    table: {
      columns: [
        { head: "row", cell: ({ after: row }) => rowWords(page, row), words: true },
        { head: "before", seconds: (one) => one.before.time },
        { head: "after", seconds: (one) => one.after.time },
        { head: "after / before", cell: ({ ratio }) => ratio.toFixed(3) },
      ],
      rows: changes,
    },
  });
}

/** Rows with the same swept values. @param {Results} before @param {Results} after @returns {Change[]} */
function changesOf(before, after) {
  const keyIn = ({ paths }) => (row) => JSON.stringify(paths.map((path, i) => [path, row.params[i]]).sort());
  const [keyBefore, keyAfter] = [keyIn(before), keyIn(after)];
  const known = new Map(before.rows.map((row) => [keyBefore(row), row]));
  return after.rows.flatMap((row) => {
    const old = known.get(keyAfter(row));
    return old && old.time > 0 && row.time > 0 ? [{ before: old, after: row, ratio: row.time / old.time }] : [];
  });
}

/** "8 of 12 rows are faster, at most 1.7 times (4 MiB); 2 are slower, at most 1.1 times (1 KiB)"
 *  @param {Change[]} changes @param {(row: Row) => string} words */
function differenceTitle(changes, words) {
  const faster = changes.filter(({ ratio }) => ratio < 1 - leastChange);
  const slower = changes.filter(({ ratio }) => ratio > 1 + leastChange);
  const all = changes.length;
  const where = (row) => (all > 1 ? ` (${words(row)})` : "");
  const part = (some, kind, times) => {
    const most = some.reduce((a, b) => (times(b) > times(a) ? b : a));
    return `${some.length === all && all > 1 ? "all " : ""}${countText(some.length)} ${some.length === 1 ? "is" : "are"} ${kind}, ${some.length > 1 ? "at most " : ""}${timesText(times(most))} times${where(most.after)}`;
  };
  const parts = [];
  if (faster.length) parts.push(part(faster, "faster", ({ ratio }) => 1 / ratio));
  if (slower.length) parts.push(part(slower, "slower", ({ ratio }) => ratio));
  const of = `Of ${countText(all)} row${all === 1 ? "" : "s"} `;
  return parts.length ? `${of}${parts.join("; ")}` : `${all === 1 ? "The row takes" : `All ${countText(all)} rows take`} as long as before`;
}

const ratioQuantity = { name: "after / before", text: (ratio) => `${digits(ratio)} ×` };

/** Of too many curves those are shown that became slower most, and those that became faster most.
 *  @param {Results} page @param {Map<Row, number>} ratioOf @param {(row: Row) => number} xOf @returns {Groups} */
function changedGroups(page, ratioOf, xOf) {
  const groups = groupsOf(page, xOf);
  if (!groups.leftOut) return groups;
  const ratios = new Map(groups.all.map((group) => [group, d3.extent(group.rows, (row) => ratioOf.get(row))]));
  const slowest = [...groups.all].sort((a, b) => ratios.get(b)[1] - ratios.get(a)[1]).slice(0, mostGroups / 2);
  const fastest = [...groups.all].sort((a, b) => ratios.get(a)[0] - ratios.get(b)[0]);
  const shown = [...new Set([...slowest, ...fastest])].slice(0, mostGroups);
  return { ...groups, shown: shown.map((group, i) => ({ ...group, colour: i + 1 })) };
}

/** One line for each way to do it. @param {Results} page @param {Map<Row, number>} ratioOf */
function drawRatioCurve(host, width, page, ratioOf, { xOf, quantity }, title) {
  const groups = changedGroups(page, ratioOf, xOf);
  const of = { simulated: (row) => ratioOf.get(row), analytic: () => null, measured: () => null };
  const ratios = [...ratioOf.values(), 1];
  drawXyChart(host, width, {
    x: { quantity, scale: "log", domain: domainOf(page.rows.map(xOf), "log") },
    y: { quantity: ratioQuantity, scale: "log", domain: domainOf(ratios, "log") },
    series: seriesOf(page, groups, xOf, of).map((one) => ({ ...one, points: one.points.map((p) => ({ ...p, text: `${p.text}\n${digits(p.y)} times the time before` })) })),
    horizontals: [{ y: 1, name: "as before", below: true }],
    describe: `Time after, divided by time before, against ${quantity.name}. ${title}`,
  });
}

/** A row for each, the largest changes. @param {Change[]} changes @param {(row: Row) => string} words */
function drawRatios(host, width, changes, words, title) {
  const shown = [...changes].sort((a, b) => Math.abs(Math.log(b.ratio)) - Math.abs(Math.log(a.ratio))).slice(0, mostChangedRows);
  const longest = d3.max(shown, ({ after }) => textWidth(words(after)));
  const above = longest > width * 0.42; // names have no room beside the bars
  const [left, right, each] = [above ? 24 : longest + 14, width - 76, above ? 40 : 24];
  const bottom = 10 + shown.length * each;
  const axis = { quantity: ratioQuantity, scale: "log", domain: domainOf([...shown.map(({ ratio }) => ratio), 1], "log") };
  const x = scaleOf(axis, [left, right]);
  const svg = d3.select(host).append("svg").attr("class", "chart difference").attr("viewBox", `0 0 ${width} ${bottom + 40}`).attr("role", "img").attr("aria-label", `Time after, divided by time before. ${title}`);
  drawAxis(svg.append("g").attr("transform", `translate(0,${bottom})`), x, axis, "bottom", bottom - 10);
  svg.append("path").attr("class", "guide").attr("d", `M${x(1)},6V${bottom}`);
  shown.forEach(({ after, ratio }, i) => {
    const y = 10 + each * i + (above ? 27 : each / 2);
    const colour = ratio > 1 + leastChange ? 2 : ratio < 1 - leastChange ? 3 : 8;
    const name = svg.append("text").attr("class", "row-name").text(shortened(words(after), Math.floor(width / 6.2)));
    if (above) name.attr("x", 4).attr("y", y - 12);
    else name.attr("text-anchor", "end").attr("x", left - 10).attr("y", y).attr("dy", "0.35em");
    const [from, to] = d3.extent([x(1), x(ratio)]);
    svg.append("rect").attr("class", `share s${colour}`).attr("x", from).attr("y", y - 7).attr("width", Math.max(1, to - from)).attr("height", 14);
    svg.append("text").attr("class", "axis").attr("x", width - 4).attr("y", y).attr("dy", "0.35em").attr("text-anchor", "end").text(ratioQuantity.text(ratio));
  });
}
