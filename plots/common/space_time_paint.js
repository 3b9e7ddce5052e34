// SPDX-License-Identifier: Apache-2.0
// The bars of a space-time diagram: SVG while they are few, so that they print and save as drawings;
// a canvas below the SVG when they are many.  Bars narrower than a pixel are merged, so that the
// work follows the width of the picture and not the number of messages.

/** How strongly what is not a whole sum is drawn. */
const partOpacity = 0.3;

/** More bars than this go to the canvas. */
const mostSvgBars = 3000;

/** @typedef {{place: any, box: any, spans: Spans, dim: (step: number) => boolean}} BarRow */

function paintBars(state) {
  const { diagram, canvas, layers, host, width, layout } = state;
  const count = diagram.panels.reduce((sum, { model }) => sum + model.messages.count + model.pauses.count, 0);
  const onCanvas = count > mostSvgBars;
  // The canvas is below the grid, where SVG bars are above it.
  layers.axes.selectAll(".grid-line").style("opacity", onCanvas ? 0.5 : 1);
  host.dataset.bars = onCanvas ? "canvas" : "svg";
  host.dataset.count = String(count);
  const painter = onCanvas ? canvasPainter(canvas, width, layout.height) : svgPainter(layers.bars);
  for (let i = 0; i < layout.places.length; ++i) paintPanel(painter, state, i);
  painter.finish();
}

/** @param {any} painter @param {any} state @param {number} index of the panel */
function paintPanel(painter, { diagram, layout, shown, colours }, index) {
  const place = layout.places[index];
  const { model } = place.panel;
  const { steps } = model;
  const followed = diagram.view.followed ?? -1;
  const colourOf = colours[index];
  const box = barBox(place.rowHeight);
  const pauseColours = pausePaints();
  const linkOfRow = [...model.rowOf.keys()];
  model.rows.forEach((_, row) => {
    const top = place.top + row * place.rowHeight;
    const paintIn = (spans, y, height, paint) => {
      const tracks = spans.tracks[row];
      const each = height / tracks;
      for (let track = 0; track < tracks; ++track)
        paintTrack(spans, spans.firstTrack[row] + track, shown.x, (i, x0, x1) => paint(i, x0, y + track * each, x1 - x0, each));
    };
    paintIn(model.pauses, top + box.pauseTop, box.pauseHeight, (i, x, y, w, h) =>
      painter.bar(x, y, w, h, pauseColours[model.pauses.kind[i]], followed >= 0 ? 0.3 : 1),
    );
    paintIn(model.messages, top + box.top, box.height, (i, x, y, w, h) => {
      const step = model.messages.step[i];
      const piece = steps.piece[step];
      const dim = followed >= 0 && piece !== followed;
      const part = h > 4 ? addedShare(steps, step) : 1; // a sum fills its bar as it grows
      const colour = colourOf(step);
      painter.bar(x, y, w, h, colour, dim ? 0.15 : part < 1 ? partOpacity : 1);
      if (part < 1 && !dim) painter.part(x, y + h * (1 - part), w, h * part, colour);
      const link = model.byLink ? linkOfRow[row] : steps.routeLinks[steps.routeFirst[steps.route[step]]];
      const startup = Math.min(w, shown.x((steps.linkStartup[link] ?? 0) * picosecond) - shown.x(0));
      if (startup > 1.5 && !dim) painter.startup(x, y, startup, h);
      if (w > 20 && h > 10 && !dim) painter.label(x + startup, y, w - startup, h, { piece, sum: part < 1 ? `${steps.added[step]}/${steps.members}` : "", colour });
    });
  });
}

/** Calls paint(span, left, right) for what is visible of a track; spans that end in the pixel in which
 *  the one before ended are left out. @param {Spans} spans */
function paintTrack(spans, track, x, paint) {
  const [from, to] = x.domain();
  const [left, right] = x.range();
  const scale = (right - left) / (to - from);
  let drawnUntil = -Infinity;
  for (let i = firstEndingAfter(spans, track, from); i < spans.first[track + 1] && spans.start[i] < to; ++i) {
    const x1 = Math.min(right, left + (spans.end[i] - from) * scale);
    if (x1 < drawnUntil + 0.5) continue;
    const x0 = Math.max(left, left + (spans.start[i] - from) * scale);
    const gap = x1 - x0 > 3 ? 0.5 : 0; // neighbours can be told apart
    paint(i, Math.max(x0, Math.min(drawnUntil, x1 - 0.5)), Math.max(x1 - gap, x0 + 0.5));
    drawnUntil = x1;
  }
}

