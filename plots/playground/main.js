// SPDX-License-Identifier: Apache-2.0
// The page: its state, and what happens when it changes.

/** Steps beyond this are not kept: the picture would be dots, and the browser would need gigabytes. */
const mostKeptSteps = 300000;

class Playground {
  /** @param {Engine} engine */
  constructor(engine) {
    this.engine = engine;
    this.keys = settingKeys(engine);
    this.view = { rows: viewKeys.rows, spaceTime: { followed: -1, criticalPath: true } };
    this.playhead = makePlayhead();
    /** @type {PageSetting} */
    this.setting = { ...defaultSetting };
    /** What is not taken over yet. @type {Partial<PageSetting>|null} */
    this.changed = null;
    /** What worked last. @type {Case|null} */
    this.now = null;
    /** The setting to compare with. @type {Compared|null} */
    this.a = null;
    /** Its result. @type {Case|null} */
    this.pinned = null;
    this.said = { setting: [], refusal: null, refusalOfA: null };
    this.curve = null;
    this.makeCurve = chunkCurveMaker(engine);
    /** That of A, if it is another one. @type {ChunkCurve|null} */
    this.curveOfA = null;
    this.makeCurveOfA = chunkCurveMaker(engine);
    this.address = addressKeeper(() => writeFragment(this.setting, this.a, this.view, this.keys, engine), (text) => this.readAddress(text));
    this.controls = addControls(byId("controls"), engine, (part) => this.change(part));
    this.actions = addActions(byId("actions"), this);
    this.figures = addFigures(byId("figures"), byId("more-figures"), this);
    /** Knobs that were moved last. @type {string[]} */
    this.moved = [];
    this.drawFormula = whenSeen(byId("formula"), () => {
      drawFormula(this.now);
      lightTerms(byId("formula"), this.moved);
    });
    this.drawMini = addMini(byId("mini"), this);
    this.announce = announcer(byId("said"));
    this.address.begin();
  }

  /** What changes between two frames is drawn once. @param {Partial<PageSetting>} part */
  change(part) {
    const isFirst = this.changed === null;
    this.changed = { ...this.changed, ...part };
    if (isFirst) requestAnimationFrame(() => this.take());
  }

  /** Takes over what has changed. */
  take() {
    this.moved = Object.keys(this.changed);
    Object.assign(this.setting, this.changed);
    this.changed = null;
    fitAlgorithm(this.engine, this.setting);
    this.said.setting = settle(this.engine, this.setting);
    this.controls.show(this.setting);
    this.update();
    this.address.changed();
  }

  /** @param {string} text */
  readAddress(text) {
    if (text.startsWith("step=")) return location.reload(); // the page of training steps
    const { setting, a, view, notes } = readFragment(text, this.engine);
    this.setting = setting;
    this.said.setting = notes;
    this.view.rows = view.rows;
    this.setA(a);
    this.controls.show(this.setting);
    this.update();
    this.address.tidy();
  }

  startOver() {
    this.view.rows = viewKeys.rows;
    this.setA(null);
    this.change({ ...defaultSetting });
  }

  /** Simulates; if that fails, a note says why and the previous result stays. */
  update() {
    const { found, refusal } = this.simulate("now", this.setting);
    this.said.refusal = refusal;
    showScenario(this.engine, this.setting);
    if (found) {
      this.now = found;
      if (this.a?.apart) this.setA(following(this.engine, this.setting, this.a.apart));
      if (this.a && !this.pinned) this.simulateA();
      this.view.spaceTime.zoom = undefined;
      this.view.spaceTime.followed = -1;
      this.draw();
      if (matters("chunks", found.setting)) this.makeCurve.make(found.setting, found.numbers, (curve) => {
        this.curve = curve;
        this.figures.drawCurve(true);
        this.curveA();
      });
    }
    this.say();
    document.body.dataset.drawn = String(Number(document.body.dataset.drawn ?? 0) + 1);
  }

  /** Makes the chunk curve of A. */
  curveA() {
    const { pinned } = this;
    if (!pinned || !matters("chunks", pinned.setting) || curveKey(pinned.numbers) === this.curve.key) return;
    this.makeCurveOfA.make(pinned.setting, pinned.numbers, (curve) => {
      this.curveOfA = curve;
      this.figures.drawCurve(true);
    });
  }

  /** The simulated points of A's chunk curve, where that is another one than the present. @returns {Point[]|null} */
  otherCurve() {
    const key = this.pinned && curveKey(this.pinned.numbers);
    return key && key !== this.curve.key && key === this.curveOfA?.key ? this.curveOfA.simulated : null;
  }

