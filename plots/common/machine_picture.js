// SPDX-License-Identifier: Apache-2.0
// A drawing of a machine: its devices, and its links in the colour of how busy they are.

/** More lines are a grey mass. */
const mostDrawnCables = 1200;

/** Links in the colour of how busy they were.  @returns {(isActive: (link: number) => boolean) => void} marks those
 *  that are at work at a moment
 *  @param {HTMLElement} host @param {number} width @param {{nodes: Device[], links: Cable[], shape: string, dims: number[]}} machine */
function drawMachine(host, width, machine, links) {
  const { spots, flat } = layoutDevices(machine);
  const few = machine.nodes.length === 2 ? 220 : width; // a cable needs no room
  const inner = Math.min(width - 48, flat === 1 ? 440 : few);
  const height = inner * flat + 100;
  const left = (width - inner) / 2;
  const at = (i) => ({ x: left + spots[i].x * inner, y: 24 + spots[i].y * (height - 100) });
  const svg = d3
    .select(host)
    .append("svg")
    .attr("class", "chart machine")
    .attr("viewBox", `0 0 ${width} ${height}`)
    .attr("role", "img")
    .attr("aria-label", "Links of the machine and how busy they were");
  const colour = d3.interpolateRgb(themeColour("--edge"), themeColour("--c2"));
  const fastest = d3.max(links, (link) => link.bytes_per_s);
  const drawn = [...links].sort((a, b) => b.busy - a.busy).slice(0, mostDrawnCables).reverse();
  const rooms = roomsAround(machine.nodes.map((_, i) => at(i)));
  const least = Math.min(mostRoom, d3.min(rooms));
  const cables = drawn.map((link) => ({ link: links.indexOf(link), cable: drawCable(svg, at(link.from), at(link.to), link, colour, fastest, least) }));
  const ranksAreNamed = machine.nodes.every(({ rank }, i) => rank === null || textWidth(String(rank)) + 2 <= Math.min(mostRoom, rooms[i]));
  machine.nodes.forEach((device, i) => drawDevice(svg, at(i), device, rooms[i], ranksAreNamed));
  drawRamp(svg, colour, width, height);
  return (isActive) => cables.forEach(({ link, cable }) => cable.classed("at-work", isActive(link)));
}

/** How wide a device is that needs no more for its name. */
const mostRoom = 26;

/** How wide each device may be: neighbours do not touch. @param {Spot[]} places in pixels */
function roomsAround(places) {
  return places.map((here) => Math.max(5, d3.min(places, (there) => (there === here ? Infinity : Math.hypot(there.x - here.x, there.y - here.y))) - 3));
}

/** To the right of its direction, so that both directions are seen. */
function drawCable(svg, from, to, link, colour, fastest, room) {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const thick = (1.5 + 5 * Math.sqrt(link.bytes_per_s / fastest)) * Math.min(1, room / 16);
  const aside = thick / 2 + 1;
  const [dx, dy] = [(-(to.y - from.y) / length) * aside, ((to.x - from.x) / length) * aside];
  const cable = svg
    .append("path")
    .attr("class", "cable")
    .attr("d", `M${from.x + dx},${from.y + dy}L${to.x + dx},${to.y + dy}`)
    .attr("stroke", colour(Math.min(1, link.busy)))
    .attr("stroke-width", link.messages ? thick : 1)
    .attr("stroke-dasharray", link.messages ? null : "2 4");
  cable
    .append("title")
    .text(`${link.name}: busy ${percentText(link.busy)} of the time\n${bytesText(link.bytes)} in ${countText(link.messages)} messages, ${rateText(link.bytes_per_s)}`);
  return cable;
}

/** What fits into a box: "spine3", "sp3" or nothing, since a number alone may be that of a leaf as well. */
function deviceText(name, room) {
  const [short] = shortenedWords([name], Math.floor((room - 6) / textWidth("s")));
  return short.includes("…") ? "" : short;
}

function drawDevice(svg, { x, y }, device, room, ranksAreNamed) {
  const isRank = device.rank !== null;
  const text = isRank ? (ranksAreNamed ? String(device.rank) : "") : deviceText(device.name, room);
  const half = Math.min(mostRoom, room) / 2;
  const group = svg.append("g");
  group.append("title").text(isRank ? `rank ${device.rank} (${device.name})` : `${device.name} (${device.kind})`);
  if (isRank) {
    group.append("circle").attr("class", "device").attr("cx", x).attr("cy", y).attr("r", half);
  } else {
    const wide = Math.max(2 * half, text ? textWidth(text) + 6 : 0);
    group.append("rect").attr("class", "device").attr("x", x - wide / 2).attr("y", y - half * 0.7).attr("width", wide).attr("height", half * 1.4).attr("rx", 3);
  }
  if (text) group.append("text").attr("class", "device-name").attr("x", x).attr("y", y).text(text);
}

/** What the colours mean. */
function drawRamp(svg, colour, width, height) {
  const y = height - 30;
  const each = Math.min(160, width / 3) / 10;
  const left = width / 2 - each * 5;
  for (let i = 0; i < 10; ++i)
    svg.append("rect").attr("x", left + i * each).attr("y", y).attr("width", each + 0.5).attr("height", 8).attr("fill", colour((i + 0.5) / 10));
  for (const [text, x, anchor] of [["idle", left - 6, "end"], ["busy all the time", left + each * 10 + 6, "start"]])
    svg.append("text").attr("x", x).attr("y", y + 8).attr("text-anchor", anchor).text(text);
}
