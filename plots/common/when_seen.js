// SPDX-License-Identifier: Apache-2.0
// Draws only what is on the screen: what is not there waits until it is scrolled into view or
// printed.

/** So far beyond the edge of the screen is as good as on it: scrolling finds the drawing made. */
const nearScreen = 160;

/**
 * @param {HTMLElement} place
 * @param {() => void} draw
 * @returns {() => void}   what asks for a new drawing; `data-waiting` marks a place whose drawing is old
 */
function whenSeen(place, draw) {
  const isSeen = () => {
    const { top, bottom } = place.getBoundingClientRect();
    return bottom > -nearScreen && top < innerHeight + nearScreen;
  };
  let seen = null; // not known yet
  const drawNow = () => {
    delete place.dataset.waiting;
    draw();
  };
  const drawIfWaiting = () => {
    if ("waiting" in place.dataset) drawNow();
  };
  new IntersectionObserver(
    (entries) => {
      seen = entries.at(-1).isIntersecting;
      if (seen) drawIfWaiting();
    },
    { rootMargin: `${nearScreen}px 0px` },
  ).observe(place);
  addEventListener("beforeprint", drawIfWaiting);
  return () => {
    if (seen ?? isSeen()) drawNow();
    else place.dataset.waiting = "";
  };
}