  /** @param {string} name @param {PageSetting} setting @returns {{found: Case|null, refusal: string|null}} */
  simulate(name, setting) {
    let numbers;
    try {
      numbers = engineSetting(this.engine, setting);
      return { found: { name, setting: { ...setting }, numbers, answer: this.engine.run(numbers, mostKeptSteps) }, refusal: null };
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      return { found: null, refusal: refusalText(this.engine, numbers, error) };
    }
  }

  /** @param {Compared|null} a @param {Case|null} pinned if it is known what comes out */
  setA(a, pinned = null) {
    this.a = a;
    this.pinned = pinned;
    this.said.refusalOfA = null;
  }

  simulateA() {
    const { found, refusal } = this.simulate("A", this.a.setting);
    this.pinned = found;
    this.said.refusalOfA = refusal && `A: ${refusal}`;
  }

  pin() {
    if (this.a) this.setA(null);
    else this.setA(standing(this.setting), { ...this.now, name: "A" });
    this.showA();
  }

  /** @param {boolean} on */
  follow(on) {
    const { setting } = this.a;
    if (on) this.setA(following(this.engine, this.setting, setApart(this.engine, setting, this.setting)), this.pinned);
    else this.setA(standing(setting), this.pinned);
    this.showA();
  }

  /** Swaps now and A. */
  swap() {
    const { setting } = this.a;
    this.setA(swapped(this.a, this.setting), { ...this.now, name: "A" });
    this.change({ ...setting });
  }

  showA() {
    this.draw();
    this.say();
    this.address.changed();
  }

  draw() {
    if (!this.now) return;
    drawHeadline(this.now, this.pinned, this.engine);
    this.drawFormula();
    this.figures.draw();
    this.drawMini();
  }

  /** The notes about the setting, and the buttons. */
  say() {
    const { setting, refusal, refusalOfA } = this.said;
    const notes = [...setting, ...(this.a?.notes ?? []), refusal, refusalOfA].filter(Boolean);
    const tip = refusal ? "" : idleNicsText(this.now, this.engine);
    showNotes(notes, refusal ? [] : this.now.answer.warnings, tip);
    this.announce(refusal ?? [byId("time").textContent, boundText(this.now), byId("compared").textContent, ...notes, tip].filter(Boolean).join(", "));
    showWhose(refusal !== null, this.now);
    const different = this.a && Object.keys(setApart(this.engine, this.a.setting, this.setting)).length > 0;
    this.actions.show({ a: this.a, refused: refusal !== null, comparable: this.pinned !== null, different });
  }

  /** How long the longest run in the space-time diagram takes, in seconds: the playhead goes through it. */
  span() {
    return d3.max(drawnCases(this), secondsOf) ?? 0;
  }

  /** A above, the current setting below. @returns {Case[]} */
  cases() {
    return this.pinned ? [this.pinned, this.now] : [this.now];
  }
}

/** @param {string} id @returns {HTMLElement} */
function byId(id) {
  return document.getElementById(id);
}

/** Says the result to those who do not see it, once the knobs rest. @param {HTMLElement} place */
function announcer(place) {
  let timer = 0;
  return (text) => {
    clearTimeout(timer);
    timer = setTimeout(() => (place.textContent = text), 700);
  };
}

/** @param {string[]} notes @param {string[]} warnings that the command line prints as warnings @param {string} [tip] */
function showNotes(notes, warnings, tip = "") {
  const all = [...notes.map((text) => element("p", "notice", text)), ...warnings.map((text) => element("p", "notice caution", `Warning: ${text}`))];
  byId("notes").replaceChildren(...all, ...(tip ? [element("p", "notice tip", tip)] : []));
}

/** Also for a refused setting: the command line says more about it. */
function showScenario(engine, setting) {
  let text;
  try {
    text = JSON.stringify(scenarioOf(engine, setting), null, 2);
  } catch (error) {
    text = error.message;
  }
  byId("scenario-text").textContent = text;
}

/** @param {Case} now @param {Case|null} pinned @param {Engine} engine */
function drawHeadline(now, pinned, engine) {
  const { time, text, facts, compared } = headline(now, pinned, engine);
  byId("time").textContent = time;
  byId("time").dataset.ps = String(now.answer.timePs);
  byId("what").textContent = text;
  byId("facts").textContent = facts;
  byId("compared").textContent = compared;
  byId("fingerprint").textContent = now.answer.fingerprint;
  byId("how-sure").replaceChildren(...howSure(now.setting, engine));
}

/** How far `predict` was off on such a machine, at the size and the number of nodes of the setting.
 *  @param {PageSetting} setting @param {Engine} engine */
