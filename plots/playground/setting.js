// SPDX-License-Identifier: Apache-2.0
// The state of the page: what a link holds, what goes to the engine, what a scenario file says.

/**
 * @typedef {object} PageSetting   bytes, picoseconds, bytes per second
 * @property {string} op
 * @property {string} algorithm
 * @property {string} preset     a machine known by name, in place of shape and links; "" for none
 * @property {string} shape
 * @property {number} ranks
 * @property {number} gpus_per_node  of shape nodes alone
 * @property {number} root
 * @property {number} size
 * @property {string} size_unit     in which it was written; "": not written
 * @property {number} chunks
 * @property {number} channels
 * @property {number} bandwidth
 * @property {number} network_bandwidth  between nodes, of shape nodes alone
 * @property {number} overhead
 * @property {number} latency
 * @property {string} sharing       "exclusive" or "fair"
 * @property {number} gamma         bytes that a rank adds in a second, 1/gamma; 0: no limit
 * @property {string} slow_link     "gpu2-gpu3", "" for none
 * @property {number} slow_factor
 * @property {number} late_rank     -1 for none
 * @property {number} late
 * @property {number} slots         0: no limit
 */

/** @type {PageSetting} */
const defaultSetting = Object.freeze({
  op: "broadcast",
  algorithm: "chain",
  preset: "",
  shape: "chain",
  ranks: 8,
  gpus_per_node: 4,
  root: 0,
  size: 64 * 2 ** 20,
  size_unit: "",
  chunks: 8,
  channels: 1,
  bandwidth: 25e9,
  network_bandwidth: 12.5e9,
  overhead: 5e6,
  latency: 0,
  sharing: "exclusive",
  gamma: 0,
  slow_link: "",
  slow_factor: 4,
  late_rank: -1,
  late: 500e6,
  slots: 0,
});

const mostRanks = 64;
const mostChunks = 65536;
const mostChannels = 32;
const mostBytes = 2 ** 40;
const mostPs = 1e15; // a quarter of an hour
const mostSlots = 65536;

/** Reads a whole number within limits. */
function wholeIn(low, high, what) {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < low || value > high)
      throw new Error(`${what} is a whole number from ${countText(low)} to ${countText(high)}, not "${shortened(text, 60)}"`);
    return value;
  };
}

function within(parse, low, high, what, word) {
  return (text) => {
    const value = parse(text);
    if (!(value >= low && value <= high)) throw new Error(`${what} goes from ${word(low)} to ${word(high)}, not "${shortened(text, 60)}"`);
    return value;
  };
}

function oneOf(list, what) {
  return (text) => {
    if (!list.includes(text)) throw new Error(`there is no ${what} "${shortened(text, 60)}"${didYouMean(text, list)}; known: ${list.join(", ")}`);
    return text;
  };
}

/** How each key is written in a link and read from it; `also`: what else a text sets. @param {Engine} engine */
function settingKeys(engine) {
  const plain = (parse) => ({ parse, text: String });
  const time = (what) => ({ parse: within(parseTime, 0, mostPs, what, timeWord), text: (ps) => (ps === 0 ? "0" : timeWord(ps)) });
  const rate = (what) => ({ parse: within(parseRate, 1e3, 1e15, what, rateWord), text: rateWord });
  const parseElements = (text) => {
    const bytes = parseSize(text);
    if (bytes % 4) throw new Error(`${bytes} bytes is not a whole number of float32 elements, which have 4 bytes`);
    return bytes;
  };
  return {
    op: plain(oneOf([...new Set(engine.algorithms.map((row) => row.operation))], "op")),
    algorithm: plain(String),
    preset: plain(oneOf(engine.presets.map(({ name }) => name), "preset")),
    shape: plain(oneOf(engine.shapes, "shape")),
    ranks: plain(wholeIn(2, mostRanks, "ranks")),
    gpus_per_node: plain(wholeIn(1, mostRanks, "gpus_per_node")),
    root: plain(wholeIn(0, mostRanks - 1, "root")),
    size: {
      parse: within(parseElements, 0, mostBytes, "size", sizeWord),
      text: (bytes, setting) => sizeWord(bytes, setting.size_unit),
      also: (text) => ({ size_unit: sizeUnitIn(text) }),
    },
    chunks: plain(wholeIn(1, mostChunks, "chunks")),
    channels: plain(wholeIn(1, mostChannels, "channels")),
    bandwidth: rate("bandwidth"),
    network_bandwidth: rate("network_bandwidth"),
    overhead: time("overhead"),
    latency: time("latency"),
    sharing: plain(oneOf(["exclusive", "fair"], "sharing")),
    gamma: rate("gamma"),
    slow_link: { parse: String, text: String },
    slow_factor: {
      parse: (text) => {
        if (!/^\d+(\.\d+)?$/.test(text) || Number(text) < 1 || Number(text) > 1000)
          throw new Error(`slow_factor goes from 1 to 1000, not "${shortened(text, 60)}"`);
        return Number(text);
      },
      text: String,
    },
    late_rank: plain(wholeIn(0, mostRanks - 1, "late_rank")),
    late: time("late"),
    slots: plain(wholeIn(1, mostSlots, "slots")),
  };
}

