// SPDX-License-Identifier: Apache-2.0
// Where the devices of a machine are drawn.

/**
 * @typedef {{name: string, kind: string, rank: number|null}} Device
 * @typedef {{from: number, to: number, bytes_per_s: number, busy_s: number, bytes: number, messages: number}} Cable
 * @typedef {{x: number, y: number}} Spot     both 0 .. 1
 */

/** Machines of ranks alone are a line, a grid or a circle, also around a switch; others have a layer for each distance from
 *  the ranks. @param {{nodes: Device[], links: Cable[], shape: string, dims: number[]}} machine
 *  @returns {{spots: Spot[], flat: number}} flat: height per width */
function layoutDevices({ nodes, links, shape, dims }) {
  const ranksAlone = nodes.every((node) => node.rank !== null);
  const others = nodes.filter((node) => node.rank === null).length;
  if (others === 1) return circle(nodes);
  if (!ranksAlone) return layers(nodes, links);
  if (dims.length === 2 && dims[0] * dims[1] === nodes.length && dims[0] > 1 && dims[1] > 1 && shape !== "nodes") return grid(nodes, dims);
  if ((shape === "chain" && nodes.length <= 16) || nodes.length === 2) return { spots: nodes.map((_, i) => ({ x: share(i, nodes.length), y: 0.5 })), flat: 0 };
  return circle(nodes);
}

function share(i, count) {
  return count < 2 ? 0.5 : i / (count - 1);
}

/** Ranks around the one other device, if there is one. @param {Device[]} nodes */
function circle(nodes) {
  const ranks = nodes.filter((node) => node.rank !== null);
  const spots = nodes.map((node) => {
    if (node.rank === null) return { x: 0.5, y: 0.5 };
    const angle = (2 * Math.PI * ranks.indexOf(node)) / ranks.length - Math.PI / 2;
    return { x: 0.5 + 0.5 * Math.cos(angle), y: 0.5 + 0.5 * Math.sin(angle) };
  });
  return { spots, flat: 1 };
}

function grid(nodes, [rows, columns]) {
  const spots = nodes.map((_, i) => ({ x: share(i % columns, columns), y: share(Math.floor(i / columns), rows) }));
  return { spots, flat: Math.min(1, Math.max(0.25, (rows - 1) / (columns - 1))) };
}

/** Ranks at the bottom; devices farther from them above, each over those it is joined to. */
function layers(nodes, links) {
  const near = neighbours(nodes, links);
  const layer = lifted(nodes, near, distances(nodes, near));
  const spots = nodes.map(() => ({ x: 0, y: 0 }));
  const top = d3.max(layer);
  const place = new Map();
  for (let level = 0; level <= top; ++level) {
    const members = d3.range(nodes.length).filter((i) => layer[i] === level);
    const wanted = new Map(members.map((i) => [i, level === 0 ? i : meanPlace(near[i], place)]));
    members.sort((a, b) => wanted.get(a) - wanted.get(b) || a - b);
    members.forEach((i, at) => {
      const x = (at + 0.5) / members.length;
      place.set(i, x);
      spots[i] = { x, y: 1 - share(level, top + 1) };
    });
  }
  return { spots, flat: Math.min(0.62, 0.2 * top + 0.08) };
}

/** @returns {Set<number>[]} */
function neighbours(nodes, links) {
  const near = nodes.map(() => new Set());
  for (const { from, to } of links) {
    near[from].add(to);
    near[to].add(from);
  }
  return near;
}

function distances(nodes, near) {
  const layer = nodes.map((node) => (node.rank !== null ? 0 : Infinity));
  let reached = d3.range(nodes.length).filter((i) => layer[i] === 0);
  for (let level = 1; reached.length; ++level) {
    const next = [];
    for (const i of reached)
      for (const j of near[i])
        if (layer[j] === Infinity) {
          layer[j] = level;
          next.push(j);
        }
    reached = next;
  }
  const farthest = d3.max(layer.filter(Number.isFinite));
  return layer.map((level) => (Number.isFinite(level) ? level : farthest + 1));
}

/** A machine without dead ends, such as the NICs of a single node: no route between ranks leads through them.
 *  Links keep their number as `id`. @template {{nodes: Device[], links: Cable[]}} Machine @param {Machine} machine @returns {Machine} */
function withoutDeadEnds(machine) {
  const near = neighbours(machine.nodes, machine.links);
  const kept = d3.range(machine.nodes.length).filter((i) => machine.nodes[i].rank !== null || near[i].size > 1);
  const place = new Map(kept.map((old, i) => [old, i]));
  const links = machine.links.map((link, id) => ({ ...link, id, from: place.get(link.from), to: place.get(link.to) }));
  return { ...machine, nodes: kept.map((i) => machine.nodes[i]), links: links.filter(({ from, to }) => from !== undefined && to !== undefined) };
}

/** A switch of the top layer that joins all that another one joins, and more, is above it: the network between nodes.
 *  @param {Device[]} nodes @param {Set<number>[]} near @param {number[]} layer */
function lifted(nodes, near, layer) {
  const top = d3.max(layer);
  const switches = d3.range(nodes.length).filter((i) => layer[i] === top && nodes[i].kind === "switch");
  const joinsMore = (one, other) => near[other].size < near[one].size && [...near[other]].every((i) => near[one].has(i));
  return layer.map((level, i) => (switches.includes(i) && switches.some((other) => joinsMore(i, other)) ? level + 1 : level));
}

/** Shape nodes counts its switches through, the last of which is the network between nodes; "" where that has a name.
 *  @param {string} shape @param {string[]} names of devices */
function switchBetweenNodes(shape, names) {
  const others = new Set(names.filter((name) => !/^gpu\d+$/.test(name)));
  return shape === "nodes" && others.size && [...others].every((name) => /^switch\d+$/.test(name)) ? `switch${others.size - 1}` : "";
}

function meanPlace(near, place) {
  const known = [...near].filter((i) => place.has(i)).map((i) => place.get(i));
  return known.length ? known.reduce((a, b) => a + b, 0) / known.length : 0.5;
}
