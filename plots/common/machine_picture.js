// SPDX-License-Identifier: Apache-2.0
// A drawing of a machine: its devices, and its links in the colour of how busy they are.

/** More lines are a grey mass. */
const mostDrawnCables = 1200;

/** Links in the colour of how busy they were.  @returns {(isActive: (link: number) => boolean) => void} marks those
 *  that are at work at a moment, by their id
 *  @param {HTMLElement} host @param {number} width @param {{nodes: Device[], links: Cable[], shape: string, dims: number[]}} machine
 *  @param {string} finding   for those who do not see it */
function drawMachine(host, width, machine, links, finding) {
  const { spots, flat } = layoutDevices(machine);
  const few = machine.nodes.length === 2 ? 220 : width; // a cable needs no room
  const inner = Math.min(width - 48, flat === 1 ? 440 : few);
  const groups = nodesOf(machine, spots);
  const below = groups.length ? 8 : 0;
  const height = inner * flat + 100 + below;
  const left = (width - inner) / 2;
  const at = (i) => ({ x: left + spots[i].x * inner, y: 24 + spots[i].y * (height - 100 - below) });
  const rooms = roomsAround(machine.nodes.map((_, i) => at(i)));
  const boxes = boxesOf(machine.nodes, machine.nodes.map((_, i) => at(i)), rooms);
  const kinds = unnamedKinds(machine.nodes, boxes);
  const svg = d3
    .select(host)
    .append("svg")
    .attr("class", "chart machine")
    .attr("viewBox", `0 0 ${width} ${height + 24 + (kinds.length ? 22 : 0)}`)
    .attr("role", "img")
    .attr("aria-label", `The machine. ${finding}`);
  const alike = alikeText(links);
  const ramp = d3.interpolateRgb(themeColour("--edge"), themeColour(alike ? "--muted" : "--c2"));
  const colour = alike ? () => ramp(0.4) : ramp;
  const fastest = d3.max(links, (link) => link.bytes_per_s);
  const drawn = [...links].sort((a, b) => b.busy - a.busy).slice(0, mostDrawnCables).reverse();
  const least = Math.min(mostRoom, d3.min(rooms));
  const cables = drawn.map((link) => ({ link: link.id, cable: drawCable(svg, at(link.from), at(link.to), link, colour, fastest, least) }));
  const ranksAreNamed = machine.nodes.every(({ rank }, i) => rank === null || textWidth(String(rank)) + 2 <= Math.min(mostRoom, rooms[i]));
  machine.nodes.forEach((device, i) => {
    if (device.rank !== null) drawRank(svg, at(i), device, rooms[i], ranksAreNamed);
    else drawDeviceBox(svg, at(i), device, boxes[i], kinds);
  });
  for (const { name, members } of groups) nameNode(svg, name, members.map(at), Math.min(mostRoom, rooms[members[0]]));
  if (alike) svg.append("text").attr("class", "alike").attr("x", width / 2).attr("y", height - 22).attr("text-anchor", "middle").text(alike);
  else drawRamp(svg, colour, width, height);
  drawWidths(svg, links, (link) => thickness(link, fastest, least), width, height);
  if (kinds.length) drawKinds(svg, kinds, width, height + 28);
  return (isActive) => cables.forEach(({ link, cable }) => cable.classed("at-work", isActive(link)));
}

/** How wide a device is that needs no more for its name. */
const mostRoom = 26;

/** How wide each device may be: neighbours do not touch. @param {Spot[]} places in pixels */
function roomsAround(places) {
  return places.map((here) => Math.max(5, d3.min(places, (there) => (there === here ? Infinity : Math.hypot(there.x - here.x, there.y - here.y))) - 3));
}

/** Busy times that differ less than by this part are alike: no colours are needed to tell them apart. */
const alikeBusy = 0.02;

/** "all 14 used links are busy 93% of the time", where that is so; else empty. @param {{busy: number, messages: number}[]} links */
function alikeText(links) {
  const used = links.filter(({ messages }) => messages > 0);
  const [low, high] = d3.extent(used, ({ busy }) => busy);
  if (used.length < 2 || high - low > alikeBusy * high) return "";
  return `all ${countText(used.length)}${used.length < links.length ? " used" : ""} links are busy ${percentText(high)} of the time`;
}

