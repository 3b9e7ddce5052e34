// SPDX-License-Identifier: Apache-2.0
// The space-time diagram in small, pinned above the knobs where the screen is narrow.

const miniHeight = 64;

/** @param {HTMLElement} place @param {Playground} page @returns {() => void} */
function addMini(place, page) {
  const canvas = d3.select(place).select("canvas");
  const draw = () => {
    const width = place.clientWidth;
    if (width < 1) return; // on wide screens the figure itself is in sight
    const steps = page.now?.answer.steps;
    canvas.style("visibility", steps ? "visible" : "hidden");
    if (steps) paintMini(canvas, width, spaceTimePanel(page.now, page), page.view.spaceTime);
  };
  new ResizeObserver(draw).observe(place);
  return draw;
}

/** @param {any} canvas @param {number} width @param {SpaceTimePanel} panel @param {SpaceTimeView} view whose colours it has */
function paintMini(canvas, width, panel, view) {
  const rowHeight = miniHeight / Math.max(1, panel.model.rows.length);
  const state = {
    diagram: { panels: [panel], view: {} },
    layout: { places: [{ panel, top: 0, bottom: miniHeight, rowHeight }] },
    shown: { x: d3.scaleLinear([0, panel.model.end || 1e-12], [0, width]) },
    colours: [stepColours(panel.model, view)],
  };
  const painter = canvasPainter(canvas, width, miniHeight);
  paintPanel(painter, state, 0);
  painter.finish();
}
