// SPDX-License-Identifier: Apache-2.0
// The controls: each with its name, its value, and one line that says what it means.

const opNotes = {
  broadcast: "every rank gets the root's data",
  reduce: "the root gets the sum of all ranks' data",
  "all-reduce": "every rank gets the sum of all ranks' data",
  "all-gather": "every rank gets the parts of all",
  "reduce-scatter": "every rank gets one part of the sum",
  gather: "the root gets the parts of all ranks",
  scatter: "every rank gets one part of the root's data",
  "all-to-all": "every rank sends a different part to every other",
  barrier: "no rank leaves before all have arrived; no data",
  "send-recv": "every rank sends to the next",
};
const shapeNotes = {
  chain: "a line of ranks, a cable between neighbours",
  ring: "the line closed into a circle",
  "fully-connected": "a cable between every pair of ranks",
  switch: "one cable from every rank into a switch",
  torus: "a grid whose rows and columns are rings",
  mesh: "a grid",
  hypercube: "2, 4, 8, ... ranks; neighbours differ in one bit",
  nodes: "servers: a fast switch inside each, a slower network between them",
};

/** Of the operations that have one, or algorithms that do. */
const rootNotes = {
  broadcast: "the rank that has the data",
  scatter: "the rank that has the data",
  reduce: "the rank that gets the result",
  gather: "the rank that gets the result",
  "all-reduce": "the rank that adds up and sends the sum back",
};

const sharingNotes = {
  exclusive: "a link serves one message after the other",
  fair: "connections that meet on a link share its bandwidth",
};

const micro = 1e6; // picoseconds
const timeStops = [0, 0.1, 0.2, 0.5, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 75, 100, 200, 500, 1000].map((us) => us * micro);
const lateStops = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000].map((us) => us * micro);
const rateStops = [1, 2, 3, 4, 5, 6, 8, 10, 12.5, 16, 20, 25, 32, 40, 50, 64, 80, 100, 150, 200, 300, 450, 600, 900].map((gb) => gb * 1e9);
const sizeStops = d3.range(2, 35).map((power) => 2 ** power);
const chunkStops = [...new Set(d3.range(0, 121).map((i) => Math.round(2 ** (i / 10))))];
const slotStops = [1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 0];
const factorStops = [1.5, 2, 3, 4, 5, 8, 10, 20, 50, 100];

const channelStops = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32];
const gpuStops = [1, 2, 3, 4, 6, 8, 12, 16, 32];

const isPower = (count) => Number.isInteger(Math.log2(count));
const isWholeUnit = (bytes) => Number.isInteger(Math.log2(bytes) / 10);

/** Groups of controls, in the order of the page. `stops` makes a slider with a field beside it, with a tick at those of
 *  them that `ticks` says; a group that is `folded` shows its controls when it is opened. */
function controlGroups() {
  return [
    {
      name: "Knobs",
      controls: [
        { key: "op", label: "operation", note: (setting) => opNotes[setting.op] },
        { key: "algorithm", label: "algorithm", note: (setting, engine) => algorithmRow(engine, setting).summary },
        { key: "ranks", label: "ranks K", stops: d3.range(2, mostRanks + 1), ticks: isPower, note: () => "GPUs that take part" },
        { key: "size", label: "size N", stops: sizeStops, ticks: isWholeUnit, note: () => "of the whole buffer, as in nccl-tests" },
        { key: "chunks", label: "chunks S", stops: chunkStops, ticks: isPower, note: () => "messages into which each step's data is cut" },
        bandwidthControl,
        overheadControl,
      ],
    },
    {
      name: "More",
      folded: true,
      controls: [
        { key: "preset", label: "machine", note: (setting, engine) => engine.presets.find(({ name }) => name === setting.preset)?.title ?? "a preset; none: the network below" },
        { key: "root", label: "root", note: (setting) => rootNotes[setting.op] },
        { key: "channels", label: "channels", stops: channelStops, note: () => "parallel copies of the algorithm, each on its share of the data" },
        ...machineControls.filter((one) => one !== bandwidthControl && one !== overheadControl && one.key !== "ranks"),
        { key: "sharing", label: "sharing", note: (setting) => sharingNotes[setting.sharing] },
        { key: "gamma", label: "adding 1/γ", stops: [...rateStops.filter((rate) => rate >= 10e9), 2e12, 0], note: () => "bytes that a rank adds in a second; no limit: adding takes no time" },
        { key: "slow_link", label: "slow link", note: () => "one direction of one cable with less bandwidth" },
        { key: "slow_factor", label: "slower by", stops: factorStops, note: () => "times less bandwidth than the other links" },
        { key: "late_rank", label: "late rank", note: () => "one rank that starts after the others" },
        { key: "late", label: "late by", stops: lateStops, note: () => "after the others" },
        { key: "slots", label: "slots", stops: slotStops, note: () => "messages that a connection holds before its sender must wait" },
      ],
    },
  ];
}

