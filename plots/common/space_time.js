// SPDX-License-Identifier: Apache-2.0
// The space-time diagram: time to the right, a row per rank or link, a bar where a message holds a
// link.  Bars are drawn by space_time_paint.js; pointing, keys and zoom are in
// space_time_pointing.js.

/**
 * @typedef {object} SpaceTimePanel
 * @property {string} name               shown when there are several
 * @property {SpaceTimeModel} model
 *
 * @typedef {object} SpaceTimeView       what a reader has chosen; kept by the page between drawings
 * @property {number} [followed]         the piece that was clicked, -1: none
 * @property {boolean} [criticalPath]
 * @property {"pieces"|"ways"} [colours]  what colours tell; nothing: what can be told apart (ways.js)
 * @property {number[]} [zoom]           [start, end] in seconds; nothing: all of it
 *
 * @typedef {object} SpaceTime
 * @property {SpaceTimePanel[]} panels   one below the other, over one time axis
 * @property {SpaceTimeView} view
 * @property {string} describe           for those who do not see it
 * @property {(steps: Steps, step: number, kind: number, shown: number[]) => string} textOf   of the part of a step
 *                                       that is shown as one bar, [start, end] in seconds
 * @property {(view: SpaceTimeView) => void} [onView]   the reader chose something else
 * @property {Playhead} [playhead]       the moment that other figures show, too
 * @property {number} [leastLeft]        where the time axis begins at the earliest: with that of a figure below
 */

const spaceTimeHint =
  "Point at a bar; click it to follow its piece. After a click, + - or the wheel zooms and no longer scrolls the page, until Escape; dragging or arrow keys pan, 0 shows all";

/** @param {HTMLElement} host @param {number} width @param {SpaceTime} diagram */
function drawSpaceTime(host, width, diagram) {
  const layout = spaceTimeLayout(width, diagram.panels, diagram.leastLeft);
  const canvas = d3
    .select(host)
    .append("canvas")
    .attr("class", "bars")
    .style("left", "0")
    .style("top", "0");
  const svg = d3
    .select(host)
    .append("svg")
    .attr("class", "chart space-time")
    .attr("viewBox", `0 0 ${width} ${layout.height}`)
    .attr("role", "application")
    .attr("aria-roledescription", "figure with keys")
    .attr("tabindex", 0)
    .attr("aria-label", `${diagram.describe}. ${spaceTimeHint}`);
  const clip = `space-time-area-${++drawnCharts}`;
  svg
    .append("clipPath")
    .attr("id", clip)
    .append("rect")
    .attr("x", layout.left)
    .attr("y", 0)
    .attr("width", layout.right - layout.left)
    .attr("height", layout.height);
  const end = d3.max(diagram.panels, (panel) => panel.model.end) || 1e-12;
  const full = d3.scaleLinear([0, end], [layout.left, layout.right]);
  const shown = { x: full.copy().domain(diagram.view.zoom ?? [0, end]) };
  const layers = {
    axes: svg.append("g"),
    rows: svg.append("g"),
    bars: svg.append("g").attr("clip-path", `url(#${clip})`),
    over: svg.append("g").attr("clip-path", `url(#${clip})`),
    names: svg.append("g"),
    halves: svg.append("g"), // their names reach beside the bars
  };
  drawRows(layers, layout);
  const colours = diagram.panels.map((panel) => stepColours(panel.model, diagram.view));
  const state = { host, width, diagram, layout, svg, canvas, layers, full, shown, colours };
  const paint = () => {
    drawTimeAxis(layers.axes, shown.x, layout);
    drawPauseKeys(layers.axes, layout);
    paintBars(state);
    drawOverlays(state);
  };
  paint();
  attachSpaceTimePointing(state, paint);
  if (diagram.playhead) attachPlayhead(state);
}

/** More rows than this times 5 pixels would need letters below 6 points on a page of paper. */
const mostHeight = 1150;

