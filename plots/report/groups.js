// SPDX-License-Identifier: Apache-2.0
// Which rows make one curve.

/**
 * @typedef {object} Group
 * @property {string} name      what its rows share and others have not; empty when it is the only one
 * @property {number} colour
 * @property {Row[]} rows       by x
 *
 * @typedef {object} Groups
 * @property {Group[]} all      what titles judge
 * @property {Group[]} shown    as many as can be told apart
 * @property {number} leftOut   how many are not drawn
 */

const mostGroups = 8;
/** Of the lines of one curve after the other. */
const groupDashes = ["1 0", "8 3", "2 3", "8 3 2 3", "14 3", "4 4", "8 3 2 3 2 3", "1 5"];

/** @param {Row[]} rows @param {(row: Row) => any} of */
function distinct(rows, of) {
  return new Set(rows.map(of)).size;
}

/**
 * Rows that differ in x alone, in what follows from x, and in what x is made from, are one curve.
 * @param {Results} results @param {(row: Row) => number} xOf
 * @param {(path: string) => boolean} makesX   whether a path of the sweep is another way to say x
 * @returns {Groups}
 */
function groupsOf(results, xOf, makesX = () => false) {
  const { rows } = results;
  const words = wordsFor(results, xOf, makesX);
  const byName = new Map();
  for (const row of rows) {
    const name = words(row);
    if (!byName.has(name)) byName.set(name, []);
    byName.get(name).push(row);
  }
  const all = [...byName].map(([name, members], i) => ({
    name,
    colour: (i % 8) + 1,
    rows: members.sort((a, b) => xOf(a) - xOf(b)),
  }));
  return { all, shown: all.slice(0, mostGroups), leftOut: Math.max(0, all.length - mostGroups) };
}

/** What a lower bound says; NCCL's are those of the protocol that a row runs under. @param {Row[]} rows */
function boundText(rows) {
  const underProtocols = rows.some(({ algorithm }) => / (LL|LL128|Simple)$/.test(algorithm));
  return `no schedule can be faster${underProtocols ? " with the same protocol" : ""}`;
}

/** As many as can be told apart: first those that the title names, then those that are fastest somewhere.
 *  @param {Groups} groups @param {string} title @param {(row: Row) => number} xOf @returns {Groups} */
function withNamedShown(groups, title, xOf) {
  const { all } = groups;
  if (all.length <= mostGroups) return groups;
  const named = all.filter(({ name }) => title.includes(name)).sort((a, b) => b.name.length - a.name.length); // "11 chunks" before "1 chunk"
  const shortest = new Map();
  for (const row of all.flatMap(({ rows }) => rows)) shortest.set(xOf(row), Math.min(row.time, shortest.get(xOf(row)) ?? Infinity));
  const best = all.filter(({ rows }) => rows.some((row) => row.time === shortest.get(xOf(row))));
  const kept = new Set([...new Set([...named, ...best, ...all])].slice(0, mostGroups));
  const shown = all.filter((one) => kept.has(one));
  shown.forEach((one, i) => (one.colour = i + 1));
  return { ...groups, shown };
}

/** Whether the first value of a row tells the second. @param {Row[]} rows */
function follows(rows, first, second) {
  return distinct(rows, (row) => `${first(row)} ${second(row)}`) === distinct(rows, first);
}

/** Positions of what varies; of what always changes together the first.
 *  @param {Results} results @param {Row[]} rows @param {(path: string) => boolean} isIgnored */
function tellingParams({ paths }, rows, isIgnored = () => false) {
  const of = (i) => (row) => row.params[i];
  const varying = d3.range(paths.length).filter((i) => !isIgnored(paths[i]) && distinct(rows, of(i)) > 1);
  return varying.filter((i) => !varying.some((j) => j < i && follows(rows, of(j), of(i)) && follows(rows, of(i), of(j))));
}

/** A value of the sweep in words: "57 chunks", "8 KiB", "ring", "rank 3 late by 1 ms".
 *  @param {Results} results @param {number} i which path @param {Row} row */
function paramWords({ paths, names }, i, row) {
  const value = row.params[i];
  const late = paths[i].match(/(?:^|\.)late\.(\d+)$/);
  if (late) return Number.parseFloat(value) === 0 ? `rank ${late[1]} on time` : `rank ${late[1]} late by ${spaced(value)}`;
  if (/^\d{5,} ?B$/.test(value)) return `${names[i] === "size" ? "" : `${names[i]} `}${bytesText(Number.parseInt(value, 10))}`;
  if (["algorithm", "op", "shape", "preset", "size", "workload"].includes(names[i])) return spaced(value);
  if (["chunks", "ranks", "nodes", "channels", "slots"].includes(names[i]) && /^\d+$/.test(value))
    return `${countText(Number(value))} ${value === "1" ? names[i].slice(0, -1) : names[i]}`;
  const name = /[Bb]\/s$/.test(value) ? names[i].replace(/ bandwidth$/, "") : names[i]; // the unit says it
  return `${name} ${spaced(value)}`;
}

/** By rows: looking at all of them once is enough. @type {WeakMap<Row[], (row: Row) => string>} */
const knownWords = new WeakMap();

/** What tells a row from the others: "ring, 8 KiB". @param {Results} results @param {Row} row */
function rowWords(results, row) {
  if (!knownWords.has(results.rows)) knownWords.set(results.rows, wordsFor(results, () => 0));
  return knownWords.get(results.rows)(row) || row.algorithm;
}

