// SPDX-License-Identifier: Apache-2.0
// Lines and marks over two axes.  Everywhere: a line was calculated, a dot was simulated, a square
// was measured.  Wheel, keys and pointer: chart_pointing.js.

/**
 * @typedef {object} Point
 * @property {number} x
 * @property {number} y
 * @property {number} [low]        of an error bar
 * @property {number} [high]
 * @property {string} [text]       what pointing at it says; without: the two values
 *
 * @typedef {object} Series
 * @property {string} name
 * @property {number} colour       1 .. 8
 * @property {Point[]} points      in the order in which a line goes through them
 * @property {string} [mark]       "dot", "square", "crossed" (a square that does not count), "none" (default)
 * @property {string} [line]       "none" (default), "solid", "dashed", "limit", "faint", "envelope"
 * @property {string} [dash]       dashes of the line, and in the label, for those who do not see colours
 * @property {boolean} [open]      marks are not filled
 * @property {boolean} [nameless]  no label: others of this name have one
 * @property {boolean} [silent]    cannot be pointed at
 * @property {"left"|"right"|"above"} [beside]   the name stands there at the last point, not where the others do
 *
 * @typedef {object} XyChart
 * @property {Axis} x
 * @property {Axis} y
 * @property {Series[]} series
 * @property {{x: number, name: string}[]} [verticals]     an optimum, a crossover
 * @property {{y: number, name: string, below?: boolean, rate?: boolean}[]} [horizontals]   a floor, its name above or below it; what a link carries
 * @property {{points: [number, number][], colour?: number}[]} [bands]   grey, or of that colour
 * @property {string} describe     for those who do not see it
 * @property {number} [height]
 */

const symbols = {
  dot: () => d3.symbolCircle,
  square: () => d3.symbolSquare,
  crossed: () => crossedSquare,
};
const crossedSquare = {
  draw(context, size) {
    const half = Math.sqrt(size) / 2;
    context.rect(-half, -half, 2 * half, 2 * half);
    context.moveTo(-half, -half);
    context.lineTo(half, half);
    context.moveTo(-half, half);
    context.lineTo(half, -half);
  },
};
const dashes = { dashed: "7 4", limit: "2 3", faint: "1 0" };
let drawnCharts = 0; // clip paths need names of their own

/**
 * Draws a chart into an empty host.
 * @param {HTMLElement} host @param {number} width @param {XyChart} given
 */
function drawXyChart(host, width, given) {
  const { chart, missing } = drawablePart(given);
  const layout = layoutOf(width, chart, missing);
  const svg = d3
    .select(host)
    .append("svg")
    .attr("class", "chart")
    .attr("viewBox", `0 0 ${width} ${layout.height}`)
    .attr("role", "application")
    .attr("aria-roledescription", "chart with keys")
    .attr("tabindex", 0)
    .attr("aria-label", `${chart.describe}. ${chartHint}`);
  const clip = `plot-area-${++drawnCharts}`;
  addClip(svg, clip, layout, 7); // marks may reach over the edge
  addClip(svg, `${clip}-exact`, layout, 0);
  const full = {
    x: scaleOf(chart.x, [layout.left, layout.right]),
    y: scaleOf(chart.y, [layout.bottom, layout.top]),
  };
  const axes = svg.append("g");
  const bands = svg.append("g").attr("clip-path", `url(#${clip}-exact)`);
  const body = svg.append("g").attr("clip-path", `url(#${clip})`);
  const names = svg.append("g").attr("class", "names");
  const shown = { ...full };
  const paint = () => {
    drawAxes(axes, chart, shown, layout);
    drawBands(bands, chart, shown);
    drawBody(body, chart, shown, layout);
    names.selectAll("*").remove();
    drawGuideNames(names, chart, shown, layout);
    if (layout.key.length) drawKey(names, layout);
    else drawSeriesNames(names, chart, shown, layout);
    drawNamesBeside(names, chart, shown, layout);
    layout.missing.forEach((line, i) => names.append("text").attr("class", "missing").attr("x", 4).attr("y", layout.height - 16 * (layout.missing.length - i) + 10).text(line));
  };
  paint();
  attachPointing(host, svg, chart, { full, shown, layout, paint });
}

