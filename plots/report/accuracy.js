// SPDX-License-Identifier: Apache-2.0
// How far predictions are from measurements.

/** @param {Row} row */
function isJudged({ measured }) {
  return measured !== null && measured.error !== null && !measured.noisy && measured.data !== "wrong";
}

/** @param {Row} row */
function isWrong({ measured }) {
  return measured.data === "wrong";
}

/** @param {HTMLElement} parent @param {Results} results */
function addAccuracy(parent, results) {
  const rows = results.rows.filter((row) => row.measured && row.measured.time > 0 && row.time > 0);
  if (!rows.length) return;
  const judged = rows.filter(isJudged);
  const others = rows.filter((row) => !isJudged(row));
  addFigure(parent, {
    id: `${results.id}accuracy`,
    title: accuracyTitle(judged, others),
    text: `${accuracyText(judged, others)} On the diagonal both are equal; the bands are errors of up to 10% and 25%.`,
    hint: chartHint,
    draw: (host, width) => drawAccuracy(host, width, results, judged, others),
    table: { columns: rowColumns(results), rows },
  });
  addErrors(parent, results, judged);
}

/** Sizes of errors, smallest first. @param {Row[]} judged */
function errorSizes(judged) {
  return judged.map((row) => Math.abs(row.measured.error)).sort((a, b) => a - b);
}

/** Fewer rows than this are no statistics. */
const leastForPercentiles = 20;

/** Half of fewer is no news. */
const leastForHalves = 8;

/** "Half of 12 predictions are within 1.4% of the measurement; 4 more rows could not be judged"
 *  @param {Row[]} judged @param {Row[]} others */
function accuracyTitle(judged, others) {
  if (!judged.length) return "No measurement can be compared with its prediction";
  const left = others.length ? `; ${countText(others.length)} more row${others.length === 1 ? "" : "s"} could not be judged` : "";
  const all = judged.length < leastForHalves;
  const error = all ? d3.max(errorSizes(judged)) : d3.median(errorSizes(judged));
  if (judged.length === 1) return `The prediction is ${percentText(error)} off the measurement${left}`;
  return `${all ? "All" : "Half of"} ${countText(judged.length)} predictions are within ${percentText(Math.max(error, 0.001))} of the measurement${left}`;
}

/** The sentence with median, p95 and what did not count. @param {Row[]} judged @param {Row[]} others */
function accuracyText(judged, others) {
  const sentences = [];
  if (judged.length) {
    const sizes = errorSizes(judged);
    const count = `${countText(judged.length)} row${judged.length === 1 ? "" : "s"}`;
    const most = judged.length < leastForPercentiles ? "" : `95th percentile ${percentText(d3.quantile(sizes, 0.95))}, `;
    sentences.push(`${count}: median error ${percentText(d3.median(sizes))}, ${most}worst ${percentText(sizes.at(-1))}.`);
    const slow = judged.filter((row) => row.measured.error < 0).length;
    if (slow === judged.length) sentences.push("Reality was slower every time.");
    if (slow === 0) sentences.push("Reality was faster every time.");
  }
  const noisy = others.filter((row) => row.measured.noisy && !isWrong(row)).length;
  const wrong = others.filter(isWrong).length;
  if (noisy) sentences.push(`${noisy}${judged.length ? " more" : ""} scattered too much to judge (open squares).`);
  if (wrong) sentences.push(`${wrong} gave wrong data (crossed squares).`);
  return sentences.join(" ");
}

/** @param {HTMLElement} host @param {number} width */
function drawAccuracy(host, width, results, judged, others) {
  const both = [...judged, ...others].flatMap((row) => [row.time, row.measured.low, row.measured.high]);
  const [low, high] = domainOf(both, "log");
  const domain = [low / 1.15, high * 1.15];
  const point = (row) => ({ x: row.time, y: row.measured.time, low: row.measured.low, high: row.measured.high, text: rowText(results, row) });
  const series = [
    { name: "same", colour: 8, line: "dashed", points: domain.map((x) => ({ x, y: x })), nameless: true, silent: true },
    ...errorGroups(results, judged).map(({ name, colour, rows }) => ({ name, colour, mark: "square", points: rows.map(point) })),
  ];
  const [wrong, noisy] = [others.filter(isWrong), others.filter((row) => !isWrong(row))];
  if (noisy.length) series.push({ name: "too noisy to judge", colour: 8, mark: "square", open: true, points: noisy.map(point) });
  if (wrong.length) series.push({ name: "wrong data", colour: 8, mark: "crossed", open: true, points: wrong.map(point) });
  // The error is predicted / measured - 1, so an edge is measured = predicted / (1 + error).
  const edge = (error) => domain.map((x) => [x, x / (1 + error)]);
  const band = (share) => ({ points: [...edge(share), ...edge(-share).reverse()] });
  drawXyChart(host, width, {
    x: { quantity: { ...quantities.time, name: "predicted" }, scale: "log", domain },
    y: { quantity: { ...quantities.time, name: "measured" }, scale: "log", domain },
    series,
    bands: [band(0.25), band(0.1)],
    describe: `Measured against predicted time, both on log axes. ${accuracyTitle(judged, others)}`,
    height: Math.min(width * 0.8, 480),
  });
}

