// SPDX-License-Identifier: Apache-2.0
// Training steps: the rows, and where the time of each goes, as in figure 6 of the paper on PyTorch DDP.

/** What a rank's time goes to, with its colour, that of the boxes in the timeline; below it, its communication. */
const workShares = [
  { kind: "forward", name: "forward", colour: 6, note: "a stream of the rank works on the forward pass" },
  { kind: "backward", name: "backward", colour: 1, note: "a stream of the rank works on the backward pass" },
  { kind: "other", name: "optimizer and other work", colour: 4, note: "a stream of the rank works on something else" },
  { kind: "exposed", name: "exposed communication", colour: 2, note: "a collective is under way, and no stream works" },
  { kind: "hidden", name: "hidden communication", colour: 5, note: "a collective is under way while a stream works" },
  { kind: "idle", name: "idle", colour: 8, note: "neither: waiting for messages and slower ranks" },
];

const mostStepBars = 40; // app/report/step_work.cpp knows as many

/** The rows of results of training steps. @param {any} data @param {string} id @returns {Results} */
function readTrainingSteps(data, id) {
  const { steps: columns, params } = data;
  const rows = columns.step_s.map((time, i) => ({
    number: i,
    params: params.map(({ values }) => values[i]),
    op: columns.workload[i],
    ranks: columns.ranks[i],
    time,
    compute: columns.compute_s[i],
    hidden: columns.hidden_s[i],
    exposed: columns.exposed_s[i],
    idle: columns.bubble[i] * time,
    work: data.step_work?.[i] ?? null,
    tokens: columns.tokens_per_s?.[i] ?? 0,
    fits: !columns.out_of_memory?.[i],
  }));
  const paths = params.map(({ path }) => path);
  return { id, paths, names: paths.map((path) => shortPath(path, paths)), rows, data };
}

/** @param {HTMLElement} parent @param {Results} results */
function addStepBars(parent, results) {
  const { rows } = results;
  const shown = rows.slice(0, mostStepBars);
  const bars = shown.flatMap((row) => stepBarsOf(results, row));
  addFigure(parent, {
    id: `${results.id}step-shares`,
    title: stepSharesTitle(results),
    text: `Means over the ranks.${communicationText(shown, bars)}${shown.length < rows.length ? ` The first ${shown.length} of ${countText(rows.length)} rows.` : ""}`,
    draw: (host, width) => drawBreakdown(host, width, bars, stepSharesTitle(results), false, workShares),
    table: { columns: stepColumns(results), rows },
  });
}

/** What the second bars are; steps without hidden communication have none. @param {Row[]} shown @param {any[]} bars */
function communicationText(shown, bars) {
  const more = bars.length - shown.length;
  if (more === 0) return "";
  const whose = more < shown.length ? "steps that hide communication" : shown.length === 1 ? "the step" : "each step";
  return ` A bar below ${whose}: communication, hidden behind work or exposed.`;
}

/** Columns of the table of steps. @param {Results} results @returns {Column[]} */
function stepColumns(results) {
  return [
    { head: "row", cell: (row) => stepName(results, row), words: true },
    { head: "ranks", cell: (row) => countText(row.ranks) },
    { head: "step", seconds: (row) => row.time },
    { head: "computing", seconds: (row) => row.compute },
    { head: "forward", seconds: (row) => row.work?.forward_s ?? null },
    { head: "backward", seconds: (row) => row.work?.backward_s ?? null },
    { head: "hidden", seconds: (row) => row.hidden },
    { head: "exposed", seconds: (row) => row.exposed },
    { head: "idle", seconds: (row) => row.idle },
  ];
}

/** The bar of a step and, where it has any, of its communication. @param {Results} results @param {any} row */
function stepBarsOf(results, row) {
  const { compute, hidden, exposed, idle, work } = row;
  const known = work && work.forward_s + work.backward_s + work.other_s;
  const scale = known > 0 ? Math.min(1, compute / known) : 0; // streams that work at once count twice in it
  const launching = Math.max(0, compute - known); // by the host, while the rank does nothing else
  const parts = scale
    ? { forward: work.forward_s * scale, backward: work.backward_s * scale, other: work.other_s * scale + launching }
    : { other: compute };
  const bars = [{ name: stepName(results, row), shares: { ...parts, exposed, idle } }];
  if (hidden > 0) bars.push({ name: "communication", shares: { exposed, hidden } });
  return bars;
}

/** @param {Results} results @param {Row} row */
function stepName(results, row) {
  return results.paths.length ? rowWords(results, row) : row.op;
}

/** "252.5 ms, 14% exposed communication" @param {any} row */
function stepWords({ time, exposed, idle }) {
  const parts = [["exposed communication", exposed], ["idle", idle]].filter(([, part]) => Number(part) > 0.0005 * time);
  const words = parts.map(([name, part]) => `${percentText(Number(part) / time)} ${name}`).join(" and ");
  return `${timeText(time)}${words ? `, ${words}` : ""}`;
}

/** Of those that fit their devices, if any do: the shortest, or, where steps differ in their tokens, the one with most
 *  tokens/s. @param {any[]} rows @returns {{best: any, byTokens: boolean, someFit: boolean}} */
function bestStep(rows) {
  const fitting = rows.filter(({ fits }) => fits);
  const among = fitting.length ? fitting : rows;
  const [fewest, most] = d3.extent(among, ({ tokens, time }) => tokens * time);
  const byTokens = fewest > 0 && most - fewest > 1e-6 * most;
  const better = byTokens ? (a, b) => b.tokens > a.tokens : (a, b) => b.time < a.time;
  return { best: among.reduce((a, b) => (better(a, b) ? b : a)), byTokens, someFit: among.length < rows.length };
}

/** "The step takes 252.5 ms, 14% exposed communication" @param {Results} results */
function stepSharesTitle(results) {
  const { rows } = results;
  const { best, byTokens, someFit } = bestStep(rows);
  const worst = rows.reduce((a, b) => (b.time > a.time ? b : a));
  const one = stepWords(best);
  if (rows.length === 1) return `The step takes ${one}`;
  if (best.time === worst.time) return `All ${countText(rows.length)} steps take ${distinct(rows, stepWords) === 1 ? one : timeText(best.time)}`;
  if (byTokens) return `${stepName(results, best)} has most tokens/s${someFit ? " of those that fit" : ""}: ${one}`;
  return `The fastest step${someFit ? " that fits" : ""} is ${stepName(results, best)} with ${one}; the slowest takes ${timeText(worst.time)}`;
}