/** The chart without what has no place on its axes, and that in words. @param {XyChart} chart */
function drawablePart(chart) {
  const onX = (x) => isDrawable(x, chart.x.scale);
  const onY = (y) => isDrawable(y, chart.y.scale);
  let [left, all] = [0, 0];
  const series = chart.series.map((one) => {
    const points = one.points.filter(({ x, y }) => onX(x) && onY(y));
    if (!one.silent) [left, all] = [left + one.points.length - points.length, all + one.points.length];
    return { ...one, points: points.map((p) => (p.low === undefined || (onY(p.low) && onY(p.high)) ? p : { ...p, low: undefined })) };
  });
  const verticals = chart.verticals?.filter(({ x }) => onX(x));
  const horizontals = chart.horizontals?.filter(({ y }) => onY(y));
  const why = [chart.x, chart.y].some(({ scale }) => scale === "log") ? "a log scale cannot show 0 or values beyond all limits" : "beyond all limits";
  const which = left === all ? "Nothing can be drawn" : `${countText(left)} of ${countText(all)} points ${left === 1 ? "is" : "are"} not drawn`;
  const marked = series.filter(({ mark }) => mark && mark !== "none").flatMap(({ points }) => points.map(({ x }) => x));
  return { chart: { ...chart, x: { ...chart.x, marked }, series, verticals, horizontals }, missing: left ? `${which}: ${why}` : "" };
}

function addClip(svg, id, { left, right, top, bottom }, air) {
  svg
    .append("clipPath")
    .attr("id", id)
    .append("rect")
    .attr("x", left - air)
    .attr("y", top - air)
    .attr("width", right - left + 2 * air)
    .attr("height", bottom - top + 2 * air);
}

/** Where things are: names of series stand at the right where there is room, above otherwise, and there those of
 *  rates too; what is missing stands below everything. */
function layoutOf(width, chart, missing) {
  const named = chart.series.filter((one) => !one.nameless && !one.beside);
  const narrow = width < 560;
  const nameWidth = named.length ? d3.max(named, (one) => textWidth(one.name)) + 46 : 8;
  const above = narrow || nameWidth > width * 0.3;
  const right = width - (above ? 14 : nameWidth);
  const rates = (chart.horizontals ?? []).filter((one) => one.rate).map(({ name }) => ({ name, colour: 8, line: "rate" }));
  const key = above ? keyOf([...named, ...rates], width - 8) : [];
  const keyHeight = key.length ? (d3.max(key, (one) => one.row) + 1) * 18 + 4 : 0;
  const top = 30 + keyHeight + (chart.verticals?.length ? 14 : 0);
  const missingLines = missing ? wrapped(missing, Math.floor((width - 8) / 6.7)) : [];
  const plotHeight = Math.round(chart.height ?? Math.min(420, Math.max(280, width * 0.5))) + keyHeight;
  const height = plotHeight + 16 * missingLines.length;
  const bottom = plotHeight - 44;
  const left = Math.max(narrow ? 58 : 68, Math.ceil(widestLabel(chart.y, bottom - top)) + 15);
  return { width, height, left, right, top, bottom, key, missing: missingLines };
}

/** Of an axis at the left, also when it is zoomed: then a label may have four digits.
 *  @param {Axis} axis @param {number} length */
function widestLabel(axis, length) {
  const ticks = ticksOf(scaleOf(axis, [length, 0]), axis, labelsThatFit(length, 36));
  const zoomed = (axis.quantity.units ?? []).map(({ name }) => `1.234 ${name}`);
  return d3.max([...tickTexts(ticks, axis.quantity), ...zoomed], textWidth) ?? 0;
}

function keyOf(named, width) {
  let x = 4;
  let row = 0;
  return named.map((series) => {
    const space = textWidth(series.name) + 40;
    if (x > 4 && x + space > width) {
      x = 4;
      row += 1;
    }
    const place = { series, x, row };
    x += space;
    return place;
  });
}

function drawAxes(axes, chart, shown, layout) {
  axes.selectAll("*").remove();
  const grid = axes.append("g").attr("class", "grid");
  const bottom = grid.append("g").attr("transform", `translate(0,${layout.bottom})`);
  drawAxis(bottom, shown.x, chart.x, "bottom", layout.bottom - layout.top);
  const left = grid.append("g").attr("transform", `translate(${layout.left},0)`);
  drawAxis(left, shown.y, chart.y, "left", layout.right - layout.left);
  axes
    .append("text")
    .attr("class", "axis-name")
    .attr("text-anchor", "end")
    .attr("x", layout.right)
    .attr("y", layout.bottom + 38)
    .text(`${chart.x.quantity.name}${chart.x.scale === "log" ? " (log scale)" : ""} →`);
  axes
    .append("text")
    .attr("class", "axis-name")
    .attr("x", 4)
    .attr("y", layout.top - 14 - (chart.verticals?.length ? 14 : 0))
    .text(`↑ ${chart.y.quantity.name}${chart.y.scale === "log" ? " (log scale)" : ""}`);
}

function drawBands(bands, chart, shown) {
  bands.selectAll("*").remove();
  const place = d3
    .line()
    .x((p) => shown.x(p[0]))
    .y((p) => shown.y(p[1]));
  for (const band of chart.bands ?? [])
    bands.append("path").attr("class", band.colour ? `band s${band.colour}` : "band").attr("d", `${place(band.points)}Z`);
}

