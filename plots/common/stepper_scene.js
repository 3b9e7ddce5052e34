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

/** @param {any} svg @param {number} width @param {number} height @param {StepperParts} parts */
function stepperScene(svg, width, height, { steps, ranks, root = 0 }) {
  const story = stepperStory(steps, ranks);
  const { places, tree } = stepperLayout(steps, ranks, root);
  const size = Math.max(7, Math.min(32, (tree ? width / ranks : height / ranks) * 0.9, height / 12));
  const margin = size * 2.1 + 8;
  const box = tree ? { w: width - 2 * margin, h: height - 2 * margin } : { w: Math.min(width, height * (ranks > 16 ? 1.7 : 1.15)) - 2 * margin, h: height - 2 * margin };
  const at = (rank) => [(width - box.w) / 2 + places[rank].x * box.w, margin + places[rank].y * box.h];
  const colourOf = pieceColours(steps.pieces);
  const links = svg.append("g").attr("class", "stepper-links");
  for (const pair of new Set(story.messages.map(({ from, to }) => (from < to ? `${from} ${to}` : `${to} ${from}`)))) {
    const [a, b] = pair.split(" ").map((rank) => at(Number(rank)));
    links.append("line").attr("x1", a[0]).attr("y1", a[1]).attr("x2", b[0]).attr("y2", b[1]);
  }
  const travelling = svg.append("g");
  const wheels = svg.append("g");
  const placesOf = wheelPlaces(story.ofRanks, steps.pieces);
  const ranksDrawn = d3.range(ranks).map((rank) => rankWheel(wheels, at(rank), size, rank, { place: placesOf(rank), story: story.ofRanks[rank], colourOf }));
  const show = (time) => {
    for (const draw of ranksDrawn) draw(time);
    const moving = onTheirWay(story.messages, time);
    travelling
      .selectAll(".travelling")
      .data(moving)
      .join("circle")
      .attr("class", "travelling")
      .attr("r", Math.max(3.5, size * 0.34))
      .attr("fill", (one) => colourOf(one.piece))
      .attr("cx", (one) => between(at(one.from)[0], at(one.to)[0], one, time))
      .attr("cy", (one) => between(at(one.from)[1], at(one.to)[1], one, time));
  };
  return { show, story };
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

/** How strongly a partial piece is drawn. */
const partOpacity = 0.3;

/** A rank: inside its input, outside the part of its output that it has. */
function rankWheel(group, [cx, cy], size, rank, { place, story, colourOf }) {
  const wheel = group.append("g").attr("class", "rank-wheel").attr("transform", `translate(${cx},${cy})`);
  wheel.append("circle").attr("class", "rank-paper").attr("r", size);
  const brought = story.brought.map((piece) => ({ piece, begun: 0, done: 0 }));
  drawRing(wheel, "brought", brought, place.brought, size * 0.56, size * 0.7, colourOf)(0);
  const show = drawRing(wheel, "had", story.had, place.had, size * 0.74, size, colourOf);
  wheel.append("text").attr("text-anchor", "middle").attr("dy", "0.35em").text(rank);
  return show;
}

/** Segments of a ring; returns what shows a moment. @param {Had[]} had @param {RingPlaces} place */
function drawRing(wheel, name, had, place, inner, outer, colourOf) {
  const cells = Math.min(place.count, mostCells);
  const members = d3.range(cells).map(() => /** @type {Had[]} */ ([]));
  for (const one of had) members[Math.floor((place.of(one.piece) * cells) / place.count)].push(one);
  const drawn = members.flatMap((inCell, cell) => {
    if (!inCell.length) return [];
    const path = wheel.append("path").attr("class", `segment ${name}`).attr("d", segmentPath(cell, cells, inner, outer));
    return [{ path, inCell, colour: colourOf(inCell[0].piece) }];
  });
  return (time) => {
    const now = time * (1 + 1e-12); // sums of picoseconds as seconds
    for (const { path, inCell, colour } of drawn) {
      const there = inCell.map(({ begun, done }) => (done <= now ? 1 : begun <= now ? partOpacity : 0));
      const share = there.reduce((a, b) => a + b, 0) / there.length;
      path.attr("fill", share > 0 ? colour : "none").attr("fill-opacity", share);
    }
  };
}

function segmentPath(cell, cells, inner, outer) {
  if (cells === 1) {
    const ring = (r) => `M0,${-r}A${r},${r} 0 1 1 0,${r}A${r},${r} 0 1 1 0,${-r}Z`;
    return ring(outer) + ring(inner).replaceAll(" 0 1 1 ", " 0 1 0 ");
  }
  const gap = cells > 24 ? 0 : 0.04;
  const [from, to] = [cell, cell + 1].map((i) => (i / cells) * 2 * Math.PI - Math.PI / 2);
  const at = (angle, r) => `${(Math.cos(angle) * r).toFixed(2)},${(Math.sin(angle) * r).toFixed(2)}`;
  const [a, b] = [from + gap / 2, to - gap / 2];
  const large = b - a > Math.PI ? 1 : 0;
  return `M${at(a, outer)}A${outer},${outer} 0 ${large} 1 ${at(b, outer)}L${at(b, inner)}A${inner},${inner} 0 ${large} 0 ${at(a, inner)}Z`;
}