function errorClass({ preset, ranks, size, op }, engine) {
  const { gpus, accuracy } = engine.presets.find(({ name }) => name === preset);
  const nodes = ranks > gpus ? "several nodes" : "one node";
  const parts = accuracy.split(";").map((part) => part.split(",").filter(Boolean).map((one) => one.split(" ")));
  const known = parts[ranks > gpus ? 1 : 0].map((range) => range.map(Number)).find(([upTo]) => upTo === 0 || size <= upTo);
  const unknown = (missing) => `; how far it is off is unknown, because no published table of ${missing} of this machine was used.`;
  if (!known) return unknown(nodes);
  const measured = parts[ranks > gpus ? 3 : 2].find(([name]) => name === op);
  if (!measured) return unknown(`${op} on ${nodes}`);
  if (ranks > gpus * Number(measured[1])) return unknown(`${op} on more than ${measured[1]} nodes`);
  const [, half, most, tables] = known;
  return `. That, not the time on this page, was held against measurements: on ${nodes} of this kind, at this size, half of the times within ${Math.round(half)}% and 95% within ${Math.round(most)}% of ${tables} published tables, to which it was fitted.`;
}

/** What the links stand on. @param {PageSetting} setting @param {Engine} engine */
function howSure(setting, engine) {
  const { preset } = setting;
  if (!preset) return ["How sure: exact for these ideal links, which no machine has; ", element("code", "", "collsim predict --preset"), " predicts machines, and says how far such predictions were off."];
  return [
    "How sure: the time on this page was not held against measurements: its bandwidths are those of data sheets and of NCCL, latency and overhead are taken from NCCL's source, not measured. ",
    element("code", "", `collsim predict --preset ${preset}`),
    " predicts what NCCL takes, with NCCL's own schedules and protocols",
    errorClass(setting, engine),
  ];
}

/** How the closed form's value and the simulation agree.  Where they do not, the answer knows why.
 *  @param {{timePs: bigint, formulaS: number, exact: number}} answer */
function agreementText({ timePs, formulaS, exact }) {
  const seconds = Number(timePs) * picosecond;
  const apart = seconds === formulaS ? 0 : seconds / formulaS - 1;
  if (Math.abs(apart) < 5e-7) return "as simulated";
  const why = exact ? "it rounds each message up to a picosecond" : "the data does not divide evenly, as the formula assumes";
  const far = Math.abs(apart) < 5e-4 ? "less than 0.1%" : percentText(apart);
  return `${far} from the simulation: ${why}`;
}

/** @param {Case} one */
function drawFormula({ setting, numbers, answer }) {
  const place = byId("formula");
  place.replaceChildren(element("h3", "", "Closed form"));
  if (!answer.formula) {
    place.append(element("p", "muted", "No formula is known for this exact case; the simulation needs none."));
    return;
  }
  const line = (className, text) => place.append(element("p", className, inGreek(text)));
  const typeset = (before, text) => {
    const lines = formulaMath(before, text);
    if (!lines) return line("formula", `${before}${text}`);
    for (const made of lines) {
      line("formula", "");
      made.forEach((part, i) => place.lastChild.append(...(i ? [element("wbr"), part] : [part]))); // a line may end there
    }
  };
  typeset("T = ", answer.formula);
  if (answer.formulaWithValues) typeset("= ", answer.formulaWithValues);
  for (const definition of answer.formulaDefinitions) line("formula definition", definition);
  if ([answer.formula, ...answer.formulaDefinitions].some((text) => /\bgamma\b/.test(text)))
    line("formula definition", numbers.reduceBandwidth > 0 ? `gamma = 1/(${rateText(numbers.reduceBandwidth)}): time to add one byte` : "gamma = 0: adding is free");
  if (!setting.preset && setting.shape === "nodes" && setting.ranks > setting.gpus_per_node) line("formula definition", `between nodes: n/B = n/${rateText(setting.network_bandwidth)}`);
  if (setting.slow_link) line("formula definition", `on the slow link, ${linkInWords(setting.slow_link, setting)}: n/B = n/${rateText(numbers.slowBandwidth)}`);
  line("formula", `= ${timeText(answer.formulaS)}, ${agreementText(answer)}`);
  line("muted reference", answer.reference);
}

document.body.classList.toggle("embedded", apartFromEmbed(location.hash.slice(1)).embed !== "");
byId("skip").addEventListener("click", () => byId("result").focus());
Engine.load(packedEngine).then(
  (engine) => (location.hash.startsWith("#step=") ? new TrainingPage(engine) : new Playground(engine)),
  (error) => showNotes([`This browser cannot run the simulator: ${error.message}`], []),
);
