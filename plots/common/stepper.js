// SPDX-License-Identifier: Apache-2.0
// The same run as a moving picture in true time: ranks with the pieces they have, messages in
// flight.  Twice as long on the clock of the run is twice as long on the screen.

/**
 * @typedef {object} StepperParts
 * @property {Steps} steps
 * @property {number} ranks
 * @property {number} [root]         the top of a tree; 0 if nothing is said
 * @property {number} end            seconds
 * @property {string} describe
 * @property {number} span           seconds of which the playhead's place is a part: of the longest run that is shown
 * @property {Playhead} playhead     where the reader is
 */

/** A run takes this long on the screen. In seconds. */
const playSeconds = 10;
/** More cells per rank than this are no longer cells. */
const mostCells = 64;
const stepperHint = "Space plays, arrow keys step from event to event, Home and End jump";

/** @param {HTMLElement} host @param {number} width @param {StepperParts} parts */
function drawStepper(host, width, parts) {
  const height = Math.round(Math.min(460, Math.max(300, width * 0.55)));
  const svg = d3
    .select(host)
    .append("svg")
    .attr("class", "chart stepper")
    .attr("viewBox", `0 0 ${width} ${height}`)
    .attr("role", "application")
    .attr("aria-roledescription", "figure with keys")
    .attr("tabindex", 0)
    .attr("aria-label", `${parts.describe}. ${stepperHint}`);
  const scene = stepperScene(svg, width, height, parts);
  const controls = stepperControls(host, parts);
  const moment = element("p", "moment");
  host.append(moment);
  const events = eventTimes(parts.steps);
  const state = { playing: 0, time: 0 };
  const show = (time) => {
    state.time = time;
    scene.show(time);
    moment.textContent = momentText(scene.story.messages, time, parts);
    controls.show(time, state.playing !== 0);
  };
  let exact = null; // the time that was asked for: a place is a rounded one
  const goTo = (time) => {
    exact = Math.min(parts.end, Math.max(0, time));
    parts.playhead.move(placeIn(exact, parts.span));
  };
  parts.playhead.follow("stepper", (place) => {
    show(exact ?? Math.min(parts.end, place * parts.span));
    exact = null;
  });
  const stop = () => {
    cancelAnimationFrame(state.playing);
    clearTimeout(state.playing);
    state.playing = 0;
  };
  const act = {
    goTo: (time) => {
      stop();
      goTo(time);
    },
    step: (direction) => {
      stop();
      goTo(neighbourEvent(events, state.time, direction, parts.end));
    },
    toggle: () => {
      if (state.playing) stop();
      else play(host, parts, events, state, goTo);
      controls.show(state.time, state.playing !== 0);
    },
  };
  controls.connect(act);
  svg.on("keydown", (event) => onStepperKey(event, act, parts.end));
  show(Math.min(parts.end, parts.playhead.place() * parts.span));
}

/** More events of one moment are only counted. */
const mostEvents = 2;

/** What happens just then. @param {{time: number}} state @param {StepperParts} parts */
function momentText(messages, time, { end, steps }) {
  if (time <= 0) return "Start: each rank has its input. ▶ goes to the next event, Play runs.";
  if (time >= end) return "End: every rank has its result.";
  const isNow = (other) => Math.abs(other - time) <= end * 1e-9;
  const what = ({ step }) => `${carriedText(steps, step)}${sumText(steps, step)}`;
  const came = messages.filter(({ arrived }) => isNow(arrived)).map((one) => cameText(steps, messages, one));
  const went = messages.filter(({ departed }) => isNow(departed)).map((one) => `rank ${one.from} begins to send ${what(one)} to rank ${one.to}`);
  const some = (list, more) => [...list.slice(0, mostEvents), ...(list.length > mostEvents ? [`and ${list.length - mostEvents} ${more}`] : [])].join(", ");
  const both = [some(came, "more arrive"), some(went, "more begin")].filter(Boolean).join("; ");
  if (both) return `${both[0].toUpperCase()}${both.slice(1)}.`;
  const moving = onTheirWay(messages, time).length;
  return moving === 1 ? "1 message is in flight." : `${moving} messages are in flight.`;
}

