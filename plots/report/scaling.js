// SPDX-License-Identifier: Apache-2.0
// Time and bandwidth against the number of ranks.

/** @param {HTMLElement} parent @param {Results} results */
function addScaling(parent, results) {
  const { rows } = results;
  const xOf = (row) => row.ranks;
  if (distinct(rows, xOf) < 3) return;
  addChoiceFigure(parent, results, {
    id: "scaling",
    choices: ["time", "busbw", "algbw"],
    quantity: quantities.ranks,
    xOf,
    pages: pagesOf(rows, (row) => row.size, bytesText, xOf).map(({ name, rows: members }) => {
      const groups = groupsOf({ ...results, rows: members }, xOf);
      return { name, rows: members, groups, stretches: [], title: scalingTitle(groups) };
    }),
    floor: true,
  });
}

/** "From 2 to 64 ranks the time grows 1.9 times: ..." @param {Groups} groups */
function scalingTitle({ all }) {
  const growth = ({ rows }) => rows.at(-1).time / rows[0].time;
  const [{ rows }] = all;
  const [first, last] = [rows[0], rows.at(-1)];
  if (all.length === 1) {
    const change = growth(all[0]);
    const range = `From ${countText(first.ranks)} to ${countText(last.ranks)} ranks`;
    if (!(change > 0) || !Number.isFinite(change)) return `${range}: ${timeText(first.time)} and ${timeText(last.time)}`;
    if (change < 1) return `${range} the time falls to ${percentText(change)}`;
    return change < 1.02 ? `${range} the time stays the same` : `${range} the time grows ${timesText(change)} times`;
  }
  const most = commonXs(all, (row) => row.ranks).at(-1);
  const [fewest, highest] = d3.extent(all.flatMap(({ rows: members }) => members), (row) => row.ranks);
  if (most === undefined) return `From ${countText(fewest)} to ${countText(highest)} ranks; the curves have no number of ranks in common`;
  const { groups, row: best } = fastestAt(all, (row) => row.ranks, most);
  const fastest = `With ${countText(most)} ranks ${fastestWords(groups.map((one) => one.name), all.length)}`;
  if (groups.length === all.length) return fastest;
  const times = all.map(({ name, rows: members }) => ({ name, time: d3.min(members.filter((row) => row.ranks === most), (row) => row.time) }));
  const slowest = times.reduce((a, b) => (b.time > a.time ? b : a));
  return `${fastest}; ${slowest.name} takes ${timesText(slowest.time / best.time)} times as long`;
}
