// SPDX-License-Identifier: Apache-2.0
// The figures of the page.

/** What a knob changes first, and the rest below. @param {HTMLElement} parent @param {HTMLElement} below @param {Playground} page */
function addFigures(parent, below, page) {
  const figures = [spaceTimeFigure(parent, page), curveFigure(parent, page), stepperFigure(below, page), machineFigure(below, page), breakdownFigure(below, page), knobCurveFigure(below, page, sizeCurve), knobCurveFigure(below, page, rankCurve)];
  const [, drawCurve] = figures;
  return {
    draw: () => figures.forEach((figure) => figure()),
    drawCurve,
  };
}

/** Cases whose steps were kept; a note says which others are too long. @param {Playground} page */
function drawnCases(page) {
  return page.now ? page.cases().filter(({ answer }) => answer.steps) : [];
}

/** @param {HTMLElement} host @param {Playground} page */
function sayTooMany(host, page) {
  for (const { name, answer } of page.cases())
    if (!answer.steps)
      host.append(
        element("p", "notice too-many", `${name === "A" ? "A has" : "There are"} ${countText(answer.instructions)} steps, too many to draw: more than ${countText(mostKeptSteps)}. Time and fingerprint are valid; use fewer chunks or ranks to see the picture.`),
      );
}

function spaceTimeFigure(parent, page) {
  const tools = element("div", "view-tools screen-only");
  const { figure, redraw, setTitle, setRows } = addFigure(parent, {
    id: "space-time",
    title: "Who sends what when",
    folded: true,
    text: `Time runs to the right. A bar is a message on its link, in the colour of its piece of the data, or, of many pieces, of its way: ${wayWords}; the pale start is α. A sum fills its bar as it grows: 3/8 has the data of 3 of 8 ranks. Thin lines below bars: grey, a rank waits for a message; ochre, for a free slot; orange-red, for a busy link; black or white, it starts late. The thick line is the critical path: it accounts for all of the time.`,
    hint: spaceTimeHint,
    draw: (host, width) => {
      if (!page.now) return;
      sayTooMany(host, page);
      const cases = drawnCases(page);
      if (!cases.length) return;
      drawSpaceTime(host, width, {
        panels: cases.map((one) => spaceTimePanel(one, page)),
        view: page.view.spaceTime,
        describe: `Space-time diagram of ${settingText(page.now.setting, page.engine)}`,
        textOf: stepText,
        playhead: page.playhead,
      });
    },
    table: messageTable([]),
  });
  figure.querySelector(".drawing").before(tools);
  const showTools = viewTools(tools, page, redraw);
  return whenSeen(figure, () => {
    showTools();
    const cases = drawnCases(page);
    const last = cases.find(({ name }) => name === "now");
    setTitle(last ? busyTitle(last) : "Too many steps to draw");
    setRows(messageTable(cases.map(({ name, answer }) => ({ name, steps: answer.steps }))));
    redraw();
  });
}

/** @param {Case} one @param {Playground} page @returns {SpaceTimePanel} */
function spaceTimePanel(one, page) {
  const { setting, answer, name } = one;
  const other = name === "A" ? page.now : page.pinned;
  const different = other ? differences(setting, other.setting, page.keys, page.engine) : "";
  const seconds = secondsOf(one);
  return {
    name: `${name === "A" ? "A" : "Now"}: ${different || "the same setting"}: ${timeText(seconds)}`,
    model: spaceTimeModel(answer.steps, {
      end: seconds,
      ranks: setting.ranks,
      byLink: page.view.rows === "links",
      gpus: gpusOfNode(page.engine, setting),
      linkNames: linksIn(page.engine, one.numbers).map(({ text }) => text),
    }),
  };
}

/** How many ranks end at the moment at which all have ended. @param {Steps} steps */
function ranksThatEndLast(steps) {
  const ends = new Map();
  for (let i = 0; i < steps.rank.length; ++i) ends.set(steps.rank[i], Math.max(ends.get(steps.rank[i]) ?? 0, steps.ended[i]));
  const last = d3.max(ends.values());
  return [...ends.values()].filter((end) => end === last).length;
}

function viewTools(tools, page, redraw) {
  const rows = element("label", "", "Show: ");
  const select = /** @type {HTMLSelectElement} */ (element("select"));
  select.id = "rows";
  select.append(new Option("ranks", "ranks"), new Option("links", "links"));
  select.addEventListener("change", () => {
    page.view.rows = select.value;
    page.address.changed();
    page.draw();
  });
  rows.append(select);
  const path = element("label");
  const ties = element("span");
  const box = /** @type {HTMLInputElement} */ (element("input"));
  Object.assign(box, { type: "checkbox", id: "critical-path", checked: true });
  box.addEventListener("change", () => {
    page.view.spaceTime.criticalPath = box.checked;
    redraw();
  });
  path.append(box, " critical path", ties);
  const colours = element("label", "", "Colours: ");
  const colourSelect = /** @type {HTMLSelectElement} */ (element("select"));
  colourSelect.id = "colours";
  colourSelect.append(new Option("pieces", "pieces"), new Option("inside and between nodes", "ways"));
  colourSelect.addEventListener("change", () => {
    page.view.spaceTime.colours = colourSelect.value;
    page.draw();
  });
  colours.append(colourSelect);
  tools.append(rows, colours, path);
  return () => {
    const { steps } = page.now?.answer ?? {};
    const gpus = page.now ? gpusOfNode(page.engine, page.now.setting) : 0;
    colours.hidden = !steps || !hasWays(steps, gpus);
    if (!colours.hidden) colourSelect.value = colouredBy(steps, gpus, page.view.spaceTime);
    select.value = page.view.rows;
    const last = page.now?.answer.steps ? ranksThatEndLast(page.now.answer.steps) : 1;
    ties.textContent = last > 1 ? `, of one of ${last} ranks that end last` : "";
  };
}