/** How wide a link is drawn. */
function thickness(link, fastest, room) {
  return (1.5 + 5 * Math.sqrt(link.bytes_per_s / fastest)) * Math.min(1, room / 16);
}

/** Ranks of servers, where each server's stand side by side: a rank is in a node if a link of it leads to a device of
 *  that, such as node0.nic3. @returns {{name: string, members: number[]}[]} */
function nodesOf({ nodes, links }, spots) {
  const prefixOf = (i) => /^(\w+\d)\./.exec(nodes[i].name)?.[1];
  const members = new Map();
  for (const { from, to } of links)
    if (nodes[from].rank !== null && spots[from].y === 1 && prefixOf(to)) members.set(prefixOf(to), (members.get(prefixOf(to)) ?? new Set()).add(from));
  return members.size > 1 ? [...members].map(([name, all]) => ({ name, members: [...all] })) : [];
}

/** A line below the ranks of a node, with its name. @param {Spot[]} places */
function nameNode(svg, name, places, room) {
  const [low, high] = d3.extent(places, ({ x }) => x);
  const y = places[0].y + room / 2 + 6;
  svg.append("path").attr("class", "node-line").attr("d", `M${low - room / 2},${y}H${high + room / 2}`);
  const [text] = shortenedWords([name], Math.floor((high - low + room) / deviceLetter));
  if (!text.endsWith("…")) svg.append("text").attr("class", "device-name node-name").attr("x", (low + high) / 2).attr("y", y + 11).text(text);
}

/** To the right of its direction, so that both directions are seen. */
function drawCable(svg, from, to, link, colour, fastest, room) {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const thick = thickness(link, fastest, room);
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
    .text(`${link.name}: busy ${percentText(link.busy)} of the time\n${bytesText(link.bytes)} in ${countText(link.messages)} message${link.messages === 1 ? "" : "s"}, ${rateText(link.bytes_per_s)}`);
  return cable;
}

/** Of a letter in a box, which is smaller than others. */
const deviceLetter = 6.2;

/** @param {string} text */
function deviceWidth(text) {
  const wide = text.match(/[MWmw…]/g)?.length ?? 0;
  return (text.length + 0.6 * wide) * deviceLetter + 5;
}

/** "nic" of "node0.nic3" @param {string} name */
function kindOfDevice(name) {
  return ownName(name).replace(/\d+$/, "");
}

/** "nic3" of "node0.nic3" @param {string} name */
function ownName(name) {
  return name.replace(/^\w+\d\./, "");
}

/** What stands in each box, and how wide it is. A long name may take the room that neighbours leave; one that does not fit
 *  is cut only where its number still tells it from others: a number alone may be that of another kind.
 *  @param {Device[]} nodes @param {Spot[]} places in pixels @param {number[]} rooms
 *  @returns {({text: string, wide: number, high: number, whole: boolean}|null)[]} null: a rank */
function boxesOf(nodes, places, rooms) {
  const fits = (text, room) => deviceWidth(text) <= room;
  const cutTo = (name, room) => d3.range(name.length - 1, 3, -1).map((most) => shortenedWords([name], most)[0]).find((text) => fits(text, room)) ?? "";
  const boxes = nodes.map(({ name, rank }, i) => (rank === null ? boxWith(fits(ownName(name), rooms[i]) ? ownName(name) : "", rooms[i], true) : null));
  nodes.forEach(({ name }, i) => {
    const box = boxes[i];
    if (!box || box.text) return;
    const beside = d3.range(nodes.length).filter((j) => j !== i && boxes[j] && Math.abs(places[j].y - places[i].y) < box.high);
    const room = d3.min(beside, (j) => 2 * Math.abs(places[j].x - places[i].x) - boxes[j].wide - 6) ?? Infinity;
    const cut = cutTo(ownName(name), rooms[i]);
    boxes[i] = fits(ownName(name), room) ? boxWith(ownName(name), rooms[i], true) : boxWith(/\d/.test(cut) ? cut : "", rooms[i], false);
  });
  return boxes;
}

