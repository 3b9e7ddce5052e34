// SPDX-License-Identifier: Apache-2.0
// The page when it is about a training step: `step=ddp` or `step=pipeline` is the first key of the address.

/** What a rank's time goes to, with its colour. */
const stepShares = [
  { kind: "alone", name: "computing", colour: 1, note: "a stream of the rank works, and no collective is under way" },
  { kind: "hidden", name: "computing that hides communication", colour: 6, note: "a stream works while a collective is under way" },
  { kind: "exposed", name: "exposed communication", colour: 2, note: "a collective is under way, and no stream works" },
  { kind: "idle", name: "idle", colour: 8, to: "waiting", note: "neither: waiting for messages and slower ranks" },
];

const layerTimeStops = [0, 0.1, 0.2, 0.5, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100].map((ms) => ms * 1e9);
const layerSizeStops = [0, ...d3.range(10, 34).map((power) => 2 ** power)];
const bucketStops = [0, ...d3.range(18, 35).map((power) => 2 ** power)];
const countStops = [...d3.range(1, 17), 20, 24, 32, 40, 48, 64, 96, 128, 256];

const stepNotes = {
  ddp: "every rank has the whole model; gradients are averaged in buckets while the backward pass goes on",
  pipeline: "every rank has some layers; microbatches pass from stage to stage",
};
const scheduleNotes = {
  gpipe: "all microbatches forward, then all backward",
  "1f1b": "one forward, one backward: fewer activations are kept",
  interleaved: "two pieces of the model on every stage: a smaller bubble",
  "zb-h1": "the weights' gradients fill the bubble",
};

function trainingControls() {
  return [
    {
      name: "Training step",
      controls: [
        { key: "step", label: "scheme", choices: schemes, note: (setting) => stepNotes[setting.step] },
        { key: "bucket", label: "bucket", stops: bucketStops, note: () => "an all-reduce begins when so many gradients are there; 0: one for every layer" },
        { key: "first_bucket", label: "first bucket", stops: bucketStops, note: () => "the first one is smaller, so that sending begins early" },
        { key: "overlap", label: "overlap", choices: ["true", "false"], note: (setting) => (setting.overlap === "true" ? "gradients are sent during the backward pass" : "one all-reduce after the backward pass") },
        { key: "microbatches", label: "microbatches", stops: countStops, note: () => "parts of the batch, one after the other through the pipeline" },
        { key: "schedule", label: "schedule", choices: pipelineSchedules, note: (setting) => scheduleNotes[setting.schedule] },
      ],
    },
    {
      name: "Model",
      controls: [
        { key: "layers", label: "layers", stops: countStops, note: (setting) => (setting.step === "pipeline" ? "alike, spread over the stages" : "all alike") },
        { key: "forward", label: "forward", stops: layerTimeStops, note: (setting) => `of one layer${setting.step === "pipeline" ? " and microbatch" : ""}` },
        { key: "backward", label: "backward", stops: layerTimeStops, note: (setting) => `of one layer${setting.step === "pipeline" ? " and microbatch" : ""}` },
        { key: "gradients", label: "gradients", stops: layerSizeStops, note: () => "of one layer, as many as its parameters" },
        { key: "activations", label: "activations", stops: layerSizeStops, note: () => "that a layer hands on, of one microbatch" },
        { key: "optimizer", label: "optimizer", stops: layerTimeStops, note: () => "the update of all parameters" },
      ],
    },
    { name: "Machine", controls: machineControls },
  ];
}

class TrainingPage {
  /** @param {Engine} engine */
  constructor(engine) {
    this.engine = engine;
    this.keys = trainingKeys(engine);
    this.setting = trainingSetting(schemes[0]);
    this.notes = [];
    /** @type {StepAnswer|null} */
    this.answer = null;
    for (const id of ["actions", "formula", "mini"]) byId(id).hidden = true;
    byId("how-sure").textContent = "How sure: exact for these times of layers and these ideal links; no machine has either.";
    this.address = addressKeeper(() => writeTraining(this.setting, this.keys), (text) => this.readAddress(text));
    this.controls = addControls(byId("controls"), engine, (part) => this.change(part), { groups: trainingControls(), keys: this.keys, isShown: mattersInTraining });
    this.figures = [streamsFigure(byId("more-figures"), this), sharesFigure(byId("more-figures"), this)];
    this.address.begin();
  }

  change(part) {
    if (part.step) this.setting = trainingSetting(part.step);
    else Object.assign(this.setting, part);
    this.notes = settle(this.engine, this.setting);
    this.show();
    this.address.changed();
  }

