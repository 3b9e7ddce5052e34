// SPDX-License-Identifier: Apache-2.0
// Bandwidth or time against size, and which choice is best where.

/**
 * What a curve over size or ranks can show.
 * @typedef {object} Shown
 * @property {string} name
 * @property {Quantity} quantity
 * @property {string} text       how to read it
 * @property {any} of            for seriesOf()
 * @property {(row: Row) => number} limit   what no schedule can beat
 * @property {(row: Row, error: number) => number} off   what would be measured if the prediction had this error
 */

/** busbw = algbw times a factor that depends on operation and ranks only. @param {Row} row */
function busFactor(row) {
  return row.algbw > 0 ? row.busbw / row.algbw : 0;
}

/** @param {Row} row @param {number} seconds */
function busRate(row, seconds) {
  return (busFactor(row) * row.size) / seconds;
}

/** @param {(row: Row, seconds: number) => number} rate */
function ratesOfRow(rate) {
  return {
    simulated: (row) => rate(row, row.time),
    analytic: (row) => (row.analytic > 0 ? rate(row, row.analytic) : null),
    measured: (row) =>
      row.measured && { y: rate(row, row.measured.time), low: rate(row, row.measured.high), high: rate(row, row.measured.low) },
  };
}

/** @type {Record<string, Shown>} */
const shownQuantities = {
  busbw: {
    name: "bus bandwidth (busbw)",
    quantity: { ...quantities.rate, name: "busbw" },
    text: "busbw is algbw times a factor that makes it comparable with the bandwidth of a link, for any operation and number of ranks.",
    of: ratesOfRow(busRate),
    limit: (row) => busRate(row, row.bound),
    off: (row, error) => row.busbw * (1 + error),
  },
  algbw: {
    name: "algorithm bandwidth (algbw)",
    quantity: { ...quantities.rate, name: "algbw" },
    text: "algbw is size divided by time.",
    of: ratesOfRow((row, seconds) => row.size / seconds),
    limit: (row) => row.size / row.bound,
    off: (row, error) => row.algbw * (1 + error),
  },
  efficiency: {
    name: "efficiency (bound / time)",
    quantity: { ...quantities.fraction, name: "efficiency" },
    text: "Efficiency is the lower bound divided by the time: 100% is as fast as can be.",
    of: ratesOfRow((row, seconds) => row.bound / seconds),
    limit: () => 1,
    off: (row, error) => (row.bound / row.time) * (1 + error),
  },
  time: { name: "time", quantity: quantities.time, text: "", of: timesOfRow, limit: (row) => row.bound, off: (row, error) => row.time / (1 + error) },
};

/** @param {HTMLElement} parent @param {Results} results */
function addSizeCurves(parent, results) {
  const xOf = (row) => row.size;
  const rows = results.rows.filter((row) => row.size > 0 && row.time > 0);
  if (distinct(rows, xOf) < 3) {
    if (distinct(results.rows, xOf) >= 3) parent.append(element("p", "notice", "No curve over size: most rows have no bytes, or take no time."));
    return;
  }
  addChoiceFigure(parent, results, {
    id: "size-curves",
    choices: ["busbw", "algbw", "time"],
    quantity: quantities.size,
    xOf,
    pages: pagesOf({ ...results, rows }, (row) => row.ranks, (ranks) => `${countText(ranks)} ranks`, xOf).map(({ name, rows: members }) => {
      const page = { ...results, rows: members };
      const groups = groupsOf(page, xOf);
      const compared = groups.all.length > 1 && !areOtherJobs(page, xOf);
      const stretches = compared ? fastestStretches(groups, xOf) : [];
      const title = sizeCurvesTitle(page, groups, stretches, compared);
      return {
        name,
        rows: members,
        groups: withNamedShown(groups, title, xOf),
        stretches,
        title,
        verticals: stretches.slice(1).map((after, i) => crossingMark(groups, xOf, stretches[i], after)),
      };
    }),
  });
}

/** Where curves cross, "at 2.2 MiB"; where that is not known, from where on another one is the fastest. */
function crossingMark(groups, xOf, before, after) {
  const x = crossingOf(groups, xOf, before, after);
  return x === null ? { x: after.from, name: `from ${bytesText(after.from)}` } : { x, name: `at ${bytesText(roundedSize(x))}` };
}

/** With two digits in its unit. @param {number} bytes */
function roundedSize(bytes) {
  const unit = 1024 ** Math.floor(Math.log(bytes) / Math.log(1024));
  return Number((bytes / unit).toPrecision(2)) * unit;
}

