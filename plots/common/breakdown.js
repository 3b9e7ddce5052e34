// SPDX-License-Identifier: Apache-2.0
// Where the time goes: the critical path by what it was spent on, as one bar per case.

/** Kinds of the critical path, with the colour that each has everywhere; what time goes to, where the name will not do. */
const shareKinds = [
  { kind: "start", name: "not started", colour: 8, to: "ranks that start late", note: "a rank had not started yet" },
  { kind: "startup", name: "startup (alpha)", colour: 2, note: "messages paid alpha" },
  { kind: "wire", name: "wire", colour: 1, to: "the wire", note: "bytes crossed links" },
  { kind: "serial hops", name: "serial hops", colour: 7, note: "bytes crossed other links while the one that the path is on longest was idle" },
  { kind: "sharing", name: "sharing", colour: 6, to: "sharing links", note: "other flows shared a link" },
  { kind: "flight", name: "latency", colour: 3, note: "messages were in flight" },
  { kind: "work", name: "adding and copying", colour: 4, note: "ranks worked" },
  { kind: "queue", name: "queue", colour: 5, to: "queues for links", note: "messages waited for links" },
];

/**
 * @typedef {{name: string, shares: Record<string, number>}} BreakdownRow   seconds by kind; "contention" is a part of the others
 */

/** Not a kind of its own: a message of the path was ready, but others held its link. */
const contention = { kind: "contention", name: "of this, contention", colour: 8, note: "links were held by messages of other ranks" };
/** How much of it is worth a word. */
const leastContention = 0.01;

/** Of the whole time; 0 where it is not worth a word. @param {Record<string, number>} shares */
function contentionShare(shares, kinds = shareKinds) {
  const share = (shares.contention ?? 0) / (kinds.reduce((sum, { kind }) => sum + (shares[kind] ?? 0), 0) || 1);
  return share < leastContention ? 0 : share;
}

/** @param {Steps} steps @returns {Record<string, number>} seconds by kind */
function pathShares(steps) {
  const shares = steps.contention ? { contention: steps.contention * picosecond } : {};
  for (let i = 0; i < steps.pathKind.length; ++i) {
    const kind = pathKinds[steps.pathKind[i]];
    shares[kind] = (shares[kind] ?? 0) + (steps.pathTo[i] - steps.pathFrom[i]) * picosecond;
  }
  return shares;
}

/** "94% of the time goes to the wire, 6.0% to startup" @param {Record<string, number>} shares
 *  @param {{kind: string, name: string, to?: string}[]} kinds   of the shares */
function breakdownTitle(shares, kinds = shareKinds) {
  const total = kinds.reduce((sum, { kind }) => sum + (shares[kind] ?? 0), 0);
  const parts = kinds
    .map(({ kind, name, to }) => ({ name: to ?? name, share: (shares[kind] ?? 0) / total }))
    .filter(({ share }) => share > 0.0005)
    .sort((a, b) => b.share - a.share);
  if (!parts.length) return "It takes no time";
  const exact = (share) => `${(share * 100).toFixed(1)}%`; // of parts that add up
  const held = contentionShare(shares, kinds);
  const behind = held ? `; for ${exact(held)} of it messages of other ranks held the links` : "";
  if (parts.length === 1) return `${parts[0].share > 1 - 1e-9 ? "All" : "Over 99.9%"} of the time goes to ${parts[0].name}${behind}`;
  const words = parts.map(({ name, share }, i) => `${exact(share)}${i ? "" : " of the time"} ${i ? "" : "goes "}to ${name}`);
  return words.slice(0, 3).join(", ") + behind;
}

/** `relative`: all bars are equally long, for rows whose times differ too much.
 *  @param {HTMLElement} host @param {number} width @param {BreakdownRow[]} rows @param {string} describe @param {boolean} relative
 *  @param {{kind: string, name: string, colour: number, note: string}[]} kinds   of the shares */
