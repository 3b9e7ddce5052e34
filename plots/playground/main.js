// SPDX-License-Identifier: Apache-2.0
// The page: its state, and what happens when it changes.

/** Steps beyond this are not kept: the picture would be dots, and the browser would need gigabytes. */
const mostKeptSteps = 300000;

class Playground {
  /** @param {Engine} engine */
  constructor(engine) {
    this.engine = engine;
    this.keys = settingKeys(engine);
    this.view = { rows: viewKeys.rows, spaceTime: { followed: -1, criticalPath: true }, stepper: { place: 0 } };
    /** @type {PageSetting} */
    this.setting = { ...defaultSetting };
    /** @type {Case|null} */
    this.now = null;
    /** @type {Case|null} */
    this.pinned = null;
    this.curve = null;
    this.makeCurve = chunkCurveMaker(engine);
    this.addressTimer = 0;
    this.address = ""; // as last read or written
    this.controls = addControls(byId("controls"), engine, (key, value) => this.change({ [key]: value }));
    this.actions = addActions(byId("actions"), this);
    this.figures = addFigures(byId("figures"), this);
    addEventListener("hashchange", () => this.readAddress());
    this.readAddress();
  }

  /** @param {Partial<PageSetting>} part */
  change(part) {
    Object.assign(this.setting, part);
    const rows = algorithmsOf(this.engine, this.setting.op);
    if (!rows.some((row) => row.name === this.setting.algorithm)) this.setting.algorithm = rows[0].name;
    this.notes = settle(this.engine, this.setting);
    this.controls.show(this.setting);
    this.update();
  }

  readAddress() {
    const text = location.hash.slice(1);
    if (this.now && text === this.address) return; // this page wrote it itself
    this.address = text;
    clearTimeout(this.addressTimer);
    const { setting, pinned, view, notes } = readFragment(text, this.engine);
    this.setting = setting;
    this.notes = notes;
    this.view.rows = view.rows;
    this.pinned = null;
    if (pinned) this.pinned = this.caseOf("A", pinned);
    this.controls.show(this.setting);
    this.update();
  }

  /** Simulates; a case that cannot be is a note, and what was there stays. */
  update() {
    const next = this.caseOf("now", this.setting);
    showNotes(this.notes ?? [], next?.answer.cautions ?? []);
    document.body.classList.toggle("stale", next === null);
    showScenario(this.engine, this.setting);
    document.body.classList.toggle("empty", next === null && this.now === null);
    this.actions.show(this.pinned !== null);
    if (next) {
      this.now = next;
      this.view.spaceTime.zoom = undefined;
      this.view.spaceTime.followed = -1;
      this.draw();
      if (matters("chunks", next.setting)) this.makeCurve.make(next.setting, next.numbers, (curve) => {
        this.curve = curve;
        this.figures.drawCurve(true);
      });
    }
    this.writeAddress();
    document.body.dataset.drawn = String(Number(document.body.dataset.drawn ?? 0) + 1);
  }

  /** @param {string} name @param {PageSetting} setting @returns {Case|null} */
  caseOf(name, setting) {
    try {
      const numbers = engineSetting(this.engine, setting);
      return { name, setting: { ...setting }, numbers, answer: this.engine.run(numbers, mostKeptSteps) };
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      const what = error.code === "deadlock" ? `Deadlock: ${error.message}` : error.message;
      this.notes = [...(this.notes ?? []), name === "A" ? `A: ${what}` : what];
      return null;
    }
  }

  pin() {
    if (!this.now) return;
    this.pinned = this.pinned ? null : { ...this.now, name: "A" };
    this.draw();
    this.writeAddress();
  }

  /** Now and A change places. */
  swap() {
    if (!this.pinned || !this.now) return;
    const setting = { ...this.pinned.setting };
    this.pinned = { ...this.now, name: "A" };
    this.change(setting);
  }

  draw() {
    if (!this.now) return;
    drawHeadline(this.now, this.pinned);
    drawFormula(this.now);
    this.actions.show(this.pinned !== null);
    this.figures.draw();
  }

  /** When things have come to rest: browsers take their time over it, and refuse it when it is too often. */
  writeAddress() {
    clearTimeout(this.addressTimer);
    this.addressTimer = setTimeout(() => this.writeAddressNow(), 200);
  }

