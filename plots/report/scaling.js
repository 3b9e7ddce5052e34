// SPDX-License-Identifier: Apache-2.0
// Time and bandwidth against the number of ranks.

/** @param {HTMLElement} parent @param {Results} results */
function addScaling(parent, results) {
  const { rows } = results;
  const xOf = (row) => row.ranks;
  if (distinct(rows, xOf) < 3) return;
  addChoiceFigure(parent, results, {
    id: "scaling",
    choices: ["time", "efficiency", "busbw", "algbw"],
    quantity: quantities.ranks,
    xOf,
    pages: pagesOf(results, (row) => row.size, bytesText, xOf).map(({ name, rows: members }) => {
      const page = { ...results, rows: members };
      const groups = groupsOf(page, xOf);
      const title = scalingTitle(groups, areOtherJobs(page, xOf));
      return { name, rows: members, groups: withNamedShown(groups, title, xOf), stretches: [], title };
    }),
  });
}

/** "64 ranks take 63 times as long as 2" @param {Row[]} rows */
function growthTitle(rows) {
  const [first, last] = [rows[0], rows.at(-1)];
  const change = last.time / first.time;
  const [few, many] = [countText(first.ranks), `${countText(last.ranks)} ranks`];
  if (!(change > 0) || !Number.isFinite(change)) return `${many} take ${timeText(last.time)}, ${few} take ${timeText(first.time)}`;
  if (Math.abs(change - 1) < 0.02) return `${many} take as long as ${few}`;
  if (change < 1) return `${many} take ${percentText(change)} of the time of ${few}`;
  return `${many} take ${timesText(change)} times as long as ${few}`;
}

/** "With 32 ranks ring is fastest; master takes 30 times as long"
 *  @param {Groups} groups @param {boolean} otherJobs   each curve does something else */
function scalingTitle({ all }, otherJobs) {
  if (all.length === 1) return growthTitle(all[0].rows);
  const most = commonXs(all, (row) => row.ranks).at(-1);
  const [fewest, highest] = d3.extent(all.flatMap(({ rows: members }) => members), (row) => row.ranks);
  if (most === undefined) return `From ${countText(fewest)} to ${countText(highest)} ranks; the curves have no number of ranks in common`;
  const times = all.map(({ name, rows: members }) => ({ name, time: d3.min(members.filter((row) => row.ranks === most), (row) => row.time) }));
  const where = `With ${countText(most)} ranks`;
  if (otherJobs) return `${where} ${takesLongerText(times)}`;
  const { groups, row: best } = fastestAt(all, (row) => row.ranks, most);
  const fastest = `${where} ${fastestWords(groups.map((one) => one.name), all.length)}`;
  if (groups.length === all.length) return fastest;
  const slowest = times.reduce((a, b) => (b.time > a.time ? b : a));
  return `${fastest}; ${slowest.name} ${isPlural(slowest.name) ? "take" : "takes"} ${timesText(slowest.time / best.time)} times as long`;
}