/** Algorithms of an operation, the default first. @param {Engine} engine @param {string} op */
function algorithmsOf(engine, op) {
  return engine.algorithms.filter((row) => row.operation === op);
}

/** The operation's first algorithm, where it has not the one that is set. @param {Engine} engine @param {PageSetting} setting */
function fitAlgorithm(engine, setting) {
  const rows = algorithmsOf(engine, setting.op);
  if (!rows.some((row) => row.name === setting.algorithm)) setting.algorithm = rows[0].name;
}

/** Values that stand for "none", and are written so. */
const noneValues = { preset: "", gamma: 0, slow_link: "", late_rank: -1, slots: 0 };

/** What a preset says of a machine. */
const machineKeys = ["shape", "gpus_per_node", "bandwidth", "network_bandwidth", "overhead", "latency", "sharing"];

/** Operations that add. */
const reducingOps = ["reduce", "all-reduce", "reduce-scatter"];

/** Whether a knob has an effect in a setting; others are neither shown nor written.
 *  @param {string} key @param {PageSetting} setting @param {Engine} [engine] which knows it of the root */
function matters(key, setting, engine) {
  if (setting.preset && machineKeys.includes(key)) return false;
  if (key === "size" || key === "chunks") return setting.op !== "barrier";
  if (key === "root") return algorithmsOf(engine, setting.op).some((row) => row.name === setting.algorithm && row.takesRoot);
  if (key === "gamma") return reducingOps.includes(setting.op);
  if (key === "gpus_per_node" || key === "network_bandwidth") return setting.shape === "nodes";
  if (key === "slow_factor") return setting.slow_link !== noneValues.slow_link;
  if (key === "late") return setting.late_rank !== noneValues.late_rank;
  return true;
}

/** "100 MB" @param {PageSetting} setting */
function sizeText({ size, size_unit: unit }) {
  return unit && sizeWord(size, unit).endsWith(unit) ? `${digits(size / sizeSuffixes[unit])} ${unit}` : bytesText(size);
}

/** What the engine takes. @param {Engine} engine @param {PageSetting} setting @returns {EngineSetting} */
function engineSetting(engine, setting) {
  const numbers = {
    shape: engine.shapes.indexOf(setting.shape),
    algorithm: algorithmsOf(engine, setting.op).find((row) => row.name === setting.algorithm).index,
    ranks: setting.ranks,
    gpusPerNode: setting.gpus_per_node,
    root: matters("root", setting, engine) ? setting.root : 0,
    bytes: setting.size,
    chunks: matters("chunks", setting) ? setting.chunks : 1,
    channels: setting.channels,
    slots: setting.slots,
    bandwidth: setting.bandwidth,
    networkBandwidth: setting.network_bandwidth,
    overheadPs: setting.overhead,
    latencyPs: setting.latency,
    fair: setting.sharing === "fair" ? 1 : 0,
    reduceBandwidth: matters("gamma", setting) ? setting.gamma : 0,
    slowLink: -1,
    slowBandwidth: 1,
    lateRank: setting.late_rank,
    latePs: setting.late,
    preset: setting.preset ? engine.presets.find(({ name }) => name === setting.preset).index : -1,
  };
  if (setting.slow_link) numbers.slowLink = linksIn(engine, numbers).findIndex(({ name }) => name === setting.slow_link);
  if (numbers.slowLink >= 0) numbers.slowBandwidth = slowBandwidth(setting, linksIn(engine, numbers)[numbers.slowLink]);
  return numbers;
}