const bandwidthControl = { key: "bandwidth", label: "bandwidth B", stops: rateStops, note: (setting) => `of every link${setting.shape === "nodes" ? " inside a node" : ""}, in one direction` };
const overheadControl = { key: "overhead", label: "overhead α", stops: timeStops, note: () => "startup of every message; occupies the link" };
const machineControls = [
  { key: "shape", label: "network", note: (setting) => shapeNotes[setting.shape] },
  { key: "ranks", label: "ranks K", stops: d3.range(2, mostRanks + 1), note: () => "GPUs that take part" },
  { key: "gpus_per_node", label: "GPUs per node", stops: gpuStops, note: (setting) => nodesText(setting) },
  bandwidthControl,
  { key: "network_bandwidth", label: "between nodes", stops: rateStops, note: () => "bandwidth of each GPU's port into the network, in one direction" },
  overheadControl,
  { key: "latency", label: "latency L", stops: timeStops, note: () => "delays every message; leaves the link free" },
];

/** "4 nodes of 8 GPUs" @param {PageSetting} setting */
function nodesText({ ranks, gpus_per_node: gpus }) {
  const count = ranks / gpus;
  return `${count} node${count === 1 ? "" : "s"} of ${gpus} GPU${gpus === 1 ? "" : "s"}`;
}

function algorithmRow(engine, setting) {
  return algorithmsOf(engine, setting.op).find((row) => row.name === setting.algorithm);
}

/**
 * Makes the controls. @param {HTMLElement} parent @param {Engine} engine
 * @param {(part: Partial<PageSetting>) => void} onChange
 * @param {{groups: any[], keys: Record<string, any>, isShown: (key: string, setting: any, engine: Engine) => boolean}} [of]
 * @returns {{show: (setting: PageSetting) => void}}
 */
function addControls(parent, engine, onChange, { groups, keys, isShown } = { groups: controlGroups(), keys: settingKeys(engine), isShown: matters }) {
  const shown = [];
  const folds = [];
  for (const group of groups) {
    const { outer, inner, show } = controlGroup(group);
    for (const control of group.controls) {
      const made = control.stops ? sliderControl(control, keys[control.key], onChange) : selectControl(control, engine, onChange);
      inner.append(made.row);
      shown.push({ control, ...made });
    }
    folds.push(show);
    parent.append(outer);
  }
  return {
    show: (setting) => {
      for (const show of folds) show(setting);
      for (const { control, row, note, show } of shown) {
        row.hidden = !isShown(control.key, setting, engine);
        note.textContent = control.note(setting, engine);
        show(setting);
      }
    },
  };
}

/** A frame for controls. A folded one says how many of them are not as at the start, and is open then. */
function controlGroup({ name, folded, controls }) {
  const inner = element("fieldset");
  if (!folded) {
    inner.append(element("legend", "", name));
    return { outer: inner, inner, show: () => {} };
  }
  const outer = /** @type {HTMLDetailsElement} */ (element("details", "more-controls"));
  const summary = element("summary");
  inner.setAttribute("aria-label", name);
  outer.append(summary, inner);
  let before = 0;
  const show = (setting) => {
    const changed = controls.filter(({ key }) => key in defaultSetting && setting[key] !== defaultSetting[key]).length;
    summary.textContent = changed ? `${name}: ${changed} changed` : `${name} knobs`;
    if (changed > before) outer.open = true;
    before = changed;
  };
  return { outer, inner, show };
}

function controlRow(control) {
  const row = element("div", "control");
  row.dataset.key = control.key;
  const label = element("label", "", control.label);
  label.htmlFor = `control-${control.key}`;
  const note = element("small", "note");
  note.id = `note-${control.key}`;
  row.append(label);
  return { row, note };
}

