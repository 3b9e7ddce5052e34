// SPDX-License-Identifier: Apache-2.0
// What the stepper shows of one moment.

/**
 * @typedef {{piece: number, begun: number, done: number}} Had   since when part of a piece is
 * present, and all of it @typedef {{brought: number[], had: Had[]}} RankStory   pieces of the
 * input; of the output, in its order
 */

/** Messages by departure and arrival, and since when each rank has what.
 *  @param {Steps} steps @param {number} ranks */
function stepperStory(steps, ranks) {
  const messages = [];
  for (let i = 0; i < steps.rank.length; ++i)
    if (steps.route[i] >= 0)
      messages.push({
        from: steps.rank[i],
        to: steps.to[i],
        step: i,
        piece: steps.piece[i],
        share: addedShare(steps, i),
        departed: steps.departed[i] * picosecond,
        left: steps.left[i] * picosecond,
        arrived: steps.arrived[i] * picosecond,
      });
  messages.sort((a, b) => a.departed - b.departed);
  /** @type {RankStory[]} */
  const ofRanks = d3.range(ranks).map(() => ({ brought: [], had: [] }));
  steps.broughtRank.forEach((rank, i) => (ofRanks[rank].brought = d3.range(steps.broughtFirst[i], steps.broughtEnd[i])));
  steps.hadRank.forEach((rank, i) =>
    ofRanks[rank].had.push({ piece: steps.hadPiece[i], begun: steps.hadBegun[i] * picosecond, done: steps.hadDone[i] * picosecond }),
  );
  return { messages, ofRanks };
}

/** Smaller ranks have their name outside. In pixels. */
const leastNamedSize = 14;

/** @param {any} svg @param {number} width @param {number} height @param {StepperParts} parts */
function stepperScene(svg, width, height, { steps, ranks, root = 0 }) {
  const story = stepperStory(steps, ranks);
  const { at, size, tree } = scenePlaces(width, height, stepperLayout(steps, ranks, root), ranks);
  const colourOf = pieceColours(steps.pieces);
  drawNeighbours(svg, story, at);
  const below = svg.append("g");
  const wheels = sceneWheels(svg, { width, height, at, size, story, colourOf, ranks, tree, pieces: steps.pieces });
  const travelling = size < leastNamedSize ? svg.append("g") : below; // small ranks have no name to cover, and little room between them
  const radius = Math.max(2.2, size * 0.34);
  const show = (time) => {
    wheels.show(time);
    travelling
      .selectAll(".travelling")
      .data(onTheirWay(story.messages, time))
      .join((entered) => enterDots(entered, radius, colourOf))
      .attr("transform", (one) => `translate(${[0, 1].map((i) => between(at(one.from)[i], at(one.to)[i], one, time).toFixed(1))})`)
      .each(function (one) {
        d3.select(this).select(".whole-dot").attr("fill", colourOf(one.piece)).attr("fill-opacity", one.share < 1 ? partOpacity : 1);
        d3.select(this).select(".part-dot").attr("fill", colourOf(one.piece)).attr("d", one.share < 1 ? piePath(one.share, radius) : null);
      });
  };
  return { show, story };
}

/** A message in flight; of a sum that is not whole a slice for each rank whose data is in it. */
function enterDots(entered, radius) {
  const dots = entered.append("g").attr("class", "travelling");
  dots.append("circle").attr("class", "dot-paper").attr("r", radius);
  dots.append("circle").attr("class", "whole-dot").attr("r", radius);
  dots.append("path").attr("class", "part-dot");
  return dots;
}

/** A slice from the top on. @param {number} share */
function piePath(share, r) {
  const angle = share * 2 * Math.PI - Math.PI / 2;
  return `M0,0V${-r}A${r},${r} 0 ${share > 0.5 ? 1 : 0} 1 ${(Math.cos(angle) * r).toFixed(2)},${(Math.sin(angle) * r).toFixed(2)}Z`;
}

/** Where ranks are, as large as they can be without touching. */
function scenePlaces(width, height, { places, tree }, ranks) {
  const atSize = (size) => {
    const margin = size * 2.1 + (size < leastNamedSize ? 16 : 8);
    const across = tree ? width : Math.min(width, height * (ranks > 16 ? 1.7 : 1.15));
    const box = { w: Math.max(1, across - 2 * margin), h: Math.max(1, height - 2 * margin) };
    return (rank) => [(width - box.w) / 2 + places[rank].x * box.w, margin + places[rank].y * box.h];
  };
  let size = Math.min(32, height / 12);
  for (let i = 0; i < 4; ++i) size = Math.max(4, Math.min(size, 0.46 * leastDistance(atSize(size), ranks)));
  return { at: atSize(size), size, tree };
}

