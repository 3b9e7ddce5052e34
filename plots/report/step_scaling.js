// SPDX-License-Identifier: Apache-2.0
// The time of a training step against the number of ranks.

/** @param {HTMLElement} parent @param {Results} results */
function addStepScaling(parent, results) {
  const xOf = (row) => row.ranks;
  if (distinct(results.rows, xOf) < 3) return;
  const all = groupsOf(results, xOf, (path) => /(^|\.)(ranks|nodes|seed)$/.test(path));
  const title = stepScalingTitle(all);
  const groups = withNamedShown(all, title, xOf);
  const series = groups.shown.flatMap((group) => stepSeries(group, groups.all.length === 1));
  addFigure(parent, {
    id: `${results.id}step-scaling`,
    title,
    text: `${series.some(({ band }) => band) ? "Medians, and from the fastest to the slowest of all that differ in nothing else." : "Dots: simulated."}${leftOutText(groups)}`,
    hint: chartHint,
    draw: (host, width) =>
      drawXyChart(host, width, {
        x: { quantity: quantities.ranks, scale: "log", domain: domainOf(results.rows.map(xOf), "log") },
        y: { quantity: quantities.time, scale: "linear", domain: [0, d3.max(results.rows, (row) => row.time) * 1.08 || 1] },
        series,
        describe: `Time of the step against the number of ranks. ${title}`,
      }),
    table: {
      columns: [
        { head: "row", cell: (row) => stepName(results, row), words: true },
        { head: "ranks", cell: (row) => countText(row.ranks) },
        { head: "step", seconds: (row) => row.time },
        { head: "exposed", seconds: (row) => row.exposed },
      ],
      rows: results.rows,
    },
  });
}

/** Of the rows of one curve, those with as many ranks. @param {Group} group */
function byRanks({ rows }) {
  const known = new Map();
  for (const { ranks, time } of rows) known.set(ranks, [...(known.get(ranks) ?? []), time]);
  return [...known].map(([ranks, times]) => ({ ranks, time: d3.median(times), low: d3.min(times), high: d3.max(times) }));
}

/** @param {Group} group @param {boolean} alone */
function stepSeries(group, alone) {
  const rows = byRanks(group);
  const several = rows.length < group.rows.length;
  const points = rows.map(({ ranks, time, low, high }) => ({
    x: ranks,
    y: time,
    ...(several ? { low, high } : {}),
    text: `${group.name ? `${group.name}\n` : ""}${countText(ranks)} ${ranks === 1 ? "rank" : "ranks"}: ${timeText(time)}`,
  }));
  return [{ name: alone ? "step" : group.name, colour: group.colour, mark: "dot", line: "thread", points, nameless: alone, band: several }];
}

/** @param {Groups} groups */
function stepScalingTitle({ all }) {
  const curves = all.map((group) => ({ ...group, rows: byRanks(group) }));
  return scalingTitle({ all: curves, shown: curves, leftOut: 0 }, false);
}