/** @param {PageSetting} setting @param {NamedLink} link */
function slowBandwidth(setting, link) {
  return Math.max(1, Math.round(usualBandwidth(setting, link) / setting.slow_factor));
}

/** Of a link that is not slow. @param {PageSetting} setting @param {NamedLink} link */
function usualBandwidth(setting, { from, to, bytesPerSecond }) {
  if (setting.preset) return bytesPerSecond;
  return [from, to].includes(networkSwitch(setting)) ? setting.network_bandwidth : setting.bandwidth;
}

/** Switches are those of the nodes in order, then the one that joins them, which people know as the network.
 *  @param {PageSetting} setting */
function networkSwitch({ preset, shape, ranks, gpus_per_node: gpus }) {
  return !preset && shape === "nodes" ? `switch${ranks / gpus}` : "";
}

/** "gpu2 → gpu3"; one kind of device has a dash in its name. @param {string} link @param {PageSetting} setting */
function linkInWords(link, setting) {
  const words = link.replace(/^((?:.*\.)?host-memory|[^-]*)-/, "$1 → ").split(" ");
  return words.map((word) => (word === networkSwitch(setting) ? "network" : word)).join(" ");
}

/** @typedef {{name: string, text: string, from: string, to: string, bytesPerSecond: number}} NamedLink   its rate: of a preset's alone */

let knownLinks = { key: "", links: [] };
/** By their ids: "gpu0-gpu1" in addresses, "0→1" in pictures. @param {Engine} engine @param {EngineSetting} numbers @returns {NamedLink[]} */
function linksIn(engine, numbers) {
  const key = `${numbers.preset} ${numbers.shape} ${numbers.ranks} ${numbers.gpusPerNode}`;
  if (knownLinks.key !== key) {
    const found = engine.links(numbers);
    const network = switchBetweenNodes(numbers.preset < 0 ? engine.shapes[numbers.shape] : "", found.flatMap(({ from, to }) => [from, to]));
    const word = (device) => (device === network ? "network" : device.replaceAll("gpu", ""));
    knownLinks = { key, links: found.map((link) => ({ ...link, name: `${link.from}-${link.to}`, text: `${word(link.from)}→${word(link.to)}` })) };
  }
  return knownLinks.links;
}

/** Makes a setting consistent after a change; returns notes on what was changed.
 *  @param {Engine} engine @param {PageSetting} setting @returns {string[]} */
function settle(engine, setting) {
  const notes = wholeNodes(engine, setting);
  const rows = algorithmsOf(engine, setting.op);
  if (!rows.some((row) => row.name === setting.algorithm)) {
    const names = rows.map((row) => row.name);
    notes.push(`${setting.op} has no algorithm "${shortened(setting.algorithm, 60)}"${didYouMean(setting.algorithm, names)}; known: ${names.join(", ")}; using ${names[0]}`);
    setting.algorithm = rows[0].name;
  }
  if (setting.root >= setting.ranks) {
    notes.push(`there is no root ${setting.root} among ${setting.ranks} ranks, 0 to ${setting.ranks - 1}; using 0`);
    setting.root = 0;
  }
  if (setting.late_rank >= setting.ranks) {
    notes.push(`there is no late rank ${setting.late_rank} among ${setting.ranks} ranks, 0 to ${setting.ranks - 1}; ignoring "late rank"`);
    setting.late_rank = -1;
  }
  if (setting.slow_link && !hasLink(engine, setting)) {
    notes.push(noSuchLink(setting));
    setting.slow_link = "";
  }
  return notes;
}

/** How many GPUs a node has; 0: there are no nodes. @param {Engine} engine @param {PageSetting} setting */
function gpusOfNode(engine, { preset, shape, gpus_per_node: gpus }) {
  if (preset) return engine.presets.find(({ name }) => name === preset).gpus;
  return shape === "nodes" ? gpus : 0;
}

