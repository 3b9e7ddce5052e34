// SPDX-License-Identifier: Apache-2.0
// The machine of the setting, how busy its links are, and which work at the moment of the playhead.

/** Devices and links, from the names of links: "gpu3", "switch0". @param {Case} one @param {Engine} engine */
function machineOf({ setting, numbers, answer }, engine) {
  const all = linksIn(engine, numbers);
  const gpus = d3.range(setting.ranks).map((rank) => `gpu${rank}`);
  const names = [...gpus, ...new Set(all.flatMap(({ from, to }) => [from, to]).filter((name) => !name.startsWith("gpu")))];
  const network = networkSwitch(setting);
  const nodes = names.map((name, i) => ({ name: name === network ? "network" : name, kind: i < gpus.length ? "gpu" : deviceKind(name), rank: i < gpus.length ? i : null }));
  const place = new Map(names.map((name, i) => [name, i]));
  const time = Number(answer.timePs);
  const bytes = bytesOfLinks(answer.steps, all.length);
  const links = all.map((link, i) => ({
    name: link.text,
    from: place.get(link.from),
    to: place.get(link.to),
    bytes_per_s: link.name === setting.slow_link ? slowBandwidth(setting, link) : usualBandwidth(setting, link),
    busy: time > 0 ? answer.steps.linkBusy[i] / time : 0,
    bytes: bytes[i],
    messages: answer.steps.linkMessages[i],
  }));
  return withoutDeadEnds({ nodes, links, shape: setting.preset ? "nodes" : setting.shape, dims: engine.dims(numbers) });
}

/** As presets name their devices. @param {string} name */
function deviceKind(name) {
  if (/\bnic/.test(name)) return "NIC";
  return /\b(cpu|host)/.test(name) ? "CPU" : "switch";
}

/** Where few channels leave NICs idle, which makes several nodes look slow; else empty.
 *  @param {Case} one @param {Engine} engine */
function idleNicsText({ setting, numbers, answer }, engine) {
  const nodes = setting.ranks / gpusOfNode(engine, setting);
  if (!setting.preset || nodes < 2 || !answer.steps || !answer.messages) return "";
  const ports = linksIn(engine, numbers).map(({ from, to }, link) => ({ from, to, link })).filter(({ from, to }) => deviceKind(from) === "NIC" && to === "network");
  const usedIn = new Map(ports.map(({ from }) => [from.split(".")[0], 0]));
  for (const { from, link } of ports) if (answer.steps.linkMessages[link] > 0) usedIn.set(from.split(".")[0], usedIn.get(from.split(".")[0]) + 1);
  const [used, nics] = [d3.max(usedIn.values()), ports.length / nodes];
  if (used >= nics || setting.channels >= nics) return "";
  return `Over ${setting.channels} channel${setting.channels === 1 ? "" : "s"} a node sends through ${used} of its ${nics} NICs; more channels use more of them.`;
}

/** @param {Steps} steps @param {number} count of links */
function bytesOfLinks(steps, count) {
  const bytes = new Float64Array(count);
  eachCrossing(steps, (link, step) => (bytes[link] += steps.bytes[step]));
  return bytes;
}

/** @param {Steps} steps @param {(link: number, step: number, crossing: number) => void} take */
function eachCrossing(steps, take) {
  for (let i = 0; i < steps.rank.length; ++i) {
    const route = steps.route[i];
    if (route < 0) continue;
    for (let j = steps.routeFirst[route], k = steps.firstCrossing[i]; j < steps.routeFirst[route + 1]; ++j, ++k) take(steps.routeLinks[j], i, k);
  }
}

/** Links on which a message is at a time. @param {Steps} steps @param {number} ps */
function linksAtWork(steps, ps) {
  const at = new Set();
  eachCrossing(steps, (link, _, crossing) => {
    if (steps.crossingBegun[crossing] <= ps && ps < steps.crossingEnded[crossing]) at.add(link);
  });
  return at;
}

/** @param {HTMLElement} parent @param {Playground} page */
function machineFigure(parent, page) {
  const columns = [
    { head: "link", cell: (link) => link.name, words: true },
    { head: "busy", cell: (link) => percentText(link.busy) },
    { head: "bandwidth", rate: (link) => link.bytes_per_s },
    { head: "bytes", cell: (link) => bytesText(link.bytes) },
    { head: "messages", cell: (link) => countText(link.messages) },
  ];
  /** null: its steps were not kept; undefined: not known yet. */
  let machine;
  const { figure, redraw, setTitle, setRows } = addFigure(parent, {
    id: "machine",
    title: "The machine",
    folded: true,
    text: "Circles are ranks, boxes other devices. Each line is one direction of a link: the colour shows how much of the time it is busy, the width its bandwidth; dashed lines carry nothing. Blue: a message is on it at the moment of the playhead.",
    draw: (host, width) => {
      if (machine === undefined) return;
      if (!machine) return host.append(element("p", "muted", "Too many steps: use fewer chunks or ranks."));
      const mark = drawMachine(host, width, machine, machine.links, machineTitle(machine.links));
      const { steps } = page.now.answer;
      const show = (place) => {
        const at = place > 0 && place < 1 ? linksAtWork(steps, (place * page.span()) / picosecond) : new Set();
        mark((link) => at.has(link));
      };
      show(page.playhead.place());
      page.playhead.follow("machine", show);
    },
    table: { columns, rows: [] },
  });
  return whenSeen(figure, () => {
    machine = page.now.answer.steps ? machineOf(page.now, page.engine) : null;
    setTitle(machine ? machineTitle(machine.links) : "The machine");
    setRows({ columns, rows: machine?.links ?? [] });
    redraw();
  });
}

/** "7 of 14 links carry all of it; the busiest 57% of the time" @param {{busy: number, messages: number}[]} links */
function machineTitle(links) {
  const used = links.filter(({ messages }) => messages > 0).length;
  if (!used) return "No link carries anything";
  const busiest = percentText(d3.max(links, ({ busy }) => busy));
  const who = used === links.length ? `All ${countText(used)} links carry messages` : `${countText(used)} of ${countText(links.length)} links carry everything`;
  return `${who}; the busiest is busy ${busiest} of the time`;
}