function sliderControl(control, { parse, text, also }, onChange) {
  const { row, note } = controlRow(control);
  const slider = /** @type {HTMLInputElement} */ (element("input"));
  Object.assign(slider, { type: "range", min: "0", max: String(control.stops.length - 1), step: "1", id: `control-${control.key}` });
  slider.setAttribute("aria-describedby", note.id);
  const field = /** @type {HTMLInputElement} */ (element("input", "field"));
  Object.assign(field, { type: "text", spellcheck: false, autocomplete: "off", id: `field-${control.key}` });
  field.setAttribute("aria-label", `${control.label}, exactly`);
  const mistake = element("small", "mistake");
  mistake.setAttribute("role", "alert");
  mistake.hidden = true;
  row.append(slider, field, note, mistake);
  if (control.ticks) row.append(sliderTicks(control));
  const none = noneValues[control.key];
  const written = (setting) => (setting[control.key] === none ? "no limit" : text(setting[control.key], setting));
  const set = (value, typed) => onChange({ [control.key]: value, ...also?.(typed) });
  slider.addEventListener("input", () => set(control.stops[Number(slider.value)], ""));
  field.addEventListener("change", () => {
    try {
      const value = none !== undefined && /^(no limit|none|)$/.test(field.value.trim()) ? none : parse(field.value.trim());
      set(value, field.value);
    } catch (error) {
      mistake.textContent = error.message;
      mistake.hidden = false;
    }
  });
  const show = (setting) => {
    const value = setting[control.key];
    mistake.hidden = true;
    slider.value = String(nearestStop(control.stops, value));
    slider.setAttribute("aria-valuetext", written(setting));
    field.value = written(setting);
    field.title = field.value; // which may be wider than the field may be
    field.style.width = `calc(${Math.max(4, 0.95 * field.value.length + 0.7 * field.value.split("M").slice(1).length)}ch + 0.9rem)`; // an M is wide; what is left is the label's
  };
  return { row, note, show };
}

/** Marks below a slider.  A datalist would hold the slider back at them, and make the stops beside them hard to reach. */
function sliderTicks({ stops, ticks }) {
  const place = element("div", "slider-ticks");
  place.setAttribute("aria-hidden", "true");
  stops.forEach((stop, i) => {
    if (!ticks(stop)) return;
    const tick = element("i");
    tick.style.left = `${(100 * i) / (stops.length - 1)}%`;
    place.append(tick);
  });
  return place;
}

/** By ratio; a stop that is the value exactly wins. */
function nearestStop(stops, value) {
  const exact = stops.indexOf(value);
  if (exact >= 0) return exact;
  const away = (stop) => (stop <= 0 ? Infinity : Math.abs(Math.log(stop / value)));
  return d3.range(stops.length).reduce((best, i) => (away(stops[i]) < away(stops[best]) ? i : best), 0);
}

function selectControl(control, engine, onChange) {
  const { row, note } = controlRow(control);
  const select = /** @type {HTMLSelectElement} */ (element("select"));
  select.id = `control-${control.key}`;
  select.setAttribute("aria-describedby", note.id);
  row.append(select, note);
  select.addEventListener("change", () => onChange({ [control.key]: ["late_rank", "root"].includes(control.key) ? Number(select.value) : select.value }));
  let known = null;
  const show = (setting) => {
    const choices = control.choices ?? choicesFor(control.key, engine, setting);
    if (choices.join("\n") !== known) {
      known = choices.join("\n");
      select.replaceChildren(...choices.map((value) => new Option(choiceText(control.key, value, setting), value)));
    }
    select.value = String(setting[control.key]);
  };
  return { row, note, show };
}

function choiceText(key, value, setting) {
  if (key in noneValues && value === String(noneValues[key])) return "none";
  return key === "late_rank" || key === "root" ? `rank ${value}` : key === "slow_link" ? linkInWords(value, setting) : value;
}

/** A fully connected network has thousands of links: those of the first ranks do. */
const mostLinkChoices = 512;

/** @returns {string[]} */
function choicesFor(key, engine, setting) {
  if (key === "op") return [...new Set(engine.algorithms.map((row) => row.operation))];
  if (key === "algorithm") return algorithmsOf(engine, setting.op).map((row) => row.name);
  if (key === "preset") return ["", ...engine.presets.map(({ name }) => name)];
  if (key === "shape") return engine.shapes;
  if (key === "sharing") return Object.keys(sharingNotes);
  if (key === "root") return d3.range(setting.ranks).map(String);
  if (key === "late_rank") return ["-1", ...d3.range(setting.ranks).map(String)];
  const links = linksOf(engine, setting).slice(0, mostLinkChoices);
  if (setting.slow_link && !links.includes(setting.slow_link)) links.push(setting.slow_link);
  return ["", ...links];
}

/** None where the network cannot be built, which is said elsewhere. */
function linksOf(engine, setting) {
  try {
    return linksIn(engine, engineSetting(engine, { ...setting, slow_link: "" })).map(({ name }) => name);
  } catch {
    return [];
  }
}
