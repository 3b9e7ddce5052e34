// SPDX-License-Identifier: Apache-2.0
// Scales and their ticks: few, at round numbers of the quantity, and no two labels in one place.

/**
 * @typedef {object} Quantity      what an axis shows
 * @property {string} name         "time", "chunks"
 * @property {(value: number) => string} text
 * @property {number} [base]       powers of what are round numbers: 2 for sizes, 10 otherwise
 * @property {boolean} [whole]     there is nothing between whole numbers
 *
 * @typedef {object} Axis
 * @property {Quantity} quantity
 * @property {"log"|"linear"} scale
 * @property {[number, number]} domain
 */

/** @type {Record<string, Quantity>} */
const quantities = {
  time: { name: "time", text: timeText },
  size: { name: "size", text: bytesText, base: 2 },
  rate: { name: "bandwidth", text: rateText },
  chunks: { name: "chunks", text: countText, base: 2, whole: true },
  ranks: { name: "ranks", text: countText, base: 2, whole: true },
  fraction: { name: "fraction", text: percentText },
  number: { name: "value", text: countText },
};

/** @param {Axis} axis @param {[number, number]} range */
function scaleOf(axis, range) {
  const scale = axis.scale === "log" ? d3.scaleLog().base(axis.quantity.base ?? 10) : d3.scaleLinear();
  return scale.domain(axis.domain).range(range);
}

/** Whether an axis has a place for a value. @param {number} value @param {"log"|"linear"} scale */
function isDrawable(value, scale) {
  return Math.abs(value) < beyondAll && (scale === "linear" || value > 1 / beyondAll);
}

/** From the smallest to the largest, with some air; of a log axis only what is above zero counts.
 *  @param {number[]} values @param {"log"|"linear"} scale @returns {[number, number]} */
function domainOf(values, scale) {
  const usable = values.filter((value) => isDrawable(value, scale));
  if (!usable.length) return scale === "log" ? [1, 10] : [0, 1];
  const low = d3.min(usable);
  const high = d3.max(usable);
  if (scale === "log") {
    const air = Math.max((high / low) ** 0.05, 1.05);
    return [low / air, high * air];
  }
  const air = (high - low) * 0.05 || Math.abs(high) * 0.1 || 1;
  return [low >= 0 && low - air < 0 ? 0 : low - air, high + air];
}

/** Ticks of a scale. @param {any} scale @param {Axis} axis @param {number} most */
function ticksOf(scale, axis, most) {
  const [low, high] = scale.domain();
  const base = axis.quantity.base ?? 10;
  const powers = axis.scale === "log" ? Math.log(high / low) / Math.log(base) : 0;
  const wholes = (values) => (axis.quantity.whole ? values.filter(Number.isInteger) : values);
  if (axis.scale === "log" && base === 2 && powers >= 2.5) return powersWithin(low, high, base, most);
  if (axis.scale === "log" && base === 10 && powers >= 0.9) return decimalTicks(low, high, most);
  return wholes(d3.ticks(low, high, Math.max(2, Math.min(most, 8))));
}

/** Powers of the base, each or each second, third, ... so that they are few. */
function powersWithin(low, high, base, most) {
  const first = Math.ceil(Math.log(low) / Math.log(base) - 1e-9);
  const last = Math.floor(Math.log(high) / Math.log(base) + 1e-9);
  const step = Math.max(1, Math.ceil((last - first + 1) / most));
  const powers = d3.range(first, last + 1).filter((power) => power % step === 0);
  return powers.map((power) => base ** power);
}

/** 1, 2, 5, 10, ... where there is room, else 1, 10, 100. */
function decimalTicks(low, high, most) {
  for (const leading of [[1, 2, 3, 5, 7], [1, 2, 5], [1, 3]]) {
    const values = d3
      .range(Math.floor(Math.log10(low)), Math.ceil(Math.log10(high)) + 1)
      .flatMap((power) => leading.map((digit) => Number(`${digit}e${power}`)))
      .filter((value) => value >= low && value <= high);
    if (values.length <= most) return values;
  }
  return powersWithin(low, high, 10, most);
}

/** How many labels of some width fit. @param {number} length in pixels @param {number} each */
function labelsThatFit(length, each) {
  return Math.max(2, Math.floor(length / each));
}

/** Draws an axis with its grid. `side` is "bottom" or "left".
 *  @param {any} group @param {any} scale @param {Axis} axis @param {"bottom"|"left"} side @param {number} across */
function drawAxis(group, scale, axis, side, across) {
  const [from, to] = scale.range();
  const most = labelsThatFit(Math.abs(to - from), side === "bottom" ? 72 : 36);
  const ticks = ticksOf(scale, axis, most);
  const make = side === "bottom" ? d3.axisBottom : d3.axisLeft;
  group.call(make(scale).tickValues(ticks).tickFormat(axis.quantity.text).tickSizeOuter(0).tickPadding(6).offset(0));
  group.attr("class", `axis axis-${side}`).attr("font-size", null).attr("font-family", null);
  group
    .selectAll(".tick")
    .insert("line", ":first-child")
    .attr("class", "grid-line")
    .attr(side === "bottom" ? "y2" : "x2", side === "bottom" ? -across : across);
}
