// SPDX-License-Identifier: Apache-2.0
// One colour for one piece of the data, the same in every view.

/** Asking the browser costs a new layout each time, and only these two media change the answer. */
const themeMedia = ["(prefers-color-scheme: dark)", "print"].map((query) => matchMedia(query));
const themeCache = new Map();

/** @param {string} name @returns {string} the value of a colour of theme.css, as the page shows it now */
function themeColour(name) {
  const key = `${name} ${themeMedia.map((media) => media.matches)}`;
  if (!themeCache.has(key))
    themeCache.set(key, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  return themeCache.get(key);
}

/** Few pieces get colours that differ as much as can be; many get a ramp, so that neighbours in the
 *  data look alike. @param {number} pieces @returns {(piece: number) => string} */
function pieceColours(pieces) {
  const few = d3.range(1, 9).map((i) => themeColour(`--c${i}`));
  if (pieces <= few.length) return (piece) => few[piece];
  const ramp = [1, 6, 3, 7, 5, 2, 4].map((i) => themeColour(`--c${i}`));
  const steps = Math.min(pieces, 256);
  const colours = d3.range(steps).map((i) => {
    const place = (i / (steps - 1)) * (ramp.length - 1);
    const stop = Math.min(Math.floor(place), ramp.length - 2);
    return d3.rgb(d3.interpolateRgb(ramp[stop], ramp[stop + 1])(place - stop)).formatHex();
  });
  return (piece) => colours[Math.floor((piece * steps) / pieces)];
}

/** The class of text that can be read on a colour: black or white, whichever differs more. @param {string} colour */
function inkOn(colour) {
  const { r, g, b } = d3.rgb(colour);
  const linear = [r, g, b].map((part) => (part <= 10.31475 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  const luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  return (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) ? "on-light" : "on-dark";
}