/** What an error may hang on: the first of these of which there are three. @param {Row[]} rows */
function errorAxis(rows) {
  const axes = [
    { quantity: quantities.size, xOf: (row) => row.size, makesX: () => false },
    { quantity: quantities.chunks, xOf: (row) => row.chunks, makesX: isChunkSize },
    { quantity: quantities.ranks, xOf: (row) => row.ranks, makesX: () => false },
  ];
  return axes.find(({ xOf }) => distinct(rows, xOf) >= 3);
}

/** Rows that differ in x alone, else by algorithm; where colours do not suffice, the last of them are together.
 *  @param {Results} results @param {Row[]} rows */
function errorGroups(results, rows) {
  const axis = errorAxis(rows);
  const all = axis
    ? groupsOf({ ...results, rows }, axis.xOf, axis.makesX).all.map((one) => ({ ...one, name: one.name || algorithmOf(one.rows) }))
    : [...new Set(rows.map((row) => row.algorithm))].map((name) => ({ name, rows: rows.filter((row) => row.algorithm === name) }));
  const own = all.slice(0, all.length > 7 ? 6 : 7);
  const groups = own.map((one, i) => ({ ...one, colour: i + 1, alike: axis !== undefined }));
  const others = all.slice(own.length);
  if (others.length) groups.push({ name: `${others.length} others`, colour: 7, alike: false, rows: others.flatMap((one) => one.rows) });
  return groups;
}

/** The one that all rows have. @param {Row[]} rows */
function algorithmOf(rows) {
  return distinct(rows, (row) => row.algorithm) === 1 ? rows[0].algorithm : "all rows";
}

/** The error against what varies. @param {HTMLElement} parent @param {Results} results @param {Row[]} judged */
function addErrors(parent, results, judged) {
  const axis = errorAxis(judged);
  if (!axis) return;
  const { quantity, xOf } = axis;
  const series = errorGroups(results, judged).map(({ name, colour, alike, rows }) => ({
    name,
    colour,
    mark: "square",
    line: alike ? "thread" : "none",
    dash: alike ? groupDashes[colour - 1] : undefined,
    points: [...rows].sort((a, b) => xOf(a) - xOf(b)).map((row) => ({ x: xOf(row), y: row.measured.error, text: rowText(results, row) })),
  }));
  const bands = series.length === 1 ? classBands(judged, xOf, (_, error) => error) : [];
  const errors = [...judged.map((row) => row.measured.error), ...bands.flatMap(({ points }) => points.map(([, y]) => y))];
  const reach = Math.max(0.02, d3.max(errors, Math.abs)) * 1.2;
  addFigure(parent, {
    id: `${results.id}errors`,
    title: errorsTitle(results, judged, axis),
    text: `Above zero the prediction was too slow, below zero reality was slower.${bands.length ? ` ${classBandsText(judged)}` : ""}`,
    hint: chartHint,
    draw: (host, width) =>
      drawXyChart(host, width, {
        x: { quantity, scale: "log", domain: domainOf(judged.map(xOf), "log") },
        y: { quantity: { ...quantities.fraction, name: "error", text: signedPercent }, scale: "linear", domain: [-reach, reach] },
        series,
        bands,
        horizontals: [{ y: 0, name: "" }],
        describe: `Error of the prediction against ${quantity.name}. ${errorsTitle(results, judged, axis)}`,
        height: 260,
      }),
    table: { columns: rowColumns(results), rows: judged },
  });
}

function errorsTitle(results, judged, { quantity, xOf }) {
  const worst = judged.reduce((a, b) => (Math.abs(b.measured.error) > Math.abs(a.measured.error) ? b : a));
  const at = quantity === quantities.size ? quantity.text(xOf(worst)) : `${quantity.text(xOf(worst))} ${quantity.name}`;
  const groups = errorGroups(results, judged);
  const whose = groups.length > 1 ? ` (${groups.find(({ rows }) => rows.includes(worst)).name})` : "";
  return `The largest error, ${signedPercent(worst.measured.error)}, is at ${at}${whose}`;
}