function curveFigure(parent, page) {
  const { figure, redraw, setTitle, setRows } = addFigure(parent, {
    id: "chunk-curve",
    title: "What is the best number of chunks?",
    folded: true,
    text: curveText("", []).trim(),
    hint: chartHint,
    draw: (host, width) => {
      if (!page.now) return;
      if (page.curve) drawCurve(host, width, page);
      else host.append(element("p", "muted waiting", "Simulating with other numbers of chunks ..."));
    },
    table: curveTable(null),
  });
  const draw = whenSeen(figure, () => {
    setTitle(page.curve ? curveTitle(page.curve) : "What is the best number of chunks?");
    setRows(curveTable(page.curve));
    redraw();
  });
  // Until the new curve is ready the old one stays, pale, so that the page does not jump.
  return (isNew = false) => {
    figure.hidden = !matters("chunks", page.now.setting);
    if (figure.hidden) return;
    const stale = page.curve && page.curve.key !== curveKey(page.now.numbers);
    figure.classList.toggle("stale-figure", Boolean(stale));
    if (!stale || isNew) draw();
  };
}

/** What is drawn: without a closed form there is no line. @param {string} why @param {Series[]} series */
function curveText(why, series) {
  const names = series.filter(({ line }) => line === "faint").map(({ name }) => name);
  const grey = names.length ? `; grey: ${names.join(", and ")}` : "";
  const line = series.some(({ name }) => name === "formula") ? ` Line: the closed form${grey}.` : "";
  return `${why}${line}${series.some(({ name }) => name === "A") ? " Dots: simulated; green: A, open ones with other numbers of chunks." : " Dots: simulated."} Dotted: the lower bound, which no algorithm can beat, however it cuts the data.`;
}

function drawCurve(host, width, page) {
  const { formula, simulated, best, floor, leftOut } = page.curve;
  const here = { x: page.now.setting.chunks, y: secondsOf(page.now) };
  const ofA = seriesOfA(page, page.otherCurve(), page.pinned ? [{ x: page.pinned.setting.chunks, y: secondsOf(page.pinned) }] : []);
  const dotsOfA = ofA.flatMap(({ points }) => points);
  const times = [...formula, ...simulated, ...dotsOfA, here].map((p) => p.y).concat(floor > 0 ? [floor] : []);
  const scale = d3.min(times) > 0 ? "log" : "linear";
  // Below the lower bound there is nothing but its name.
  const room = scale === "log" ? floor / Math.max(1.05, (d3.max(times) / floor) ** 0.05) : floor;
  const domain = domainOf(floor > 0 ? [...times, room] : times, scale);
  const series = curveSeries(page, here, domain[0], ofA);
  setWords(host.parentElement.querySelector("figcaption p"), curveText(curveReason(page.curve), series));
  drawXyChart(host, width, {
    x: { quantity: quantities.chunks, scale: "log", domain: domainOf([...simulated, ...dotsOfA, here].map((p) => p.x), "log") },
    y: { quantity: quantities.time, scale, domain },
    series,
    verticals: Number.isFinite(best) ? [{ x: best, name: `best by formula: ${countText(Number(best.toFixed(1)))}` }] : [],
    horizontals: floor > 0 ? [{ y: floor, name: `lower bound: ${timeText(floor)}`, below: true }] : [],
    describe: `Time against number of chunks, both on log axes: ${curveTitle(page.curve)}`,
  });
  if (leftOut) host.append(element("p", "muted", `Not simulated: ${leftOut} larger numbers of chunks, which would take too long.`));
}

/** @param {Playground} page @param {Point} here @param {number} lowest time that is shown @param {Series[]} ofA */
function curveSeries(page, here, lowest, ofA) {
  const { formula, wireAlone, startAlone, simulated } = page.curve;
  const { overhead, latency } = page.now.setting;
  return [
    ...costsAlone({ wire: wireAlone, start: startAlone, overhead, latency }, lowest),
    { name: "formula", colour: 1, line: "solid", points: formula, silent: true },
    ...ofA,
    { name: "simulated", colour: 1, mark: "dot", points: simulated },
    { name: "now", colour: 2, mark: "dot", points: [here], beside: roomBeside(simulated, here) },
  ].filter(({ points }) => points.length > 0);
}