/** @param {Results} results @param {Groups} groups @param {Stretch[]} stretches @param {boolean} compared   all do the same job */
function sizeCurvesTitle(results, groups, stretches, compared) {
  if (groups.all.length === 1) return saturationTitle(groups.all[0].rows);
  if (!compared) return jobCurvesTitle(results, groups.all);
  return fastestText(groups, stretches, (row) => row.size, bytesText, "sizes");
}

/** "busbw reaches 312 GB/s at 1 GiB, and half of it at 4 MiB" @param {Row[]} rows */
function saturationTitle(rows) {
  const best = rows.reduce((a, b) => (b.busbw > a.busbw ? b : a));
  const half = rows.find((row) => row.busbw >= best.busbw / 2);
  if (best.measured?.time > 0) return `busbw at ${bytesText(best.size)}: ${rateText(best.busbw)} predicted, ${rateText(busRate(best, best.measured.time))} measured`;
  const text = `busbw reaches ${rateText(best.busbw)} at ${bytesText(best.size)}`;
  return half.size < best.size ? `${text}, and half of it at ${bytesText(half.size)}` : text;
}

/**
 * @typedef {object} CurvePage
 * @property {string} name          "8 ranks"; empty when it is the only one
 * @property {Row[]} rows
 * @property {Groups} groups
 * @property {Stretch[]} stretches
 * @property {string} title
 * @property {any[]} [verticals]
 *
 * Curves of which the reader chooses what they show.
 * @param {HTMLElement} parent @param {Results} results
 * @param {{id: string, choices: string[], quantity: Quantity, xOf: (row: Row) => number, pages: CurvePage[]}} view
 */
function addChoiceFigure(parent, results, view) {
  const needs = { time: () => true, efficiency: (row) => row.bound > 0 && row.time > 0 };
  const usable = view.choices.filter((choice) => view.pages.every(({ rows }) => rows.every(needs[choice] ?? ((row) => row.algbw > 0))));
  const chosen = { what: usable[0], page: view.pages.at(-1) };
  const title = () => {
    const { name, title: finding } = chosen.page;
    return name ? `${name}: ${finding.replace(/^(With|From|At) /, (word) => word.toLowerCase())}` : finding;
  };
  const explain = () => {
    const text = [curveText(results, curveSeries(results, view, chosen), chosen), algorithmsText(view, chosen.page)].filter(Boolean).join(" ");
    return bandsOfCurves(view, chosen).length ? `${text} ${classBandsText(chosen.page.rows)}` : text;
  };
  const { figure, redraw, setTitle, setRows } = addFigure(parent, {
    id: `${results.id}${view.id}`,
    title: title(),
    text: explain(),
    hint: chartHint,
    draw: (host, width) => {
      const series = curveSeries(results, view, chosen);
      const { name, quantity } = shownQuantities[chosen.what];
      const domain = curveDomain(results, series, chosen.what);
      drawXyChart(host, width, {
        x: { quantity: view.quantity, scale: "log", domain: domainOf(chosen.page.rows.map(view.xOf), "log") },
        y: { quantity, scale: "log", domain },
        series,
        verticals: chosen.page.verticals,
        bands: bandsOfCurves(view, chosen),
        horizontals: linkRatesOf(results, chosen.what).filter(({ y }) => y >= domain[0] && y <= domain[1]),
        describe: `${name} against ${view.quantity.name}, both on log axes. ${title()}`,
      });
    },
    table: { columns: rowColumns(results), rows: chosen.page.rows },
  });
  const changed = () => {
    setTitle(title());
    setWords(figure.querySelector("figcaption p"), explain());
    setRows({ columns: rowColumns(results), rows: chosen.page.rows });
    redraw();
  };
  const tools = element("div", "choice screen-only");
  if (usable.length > 1)
    tools.append(selection("Show ", usable.map((one) => shownQuantities[one].name), 0, (i) => ((chosen.what = usable[i]), changed())));
  if (view.pages.length > 1)
    tools.append(selection("for ", view.pages.map((page) => page.name), view.pages.length - 1, (i) => ((chosen.page = view.pages[i]), changed())));
  if (tools.children.length) figure.querySelector("figcaption").append(tools);
}

/** @param {string} text @param {string[]} names @param {number} first @param {(i: number) => void} onChange */
function selection(text, names, first, onChange) {
  const label = element("label", "", text);
  const select = /** @type {HTMLSelectElement} */ (element("select"));
  names.forEach((name, i) => select.append(new Option(name, String(i), i === first, i === first)));
  select.addEventListener("change", () => onChange(Number(select.value)));
  label.append(select);
  return label;
}