/** Rows are as high as there is room for: all of them on one screen, or at least 5 pixels each; of very many less.
 *  @param {number} width @param {SpaceTimePanel[]} panels */
function spaceTimeLayout(width, panels, leastLeft = 0) {
  const rows = panels.reduce((sum, panel) => sum + panel.model.rows.length, 0);
  const longest = d3.max(panels, (panel) => d3.max(panel.model.rows, textWidth)) ?? 40;
  const left = Math.max(leastLeft, Math.min(longest + 12, width * 0.3));
  const rowHeight = Math.min(Math.max(5, Math.min(34, Math.floor(520 / Math.max(rows, 1)))), mostHeight / Math.max(rows, 1));
  const belowName = (panels.some((panel) => panel.model.halves) ? 16 : 0) + (rowHeight < 5 ? 6 : 0); // names of rows reach above thin ones
  const heading = (panels.length > 1 ? 22 : 4) + belowName;
  let y = 0;
  const places = panels.map((panel) => {
    const top = y + heading;
    y = top + panel.model.rows.length * rowHeight + 6;
    return { panel, top, bottom: y - 6, rowHeight, belowName };
  });
  const keys = pauseKeys(panels, rowHeight, width);
  const lines = keys.length ? keys.at(-1).line : 0; // the first one is beside the name of the axis
  return { left, right: width - 10, width, places, bottom: y, height: y + 40 + 18 * lines, rowHeight, keys };
}

/** What the thin lines below bars are that are there, and where that is said. @param {SpaceTimePanel[]} panels */
function pauseKeys(panels, rowHeight, width) {
  if (barBox(rowHeight).pauseHeight === 0) return [];
  const there = new Set(panels.flatMap(({ model }) => [...new Set(model.pauses.kind)]));
  const kinds = Object.keys(pauseWords).map(Number).filter((kind) => there.has(kind));
  const first = kinds.filter((kind, i) => kinds.findIndex((other) => pauseWords[other] === pauseWords[kind]) === i); // alike once
  let [x, line] = [4, 0];
  return first.map((kind) => {
    const wide = 24 + textWidth(pauseWords[kind]) + 14;
    if (x > 4 && x + wide > width - (line ? 0 : 60)) [x, line] = [4, line + 1];
    const key = { words: pauseWords[kind], kind, x, line };
    x += wide;
    return key;
  });
}

/** @param {any} axes */
function drawPauseKeys(axes, { keys, bottom }) {
  const colours = pausePaints();
  for (const { words, kind, x, line } of keys) {
    const y = bottom + 36 + 18 * line;
    axes.append("rect").attr("class", "pause-sample").attr("x", x).attr("y", y - 6).attr("width", 18).attr("height", 4).attr("fill", colours[kind]);
    axes.append("text").attr("class", "pause-name").attr("x", x + 24).attr("y", y).text(words);
  }
}

function drawRows({ rows, names }, layout) {
  layout.places.forEach(({ panel, top, bottom, rowHeight, belowName }) => {
    if (layout.places.length > 1)
      names.append("text").attr("class", "panel-name").attr("x", 0).attr("y", top - 7 - belowName).text(panel.name);
    const every = Math.ceil(13 / rowHeight);
    panel.model.rows.forEach((name, row) => {
      const y = top + row * rowHeight;
      rows
        .append("rect")
        .attr("class", row % 2 ? "row odd" : "row")
        .attr("x", layout.left)
        .attr("y", y)
        .attr("width", layout.right - layout.left)
        .attr("height", rowHeight);
      if (row % every) return;
      names
        .append("text")
        .attr("class", "row-name")
        .attr("x", layout.left - 8)
        .attr("y", y + rowHeight / 2)
        .attr("dy", "0.35em")
        .attr("text-anchor", "end")
        .text(name);
    });
    rows.append("path").attr("class", "row-end").attr("d", `M${layout.left},${bottom}H${layout.right}`);
  });
}

