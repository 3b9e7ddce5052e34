// SPDX-License-Identifier: Apache-2.0
// Where ranks stand in the stepper: a tree where messages go up and down one, else a circle.

/** @typedef {{places: {x: number, y: number}[], tree: boolean}} StepperLayout   within a box of 1 x 1 */

/** @param {Steps} steps @param {number} ranks @param {number} root @returns {StepperLayout} */
function stepperLayout(steps, ranks, root) {
  const near = neighboursOf(steps, ranks);
  const edges = near.reduce((sum, set) => sum + set.size, 0) / 2;
  const widest = d3.max(near, (set) => set.size) ?? 0;
  const order = edges === ranks - 1 && widest > 2 ? downFrom(root, near) : null;
  return order && order.length === ranks ? { places: treePlaces(order, ranks), tree: true } : { places: circlePlaces(ranks), tree: false };
}

function neighboursOf(steps, ranks) {
  const near = d3.range(ranks).map(() => new Set());
  for (let i = 0; i < steps.rank.length; ++i) {
    const to = steps.to[i];
    if (to < 0 || to === steps.rank[i]) continue;
    near[steps.rank[i]].add(to);
    near[to].add(steps.rank[i]);
  }
  return near;
}

/** Ranks with their depth and parent, parents first. */
function downFrom(root, near) {
  const seen = new Set([root]);
  const order = [{ rank: root, depth: 0, parent: -1 }];
  for (const { rank, depth } of order)
    for (const next of [...near[rank]].sort((a, b) => a - b)) {
      if (seen.has(next)) continue;
      seen.add(next);
      order.push({ rank: next, depth: depth + 1, parent: rank });
    }
  return order;
}

/** Leaves side by side, parents above the middle of their children. */
function treePlaces(order, ranks) {
  const children = d3.range(ranks).map(() => []);
  for (const { rank, parent } of order) if (parent >= 0) children[parent].push(rank);
  const deepest = d3.max(order, (one) => one.depth) || 1;
  const across = new Array(ranks);
  let leaves = 0;
  const place = (rank) => {
    children[rank].forEach(place);
    const below = children[rank].map((child) => across[child]);
    across[rank] = below.length ? (d3.min(below) + d3.max(below)) / 2 : leaves++;
  };
  place(order[0].rank);
  const places = new Array(ranks);
  for (const { rank, depth } of order)
    places[rank] = { x: leaves > 1 ? across[rank] / (leaves - 1) : 0.5, y: depth / deepest };
  return places;
}

function circlePlaces(ranks) {
  return d3.range(ranks).map((rank) => {
    const angle = (rank / ranks) * 2 * Math.PI - Math.PI / 2;
    return { x: 0.5 + Math.cos(angle) / 2, y: 0.5 + Math.sin(angle) / 2 };
  });
}