/** @param {Engine} engine @param {PageSetting} setting */
function wholeNodes(engine, setting) {
  const { ranks } = setting;
  const gpus = gpusOfNode(engine, setting);
  if (!gpus || ranks % gpus === 0) return [];
  setting.ranks = gpus * Math.max(1, Math.min(Math.floor(mostRanks / gpus), Math.round(ranks / gpus)));
  return [`${ranks} ranks do not fill whole nodes of ${gpus} GPUs; using ${setting.ranks} ranks`];
}

/** Prefers links with the same start, which are more likely meant. @param {PageSetting} setting */
function noSuchLink(setting) {
  const { preset, shape, ranks, slow_link: wanted } = setting;
  const names = knownLinks.links.map(({ name }) => name);
  const same = names.filter((name) => name.startsWith(`${wanted.split("-")[0]}-`));
  const some = (same.length ? same : names).slice(0, 4);
  const others = some.length ? `try ${some.join(", ")}` : "there are none";
  const network = preset ? `a ${preset}` : shape === "nodes" ? `a network of ${nodesText(setting)}` : `a ${shape}${shape === "fully-connected" ? " network" : ""} of ${ranks} ranks`;
  return `${network} has no link "${shortened(wanted, 60)}" (${others}); ignoring "slow link"`;
}

function hasLink(engine, setting) {
  try {
    return engineSetting(engine, setting).slowLink >= 0;
  } catch {
    return true; // the network itself is wrong, which the simulation reports
  }
}

/** @param {Engine} engine @param {PageSetting} setting */
function clusterOf(engine, setting) {
  const { preset, shape, ranks } = setting;
  const gpus = gpusOfNode(engine, setting);
  if (preset) return { preset, ...(ranks > gpus && { nodes: ranks / gpus }) };
  const link = (bandwidth) => ({
    bandwidth: rateWord(bandwidth),
    ...(setting.overhead > 0 && { overhead: timeWord(setting.overhead) }),
    ...(setting.latency > 0 && { latency: timeWord(setting.latency) }),
    ...(setting.sharing !== defaultSetting.sharing && { sharing: setting.sharing }),
  });
  if (shape === "nodes") {
    const intra = { shape: "switch", link: link(setting.bandwidth) };
    return { shape, nodes: ranks / gpus, gpus_per_node: gpus, intra, inter: { link: link(setting.network_bandwidth) } };
  }
  const dims = engine.dims(engineSetting(engine, setting));
  return { shape, ...(dims.length ? { dims } : { ranks }), link: link(setting.bandwidth) };
}

/** The file that `collsim run` takes. @param {Engine} engine @param {PageSetting} setting */
function scenarioOf(engine, setting) {
  const cluster = clusterOf(engine, setting);
  if (setting.slow_link) {
    const link = linksIn(engine, engineSetting(engine, setting)).find(({ name }) => name === setting.slow_link);
    cluster.links_override = [{ from: link.from, to: link.to, bandwidth: rateWord(slowBandwidth(setting, link)) }];
  }
  if (setting.late_rank >= 0) cluster.late = { [setting.late_rank]: timeWord(setting.late) };
  const collective = { op: setting.op, algorithm: setting.algorithm };
  if (matters("size", setting)) collective.size = sizeWord(setting.size, setting.size_unit);
  if (matters("chunks", setting)) collective.chunks = setting.chunks;
  if (setting.channels > 1) collective.channels = setting.channels;
  if (matters("root", setting, engine) && setting.root > 0) collective.root = setting.root;
  if (setting.slots > 0) collective.slots = setting.slots;
  const name = [setting.algorithm, setting.op, ...(matters("size", setting) ? [collective.size] : []), setting.ranks].join("-");
  const model = setting.gamma > 0 && matters("gamma", setting) ? { model: { reduce_bandwidth: rateWord(setting.gamma) } } : {};
  return { scenario: 1, name: name.toLowerCase().replaceAll(".", "-"), title: settingText(setting, engine), cluster, ...model, collective };
}