function leastDistance(at, ranks) {
  let least = Infinity;
  for (let a = 0; a < ranks; ++a)
    for (let b = 0; b < a; ++b) least = Math.min(least, Math.hypot(at(a)[0] - at(b)[0], at(a)[1] - at(b)[1]));
  return least;
}

function drawNeighbours(svg, story, at) {
  const links = svg.append("g").attr("class", "stepper-links");
  for (const pair of new Set(story.messages.map(({ from, to }) => (from < to ? `${from} ${to}` : `${to} ${from}`)))) {
    const [a, b] = pair.split(" ").map((rank) => at(Number(rank)));
    links.append("line").attr("x1", a[0]).attr("y1", a[1]).attr("x2", b[0]).attr("y2", b[1]);
  }
}

/** @param {{departed: number, arrived: number}[]} messages in order of departure */
function onTheirWay(messages, time) {
  const begun = d3.bisector((one) => one.departed).right(messages, time);
  return messages.slice(0, begun).filter((one) => one.arrived > time);
}

function between(a, b, { departed, arrived }, time) {
  return a + (b - a) * Math.min(1, (time - departed) / Math.max(arrived - departed, 1e-15));
}

/**
 * Where a piece stands on the rings of a rank.  Where some rank has all pieces, at the same angle everywhere;
 * else, as in an all-to-all, where it stands among those that the rank brings along or gets.
 * @param {RankStory[]} ofRanks @param {number} pieces
 * @returns {(rank: number) => {brought: RingPlaces, had: RingPlaces}}
 * @typedef {{of: (piece: number) => number, count: number}} RingPlaces
 */
function wheelPlaces(ofRanks, pieces) {
  const someHasAll = ofRanks.some(({ brought, had }) => brought.length === pieces || had.length === pieces);
  const everywhere = { of: (piece) => piece, count: pieces };
  const among = (list) => {
    const places = new Map(list.map((piece, i) => [piece, i]));
    return { of: (piece) => places.get(piece), count: list.length };
  };
  return (rank) => {
    if (someHasAll) return { brought: everywhere, had: everywhere };
    const { brought, had } = ofRanks[rank];
    return { brought: among(brought), had: among(had.map(({ piece }) => piece)) };
  };
}

/** Of more segments than this, each ring only says how much there is. */
const mostSvgSegments = 600;
/** Segments shorter than this are merged.  In pixels. */
const leastSegment = 2;

/** The ranks of a scene: inside each its input, outside the part of its output that it has. */
function sceneWheels(svg, { width, height, at, size, story, colourOf, ranks, tree, pieces }) {
  const placesOf = wheelPlaces(story.ofRanks, pieces);
  const rings = d3.range(ranks).flatMap((rank) => {
    const place = placesOf(rank);
    const brought = story.ofRanks[rank].brought.map((piece) => ({ piece, begun: 0, done: 0 }));
    return [
      { rank, name: "brought", members: brought, place: place.brought, inner: size * 0.56, outer: size * 0.7 },
      { rank, name: "had", members: story.ofRanks[rank].had, place: place.had, inner: size * 0.74, outer: size },
    ];
  });
  const group = svg.append("g");
  const wheels = d3.range(ranks).map((rank) => {
    const wheel = group.append("g").attr("class", "rank-wheel").attr("transform", `translate(${at(rank)})`);
    wheel.append("circle").attr("class", "rank-paper").attr("r", size);
    return wheel;
  });
  const cells = rings.map((ring) => ({ ...ring, drawn: ringCells(ring, colourOf) }));
  const count = cells.reduce((sum, { drawn }) => sum + drawn.length, 0);
  const painter = count > mostSvgSegments ? filledRings(wheels, rings) : svgRings(wheels, cells);
  nameRanks(wheels, { at, size, tree, width, height });
  return painter;
}

/** Inside the wheels; outside where they are too small, and then only those that do not touch others. */
function nameRanks(wheels, { at, size, tree, width, height }) {
  const inside = size >= leastNamedSize;
  const asides = wheels.map((_, rank) => {
    const [x, y] = at(rank);
    const away = Math.hypot(x - width / 2, y - height / 2) || 1;
    return inside ? [0, 0] : tree ? [0, size + 9] : [((x - width / 2) / away) * (size + 10), ((y - height / 2) / away) * (size + 10)];
  });
  const places = asides.map(([dx, dy], rank) => [at(rank)[0] + dx, at(rank)[1] + dy]);
  const named = inside ? d3.range(wheels.length) : tree ? namesInTree(places) : namesAround(places);
  for (const rank of named) wheels[rank].append("text").attr("text-anchor", "middle").attr("dy", "0.35em").attr("x", asides[rank][0]).attr("y", asides[rank][1]).text(rank);
}