function boxWith(text, room, whole) {
  const side = Math.min(mostRoom, room);
  return { text, wide: Math.max(side, text ? deviceWidth(text) : 0), high: side * 0.7, whole };
}

/** Kinds of devices of which not every box has its whole name. @param {Device[]} nodes @returns {string[]} */
function unnamedKinds(nodes, boxes) {
  return [...new Set(nodes.filter((_, i) => boxes[i] && !boxes[i].whole).map(({ name }) => kindOfDevice(name)))];
}

/** So many kinds have a colour of their own. */
const mostKinds = 4;

/** @param {string[]} kinds */
function boxClass(kind, kinds) {
  return `device kind-${Math.max(0, kinds.indexOf(kind)) % mostKinds}`;
}

function drawRank(svg, { x, y }, device, room, isNamed) {
  const group = svg.append("g");
  group.append("title").text(`rank ${device.rank} (${device.name})`);
  group.append("circle").attr("class", "device").attr("cx", x).attr("cy", y).attr("r", Math.min(mostRoom, room) / 2);
  if (isNamed) group.append("text").attr("class", "device-name").attr("x", x).attr("y", y).text(device.rank);
}

function drawDeviceBox(svg, { x, y }, device, { text, wide, high }, kinds) {
  const group = svg.append("g");
  group.append("title").text(`${device.name} (${device.kind})`);
  group.append("rect").attr("class", boxClass(kindOfDevice(device.name), kinds)).attr("x", x - wide / 2).attr("y", y - high / 2).attr("width", wide).attr("height", high).attr("rx", 3);
  if (text) group.append("text").attr("class", "device-name").attr("x", x).attr("y", y).text(text);
}

/** What boxes without a name are. @param {string[]} kinds */
function drawKinds(svg, kinds, width, y) {
  const wide = (kind) => 24 + textWidth(kind) + 16;
  let x = (width - kinds.reduce((sum, kind) => sum + wide(kind), -16)) / 2;
  for (const kind of kinds) {
    svg.append("rect").attr("class", boxClass(kind, kinds)).attr("x", x).attr("y", y - 6).attr("width", 18).attr("height", 12).attr("rx", 3);
    svg.append("text").attr("class", "kind-name").attr("x", x + 24).attr("y", y + 4).text(kind);
    x += wide(kind);
  }
}

/** What the colours mean. */
function drawRamp(svg, colour, width, height) {
  const y = height - 30;
  const [least, most] = ["idle", "busy all the time"];
  const each = Math.min(160, width / 3, width - 2 * (textWidth(most) + 8)) / 10;
  const left = width / 2 - each * 5;
  for (let i = 0; i < 10; ++i)
    svg.append("rect").attr("x", left + i * each).attr("y", y).attr("width", each + 0.5).attr("height", 8).attr("fill", colour((i + 0.5) / 10));
  for (const [text, x, anchor] of [[least, left - 6, "end"], [most, left + each * 10 + 6, "start"]])
    svg.append("text").attr("x", x).attr("y", y + 8).attr("text-anchor", anchor).text(text);
}

/** What the widths mean, of the fastest links and the slowest. */
function drawWidths(svg, links, thick, width, height) {
  const fastest = links.reduce((a, b) => (b.bytes_per_s > a.bytes_per_s ? b : a));
  const slowest = links.reduce((a, b) => (b.bytes_per_s < a.bytes_per_s ? b : a));
  const kinds = fastest.bytes_per_s === slowest.bytes_per_s ? [fastest] : [slowest, fastest];
  const wide = (link) => 26 + textWidth(rateText(link.bytes_per_s)) + 18;
  let x = (width - kinds.reduce((sum, link) => sum + wide(link), -18)) / 2;
  for (const link of kinds) {
    svg.append("path").attr("class", "width-sample").attr("d", `M${x},${height + 6}h20`).attr("stroke", themeColour("--muted")).attr("stroke-width", thick(link));
    svg.append("text").attr("class", "width-name").attr("x", x + 26).attr("y", height + 10).text(rateText(link.bytes_per_s));
    x += wide(link);
  }
}
