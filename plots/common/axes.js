// SPDX-License-Identifier: Apache-2.0
// Scales and their ticks: few, at round numbers of the quantity, and no two labels in one place.

/**
 * @typedef {object} Quantity      what an axis shows
 * @property {string} name         "time", "chunks"
 * @property {(value: number) => string} text
 * @property {Unit[]} [units]      what it is counted in
 * @property {number} [base]       powers of what are round numbers: 2 for sizes, 10 otherwise
 * @property {boolean} [whole]     there is nothing between whole numbers
 *
 * @typedef {object} Axis
 * @property {Quantity} quantity
 * @property {"log"|"linear"} scale
 * @property {[number, number]} domain
 * @property {number[]} [marked]   values of which as many as can be have a tick
 */

/** @type {Record<string, Quantity>} */
const quantities = {
  time: { name: "time", text: timeText, units: timeUnits },
  size: { name: "size", text: bytesText, units: byteUnits, base: 2 },
  memory: { name: "memory", text: memoryText, units: memoryUnits },
  rate: { name: "bandwidth", text: rateText, units: rateUnits },
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
  if (axis.scale === "log" && base === 2 && powers >= 2.5) return powersWithin(low, high, base, most, axis.marked);
  if (axis.scale === "log" && base === 10 && powers >= 0.9) return decimalTicks(low, high, most);
  const count = Math.max(2, Math.min(most, 8));
  if (base === 2 && !axis.quantity.whole) return binaryTicks(low, high, count);
  return wholes(d3.ticks(low, high, count));
}

/** Multiples of a power of two: 448 KiB, 512 KiB, 576 KiB. */
function binaryTicks(low, high, most) {
  const step = 2 ** Math.ceil(Math.log2((high - low) / most));
  return d3.range(Math.ceil(low / step), Math.floor(high / step) + 1).map((i) => i * step);
}

/** What ticks are called: evenly spaced ones in one unit, with as many decimals as all of them need.
 *  @param {number[]} ticks @param {Quantity} quantity */
function tickTexts(ticks, { text, units }) {
  const steps = ticks.slice(1).map((tick, i) => tick - ticks[i]);
  const even = steps.length > 1 ? d3.max(steps) < d3.min(steps) * (1 + 1e-6) : ticks[1] < 2 * ticks[0]; // else powers
  if (!units || !even) return ticks.map(text);
  const most = unitOf(d3.max(ticks.map(Math.abs)), units);
  // Of powers of 1024, fractions are no round numbers.
  const unit = units === byteUnits ? unitOf(Math.min(most.size, steps[0]), units) : most;
  const decimals = decimalsOf(ticks.map((tick) => tick / unit.size));
  return ticks.map((tick) => (tick === 0 ? text(0) : `${withCommas((tick / unit.size).toFixed(decimals))} ${unit.name}`));
}

/** How many decimals all of some numbers need. @param {number[]} values */
function decimalsOf(values) {
  const isExact = (decimals) => values.every((value) => Math.abs(Number(value.toFixed(decimals)) - value) < 1e-12 * Math.abs(value) + 1e-15);
  return d3.range(0, 10).find(isExact) ?? 9;
}

/** How far an axis may be zoomed: its ticks are told apart with four digits, those of fractions as whole percents,
 *  and of whole numbers there are some. @param {Axis} axis */
function mostZoom({ scale, domain: [low, high], quantity: { units, whole } }) {
  if (scale === "linear") return units ? 50 : Math.max(4, (high - low) / 0.08);
  return Math.max(1, Math.log(high / low) / Math.log(whole ? 1.1 : 1.03));
}

/** Powers of the base, each or each second, third, ... so that they are few, and that most of the marked values are
 *  among them. */
function powersWithin(low, high, base, most, marked = []) {
  const first = Math.ceil(Math.log(low) / Math.log(base) - 1e-9);
  const last = Math.floor(Math.log(high) / Math.log(base) + 1e-9);
  const leastStep = Math.max(1, Math.ceil((last - first + 1) / most));
  const wanted = new Set(marked.map((value) => Number((Math.log(value) / Math.log(base)).toFixed(9))));
  let best = { hits: -1, powers: [] };
  for (let step = leastStep; step <= Math.max(leastStep, (last - first) / 2); ++step)
    for (let start = 0; start < step; ++start) {
      const powers = d3.range(first, last + 1).filter((power) => (power - start) % step === 0);
      const hits = powers.filter((power) => wanted.has(power)).length;
      if (hits > best.hits) best = { hits, powers };
    }
  return best.powers.map((power) => base ** power);
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
  const texts = tickTexts(ticks, axis.quantity);
  group.call(make(scale).tickValues(ticks).tickFormat((_, i) => texts[i]).tickSizeOuter(0).tickPadding(6).offset(0));
  group.attr("class", `axis axis-${side}`).attr("font-size", null).attr("font-family", null);
  group
    .selectAll(".tick")
    .insert("line", ":first-child")
    .attr("class", "grid-line")
    .attr(side === "bottom" ? "y2" : "x2", side === "bottom" ? -across : across);
  if (side === "bottom") keepLabelsInside(group, scale, ticks, texts);
}

/** Right of an axis there is at least so much room. In pixels. */
const airRight = 8;

/** Moves labels at the ends of an axis inwards where they would stick out. */
function keepLabelsInside(group, scale, ticks, texts) {
  const [, to] = scale.range();
  group.selectAll(".tick text").each(function (_, i) {
    const out = scale(ticks[i]) + textWidth(texts[i]) / 2 - (to + airRight);
    const outLeft = textWidth(texts[i]) / 2 - scale(ticks[i]);
    if (out > 0) d3.select(this).attr("x", -out);
    else if (outLeft > 0) d3.select(this).attr("x", outLeft);
  });
}
