// SPDX-License-Identifier: Apache-2.0
// Colours of data: seen on their paper, told apart without seeing red or green, and readable where a
// name stands on them.  Needs no browser.
// usage: node --test colours.test.mjs
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const read = (path) => readFileSync(new URL(`../../plots/${path}`, import.meta.url), "utf8");
const css = read("common/theme.css");
const at = { light: css.indexOf(":root"), dark: css.indexOf("prefers-color-scheme: dark"), print: css.indexOf("@media print") };
const themes = Object.fromEntries(
  Object.entries(at).map(([name, start]) => {
    const part = css.slice(start);
    const value = (key) => new RegExp(`--${key}: (#[0-9a-f]{6})`).exec(part)[1];
    return [name, { paper: value("paper"), ink: value("ink"), colours: [1, 2, 3, 4, 5, 6, 7, 8].map((i) => value(`c${i}`)) }];
  }),
);

const parts = (colour) => [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16) / 255);
const linear = (colour) => parts(colour).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
const times = (matrix, v) => matrix.map((row) => row[0] * v[0] + row[1] * v[1] + row[2] * v[2]);
const luminance = (colour) => times([[0.2126, 0.7152, 0.0722]], linear(colour))[0];
function contrast(a, b) {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

/** Machado, Oliveira, Fernandes 2009, severity 1. */
const blindness = {
  none: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
};
const toXyz = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]];
function lab(colour, kind) {
  const seen = times(blindness[kind], linear(colour)).map((v) => Math.min(1, Math.max(0, v)));
  const white = [0.95047, 1, 1.08883];
  const [x, y, z] = times(toXyz, seen).map((v, i) => (v / white[i] > 0.008856 ? Math.cbrt(v / white[i]) : (7.787 * v) / white[i] + 16 / 116));
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}
const distance = (a, b, kind) => Math.hypot(...lab(a, kind).map((v, i) => v - lab(b, kind)[i]));

for (const [name, { paper, ink, colours }] of Object.entries(themes)) {
  test(`${name}: any two colours are 15 apart, with and without deuteranopia`, () => {
    for (const kind of Object.keys(blindness))
      colours.forEach((a, i) =>
        colours.slice(0, i).forEach((b, j) => {
          const apart = distance(a, b, kind);
          assert.ok(apart >= 15, `c${i + 1} and c${j + 1}, ${kind}: ${apart.toFixed(1)}`);
        }),
      );
  });

  test(`${name}: marks have a contrast of 3 to the paper, and names one of 4.5`, () => {
    const share = Number(/color-mix\(in srgb, var\(--colour\) (\d+)%, var\(--ink\)\)/.exec(read("common/figure.css"))[1]) / 100;
    for (const colour of colours) {
      assert.ok(contrast(colour, paper) >= 3, `${colour} on ${paper}: ${contrast(colour, paper).toFixed(2)}`);
      const mixed = parts(colour).map((v, i) => Math.round(255 * (v * share + parts(ink)[i] * (1 - share))));
      const text = `#${mixed.map((v) => v.toString(16).padStart(2, "0")).join("")}`;
      assert.ok(contrast(text, paper) >= 4.5, `the name in ${text}: ${contrast(text, paper).toFixed(2)}`);
    }
  });
}

test("what stands on a bar has a contrast of 4.5, whatever the bar's colour", () => {
  const d3 = { rgb: (colour) => Object.fromEntries(parts(colour).map((v, i) => ["rgb"[i], v * 255])) };
  const { inkOn } = new Function("d3", "matchMedia", `${read("common/piece_colours.js")}; return { inkOn };`)(d3, () => ({}));
  const steps = [0, 36, 73, 109, 146, 182, 219, 255].map((v) => v.toString(16).padStart(2, "0"));
  for (const r of steps)
    for (const g of steps)
      for (const b of steps) {
        const colour = `#${r}${g}${b}`;
        const ink = inkOn(colour) === "on-light" ? "#000000" : "#ffffff";
        assert.ok(contrast(colour, ink) >= 4.5, `${ink} on ${colour}: ${contrast(colour, ink).toFixed(2)}`);
      }
});