function drawTimeAxis(axes, x, layout) {
  axes.selectAll("*").remove();
  const bottom = axes.append("g").attr("transform", `translate(0,${layout.bottom})`);
  drawAxis(bottom, x, { quantity: timeWithin(x), scale: "linear", domain: x.domain() }, "bottom", layout.bottom);
  axes
    .append("text")
    .attr("class", "axis-name")
    .attr("text-anchor", "end")
    .attr("x", layout.right)
    .attr("y", layout.bottom + 36)
    .text("time →");
}

/** Times in one unit, with as many decimals as their ticks need. @returns {Quantity} */
function timeWithin(x) {
  const [from, to] = x.range();
  const unit = unitOf(x.domain()[1], timeUnits);
  const quantity = { name: "time", text: String };
  const ticks = ticksOf(x, { quantity, scale: "linear", domain: x.domain() }, labelsThatFit(to - from, 72));
  const decimals = decimalsOf(ticks.map((value) => value / unit.size));
  return { ...quantity, text: (value) => (value === 0 ? "0" : `${(value / unit.size).toFixed(decimals)} ${unit.name}`) };
}

/** Where lines run that belong to a row: below the names of its bars. */
function lineOf(place, row) {
  const { top, height } = barBox(place.rowHeight);
  return place.top + row * place.rowHeight + top + height * (height > 10 ? 0.9 : 0.5);
}

/** Where in a row bars are, and below them pauses. @param {number} rowHeight */
function barBox(rowHeight) {
  if (rowHeight < 4) return { top: 0, height: rowHeight, pauseTop: rowHeight, pauseHeight: 0 };
  if (rowHeight < 9) return { top: 0.5, height: rowHeight - 1, pauseTop: rowHeight - 2, pauseHeight: 1.5 };
  return { top: 2, height: rowHeight * 0.72 - 2, pauseTop: rowHeight * 0.78, pauseHeight: rowHeight * 0.14 };
}

/** The critical path, the way of the piece that is followed, the halves and the playhead. */
function drawOverlays({ diagram, layout, layers, shown }) {
  layers.over.selectAll("*").remove();
  layers.halves.selectAll("*").remove();
  for (const place of layout.places) {
    const { model } = place.panel;
    const followed = diagram.view.followed ?? -1;
    if (followed >= 0 && !model.byLink)
      layers.over.append("path").attr("class", "followed-way").attr("d", wayOf(model, followed, place, shown.x));
    if (diagram.view.criticalPath !== false) drawCriticalPath(layers.over, criticalWay(model, place, shown.x));
    if (model.halves) drawHalves(layers, model.halves, place, shown.x, layout);
  }
  if (diagram.playhead) drawPlayhead(layers.over, diagram.playhead, layout, shown.x);
}

function drawCriticalPath(over, { line, band }) {
  if (band) over.append("path").attr("class", "critical-band").attr("d", band);
  if (!line) return;
  over.append("path").attr("class", "critical-halo").attr("d", line);
  over.append("path").attr("class", "critical").attr("d", line);
}

/** A stair from row to row, with the names of both halves at its top where there is room. @param {Halves} halves */
function drawHalves({ over, halves }, { turn, names }, place, x, { left, right, width }) {
  const { top, rowHeight } = place;
  const rows = d3.range(turn.length).filter((row) => Number.isFinite(turn[row]));
  const stairs = rows.map((row) => `${x(turn[row]).toFixed(1)},${top + row * rowHeight}V${top + (row + 1) * rowHeight}`);
  over.append("path").attr("class", "halves").attr("d", stairs.map((stair, i) => (i ? "L" : "M") + stair).join(""));
  const at = x(turn[rows[0]]);
  if (at < left || at > right) return;
  const name = (text, anchor, away, room) => {
    if (textWidth(text) > room) return;
    halves.append("text").attr("class", "half-name").attr("text-anchor", anchor).attr("x", at + away).attr("y", top - 5).text(text);
  };
  name(`${names[0]} ←`, "end", -4, at - 4);
  name(`→ ${names[1]}`, "start", 4, width - at - 4);
}