function drawBody(body, chart, shown, layout) {
  body.selectAll("*").remove();
  for (const { y, rate } of chart.horizontals ?? []) guide(body, rate ? "rate" : "horizontal", layout.left, shown.y(y), layout.right, shown.y(y));
  for (const { x } of chart.verticals ?? []) guide(body, "vertical", shown.x(x), layout.top, shown.x(x), layout.bottom);
  for (const series of chart.series) drawLine(body, series, shown);
  for (const series of chart.series) drawMarks(body, series, shown);
}

function guide(body, kind, x1, y1, x2, y2) {
  body
    .append("line")
    .attr("class", `guide ${kind}`)
    .attr("x1", x1)
    .attr("y1", y1)
    .attr("x2", x2)
    .attr("y2", y2);
}

function drawLine(body, series, shown) {
  if (!series.line || series.line === "none") return;
  const line = d3
    .line()
    .defined((p) => Number.isFinite(p.y))
    .x((p) => shown.x(p.x))
    .y((p) => shown.y(p.y));
  body
    .append("path")
    .attr("class", `series-line s${series.colour} ${series.line}`)
    .attr("stroke-dasharray", series.dash ?? dashes[series.line] ?? null)
    .attr("d", line(series.points));
}

function drawMarks(body, series, shown) {
  if (!series.mark || series.mark === "none") return;
  const group = body.append("g").attr("class", `series s${series.colour}`).attr("data-series", series.name);
  for (const p of series.points) {
    if (p.low === undefined) continue;
    const x = shown.x(p.x);
    const [low, high] = [shown.y(p.low), shown.y(p.high)];
    group.append("path").attr("class", "error-bar").attr("d", `M${x - 4},${low}h8M${x},${low}V${high}M${x - 4},${high}h8`);
  }
  const size = series.points.length > 200 ? 20 : series.open ? 90 : 52;
  group
    .selectAll(".mark")
    .data(series.points.filter((p) => Number.isFinite(p.y)))
    .join("path")
    .attr("class", `mark ${series.mark}${series.open ? " open" : ""}`)
    .attr("d", d3.symbol(symbols[series.mark](), size))
    .attr("transform", (p) => `translate(${shown.x(p.x)},${shown.y(p.y)})`);
}

/** Verticals are named above the plot, horizontals inside it at the left. */
function drawGuideNames(names, chart, shown, layout) {
  const inside = (chart.verticals ?? []).filter(({ x }) => shown.x(x) >= layout.left && shown.x(x) <= layout.right);
  let busyUntil = [-Infinity, -Infinity];
  for (const one of inside.sort((a, b) => a.x - b.x)) {
    const half = textWidth(one.name) / 2;
    const middle = Math.min(Math.max(shown.x(one.x), half + 2), layout.width - half - 2);
    const row = busyUntil.findIndex((until) => middle - half > until);
    if (row < 0) continue; // pointing and the text below say it
    busyUntil[row] = middle + half + 6;
    guideName(names, one.name, middle, layout.top - 8 - 13 * row, "middle");
  }
  nameHorizontals(names, chart, shown, layout);
}

/** Each beside its line, as far left as it hides no mark, line or other name. */
function nameHorizontals(names, chart, shown, layout) {
  const lines = (chart.horizontals ?? []).map((one) => ({ ...one, at: shown.y(one.y) })).filter(({ at }) => at >= layout.top && at <= layout.bottom);
  const inKey = (one) => one.rate && layout.key.length > 0;
  const marks = chart.series.filter((one) => one.mark && one.mark !== "none").flatMap((one) => one.points.map((p) => [shown.x(p.x), shown.y(p.y)]));
  const named = [];
  for (const { name, at, below } of lines.filter((one) => !inKey(one)).sort((a, b) => a.at - b.at)) {
    const near = marks.filter(([, y]) => Math.abs(y - at) < 24);
    const others = lines.filter((one) => one.at !== at);
    const costs = placesAlong(at, textWidth(name), below, layout).map((box, i) => {
      const hidden = near.filter(([x, y]) => x > box.left - 5 && x < box.right + 5 && y > box.top - 4 && y < box.bottom + 4);
      const crossed = others.filter((one) => one.at > box.top && one.at < box.bottom);
      const covered = named.filter((one) => one.right > box.left && one.left < box.right && one.bottom > box.top && one.top < box.bottom);
      return { box, cost: 1000 * covered.length + 100 * (hidden.length + crossed.length) + i };
    });
    const { box } = costs.reduce((a, b) => (b.cost < a.cost ? b : a));
    named.push(box);
    guideName(names, name, box.left, box.bottom - 1, "start");
  }
}

