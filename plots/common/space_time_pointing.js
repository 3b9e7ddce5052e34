// SPDX-License-Identifier: Apache-2.0
// Interaction with a space-time diagram: point, follow a piece, zoom and pan.

/** @param {any} state of drawSpaceTime @param {() => void} paint */
function attachSpaceTimePointing(state, paint) {
  const { host, svg, diagram, layout, shown } = state;
  const tooltip = addTooltip(host);
  const pointed = svg.append("rect").attr("class", "pointed").attr("visibility", "hidden");
  const show = (hit) => {
    pointed.attr("visibility", hit ? "visible" : "hidden");
    if (!hit) return tooltip.hide();
    const { model } = hit.place.panel;
    for (const side of ["x", "y", "width", "height"]) pointed.attr(side, hit.box[side]);
    const inPage = host.clientWidth / layout.width;
    tooltip.show(diagram.textOf(model.steps, hit.step, hit.kind, hit.shown), hit.at[0] * inPage, hit.at[1] * inPage);
  };
  const follow = (piece) => {
    diagram.view.followed = diagram.view.followed === piece ? -1 : piece;
    diagram.onView?.(diagram.view);
    paint();
  };
  const catcher = addCatcher(svg, { ...layout, top: 0 })
    .on("pointermove.point", (event) => show(spanAt(state, d3.pointer(event))))
    .on("pointerleave.point", () => show(null))
    .on("click.follow", (event) => {
      const hit = spanAt(state, d3.pointer(event));
      follow(hit ? hit.place.panel.model.steps.piece[hit.step] : -1);
    });
  const zoom = attachTimeZoom(state, catcher, () => {
    show(null);
    paint();
  });
  svg.on("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Escape") {
      follow(-1);
      svg.node().blur(); // the wheel scrolls the page again
    } else if (!zoom.onKey(event.key)) return;
    event.preventDefault();
  });
  svg.on("blur", () => show(null));
  return { shown };
}

/** The bar at a place of the picture, or the nearest thin one. */
function spanAt({ layout, shown }, [px, py]) {
  const place = layout.places.find(({ top, bottom }) => py >= top && py < bottom);
  if (!place) return null;
  const row = Math.floor((py - place.top) / place.rowHeight);
  const inRow = py - place.top - row * place.rowHeight;
  const box = barBox(place.rowHeight);
  const { messages, pauses } = place.panel.model;
  const below = inRow >= box.top + box.height && pauses.count > 0;
  const area = below ? { spans: pauses, top: box.pauseTop, height: box.pauseHeight } : { spans: messages, top: box.top, height: box.height };
  return spanInRow(area, place, row, shown.x, px, inRow);
}

function spanInRow({ spans, top, height }, place, row, x, px, inRow) {
  const tracks = spans.tracks[row];
  const each = height / tracks;
  const track = Math.max(0, Math.min(tracks - 1, Math.floor((inRow - top) / each)));
  const at = spans.firstTrack[row] + track;
  const near = 2; // pixels
  const i = firstEndingAfter(spans, at, x.invert(px - near));
  if (i >= spans.first[at + 1] || x(spans.start[i]) > px + near) return null;
  const rowTop = place.top + row * place.rowHeight;
  return {
    place,
    step: spans.step[i],
    kind: spans.kind[i],
    shown: [spans.start[i], spans.end[i]],
    at: [px, rowTop + top + height],
    box: {
      x: x(spans.start[i]),
      y: rowTop + top + track * each,
      width: Math.max(1, x(spans.end[i]) - x(spans.start[i])),
      height: each,
    },
  };
}

/** The time axis is where the playhead is dragged. */
function attachPlayhead({ svg, layout, diagram, shown, full }) {
  const [, end] = full.domain();
  const move = (event) => diagram.playhead.move(shown.x.invert(d3.pointer(event, svg.node())[0]) / end);
  svg
    .append("rect")
    .attr("class", "playhead-grip")
    .attr("x", layout.left)
    .attr("y", layout.bottom)
    .attr("width", layout.right - layout.left)
    .attr("height", layout.height - layout.bottom)
    .on("pointerdown", (event) => {
      event.currentTarget.setPointerCapture(event.pointerId);
      move(event);
    })
    .on("pointermove", (event) => event.buttons && move(event));
}

/** The wheel scrolls the page until the diagram was clicked or chosen by keyboard. */
function attachTimeZoom({ svg, diagram, layout, full, shown }, catcher, moved) {
  const corner = [
    [layout.left, 0],
    [layout.right, layout.bottom],
  ];
  const isChosen = () => document.activeElement === svg.node();
  const [, end] = full.domain();
  const zoom = d3
    .zoom()
    .scaleExtent([1, 1e6])
    .extent(corner)
    .translateExtent(corner)
    .filter((event) => !event.button && (event.type !== "wheel" || event.ctrlKey || isChosen()))
    .on("zoom", ({ transform, sourceEvent }) => {
      shown.x.domain(transform.rescaleX(full).domain());
      diagram.view.zoom = transform.k > 1.0001 ? shown.x.domain() : undefined;
      if (sourceEvent !== undefined) diagram.onView?.(diagram.view);
      moved();
    });
  catcher.call(zoom).on("dblclick.zoom", null);
  catcher.on("pointerdown.focus", () => svg.node().focus({ preventScroll: true }));
  if (diagram.view.zoom) {
    const [from, to] = diagram.view.zoom;
    const k = end / (to - from);
    const place = d3.zoomIdentity.translate(layout.left - full(from) * k, 0).scale(k);
    catcher.property("__zoom", place); // as zoom.transform, without an event
  }
  const step = (layout.right - layout.left) / 6;
  const keys = {
    "+": () => zoom.scaleBy(catcher, 1.6),
    "=": () => zoom.scaleBy(catcher, 1.6),
    "-": () => zoom.scaleBy(catcher, 1 / 1.6),
    "0": () => zoom.transform(catcher, d3.zoomIdentity),
    ArrowLeft: () => zoom.translateBy(catcher, step / d3.zoomTransform(catcher.node()).k, 0),
    ArrowRight: () => zoom.translateBy(catcher, -step / d3.zoomTransform(catcher.node()).k, 0),
  };
  return {
    onKey: (key) => {
      if (!(key in keys)) return false;
      keys[key]();
      return true;
    },
  };
}