/** Those for which there is room. @param {[number, number][]} places @returns {number[]} */
function namesInTree(places) {
  const named = [];
  places.forEach((place, rank) => {
    if (!named.some((other) => namesTouch(place, places[other], places.length))) named.push(rank);
  });
  return named;
}

/** Every second, every third, ...: as many as there is room for. @param {[number, number][]} places @returns {number[]} */
function namesAround(places) {
  for (let every = 1; ; ++every) {
    const named = d3.range(0, places.length, every);
    if (named.every((rank, i) => i === 0 || !named.slice(0, i).some((other) => namesTouch(places[rank], places[other], places.length)))) return named;
  }
}

/** Names are centred; a gap tells them apart. */
function namesTouch(one, other, ranks) {
  return Math.abs(one[1] - other[1]) < 13 && Math.abs(one[0] - other[0]) < textWidth(String(ranks - 1)) + 4;
}

/** @param {{members: Had[], place: RingPlaces, inner: number, outer: number}} ring */
function ringCells({ members, place, inner, outer }, colourOf) {
  const fitting = Math.max(1, Math.floor((2 * Math.PI * inner) / leastSegment));
  const cells = Math.min(place.count, mostCells, fitting);
  const ofCells = d3.range(cells).map(() => /** @type {Had[]} */ ([]));
  for (const one of members) ofCells[Math.floor((place.of(one.piece) * cells) / place.count)].push(one);
  return ofCells.flatMap((inCell, cell) => (inCell.length ? [{ path: segmentPath(cell, cells, inner, outer), inCell, colour: colourOf(inCell[0].piece) }] : []));
}

/** How much of a cell there is at a time; of what is not whole yet, less. */
function shareOfCell(inCell, time) {
  const now = time * (1 + 1e-12); // sums of picoseconds as seconds
  const shares = inCell.map(({ begun, done }) => (done <= now ? 1 : begun <= now ? partOpacity : 0));
  return shares.reduce((a, b) => a + b, 0) / shares.length;
}

function svgRings(wheels, rings) {
  const drawn = rings.flatMap(({ rank, name, drawn }) =>
    drawn.map((cell) => ({ ...cell, node: wheels[rank].append("path").attr("class", `segment ${name}`).attr("d", cell.path) })),
  );
  return {
    show: (time) => {
      for (const { node, inCell, colour } of drawn) {
        const share = shareOfCell(inCell, time);
        node.attr("fill", share > 0 ? colour : "none").attr("fill-opacity", share);
      }
    },
  };
}

/** Each ring as full as the rank has pieces: whole ones, and pale those of which it has a part. */
function filledRings(wheels, rings) {
  const drawn = rings.flatMap(({ rank, name, members, place, inner, outer }) =>
    ["begun", "done"].map((since) => {
      const moments = members.map((one) => one[since]).sort((a, b) => a - b);
      const node = wheels[rank].append("path").attr("class", `filled ${name}`).attr("fill-opacity", since === "begun" ? partOpacity : 1);
      return { node, pathAt: (time) => fillPath(d3.bisector((one) => one).right(moments, time * (1 + 1e-12)) / Math.max(1, place.count), inner, outer) };
    }),
  );
  return {
    show: (time) => {
      for (const { node, pathAt } of drawn) node.attr("d", pathAt(time));
    },
  };
}

/** @param {number} share of a ring, from its top on */
function fillPath(share, inner, outer) {
  if (share === 0) return null;
  return share < 1 ? arcPath(0, share, inner, outer) : segmentPath(0, 1, inner, outer);
}

function segmentPath(cell, cells, inner, outer) {
  if (cells === 1) {
    const ring = (r) => `M0,${-r}A${r},${r} 0 1 1 0,${r}A${r},${r} 0 1 1 0,${-r}Z`;
    return ring(outer) + ring(inner).replaceAll(" 0 1 1 ", " 0 1 0 ");
  }
  const gap = cells > 24 ? 0 : 0.02 / (2 * Math.PI);
  return arcPath(cell / cells + gap, (cell + 1) / cells - gap, inner, outer);
}

/** @param {number} from @param {number} to   parts of the whole ring */
function arcPath(from, to, inner, outer) {
  const at = (part, r) => `${(Math.cos(part * 2 * Math.PI - Math.PI / 2) * r).toFixed(2)},${(Math.sin(part * 2 * Math.PI - Math.PI / 2) * r).toFixed(2)}`;
  const large = to - from > 0.5 ? 1 : 0;
  return `M${at(from, outer)}A${outer},${outer} 0 ${large} 1 ${at(to, outer)}L${at(to, inner)}A${inner},${inner} 0 ${large} 0 ${at(from, inner)}Z`;
}
