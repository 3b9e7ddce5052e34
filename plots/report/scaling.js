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
function scalingTitle({ shown }) {
  const growth = ({ rows }) => rows.at(-1).time / rows[0].time;
  const [{ rows }] = shown;
  const [first, last] = [rows[0], rows.at(-1)];
  if (shown.length === 1) {
    const change = growth(shown[0]);
    const range = `From ${countText(first.ranks)} to ${countText(last.ranks)} ranks`;
    if (!(change > 0) || !Number.isFinite(change)) return `${range}: ${timeText(first.time)} and ${timeText(last.time)}`;
    if (change < 1) return `${range} the time falls to ${percentText(change)}`;
    return change < 1.02 ? `${range} the time stays the same` : `${range} the time grows ${timesText(change)} times`;
  }
  const most = d3.max(shown, (group) => group.rows.at(-1).ranks);
  const there = shown.filter((group) => group.rows.at(-1).ranks === most).sort((a, b) => a.rows.at(-1).time - b.rows.at(-1).time);
  if (there.length < 2) return `From ${countText(first.ranks)} to ${countText(most)} ranks`;
  const ratio = there.at(-1).rows.at(-1).time / there[0].rows.at(-1).time;
  return `With ${countText(most)} ranks ${there[0].name} is fastest; ${there.at(-1).name} takes ${timesText(ratio)} times as long`;
}