/** There is room to the right of a curve that falls, and to the left of one that rises.
 *  @param {Point[]} curve @param {Point} here */
function roomBeside(curve, here) {
  const before = curve.filter(({ x }) => x < here.x).pop() ?? here;
  const after = curve.find(({ x }) => x > here.x) ?? here;
  const slope = after.y / before.y;
  if (slope > 0.8 && slope < 1.25) return "above";
  return slope > 1 ? "left" : "right";
}

/** @param {ChunkCurve|null} curve */
function curveTable(curve) {
  const columns = [
    { head: "chunks", cell: (dot) => countText(dot.x) },
    { head: "simulated", seconds: (dot) => dot.y },
    { head: "× lower bound", cell: (dot) => (curve.floor > 0 ? (dot.y / curve.floor).toFixed(2) : "") },
  ];
  return { columns, rows: curve?.simulated ?? [] };
}

function stepperFigure(parent, page) {
  const ofA = element("label", "", "Show: ");
  const select = /** @type {HTMLSelectElement} */ (element("select"));
  select.id = "stepper-shows";
  select.append(new Option("the present setting", "now"), new Option("A", "a"));
  ofA.append(select);
  const shown = () => (select.value === "a" && hasStepper(page.pinned) ? page.pinned : page.now);
  const { figure, redraw, setTitle } = addFigure(parent, {
    id: "stepper",
    title: "Step by step",
    folded: true,
    text: "The same run in true time. Circles are ranks. Inner ring: input. Outer ring: result so far, pale while it is a partial sum; where pieces are too many, a ring says how much there is. Dots are messages in flight; of a sum, a slice for each rank whose data is in it. The blue line in the space-time diagram is the same moment: drag it along the time axis. Lines join sender and receiver, whatever cables lie between.",
    hint: stepperHint,
    draw: (host, width) => {
      const one = shown();
      if (!one) return; // not simulated yet
      if (!hasStepper(one)) {
        host.append(element("p", "muted", "Too many steps for this picture: use fewer chunks or ranks."));
        return;
      }
      drawStepper(host, width, {
        steps: one.answer.steps,
        ranks: one.setting.ranks,
        root: one.numbers.root,
        end: secondsOf(one),
        span: page.span(),
        describe: `Where the data is at each moment of ${settingText(one.setting, page.engine)}`,
        playhead: page.playhead,
      });
    },
  });
  const draw = () => {
    tools.hidden = !hasStepper(page.pinned);
    setTitle(hasStepper(shown()) ? sendersTitle(shown()) : "Step by step");
    redraw();
  };
  const tools = element("div", "view-tools screen-only");
  tools.append(ofA);
  figure.querySelector(".drawing").before(tools);
  select.addEventListener("change", draw);
  return whenSeen(figure, draw);
}

/** More steps than this are not told apart, and take too long to draw while a slider moves. */
const mostSteppedSteps = 20000;

/** @param {Case|null} now */
function hasStepper(now) {
  const steps = now?.answer.steps;
  return Boolean(steps) && steps.rank.length <= mostSteppedSteps;
}

/** How to read the breakdown; the kinds that it shows in words. @param {Record<string, number>[]} shares */
function breakdownText(shares) {
  const used = shareKinds.filter(({ kind }) => shares.some((one) => one[kind] > 0));
  const kinds = [...used, ...(shares.some((one) => contentionShare(one)) ? [contention] : [])];
  const words = kinds.map(({ name, note }) => `${name}: ${note}`).join("; ");
  return `What the critical path consists of, from the start to the end of the last rank. Only changes on this path can shorten the run.${words ? ` ${words}.` : ""}`;
}

function breakdownFigure(parent, page) {
  const rowsOf = () => drawnCases(page).map(({ name, answer }) => ({ name: name === "A" ? "A" : "now", shares: pathShares(answer.steps) }));
  const columns = [
    { head: "setting", cell: (row) => row.name, words: true },
    ...[...shareKinds, contention].map(({ kind, name }) => ({ head: name, seconds: (row) => row.shares[kind] ?? 0 })),
  ];
  const { figure, redraw, setTitle, setRows } = addFigure(parent, {
    id: "breakdown",
    title: "Where the time goes",
    folded: true,
    text: breakdownText([]),
    draw: (host, width) => {
      const rows = rowsOf();
      if (rows.length) drawBreakdown(host, width, rows, breakdownTitle(rows.at(-1).shares));
      else if (page.now) host.append(element("p", "muted", "Too many steps: use fewer chunks or ranks."));
    },
    table: { columns, rows: [] },
  });
  return whenSeen(figure, () => {
    const rows = rowsOf();
    const now = rows.find(({ name }) => name === "now");
    setTitle(now ? breakdownTitle(now.shares) : "Where the time goes");
    setWords(figure.querySelector("details.how-to-read p"), breakdownText(rows.map(({ shares }) => shares)));
    setRows({ columns, rows });
    redraw();
  });
}
