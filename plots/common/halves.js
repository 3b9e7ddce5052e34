// SPDX-License-Identifier: Apache-2.0
// The two halves of an all-reduce: first sums grow, then they are handed out.

/**
 * @typedef {object} Halves
 * @property {number[]} turn       by rank, in seconds: when it begins to send whole sums; NaN: it sends nothing
 * @property {string[]} names      of the two halves
 */

/** None where nothing is added, where sums are not handed out, or where a rank does both at a time.
 *  @param {Steps} steps @param {number} ranks @returns {Halves|null} */
function halvesOf(steps, ranks) {
  if (!steps.added?.length) return null;
  const lastPart = new Array(ranks).fill(-Infinity);
  const firstWhole = new Array(ranks).fill(Infinity);
  const owner = new Map(); // by piece: who has the whole sum first, and since when
  for (let i = 0; i < steps.rank.length; ++i) {
    if (steps.route[i] < 0) continue;
    const rank = steps.rank[i];
    if (steps.added[i] < steps.members) lastPart[rank] = Math.max(lastPart[rank], steps.left[i]);
    else {
      firstWhole[rank] = Math.min(firstWhole[rank], steps.departed[i]);
      const known = owner.get(steps.piece[i]);
      if (!known || steps.departed[i] < known.since) owner.set(steps.piece[i], { rank, since: steps.departed[i] });
    }
  }
  const isMixed = d3.range(ranks).some((rank) => firstWhole[rank] < lastPart[rank]);
  if (isMixed || !owner.size || d3.max(lastPart) === -Infinity) return null;
  const turn = d3.range(ranks).map((rank) => (Number.isFinite(firstWhole[rank]) ? firstWhole[rank] : lastPart[rank]));
  const owners = new Set([...owner.values()].map((one) => one.rank)).size;
  const names = owners === steps.members ? ["reduce-scatter", "all-gather"] : owners === 1 ? ["reduce", "broadcast"] : ["adding up", "handing out"];
  return { turn: turn.map((ps) => (Number.isFinite(ps) ? ps * picosecond : NaN)), names };
}
