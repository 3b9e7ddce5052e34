// SPDX-License-Identifier: Apache-2.0
// What the stepper shows of one moment.

/** Messages by when they left and arrived, and which ranks got which piece when.
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
  const got = d3.range(ranks).map(() => new Map()); // piece -> when it last came
  const origin = d3.range(ranks).map(() => new Map()); // piece -> sent before anything of it came
  for (const one of [...messages].sort((a, b) => a.arrived - b.arrived)) {
    const times = got[one.to];
    if (!times.has(one.piece)) times.set(one.piece, []);
    times.get(one.piece).push(one.arrived);
  }
  for (const one of messages) {
    const first = got[one.from].get(one.piece)?.[0] ?? Infinity;
    if (one.departed < first) origin[one.from].set(one.piece, 0);
  }
  return { messages, got, origin };
}

/** @param {any} svg @param {number} width @param {number} height @param {StepperParts} parts */
function stepperScene(svg, width, height, { steps, ranks, root = 0 }) {
  const story = stepperStory(steps, ranks);
  const { places, tree } = stepperLayout(steps, ranks, root);
  const size = Math.max(7, Math.min(26, (tree ? width / ranks : height / ranks) * 0.9, height / 12));
  const margin = size * 2.1 + 8;
  const box = tree ? { w: width - 2 * margin, h: height - 2 * margin } : { w: Math.min(width, height * (ranks > 16 ? 1.7 : 1.15)) - 2 * margin, h: height - 2 * margin };
  const at = (rank) => [(width - box.w) / 2 + places[rank].x * box.w, margin + places[rank].y * box.h];
  const colourOf = pieceColours(steps.pieces);
  const links = svg.append("g").attr("class", "stepper-links");
  for (const pair of new Set(story.messages.map(({ from, to }) => (from < to ? `${from} ${to}` : `${to} ${from}`)))) {
    const [a, b] = pair.split(" ").map((rank) => at(Number(rank)));
    links.append("line").attr("x1", a[0]).attr("y1", a[1]).attr("x2", b[0]).attr("y2", b[1]);
  }
  if (steps.mixed.includes(1))
    svg.append("text").attr("x", 4).attr("y", 14).text("Messages hold several pieces here, so what a rank has is not shown.");
  const travelling = svg.append("g");
  const wheels = svg.append("g");
  const ranksDrawn = d3.range(ranks).map((rank) => rankWheel(wheels, at(rank), size, rank, { steps, colourOf }));
  const show = (time) => {
    ranksDrawn.forEach((draw, rank) => draw(time, story.got[rank], story.origin[rank]));
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

/** Of messages that hold several pieces only the first is known, and a barrier has no data.  @param {Steps} steps */
function canFill({ mixed, bytes }) {
  return !mixed.includes(1) && bytes.some((one) => one > 0);
}

/** A rank as a ring of as many segments as there are pieces; what has come, or was sent from here
 *  before it came, is filled. */
function rankWheel(group, [cx, cy], size, rank, { steps, colourOf }) {
  const wheel = group.append("g").attr("class", "rank-wheel").attr("transform", `translate(${cx},${cy})`);
  wheel.append("circle").attr("class", "rank-paper").attr("r", size);
  const cells = canFill(steps) ? Math.min(steps.pieces, mostCells) : 0;
  const segments = d3.range(cells).map((cell) =>
    wheel.append("path").attr("class", "segment").attr("d", segmentPath(cell, cells, size * 0.58, size)),
  );
  wheel.append("text").attr("text-anchor", "middle").attr("dy", "0.35em").text(rank);
  const first = (cell) => Math.ceil((cell * steps.pieces) / cells);
  return (time, got, origin) => {
    segments.forEach((segment, cell) => {
      const has = [];
      for (let piece = first(cell); piece < first(cell + 1); ++piece)
        if (origin.has(piece) || (got.get(piece)?.[0] ?? Infinity) <= time) has.push(piece);
      const share = has.length / (first(cell + 1) - first(cell));
      segment.attr("fill", has.length ? colourOf(has[0]) : "none").attr("fill-opacity", share);
    });
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