/** What each of spanKinds is called in a picture that has it. */
const pauseWords = { 1: "waits for a message", 3: "waits for a message", 2: "waits for a free slot", 4: "waits for a busy link", 5: "starts late", 6: "adds or copies" };

/** By spanKinds. */
function pausePaints() {
  const waiting = themeColour("--edge");
  return [waiting, waiting, themeColour("--c5"), waiting, themeColour("--c2"), themeColour("--ink"), themeColour("--c3")];
}

/** @param {any} group */
function svgPainter(group) {
  const bars = [];
  const rect = (kind, x, y, w, h, attributes) =>
    bars.push(`<rect class="${kind}" x="${x.toFixed(2)}" y="${y.toFixed(2)}" width="${w.toFixed(2)}" height="${h.toFixed(2)}" ${attributes}/>`);
  return {
    bar: (x, y, w, h, colour, opacity) =>
      rect("bar", x, y, w, h, `fill="${colour}"${opacity < 1 ? ` fill-opacity="${opacity}"` : ""}`),
    part: (x, y, w, h, colour) => rect("bar-part", x, y, w, h, `fill="${colour}"`),
    startup: (x, y, w, h) => rect("startup", x, y, w, h, ""),
    label: (x, y, w, h, { piece, sum, colour }) => {
      const text = sum && w > 8 * `${piece}: ${sum}`.length + 6 ? `${piece}: ${sum}` : String(piece);
      if (w <= 8 * text.length + 6) return;
      const ink = sum ? "on-part" : inkOn(colour);
      bars.push(`<text class="bar-name ${ink}" x="${(x + w / 2).toFixed(1)}" y="${(y + h / 2).toFixed(1)}" dy="0.35em" >${text}</text>`);
    },
    // Numbers and colours of the theme only, nothing that came with the data.
    finish: () => {
      group.node().innerHTML = bars.join("");
    },
  };
}

/** Writes pixels itself: tens of thousands of small bars are slow to fill one by one.
 *  @param {any} canvas @param {number} width @param {number} height */
function canvasPainter(canvas, width, height) {
  const sharp = Math.min(2, window.devicePixelRatio || 1);
  const [across, down] = [Math.round(width * sharp), Math.round(height * sharp)];
  const node = canvas.attr("width", across).attr("height", down).node();
  canvas.style("width", "100%").style("aspect-ratio", `${width} / ${height}`);
  const context = node.getContext("2d");
  const image = context.createImageData(across, down);
  const pixels = new Uint32Array(image.data.buffer);
  const paper = d3.rgb(themeColour("--paper"));
  const fill = (x, y, w, h, value) => {
    const [x0, x1] = [Math.round(x * sharp), Math.max(Math.round((x + w) * sharp), Math.round(x * sharp) + 1)];
    const [y0, y1] = [Math.round(y * sharp), Math.max(Math.round((y + h) * sharp), Math.round(y * sharp) + 1)];
    for (let row = y0; row < Math.min(y1, down); ++row)
      for (let i = row * across + x0, end = row * across + Math.min(x1, across); i < end; ++i) pixels[i] = value;
  };
  /** @type {Map<number, Map<string, number>>} */
  const known = new Map();
  const pixelOf = (colour, opacity) => {
    if (!known.has(opacity)) known.set(opacity, new Map());
    const ofOpacity = known.get(opacity);
    if (!ofOpacity.has(colour)) ofOpacity.set(colour, mixedPixel(d3.rgb(colour), paper, opacity));
    return ofOpacity.get(colour);
  };
  let last = "";
  return {
    bar: (x, y, w, h, colour, opacity) => fill(x, y, w, h, pixelOf((last = colour), opacity)),
    part: (x, y, w, h, colour) => fill(x, y, w, h, pixelOf(colour, 1)),
    startup: (x, y, w, h) => fill(x, y, w, h, pixelOf(last, 0.5)),
    label: () => {},
    finish: () => context.putImageData(image, 0, 0),
  };
}

/** A colour laid over paper, as a pixel of a picture in memory (little endian: alpha first). */
function mixedPixel(colour, paper, opacity) {
  const part = (name) => Math.round(colour[name] * opacity + paper[name] * (1 - opacity));
  return ((255 << 24) | (part("b") << 16) | (part("g") << 8) | part("r")) >>> 0;
}