/** Where a name may stand beside a horizontal line, the best first: above or below, from the left. */
function placesAlong(at, width, below, { left, right, top, bottom }) {
  const boxes = d3.range(left + 8, Math.max(left + 9, right - width), 14).flatMap((x) => {
    const [over, under] = [at - 15, at + 4].map((y) => ({ left: x, right: x + width, top: y, bottom: y + 11 }));
    return below ? [under, over] : [over, under];
  });
  return boxes.filter((box) => box.top >= top - 2 && box.bottom <= bottom);
}

function guideName(names, text, x, y, anchor) {
  names.append("text").attr("class", "guide-name").attr("x", x).attr("y", y).attr("text-anchor", anchor).text(text);
}

/** The mark and the line of a series, as in the chart. */
function drawSample(group, series, x, y) {
  if ((series.line && series.line !== "none") || series.dash)
    group
      .append("path")
      .attr("class", `series-line s${series.colour} ${series.line}`)
      .attr("stroke-dasharray", series.dash ?? dashes[series.line] ?? null)
      .attr("d", `M${x},${y}h22`);
  if (series.mark && series.mark !== "none")
    group
      .append("path")
      .attr("class", `key-mark mark s${series.colour}${series.open ? " open" : ""}`)
      .attr("d", d3.symbol(symbols[series.mark](), 52)())
      .attr("transform", `translate(${x + 11},${y})`);
}

function drawKey(names, layout) {
  for (const { series, x, row } of layout.key) {
    const y = 12 + row * 18;
    drawSample(names, series, x, y - 4);
    nameOf(names, series, x + 28, y);
  }
}

function nameOf(names, series, x, y) {
  return names
    .append("text")
    .attr("class", `series-name s${series.colour}${["faint", "limit", "rate"].includes(series.line) ? ` ${series.line}-name` : ""}`)
    .attr("x", x)
    .attr("y", y)
    .text(series.name);
}

/** At the right, beside the last point that is inside. */
function drawSeriesNames(names, chart, shown, layout) {
  const [top, bottom] = [layout.top, layout.bottom];
  const labels = [];
  for (const series of chart.series) {
    if (series.nameless || series.beside) continue;
    const inside = series.points.filter((p) => Number.isFinite(p.y) && shown.x(p.x) <= layout.right + 1);
    const last = inside[d3.max(inside.keys())] ?? null;
    const rightmost = inside.reduce((a, b) => (a && a.x > b.x ? a : b), last);
    if (rightmost) labels.push({ series, x: shown.x(rightmost.x), y: Math.min(Math.max(shown.y(rightmost.y), top), bottom) });
  }
  const places = spreadOut(labels.map((one) => one.y), 15, [top, bottom]);
  labels.forEach((one, i) => {
    const start = layout.right + 12;
    if (Math.abs(places[i] - one.y) > 3 && one.x > layout.right - 30)
      names
        .append("path")
        .attr("class", `leader s${one.series.colour}`)
        .attr("d", `M${one.x + 5},${one.y}L${start - 2},${places[i]}`);
    drawSample(names, one.series, start, places[i]);
    nameOf(names, one.series, start + 27, places[i] + 4);
  });
}

/** Beside the last points, where no other such name is. */
function drawNamesBeside(names, chart, shown, layout) {
  const placed = [];
  for (const series of chart.series) {
    const last = series.beside && series.points[series.points.length - 1];
    if (!last || !Number.isFinite(last.y)) continue;
    const [x, y] = [shown.x(last.x), shown.y(last.y)];
    if (x < layout.left - 1 || x > layout.right + 1 || y < layout.top - 1 || y > layout.bottom + 1) continue;
    const width = textWidth(series.name);
    const half = Math.min(Math.max(x, layout.left + width / 2 + 4), layout.right - width / 2);
    const boxes = {
      left: { from: x - 8 - width, at: y - 6, x: x - 8, anchor: "end" },
      right: { from: x + 8, at: y - 6, x: x + 8, anchor: "start" },
      above: { from: half - width / 2, at: y - 12, x: half, anchor: "middle" },
      below: { from: half - width / 2, at: y + 20, x: half, anchor: "middle" },
    };
    const isFree = ({ from, at }) => placed.every((one) => from > one.to + 4 || from + width + 4 < one.from || Math.abs(at - one.at) > 13);
    const fits = ({ from }) => from > layout.left && from + width < layout.width;
    const order = [...new Set([series.beside, "above", "left", "right", "below"])].map((side) => boxes[side]);
    const box = order.find((one) => fits(one) && isFree(one)) ?? order.find(isFree) ?? boxes.above;
    placed.push({ ...box, to: box.from + width });
    nameOf(names, series, box.x, box.at).attr("text-anchor", box.anchor);
  }
}