/** " (2 of 4 added)" @param {Steps} steps */
function sumText(steps, step) {
  return addedShare(steps, step) < 1 ? ` (${steps.added[step]} of ${steps.members} added)` : "";
}

/** What has come: a part of a sum is added to what the rank has of it. @param {Steps} steps */
function cameText(steps, messages, { to, piece, step, arrived }) {
  if (addedShare(steps, step) === 1 || steps.mixed[step]) return `rank ${to} has received ${carriedText(steps, step)}${sumText(steps, step)}`;
  const came = messages.filter((one) => one.to === to && one.piece === piece && one.arrived <= arrived && one.share < 1);
  const sum = Math.min(steps.members, came.reduce((all, one) => all + steps.added[one.step], 1));
  return `rank ${to} has received piece ${piece} and added its own: ${sum} of ${steps.members}`;
}

/** How far a time is in a run; a run that takes no time is at its start. */
function placeIn(time, end) {
  return end > 0 ? time / end : 0;
}

/** Moves with the clock; step by step for those who asked for less motion. */
function play(host, parts, events, state, goTo) {
  if (state.time >= parts.end) goTo(0);
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  let last = performance.now();
  const next = () => {
    if (!host.isConnected) return;
    const now = performance.now();
    const time = still
      ? neighbourEvent(events, state.time, 1, parts.end)
      : state.time + ((now - last) / 1000 / playSeconds) * parts.end;
    last = now;
    state.playing = time < parts.end ? again() : 0;
    goTo(time);
  };
  const again = () => (still ? setTimeout(next, 700) : requestAnimationFrame(next));
  state.playing = again();
}

function onStepperKey(event, act, end) {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const keys = {
    ArrowRight: () => act.step(1),
    ArrowLeft: () => act.step(-1),
    Home: () => act.goTo(0),
    End: () => act.goTo(end),
    " ": act.toggle,
  };
  if (!keys[event.key]) return;
  keys[event.key]();
  event.preventDefault();
}

/** When messages begin to leave and when they have arrived, in seconds, each once. @param {Steps} steps */
function eventTimes(steps) {
  const times = new Set([0]);
  for (let i = 0; i < steps.rank.length; ++i) {
    if (steps.route[i] < 0) continue;
    times.add(steps.departed[i]);
    times.add(steps.arrived[i]);
  }
  return [...times].sort((a, b) => a - b).map((ps) => ps * picosecond);
}

function neighbourEvent(events, time, direction, end) {
  const slack = end * 1e-9;
  if (direction > 0) return events[d3.bisector((t) => t).right(events, time + slack)] ?? end;
  return events[d3.bisector((t) => t).left(events, time - slack) - 1] ?? 0;
}

/** Play, step, scrub: below the picture. */
function stepperControls(host, { end }) {
  const bar = element("div", "stepper-controls screen-only");
  const button = (text, label) => {
    const made = element("button", "", text);
    made.type = "button";
    made.setAttribute("aria-label", label);
    bar.append(made);
    return made;
  };
  const back = button("◀", "one event back");
  const toggle = button("Play", "play or stop");
  const forward = button("▶", "one event on");
  const scrub = /** @type {HTMLInputElement} */ (element("input"));
  Object.assign(scrub, { type: "range", min: "0", max: "1000", step: "1", className: "scrub" });
  scrub.setAttribute("aria-label", "time of the run");
  const clock = element("output", "clock");
  clock.setAttribute("aria-live", "off"); // it changes with every frame
  bar.append(scrub, clock);
  host.append(bar);
  return {
    show: (time, playing) => {
      scrub.value = String(Math.round(placeIn(time, end) * 1000));
      scrub.setAttribute("aria-valuetext", timeText(time));
      clock.textContent = `${timeText(time)} of ${timeText(end)}`;
      toggle.textContent = playing ? "Stop" : "Play";
    },
    connect: (act) => {
      back.addEventListener("click", () => act.step(-1));
      forward.addEventListener("click", () => act.step(1));
      toggle.addEventListener("click", act.toggle);
      scrub.addEventListener("input", () => act.goTo((Number(scrub.value) / 1000) * end));
    },
  };
}
