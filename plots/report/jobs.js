// SPDX-License-Identifier: Apache-2.0
// Which rows can be compared: those that do the same job.  Which algorithm does it, cut into how
// many chunks, is a choice; another operation, size, number of ranks or machine is another job.

/** Keys of a scenario's collective of which one takes the best; so does a protocol, and plots/static/series.py says the same. */
const choiceKeys = new Set(["aggregation", "algorithm", "channels", "chunk_size", "chunks", "dims", "nccl_algo",
  "nccl_proto", "nccl_tuner", "radix", "slots"]);

/** Whether a path of the sweep says how a job is done. @param {string} path */
function isChoice(path) {
  const [place, key] = path.split(".");
  return (place === "collective" && choiceKeys.has(key)) || path === "measure.protocol";
}

/**
 * What job a row does, as a text that is the same for those that do the same. What follows from x, and
 * what x is made from, is left out.
 * @param {Results} results @param {(row: Row) => any} xOf @param {(path: string) => boolean} makesX
 * @returns {(row: Row) => string}
 */
function jobKeyOf({ paths, rows }, xOf = () => 0, makesX = () => false) {
  const swept = d3.range(paths.length).filter((i) => !isChoice(paths[i]) && !makesX(paths[i]));
  const parts = [(row) => row.op, (row) => row.ranks, (row) => row.size, ...swept.map((i) => (row) => row.params[i])];
  const counting = parts.filter((part) => !follows(rows, xOf, part));
  return (row) => JSON.stringify(counting.map((part) => part(row)));
}

/**
 * @typedef {object} Job
 * @property {string} name       what only its rows have; empty when there is one job
 * @property {Row[]} rows
 * @property {(row: Row) => string} choiceWords   what tells its rows from each other
 *
 * Rows by what they do. @param {Results} results @param {(row: Row) => any} xOf @returns {Job[]}
 */
function jobsOf(results, xOf = () => 0) {
  const key = jobKeyOf(results, xOf);
  const byKey = new Map();
  for (const row of results.rows) {
    if (!byKey.has(key(row))) byKey.set(key(row), []);
    byKey.get(key(row)).push(row);
  }
  const jobWords = wordsFor(results, xOf, isChoice);
  const anyWords = wordsFor(results, xOf); // where a choice always changes with the job it may be what names it
  return [...byKey.values()].map((rows) => {
    const choiceWords = wordsFor({ ...results, rows }, xOf, (path) => !isChoice(path));
    const name = byKey.size === 1 ? "" : jobWords(rows[0]) || anyWords(rows[0]);
    return { name, rows, choiceWords: (row) => choiceWords(row) || row.algorithm };
  });
}

/** Curves over one thing can be compared only where the other is the same: a page for each of its values; and
 *  one for each job that can be done in several ways.
 *  @param {Results} results @returns {{name: string, rows: Row[]}[]} */
function pagesOf(results, of, text, xOf) {
  const { rows } = results;
  const values = [...new Set(rows.map(of))].sort((a, b) => a - b);
  const one = values.length === 1 || follows(rows, xOf, of);
  const pages = one ? [{ name: "", rows }] : values.map((value) => ({ name: text(value), rows: rows.filter((row) => of(row) === value) }));
  return pages.flatMap(({ name, rows: members }) => {
    const jobs = jobsOf({ ...results, rows: members }, xOf);
    const several = jobs.length > 1 && jobs.some((job) => groupsOf({ ...results, rows: job.rows }, xOf).all.length > 1);
    if (!several) return [{ name, rows: members }];
    return jobs.map((job) => ({ name: [name, job.name].filter(Boolean).join(", "), rows: job.rows }));
  });
}

/** Whether curves are of different jobs, so that none of them is better than another.
 *  @param {Results} results @param {(row: Row) => number} xOf */
function areOtherJobs(results, xOf) {
  return distinct(results.rows, jobKeyOf(results, xOf)) > 1;
}

/** "At 64 MiB busbw is 6.7 GB/s for all-gather and 3.4 GB/s for broadcast" @param {Results} results
 *  @param {Group[]} curves   each another job */
function jobCurvesTitle(results, curves) {
  const jobWords = wordsFor(results, (row) => row.size, isChoice);
  const most = commonXs(curves, (row) => row.size).at(-1);
  if (most === undefined) return `${countText(curves.length)} curves that have no sizes in common`;
  const all = curves.map(({ name, rows }) => ({ name: jobWords(rows[0]) || name, row: rows.find((row) => row.size === most) }));
  const rates = all.every(({ row }) => row.busbw > 0);
  const value = ({ row }) => (rates ? row.busbw : row.time);
  const text = (one) => (rates ? rateText(value(one)) : timeText(value(one)));
  const sorted = [...all].sort((a, b) => value(b) - value(a));
  const texts = [...new Set(sorted.map(text))];
  const words = texts.map((one) => `${one} for ${jointly(sorted.filter((other) => text(other) === one).map(({ name }) => name), all.length)}`);
  const what = `At ${bytesText(most)} ${rates ? "busbw" : "the time"}`;
  if (words.length > 4) return `${what} lies between ${words.at(-1)} and ${words[0]}`;
  return `${what} is ${words.length === 1 ? words[0] : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`}`;
}

/** "all-reduce takes 2 times as long as reduce-scatter and all-gather" @param {{name: string, time: number}[]} all @param {string} things */
function takesLongerText(all, things = "curves") {
  const [fast, slow] = d3.extent(all, (one) => one.time);
  const alike = (time) => all.filter((one) => one.time === time).map((one) => one.name);
  const named = (time) => jointly(alike(time), all.length, things);
  if (fast === slow) return `${named(fast)} take the same time`;
  const verb = alike(slow).length > 1 || isPlural(named(slow)) ? "take" : "takes";
  if (!(fast > 0)) return `${named(slow)} ${verb} ${timeText(slow)}, ${named(fast)} no time`;
  return `${named(slow)} ${verb} ${timesText(slow / fast)} times as long as ${named(fast)}`;
}