/** @param {Playhead} playhead */
function drawPlayhead(over, playhead, layout, x) {
  const line = over.append("line").attr("class", "playhead").attr("y1", 0).attr("y2", layout.bottom);
  const end = d3.max(layout.places, ({ panel }) => panel.model.end);
  const show = (place) =>
    line
      .attr("x1", x(place * end))
      .attr("x2", x(place * end))
      .attr("visibility", place > 0 ? "visible" : "hidden");
  show(playhead.place());
  playhead.follow("space-time", show);
}

/** Verticals closer together than this would hide the bars.  In pixels. */
const leastWayBetweenRows = 8;

/** Along the row while a message leaves, across while it flies or its receiver goes on; as `line`, and as `band`
 *  where it goes across so often that lines would be a slab. */
function criticalWay(model, place, x) {
  const { steps } = model;
  const pieces = { line: [], band: [] };
  let [last, lastCrossing, row] = ["", -Infinity, 0];
  for (let i = 0; i < steps.pathKind.length; ++i) {
    const flies = pathKinds[steps.pathKind[i]] === "flight";
    row = pathRow(model, i, row, false);
    const from = [x(steps.pathFrom[i] * picosecond), lineOf(place, row)];
    if (flies) row = pathRow(model, i, row, true);
    const to = [x(steps.pathTo[i] * picosecond), lineOf(place, row)];
    const [start, stop] = [from, to].map((p) => p.map((v) => v.toFixed(1)).join(","));
    const crosses = last !== "" && (start !== last || from[1] !== to[1]);
    const isDense = crosses && from[0] - lastCrossing < leastWayBetweenRows;
    if (crosses) lastCrossing = from[0];
    const way = last === "" ? `M${start}L${stop}` : start === last ? `M${last}L${stop}` : `M${last}L${start}L${stop}`;
    pieces[isDense ? "band" : "line"].push(way);
    last = stop;
  }
  return { line: pieces.line.join(""), band: pieces.band.join("") };
}

/** Of a rank, or of the link that a segment is on.  In flight or in a queue: from the link that the message was on to
 *  the one that it takes next; what crosses no link stays where it was. */
function pathRow({ steps, byLink, rowOf }, segment, before, isThere) {
  const step = steps.pathStep[segment];
  if (step < 0) return before;
  if (!byLink) return isThere ? steps.to[step] : steps.rank[step];
  if (steps.pathLink[segment] >= 0) return rowOf.get(steps.pathLink[segment]);
  const isOf = (other) => steps.pathStep[other] === step && steps.pathLink[other] >= 0;
  if (!isThere && isOf(segment - 1)) return before;
  if (isOf(segment + 1)) return rowOf.get(steps.pathLink[segment + 1]);
  const route = steps.route[step];
  if (route < 0 || steps.routeFirst[route + 1] === steps.routeFirst[route]) return before;
  return rowOf.get(steps.routeLinks[isThere ? steps.routeFirst[route + 1] - 1 : steps.routeFirst[route]]);
}

/** From where each message of a piece leaves to where it is received. */
function wayOf({ steps }, piece, place, x) {
  const parts = [];
  for (let i = 0; i < steps.rank.length; ++i) {
    if (steps.piece[i] !== piece || steps.route[i] < 0) continue;
    const from = [x(steps.left[i] * picosecond), lineOf(place, steps.rank[i])];
    const to = [x(steps.arrived[i] * picosecond), lineOf(place, steps.to[i])];
    parts.push(`M${from.map((v) => v.toFixed(1))}L${to.map((v) => v.toFixed(1))}`);
  }
  return parts.join("");
}
