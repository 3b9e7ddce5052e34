// SPDX-License-Identifier: Apache-2.0
// One moment of a run, which several figures show and any of them can move.

/**
 * @typedef {object} Playhead
 * @property {() => number} place                                   0: the start of the run, 1: its end
 * @property {(place: number) => void} move
 * @property {(name: string, show: (place: number) => void) => void} follow   one of a name: a figure drawn anew
 *                                                                            takes the place of its old drawing
 */

/** @returns {Playhead} */
function makePlayhead() {
  let at = 0;
  const shows = new Map();
  return {
    place: () => at,
    move: (place) => {
      at = Math.min(1, Math.max(0, place));
      for (const show of shows.values()) show(at);
    },
    follow: (name, show) => shows.set(name, show),
  };
}
