// SPDX-License-Identifier: Apache-2.0
// Readable numbers, as the command line writes them.  In a sentence, by the rules of
// topo/units.cpp: four digits without zeros that say nothing, sizes in powers of 1024, times and
// rates in powers of 1000.  In a column, by those of app/output/column_units.cpp: one unit, as many
// decimals.

/** @typedef {{size: number, name: string}} Unit */

/** @type {Unit[]} */
const byteUnits = [
  { size: 1, name: "B" },
  { size: 2 ** 10, name: "KiB" },
  { size: 2 ** 20, name: "MiB" },
  { size: 2 ** 30, name: "GiB" },
  { size: 2 ** 40, name: "TiB" },
];

/** @type {Unit[]} */
const timeUnits = [
  { size: 1e-12, name: "ps" },
  { size: 1e-9, name: "ns" },
  { size: 1e-6, name: "us" },
  { size: 1e-3, name: "ms" },
  { size: 1, name: "s" },
];

/** As makers of GPUs count. @type {Unit[]} */
const memoryUnits = [
  { size: 1, name: "B" },
  { size: 1e3, name: "kB" },
  { size: 1e6, name: "MB" },
  { size: 1e9, name: "GB" },
  { size: 1e12, name: "TB" },
];

/** @type {Unit[]} */
const rateUnits = [
  { size: 1, name: "B/s" },
  { size: 1e3, name: "kB/s" },
  { size: 1e6, name: "MB/s" },
  { size: 1e9, name: "GB/s" },
  { size: 1e12, name: "TB/s" },
];

/** No measured or simulated value is larger; such values are not drawn. */
const beyondAll = 1e100;

/** Four significant digits, without zeros that say nothing: as %.4g. @param {number} value */
function digits(value) {
  if (Math.abs(value) >= 1e15) return value.toExponential(3);
  if (Math.abs(value) >= 9999.5) return value.toFixed(0);
  return String(Number(value.toPrecision(4)));
}

/** The largest unit of which there is a whole one. @param {number} value @param {Unit[]} units */
function unitOf(value, units) {
  const almostOne = 1 - 1e-9; // what seconds as a binary fraction lose of a whole picosecond
  let chosen = units[0];
  for (const unit of units) if (Math.abs(value) >= unit.size * almostOne) chosen = unit;
  return chosen;
}

/** @param {number} value @param {Unit[]} units */
function inLargestUnit(value, units) {
  const unit = unitOf(value, units);
  return `${digits(value / unit.size)} ${unit.name}`;
}

/** Numbers of a column in one unit, that of the middle of their span (or of the largest), each with as many
 *  decimals as give the smallest four digits, at most three; null is "-".  Beyond four decades each has a
 *  unit of its own. @param {(number|null)[]} values @param {Unit[]} units @param {"middle"|"largest"} common */
function columnTexts(values, units, common) {
  const above = values.filter((value) => value > 0);
  const [low, high] = [d3.min(above) ?? 0, d3.max(above) ?? 0];
  const decimalsFor = (number) => (number > 0 ? Math.min(3, Math.max(0, 3 - Math.floor(Math.log10(number)))) : 0);
  const text = (value, unit, decimals) => `${(value / unit.size).toFixed(decimals)} ${unit.name}`;
  const unit = unitOf(common === "largest" ? high : Math.sqrt(low) * Math.sqrt(high), units);
  const decimals = decimalsFor(low / unit.size);
  const own = (value) => text(value, unitOf(value, units), decimalsFor(value / unitOf(value, units).size));
  return values.map((value) => (value === null ? "-" : high <= 1e4 * low ? text(value, unit, decimals) : own(value)));
}

/** "64 MiB" @param {number} bytes */
function bytesText(bytes) {
  return inLargestUnit(bytes, byteUnits);
}

/** "42.41 GB" @param {number} bytes */
function memoryText(bytes) {
  return inLargestUnit(bytes, memoryUnits);
}

/** "3.282 ms"; zero is "0 s". @param {number} seconds */
function timeText(seconds) {
  return seconds === 0 ? "0 s" : inLargestUnit(seconds, timeUnits);
}

/** "25 GB/s" @param {number} bytesPerSecond */
function rateText(bytesPerSecond) {
  return inLargestUnit(bytesPerSecond, rateUnits);
}

/** "-1.2%"; of what is not zero never "0.0%". @param {number} fraction */
function percentText(fraction) {
  const percent = fraction * 100;
  if (percent !== 0 && Math.abs(percent) < 0.05) return "under 0.1%";
  if (Math.abs(percent) >= 1e15) return `${digits(percent)}%`;
  if (percent > 99.5 && percent < 100 - 1e-7) return `${(Math.floor(percent * 10) / 10).toFixed(1)}%`; // not all of it
  const decimals = Math.abs(percent) < 9.95 ? 1 : 0;
  return `${percent.toFixed(decimals)}%`;
}

/** 4096 as "4,096"; fractions get four digits. @param {number} value */
function countText(value) {
  return Number.isInteger(value) ? withCommas(String(value)) : digits(value);
}

/** "4096" as "4,096"; what is behind a point stays. @param {string} number */
function withCommas(number) {
  return number.replace(/\B(?<!\..*)(?=(\d{3})+(?!\d))/g, ",");
}

/** "5.7", "12", "1.03": how many times more. @param {number} ratio */
function timesText(ratio) {
  if (!Number.isFinite(ratio)) return "countless";
  if (Number.isInteger(ratio)) return countText(ratio);
  return ratio < 1.1 ? ratio.toFixed(2) : ratio < 9.95 ? ratio.toFixed(1) : countText(Math.round(ratio));
}
