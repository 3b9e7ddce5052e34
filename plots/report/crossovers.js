// SPDX-License-Identifier: Apache-2.0
// Which of several curves is best where.

/**
 * @typedef {{group: Group, from: number, to: number, rows: Row[]}} Stretch   of neighbouring x
 */

/** The fastest group at each x that all have, neighbours put together.
 *  @param {Groups} groups @param {(row: Row) => number} xOf @returns {Stretch[]} */
function fastestStretches(groups, xOf) {
  const best = new Map();
  for (const group of groups.shown)
    for (const row of group.rows) {
      const x = xOf(row);
      const before = best.get(x);
      // Of equals the one that was fastest just before would be fairest; the first listed is simplest.
      if (!before || row.time < before.row.time) best.set(x, { group, row });
    }
  const stretches = [];
  for (const [x, { group, row }] of [...best].sort((a, b) => a[0] - b[0])) {
    const last = stretches[stretches.length - 1];
    if (last?.group === group) {
      last.to = x;
      last.rows.push(row);
    } else stretches.push({ group, from: x, to: x, rows: [row] });
  }
  return stretches;
}

/** "tree is fastest up to 16 MiB, ring from 32 MiB on" @param {Stretch[]} stretches @param {(x: number) => string} text */
function fastestText(stretches, text) {
  if (stretches.length === 1) return `${stretches[0].group.name} is fastest everywhere`;
  if (stretches.length > 4) {
    const count = new Set(stretches.map((one) => one.group)).size;
    return `Which of ${count} is fastest changes ${stretches.length - 1} times between ${text(stretches[0].from)} and ${text(stretches.at(-1).to)}`;
  }
  const words = stretches.map(({ group, from, to }, i) => {
    const is = i ? "" : " is fastest";
    if (i === 0) return `${group.name}${is} up to ${text(to)}`;
    return i === stretches.length - 1 ? `${group.name} from ${text(from)} on` : `${group.name} to ${text(to)}`;
  });
  return words.join(", ");
}
