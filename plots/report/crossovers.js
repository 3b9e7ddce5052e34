// SPDX-License-Identifier: Apache-2.0
// Which of several curves is best where.

/**
 * @typedef {{groups: Group[], from: number, to: number, rows: Row[]}} Stretch
 *   neighbouring x at which the same groups are the fastest: several when their times are equal
 */

/** The x at which every group has a row, smallest first.
 *  @param {Group[]} groups @param {(row: Row) => number} xOf @returns {number[]} */
function commonXs(groups, xOf) {
  const sets = groups.map(({ rows }) => new Set(rows.map(xOf)));
  return [...sets[0]].filter((x) => sets.every((set) => set.has(x))).sort((a, b) => a - b);
}

/** The groups with the shortest time at an x that all have.
 *  @param {Group[]} groups @param {(row: Row) => number} xOf @param {number} x */
function fastestAt(groups, xOf, x) {
  const times = groups.map(({ rows }) => d3.min(rows.filter((row) => xOf(row) === x), (row) => row.time));
  const best = d3.min(times);
  const fastest = groups.filter((_, i) => times[i] === best);
  return { groups: fastest, row: fastest[0].rows.find((row) => xOf(row) === x && row.time === best) };
}

/** Which group is fastest at each common x, with neighbours merged; includes groups that are not
/** drawn.
 *  @param {Groups} groups @param {(row: Row) => number} xOf @returns {Stretch[]} */
function fastestStretches({ all }, xOf) {
  const stretches = [];
  for (const x of commonXs(all, xOf)) {
    const { groups, row } = fastestAt(all, xOf, x);
    const last = stretches[stretches.length - 1];
    if (last?.groups.length === groups.length && groups.every((one) => last.groups.includes(one))) {
      last.to = x;
      last.rows.push(row);
    } else stretches.push({ groups, from: x, to: x, rows: [row] });
  }
  return stretches;
}

/** "ring", "ring and tree", "4 of 9 curves" @param {string[]} names @param {number} of how many @param {string} things */
function jointly(names, of, things = "curves") {
  if (names.length === of && of > 2) return `all ${of}`;
  if (names.length > 3) return `${names.length} of ${of} ${things}`;
  return names.length === 1 ? names[0] : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** "8 chunks" @param {string} name */
function isPlural(name) {
  return /^(?!1 )[\d,]+ [a-z]+s$/.test(name);
}

/** "ring is fastest", "ring and tree are equally fast" @param {string[]} names @param {number} of how many @param {string} things */
function fastestWords(names, of, things = "curves") {
  const who = jointly(names, of, things);
  if (names.length === 1) return `${who} ${isPlural(who) ? "are" : "is"} fastest`;
  return names.length === of ? `${who} are equally fast` : `${who} share first place`;
}

/**
 * "tree is fastest up to 16 MiB, ring from 32 MiB on"
 * @param {Groups} groups @param {(row: Row) => number} xOf @param {(x: number) => string} text
 * @param {string} things   what x are: "sizes"
 */
function fastestText({ all }, stretches, xOf, text, things) {
  if (!stretches.length) return `The curves have no ${things} in common, so none is the fastest`;
  const everywhere = commonXs(all, xOf).length === distinct(all.flatMap(({ rows }) => rows), xOf);
  const words = (stretch) => jointly(stretch.groups.map((one) => one.name), all.length);
  const first = fastestWords(stretches[0].groups.map((one) => one.name), all.length);
  const capital = (sentence) => sentence.replace(/^all /, "All ");
  if (stretches.length === 1) return capital(`${first} ${everywhere ? "everywhere" : `at all common ${things}`}`);
  const where = everywhere ? "" : `, at the ${things} that all have`;
  if (stretches.length > 4) {
    const count = new Set(stretches.flatMap((one) => one.groups)).size;
    return `Which of ${count} is fastest changes ${stretches.length - 1} times between ${text(stretches[0].from)} and ${text(stretches.at(-1).to)}${where}`;
  }
  const later = stretches.slice(1, -1).map((one) => `${words(one)} to ${text(one.to)}`);
  const last = stretches.at(-1);
  return capital([`${first} up to ${text(stretches[0].to)}`, ...later, `${words(last)} from ${text(last.from)} on`].join(", ") + where);
}

/**
 * The x at which the fastest of one stretch and that of the next are equally fast, if times grow evenly between
 * these two.  None where they share the first place, where a curve bends between them, and where a third is faster
 * there; as figures.py has it.
 * @param {Groups} groups @param {(row: Row) => number} xOf @param {Stretch} before @param {Stretch} after @returns {number|null}
 */
function crossingOf({ all }, xOf, before, after) {
  if (before.groups.length > 1 || after.groups.length > 1) return null;
  if (all.some(({ rows }) => rows.some((row) => xOf(row) > before.to && xOf(row) < after.from))) return null;
  const timeAt = ({ rows }, x) => d3.min(rows.filter((row) => xOf(row) === x), (row) => row.time);
  const [old, next] = [before.groups[0], after.groups[0]];
  const lead = timeAt(next, before.to) - timeAt(old, before.to);
  const lag = timeAt(old, after.from) - timeAt(next, after.from);
  const part = lead / (lead + lag);
  const between = (group) => timeAt(group, before.to) + part * (timeAt(group, after.from) - timeAt(group, before.to));
  const fastest = d3.min(all, between);
  return fastest < between(old) * (1 - 1e-9) ? null : before.to + part * (after.from - before.to);
}