/** @returns {Series[]} */
function curveSeries(results, view, { what, page }) {
  const { of, limit } = shownQuantities[what];
  return [...envelopeOf(page, view.xOf, of), ...limitsOfCurves(page, view.xOf, limit), ...seriesOf(results, page.groups, view.xOf, of)];
}

/** Of one curve: those of several would cover each other. */
function bandsOfCurves(view, { what, page }) {
  const known = page.groups.shown.filter(({ rows }) => rows.some((row) => row.errorClass));
  return known.length === 1 ? classBands(known[0].rows, view.xOf, shownQuantities[what].off) : [];
}

/** All marks; and bounds and rates of links that are not far away, which would make a small thing of the rest.
 *  @param {Results} results @param {Series[]} series @param {string} what @returns {[number, number]} */
function curveDomain(results, series, what) {
  const isBound = (one) => one.line === "limit";
  const marks = yValues(series.filter((one) => !isBound(one))).filter((y) => y > 0);
  const [low, high] = [d3.min(marks) / 10, d3.max(marks) * 10];
  const others = [...yValues(series.filter(isBound)), ...linkRatesOf(results, what).map(({ y }) => y)];
  return domainOf([...marks, ...others.filter((y) => y >= low && y <= high)], "log");
}

/** Of one curve of the fastest: "Chosen: Tree LL up to 64 KiB, Tree LL128 up to 2 MiB, Ring Simple from 4 MiB on." */
function algorithmsText({ xOf, quantity }, { groups }) {
  if (groups.all.length !== 1 || distinct(groups.all[0].rows, (row) => row.algorithm) < 2) return "";
  const stretches = [];
  for (const row of groups.all[0].rows) {
    if (stretches.at(-1)?.algorithm !== row.algorithm) stretches.push({ algorithm: row.algorithm, from: xOf(row), to: xOf(row) });
    stretches.at(-1).to = xOf(row);
  }
  const last = stretches.pop();
  const words = stretches.map(({ algorithm, to }) => `${algorithm} up to ${quantity.text(to)}`);
  return `Chosen: ${words.join(", ")}, ${last.algorithm} from ${quantity.text(last.from)} on.`;
}

/** @param {Results} results @param {Series[]} series */
function curveText(results, series, { what, page }) {
  const parts = [marksText(series)];
  if (series.some((one) => one.line === "limit")) parts.push(`Dotted: ${boundText(results.rows)}.`);
  const [low, high] = curveDomain(results, series, what);
  if (linkRatesOf(results, what).some(({ y }) => y >= low && y <= high)) parts.push("Long dashes: bandwidth of one link in one direction; a GPU with several links may use all of them at once, and the bound assumes so.");
  if (page.stretches.length) parts.push("The wide pale line follows the fastest.");
  return `${parts.join(" ")} ${shownQuantities[what].text}${leftOutText(page.groups)}`.trim();
}

/** @returns {Series[]} */
function envelopeOf({ groups: { shown }, stretches }, xOf, of) {
  if (!stretches.length) return [];
  return stretches.map(({ groups, rows }, i) => {
    const next = stretches[i + 1]?.rows[0];
    const points = [...rows, ...(next ? [next] : [])].map((row) => ({ x: xOf(row), y: of.simulated(row) }));
    const { colour } = groups.find((one) => shown.includes(one)) ?? { colour: 8 };
    return { name: "fastest", colour, line: "envelope", points, nameless: true, silent: true };
  });
}

/** What no schedule can beat; groups that share it, or nearly so, have it once. @returns {Series[]} */
function limitsOfCurves({ groups }, xOf, limit) {
  const curves = [];
  const alike = (one, other) => one.length === other.length && one.every((p, i) => p.x === other[i].x && Math.abs(p.y / other[i].y - 1) < 0.02);
  for (const { name, rows } of groups.shown) {
    const points = rows.filter((row) => row.bound > 0).map((row) => ({ x: xOf(row), y: limit(row) }));
    if (points.length > 1 && !curves.some((curve) => alike(curve.points, points))) curves.push({ name, points });
  }
  const alone = curves.length === 1;
  const many = curves.length > 3; // pointing at a curve says its own
  return curves.map(({ name, points }, i) => ({
    name: alone || many ? "bound" : `bound of ${name}`,
    colour: 8,
    line: "limit",
    points,
    silent: true,
    nameless: many && i > 0,
  }));
}

/** What the links of the machine carry in one direction, where it is the same for all rows: busbw is made to
 *  be held against it. @param {Results} results @param {string} what */
function linkRatesOf({ data }, what) {
  if (what !== "busbw") return [];
  return (data?.link_rates ?? []).map(({ name, bytes_per_s: y }) => ({ y, name: `${name}: ${rateText(y)}`, rate: true }));
}