  writeAddressNow() {
    if (location.hash.slice(1) !== this.address) return; // somebody else wrote one, which is read next
    history.replaceState(null, "", `#${writeFragment(this.setting, this.pinned?.setting ?? null, this.view, this.keys, this.engine)}`);
    this.address = location.hash.slice(1);
  }

  /** A above, what is turned now below. @returns {Case[]} */
  cases() {
    return this.pinned ? [this.pinned, this.now] : [this.now];
  }
}

/** @param {string} id @returns {HTMLElement} */
function byId(id) {
  return document.getElementById(id);
}

/** @param {string[]} notes @param {string[]} cautions that the command line prints as warnings */
function showNotes(notes, cautions) {
  const all = [...notes.map((text) => element("p", "notice", text)), ...cautions.map((text) => element("p", "notice caution", `Warning: ${text}`))];
  byId("notes").replaceChildren(...all);
}

/** Also of a setting that was refused: the command line says more about it. */
function showScenario(engine, setting) {
  let text;
  try {
    text = JSON.stringify(scenarioOf(engine, setting), null, 2);
  } catch (error) {
    text = error.message;
  }
  byId("scenario-text").textContent = text;
}

/** @param {Case} now @param {Case|null} pinned */
function drawHeadline(now, pinned) {
  const { time, text, facts, compared } = headline(now, pinned);
  byId("time").textContent = time;
  byId("time").dataset.ps = String(now.answer.timePs);
  byId("what").textContent = text;
  byId("facts").textContent = facts;
  byId("compared").textContent = compared;
  byId("fingerprint").textContent = now.answer.fingerprint;
}

/** @param {Case} one */
function drawFormula({ setting, answer }) {
  const place = byId("formula");
  place.replaceChildren(element("h2", "", "Closed form"));
  if (!answer.formula) {
    place.append(element("p", "muted", "No formula is known for exactly this case; the simulation needs none."));
    return;
  }
  const values = formulaValues(setting);
  const line = (className, text) => place.append(element("p", className, text));
  line("formula", `T = ${answer.formula}`);
  if (!isSentence(answer.formula)) line("formula", `= ${withValues(answer.formula, values)}`);
  for (const definition of definitionsIn(answer.formula, values)) line("formula definition", definition);
  if (setting.shape === "nodes" && setting.ranks > setting.gpus_per_node) line("formula definition", `between nodes: n/B = n/${rateText(setting.network_bandwidth)}`);
  if (setting.slow_link)
    line("formula definition", `on the slow link, ${setting.slow_link}: n/B = n/${rateText(slowBandwidth(setting))}`);
  line("formula", `= ${timeText(answer.formulaS)}, ${agreementText(answer)}`);
  line("muted reference", answer.reference);
}

/** @param {HTMLElement} parent @param {Playground} page */
function addActions(parent, page) {
  const button = (text, onClick) => {
    const made = /** @type {HTMLButtonElement} */ (element("button", "", text));
    made.type = "button";
    made.addEventListener("click", () => onClick(made));
    parent.append(made);
    return made;
  };
  const copy = (words) => async (made) => {
    const name = made.textContent;
    made.textContent = (await copyText(words())) ? "Copied" : "Could not copy: see below";
    setTimeout(() => (made.textContent = name), 1500);
  };
  const pin = button("Pin as A", () => page.pin());
  pin.title = "keep this setting, to compare what comes next with it";
  const swap = button("Swap with A", () => page.swap());
  button("Copy as scenario", copy(() => byId("scenario-text").textContent)).id = "copy-scenario";
  button("Copy link", copy(() => {
    page.writeAddressNow();
    return location.href;
  })).id = "copy-link";
  button("Start over", () => page.change({ ...defaultSetting }));
  pin.id = "pin";
  return {
    show: (isPinned) => {
      pin.textContent = isPinned ? "Unpin A" : "Pin as A";
      pin.setAttribute("aria-pressed", String(isPinned));
      swap.hidden = !isPinned;
    },
  };
}

/** @param {string} text @returns {Promise<boolean>} */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = /** @type {HTMLTextAreaElement} */ (element("textarea"));
    area.value = text;
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    return copied;
  }
}

Engine.load(Uint8Array.from(atob(engineBase64), (letter) => letter.charCodeAt(0))).then(
  (engine) => new Playground(engine),
  (error) => showNotes([`This browser cannot run the simulator: ${error.message}`], []),
);