  readAddress(text) {
    if (!text.startsWith("step=")) return location.reload();
    const { setting, notes } = readTraining(text, this.keys);
    this.setting = setting;
    this.notes = [...notes, ...settle(this.engine, setting)];
    this.show();
    this.address.tidy();
  }

  /** Simulates; if that fails, a note says why and the previous result stays. */
  show() {
    this.controls.show(this.setting);
    let refusal = null;
    try {
      this.answer = runStep(this.engine, engineSetting(this.engine, this.setting), stepNumbersOf(this.setting), mostKeptSteps);
      this.drawn = { ...this.setting };
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      refusal = `This cannot be simulated: ${error.message}`;
    }
    document.body.classList.toggle("stale", refusal !== null);
    showNotes([...this.notes, refusal].filter(Boolean), []);
    byId("scenario-text").textContent = JSON.stringify(trainingScenario(this.engine, this.setting), null, 2);
    if (this.answer) this.draw();
    document.body.dataset.drawn = String(Number(document.body.dataset.drawn ?? 0) + 1);
  }

  draw() {
    const { timePs, fingerprint, compute, hidden, exposed, idle, messages } = this.answer;
    const seconds = Number(timePs) * picosecond;
    byId("time").textContent = timeText(seconds);
    byId("time").dataset.ps = String(timePs);
    byId("what").textContent = trainingText(this.drawn);
    byId("facts").textContent = [
      `compute ${timeText(compute)}`,
      ...(hidden || exposed ? [`hidden ${timeText(hidden)}`, `exposed ${timeText(exposed)}`] : []),
      ...(idle > 0 ? [`bubble ${percentText(idle / seconds)}`] : []),
      `${countText(messages)} messages`,
    ].join(" · ");
    byId("fingerprint").textContent = fingerprint;
    this.figures.forEach((figure) => figure());
  }
}

/** @param {HTMLElement} parent @param {TrainingPage} page */
function streamsFigure(parent, page) {
  const columns = [
    { head: "stream", cell: (box) => box.stream, words: true },
    { head: "what", cell: (box) => box.text, words: true },
    { head: "from", seconds: (box) => box.begin_s },
    { head: "to", seconds: (box) => box.end_s },
  ];
  const { redraw, setTitle, setRows } = addFigure(parent, {
    id: "streams",
    title: "What each rank does when",
    text: "Time runs to the right. Numbers, where they fit, are layers and buckets, or microbatches; of ranks that do the same, one is drawn.",
    draw: (host, width) => {
      const picture = page.answer?.picture;
      if (picture) drawStep(host, width, picture, trainingText(page.drawn));
      else if (page.answer) host.append(element("p", "muted", "Too many steps for this picture: use fewer layers, buckets or ranks."));
    },
    table: { columns, rows: [] },
  });
  return () => {
    setTitle(streamsTitle(page.answer));
    const streams = page.answer.picture?.streams ?? [];
    setRows({ columns, rows: streams.flatMap(({ name, boxes }) => boxes.map((box) => ({ ...box, stream: name }))) });
    redraw();
  };
}

/** @param {StepAnswer} answer */
function streamsTitle({ compute, hidden, exposed, idle, timePs }) {
  const seconds = Number(timePs) * picosecond;
  if (exposed > 0 || hidden > 0) return `${percentText(hidden / (hidden + exposed))} of the communication is hidden behind computing`;
  return idle > 0 ? `Ranks are idle ${percentText(idle / seconds)} of the time: the bubble` : `All ranks compute all the time, ${timeText(compute)}`;
}

/** @param {HTMLElement} parent @param {TrainingPage} page */
function sharesFigure(parent, page) {
  const rowsOf = () => {
    const { compute, hidden, exposed, idle } = page.answer;
    return [{ name: "step", shares: { alone: compute - hidden, hidden, exposed, idle } }];
  };
  const columns = stepShares.map(({ kind, name }) => ({ head: name, seconds: (row) => row.shares[kind] }));
  const { redraw, setTitle, setRows } = addFigure(parent, {
    id: "step-shares",
    title: "Where the time goes",
    text: "Of one rank: means over all.",
    draw: (host, width) => {
      if (page.answer) drawBreakdown(host, width, rowsOf(), breakdownTitle(rowsOf()[0].shares, stepShares), false, stepShares);
    },
    table: { columns, rows: [] },
  });
  return () => {
    setTitle(breakdownTitle(rowsOf()[0].shares, stepShares));
    setRows({ columns, rows: rowsOf() });
    redraw();
  };
}
