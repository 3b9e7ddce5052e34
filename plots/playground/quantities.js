// SPDX-License-Identifier: Apache-2.0
// Quantities as scenario files write them: "64MiB", "5us", "25GB/s".  What is written here is read
// back exactly, here and by the command line.

const sizeSuffixes = {
  B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40,
};
const timeSuffixes = { ps: 1, ns: 1e3, us: 1e6, ms: 1e9, s: 1e12 };
const bitSuffixes = { b: 1 / 8, kb: 1e3 / 8, Mb: 1e6 / 8, Gb: 1e9 / 8, Tb: 1e12 / 8 };

/** @param {string} text @param {Record<string, number>} suffixes @param {string} example
 *  @returns {number} throws an Error that says what is wrong */
function parseQuantity(text, suffixes, example) {
  const match = /^\s*(\d+(?:\.\d+)?)\s*([A-Za-zµ/]*)\s*$/.exec(text);
  const suffix = match?.[2].replace("µ", "u") ?? "";
  if (match && Number(match[1]) === 0) return 0;
  if (!match || !Object.hasOwn(suffixes, suffix))
    throw new Error(`"${shortened(text, 60)}" is not valid: write it like ${example}${likeSuffixes(match?.[1], suffix, suffixes)}, with one of ${Object.keys(suffixes).join(", ")}`);
  return Math.round(Number(match[1]) * suffixes[suffix]);
}

/** ' (did you mean 64MB, 64MiB?)' for 64M. */
function likeSuffixes(number, suffix, suffixes) {
  if (!number || !suffix) return "";
  const near = Object.keys(suffixes).filter((known) => known.toLowerCase().startsWith(suffix.toLowerCase()));
  return near.length ? ` (did you mean ${near.slice(0, 3).map((known) => number + known).join(", ")}?)` : "";
}

/** Bytes. @param {string} text */
function parseSize(text) {
  return parseQuantity(text, sizeSuffixes, "64MiB");
}

/** Picoseconds. @param {string} text */
function parseTime(text) {
  return parseQuantity(text, timeSuffixes, "5us");
}

/** Bytes per second. @param {string} text */
function parseRate(text) {
  const suffixes = {};
  for (const [name, factor] of Object.entries(sizeSuffixes)) suffixes[`${name}/s`] = factor;
  for (const [name, factor] of Object.entries(bitSuffixes)) suffixes[`${name}/s`] = suffixes[`${name}ps`] = factor;
  return parseQuantity(text, suffixes, "25GB/s");
}

/** In the largest unit in which the number has at most three decimals, so that nothing is lost. */
function exactQuantity(value, units) {
  let best = units[0];
  for (const unit of units) {
    const thousandths = (value / unit[1]) * 1000;
    if (value >= unit[1] && Number.isInteger(thousandths)) best = unit;
  }
  return `${value / best[1]}${best[0]}`;
}

/** In the chosen unit, if three decimals are exact in it; else in the largest unit in which they
/** are.
 *  @param {number} bytes @param {string} [unit] */
function sizeWord(bytes, unit = "") {
  const shown = Number((bytes / sizeSuffixes[unit]).toFixed(3));
  if (unit && bytes && Math.round(shown * sizeSuffixes[unit]) === bytes) return `${shown}${unit}`;
  return exactQuantity(bytes, [["B", 1], ["KiB", 2 ** 10], ["MiB", 2 ** 20], ["GiB", 2 ** 30]]);
}

/** The unit in which a size is written, where it says more than the number does. @param {string} text of a size */
function sizeUnitIn(text) {
  const unit = /[A-Za-z]*\s*$/.exec(text)[0].trim();
  return unit === "B" ? "" : unit;
}

/** @param {number} ps scenario files know no picoseconds */
function timeWord(ps) {
  return ps === 0 ? "0ns" : exactQuantity(ps, [["ns", 1e3], ["us", 1e6], ["ms", 1e9], ["s", 1e12]]);
}

/** @param {number} bytesPerSecond */
function rateWord(bytesPerSecond) {
  return exactQuantity(bytesPerSecond, [["B/s", 1], ["kB/s", 1e3], ["MB/s", 1e6], ["GB/s", 1e9]]);
}