function drawBreakdown(host, width, rows, describe, relative = false, kinds = shareKinds) {
  const used = kinds.filter(({ kind }) => rows.some((row) => row.shares[kind] > 0));
  const longest = rows.length > 1 ? d3.max(rows, (row) => textWidth(row.name)) : 0;
  const above = longest > width * 0.36; // names have no room beside the bars
  const left = above || !longest ? 4 : longest + 10;
  const totals = rows.map((row) => used.reduce((sum, { kind }) => sum + (row.shares[kind] ?? 0), 0));
  const end = relative ? 1 : d3.max(totals) || 1e-12;
  const right = width - (relative ? 20 : 10); // half of "100%"
  const x = d3.scaleLinear([0, end], [left, right]);
  const key = keyPlaces(rows.some((row) => contentionShare(row.shares, kinds)) ? [...used, contention] : used, width);
  const top = (key.rows + 1) * 20 + 4;
  const thin = rows.length > 8;
  const thick = thin ? 18 : 30;
  const each = thick + (above ? 24 : thin ? 6 : 10);
  const bottom = top + rows.length * each;
  const svg = d3
    .select(host)
    .append("svg")
    .attr("class", "chart breakdown")
    .attr("viewBox", `0 0 ${width} ${bottom + 40}`)
    .attr("role", "img")
    .attr("aria-label", describe);
  if (relative) drawShareAxis(svg.append("g"), x, bottom);
  else drawTimeAxis(svg.append("g"), x, { left, right, bottom, height: bottom + 40 });
  drawKeyOf(svg, key.places);
  const placeOf = (i) => (relative ? (seconds) => x(seconds / (totals[i] || 1)) : x);
  rows.forEach((row, i) => drawShares(svg, row, used, placeOf(i), top + i * each + (above ? 14 : 0), thick));
  if (longest) rows.forEach((row, i) => drawRowName(svg, row.name, top + i * each + (above ? 6 : thick / 2), Math.floor(width / 6.2)));
}

function drawShareAxis(group, x, bottom) {
  const axis = { quantity: { name: "share", text: percentOf100 }, scale: "linear", domain: [0, 1] };
  drawAxis(group.attr("transform", `translate(0,${bottom})`), x, axis, "bottom", bottom);
}

/** @param {number} share */
function percentOf100(share) {
  return `${Math.round(share * 100)}%`;
}

function keyPlaces(used, width) {
  let x = 4;
  let rows = 0;
  const places = used.map((kind) => {
    const space = textWidth(kind.name) + 34;
    if (x > 4 && x + space > width) {
      x = 4;
      rows += 1;
    }
    const place = { ...kind, x, y: 14 + rows * 20 };
    x += space;
    return place;
  });
  return { places, rows };
}

function drawKeyOf(svg, places) {
  for (const { kind, name, colour, x, y } of places) {
    const thin = kind === contention.kind;
    svg.append("rect").attr("class", `share s${colour}`).attr("x", x).attr("y", thin ? y - 4 : y - 10).attr("width", 14).attr("height", thin ? 3 : 12);
    svg.append("text").attr("x", x + 19).attr("y", y).text(name);
  }
}

function drawRowName(svg, name, y, most) {
  svg.append("text").attr("class", "row-name").attr("x", 0).attr("y", y).attr("dy", "0.35em").text(shortened(name, most));
}

function drawShares(svg, row, used, x, y, height) {
  let from = 0;
  for (const { kind, name, colour, note } of used) {
    const seconds = row.shares[kind] ?? 0;
    if (!seconds) continue;
    const [x0, x1] = [x(from), x(from + seconds)];
    const bar = svg
      .append("rect")
      .attr("class", `share s${colour}`)
      .attr("data-kind", kind)
      .attr("x", x0)
      .attr("y", y)
      .attr("width", Math.max(0.5, x1 - x0))
      .attr("height", height);
    bar.append("title").text(`${name}: ${timeText(seconds)}. ${note}`);
    const text = timeText(seconds);
    if (x1 - x0 > textWidth(text) + 8)
      svg
        .append("text")
        .attr("class", `share-name ${inkOn(themeColour(`--c${colour}`))}`)
        .attr("text-anchor", "middle")
        .attr("x", (x0 + x1) / 2)
        .attr("y", y + height / 2)
        .attr("dy", "0.35em")
        .text(text);
    from += seconds;
  }
  if (!contentionShare(row.shares)) return;
  const line = svg.append("rect").attr("class", "share s8").attr("data-kind", contention.kind);
  line.attr("x", x(0)).attr("y", y + height + 1).attr("width", x(row.shares.contention) - x(0)).attr("height", 3);
  line.append("title").text(`contention: ${timeText(row.shares.contention)}. ${contention.note}`);
}