/** What tells rows from each other, but for what follows from x and for some paths of the sweep.
 *  @param {Results} results @param {(row: Row) => any} xOf @param {(path: string) => boolean} isIgnored
 *  @returns {(row: Row) => string} */
function wordsFor(results, xOf, isIgnored = () => false) {
  const { rows } = results;
  const telling = tellingParams(results, rows, isIgnored).filter((i) => !follows(rows, xOf, (row) => row.params[i]));
  return (row) => telling.map((i) => paramWords(results, i, row)).join(", ");
}

/** What is measured, or was to be; grey is what says nothing about a prediction. */
const measuredKinds = [
  { name: "measured", mark: "square", isOf: (row) => isJudged(row) },
  { name: "too noisy to judge", mark: "square", own: 8, isOf: (row) => !isJudged(row) && !isWrong(row) },
  { name: "wrong data", mark: "crossed", own: 8, isOf: (row) => isWrong(row) },
];

/**
 * The series of groups over x: formula as a line, simulation as dots, measurement as squares.
 * @param {Results} results @param {Groups} groups @param {(row: Row) => number} xOf
 * @param {{simulated: (row: Row) => number, analytic: (row: Row) => number|null,
 *          measured: (row: Row) => Partial<Point>|null, curve?: (group: Group) => Point[]|null}} of
 *   curve: the formula between the rows too
 * @returns {Series[]}
 */
function seriesOf(results, groups, xOf, of) {
  const alone = groups.shown.length === 1;
  const has = (test) => groups.shown.some((group) => group.rows.some(test));
  const several = has((row) => of.analytic(row) !== null) || has((row) => of.measured(row) !== null);
  const series = [];
  for (const group of groups.shown) {
    const point = (row, y) => ({ x: xOf(row), y, text: rowText(results, row) });
    const { colour } = group;
    const dash = alone ? undefined : groupDashes[colour - 1];
    const calculated = group.rows.filter((row) => of.analytic(row) !== null);
    const points = of.curve?.(group) ?? calculated.map((row) => point(row, of.analytic(row)));
    if (points.length) series.push({ name: "formula", colour, dash, line: "solid", points, nameless: !alone, silent: true });
    series.push({
      name: alone ? "simulated" : group.name,
      colour,
      mark: "dot",
      dash,
      line: calculated.length ? "none" : "thread",
      points: group.rows.map((row) => point(row, of.simulated(row))),
      nameless: alone && !several,
    });
    for (const { name, mark, isOf, own } of measuredKinds) {
      const rows = group.rows.filter((row) => row.measured && isOf(row) && of.measured(row) !== null);
      if (!rows.length) continue;
      series.push({
        name,
        colour: own ?? (alone ? 2 : colour),
        mark,
        open: true, // what was predicted shows through
        points: rows.map((row) => ({ ...point(row, 0), ...of.measured(row) })),
        nameless: !alone,
      });
    }
  }
  return series;
}

/** What the marks are, in words. @param {Series[]} series */
function marksText(series) {
  const words = [];
  if (series.some((one) => one.line === "solid")) words.push("line: the closed form");
  words.push("dots: simulated");
  const squares = series.filter((one) => one.mark === "square" || one.mark === "crossed");
  const [, ...unjudged] = measuredKinds.map(({ name }) => name).filter((name, i) => !i || squares.some((one) => one.name === name));
  const scatter = squares.some(({ points }) => points.some((p) => p.low < p.high));
  if (squares.length) words.push(`squares: measured${scatter ? ", with the fastest and slowest run" : ""}${unjudged.length ? ` (grey: ${unjudged.join(", or ")})` : ""}`);
  const text = words.join("; ");
  return `${text[0].toUpperCase()}${text.slice(1)}.`;
}

/** @param {Groups} groups */
function leftOutText({ leftOut }) {
  return leftOut ? ` ${countText(leftOut)} more curves are in the table only.` : "";
}

/** All y of series, with their error bars. @param {Series[]} series */
function yValues(series) {
  return series.flatMap((one) => one.points.flatMap((p) => [p.y, p.low ?? p.y, p.high ?? p.y]));
}

/** Where measurements are to be expected: two bands, of 95% and of half of the published rows of such machines.
 *  @param {Row[]} rows   of one curve @param {(row: Row) => number} xOf
 *  @param {(row: Row, error: number) => number} at   where a row with such an error would be drawn
 *  @returns {{points: [number, number][], colour: number}[]} */
function classBands(rows, xOf, at) {
  const known = rows.filter((row) => row.errorClass).sort((a, b) => xOf(a) - xOf(b));
  if (known.length < 2) return [];
  const edge = (which, sign) => known.map((row) => /** @type {[number, number]} */ ([xOf(row), at(row, sign * Math.min(row.errorClass[which], 0.999))]));
  return ["most", "half"].map((which) => ({ points: [...edge(which, 1), ...edge(which, -1).reverse()], colour: 1 }));
}

/** What these bands are. @param {Row[]} rows */
function classBandsText(rows) {
  const machines = [...new Set(rows.filter((row) => row.errorClass).map((row) => row.errorClass.machines))];
  return `Bands: how far half, and 95%, of the published measurements of ${machines.join(", ")} were from their predictions.`;
}
const timesOfRow = {
  simulated: (row) => row.time,
  analytic: (row) => row.analytic,
  measured: ({ measured }) => measured && { y: measured.time, low: measured.low, high: measured.high },
};
