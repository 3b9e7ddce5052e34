// SPDX-License-Identifier: Apache-2.0
// Interaction with a chart: point at marks, zoom with the wheel, and both by keyboard.

/** A pointer farther away than this selects nothing.  In pixels. */
const reach = 48;
const chartHint = "Point at a mark or use the arrow keys; after a click, + - or the wheel zooms and no longer scrolls the page, until Escape; 0 shows all";

/**
 * @param {HTMLElement} host @param {any} svg @param {XyChart} chart
 * @param {{full: any, shown: any, layout: any, paint: () => void}} view
 */
function attachPointing(host, svg, chart, view) {
  const tooltip = addTooltip(host);
  const pointed = svg.append("path").attr("class", "pointed").attr("visibility", "hidden");
  const lists = chart.series.filter((one) => !one.silent && one.points.length);
  const state = { list: -1, point: -1 };

  const show = (list, point) => {
    state.list = list;
    state.point = point;
    const series = lists[list];
    const p = series?.points[point];
    if (!p) {
      pointed.attr("visibility", "hidden");
      return tooltip.hide();
    }
    const [x, y] = [view.shown.x(p.x), view.shown.y(p.y)];
    pointed.attr("visibility", "visible").attr("d", d3.symbol(d3.symbolCircle, 190)()).attr("transform", `translate(${x},${y})`);
    tooltip.show(p.text ?? pointText(chart, series, p), x, y);
  };
  const catcher = addCatcher(svg, view.layout)
    .on("pointermove.point", (event) => show(...nearest(lists, view, d3.pointer(event))))
    .on("pointerleave.point", () => show(-1, -1));
  const zoom = attachZoom(svg, catcher, view, Math.min(mostZoom(chart.x), mostZoom(chart.y)), () => show(-1, -1));
  svg.on("keydown", (event) => {
    if (onKey(event, { svg, lists, view, state, show, zoom })) event.preventDefault();
  });
  svg.on("blur", () => show(-1, -1));
}

function addCatcher(svg, layout) {
  return svg
    .append("rect")
    .attr("class", "catcher")
    .attr("x", layout.left)
    .attr("y", layout.top)
    .attr("width", layout.right - layout.left)
    .attr("height", layout.bottom - layout.top);
}

function pointText(chart, series, p) {
  return `${series.name}\n${chart.x.quantity.text(p.x)} ${chart.x.quantity.name}: ${chart.y.quantity.text(p.y)}`;
}

/** A box of words that keeps inside the host. @param {HTMLElement} host */
function addTooltip(host) {
  const box = element("div", "tooltip screen-only");
  box.setAttribute("role", "status");
  box.hidden = true;
  host.append(box);
  return {
    hide: () => {
      box.hidden = true;
    },
    /** @param {string} text @param {number} x @param {number} y in pixels of the host */
    show: (text, x, y) => {
      box.hidden = false;
      box.textContent = text;
      const left = x + 14 + box.offsetWidth > host.clientWidth ? x - 14 - box.offsetWidth : x + 14;
      const top = y + 14 + box.offsetHeight > host.clientHeight ? y - 14 - box.offsetHeight : y + 14;
      box.style.setProperty("transform", `translate(${Math.max(0, left)}px,${Math.max(0, top)}px)`);
    },
  };
}

/** [series, point] within reach, or [-1, -1]. */
function nearest(lists, view, [x, y]) {
  let best = [-1, -1];
  let least = reach ** 2;
  lists.forEach((series, i) =>
    series.points.forEach((p, j) => {
      const away = (view.shown.x(p.x) - x) ** 2 + (view.shown.y(p.y) - y) ** 2;
      if (away < least) [best, least] = [[i, j], away];
    }),
  );
  return best;
}

/** The wheel scrolls the page until the chart was clicked or chosen by keyboard. */
function attachZoom(svg, catcher, view, most, moved) {
  const { layout, full, shown } = view;
  const corner = [
    [layout.left, layout.top],
    [layout.right, layout.bottom],
  ];
  const isChosen = () => document.activeElement === svg.node();
  const zoom = d3
    .zoom()
    .scaleExtent([1, Math.max(1, most)])
    .extent(corner)
    .translateExtent(corner)
    .filter((event) => !event.button && (event.type !== "wheel" || event.ctrlKey || isChosen()))
    .on("zoom", ({ transform }) => {
      shown.x = transform.rescaleX(full.x);
      shown.y = transform.rescaleY(full.y);
      moved();
      view.paint();
    });
  catcher.call(zoom).on("dblclick.zoom", null);
  catcher.on("pointerdown.focus", () => svg.node().focus({ preventScroll: true }));
  return {
    by: (factor) => catcher.call(zoom.scaleBy, factor),
    reset: () => catcher.call(zoom.transform, d3.zoomIdentity),
  };
}

/** The mark above or below another, of the next curve that has one there; marks in one place one after the
 *  other. Nothing at the end. @param {number} way 1: down @returns {[number, number]|undefined} */
function markBeyond(lists, { shown }, { list, point }, way) {
  const from = lists[list].points[point];
  const column = lists.map(({ points }, i) => {
    const away = (j) => Math.abs(shown.x(points[j].x) - shown.x(from.x));
    const j = i === list ? point : d3.range(points.length).reduce((a, b) => (away(b) < away(a) ? b : a));
    return { i, j, y: shown.y(points[j].y) };
  });
  column.sort((a, b) => a.y - b.y || a.i - b.i);
  const next = column[column.findIndex(({ i }) => i === list) + way];
  return next && [next.i, next.j];
}

/** True when the key meant something. */
function onKey(event, { svg, lists, view, state, show, zoom }) {
  const steps = { ArrowRight: 1, ArrowLeft: -1 };
  const ways = { ArrowUp: -1, ArrowDown: 1 };
  if (event.altKey || event.ctrlKey || event.metaKey || !lists.length) return false;
  if (state.list < 0 && (event.key in steps || event.key in ways)) show(0, 0);
  else if (event.key in steps) {
    const count = lists[state.list].points.length;
    show(state.list, Math.min(count - 1, Math.max(0, state.point + steps[event.key])));
  } else if (event.key in ways) {
    const next = markBeyond(lists, view, state, ways[event.key]);
    if (next) show(...next);
  } else if (event.key === "+" || event.key === "=") zoom.by(1.6);
  else if (event.key === "-") zoom.by(1 / 1.6);
  else if (event.key === "0") zoom.reset();
  else if (event.key === "Escape") {
    show(-1, -1);
    svg.node().blur(); // the wheel scrolls the page again
  }
  else return false;
  return true;
}
