// SPDX-License-Identifier: Apache-2.0
// Pictures of single runs: what was sent when, and where the time went.

const realColumns = new Set(["reached", "began", "ended", "departed", "left", "arrived", "bytes", "pathFrom", "pathTo", "crossingBegun", "crossingEnded", "linkStartup"]);

/** Columns are texts of numbers with commas. @param {any} stored @returns {Steps} */
function readSteps(stored) {
  const steps = { pieces: stored.pieces, members: stored.members };
  for (const [name, text] of Object.entries(stored)) {
    if (typeof text !== "string") continue;
    const numbers = text === "" ? [] : text.split(",").map(Number);
    steps[name] = realColumns.has(name) ? Float64Array.from(numbers) : Int32Array.from(numbers);
  }
  return /** @type {any} */ (steps);
}

/** Runs whose steps were kept. @param {Results} results */
function drawnCases(results) {
  return (results.data.cases ?? [])
    .filter((one) => one.steps)
    .map((one) => ({ ...withNamedNetwork(one), steps: readSteps(one.steps), name: caseName(results, one.row) }));
}

/** Calls the switch between nodes by what it is. @param {any} one a drawn case */
function withNamedNetwork(one) {
  const network = switchBetweenNodes(one.shape, one.link_names.flatMap((name) => name.split("->")));
  if (!network) return one;
  const named = (name) => name.split("->").map((device) => (device === network ? "network" : device)).join("->");
  return { ...one, link_names: one.link_names.map(named), nodes: one.nodes?.map((node) => ({ ...node, name: named(node.name) })) };
}

/** @param {Results} results @param {number} row */
function caseName(results, row) {
  return rowWords(results, results.rows[row]);
}

/** @param {HTMLElement} parent @param {Results} results */
function addRunPictures(parent, results) {
  const cases = drawnCases(results);
  const why = results.data.why_no_picture;
  if (why) parent.append(element("p", "notice", `No timeline is drawn: ${why}.`));
  if (cases.length) addRunsOverTime(parent, results, cases);
  addBreakdown(parent, results);
  for (const one of cases.slice(-1)) addLinkPicture(parent, results, one);
}

/** Messages and links over one time axis. @param {HTMLElement} parent @param {Results} results */
function addRunsOverTime(parent, results, cases) {
  const view = { followed: -1, criticalPath: true };
  const heat = heatOf(cases);
  const margin = (width) => heatMargin(heat, width);
  let drawHeat = () => {};
  let asked = 0;
  const onView = () => {
    cancelAnimationFrame(asked);
    asked = requestAnimationFrame(() => drawHeat());
  };
  const panels = addSpaceTime(parent, results, cases, { view, margin, onView });
  drawHeat = addLinkHeat(parent, results, heat, { view, left: (width) => spaceTimeLayout(width, panels(), margin(width)).left });
}

/** @param {HTMLElement} parent @param {Results} results @returns {() => SpaceTimePanel[]} */
function addSpaceTime(parent, results, cases, { view, margin, onView }) {
  let byLink = false;
  const model = (one) => spaceTimeModel(one.steps, { end: one.time_s, ranks: one.ranks, byLink, linkNames: one.link_names.map(linkText), gpus: gpusOfMachine(one) });
  let panels = [];
  const makePanels = () => {
    panels = cases.map((one) => ({ name: `${one.name}: ${timeText(one.time_s)}`, model: model(one) }));
  };
  makePanels();
  const ways = cases.find((one) => hasWays(one.steps, gpusOfMachine(one)));
  const { figure, redraw } = addFigure(parent, {
    id: `${results.id}space-time`,
    title: spaceTimeTitle(results, cases),
    text: `Time runs to the right. A bar is a message being sent, in the colour of its piece of the data${ways ? `, or of its way: ${wayWords}` : ""}; the pale start is the startup. A sum fills its bar as it grows: 3/8 has the data of 3 of 8 ranks. Thin lines below bars: grey, a rank waits for a message; ochre, for a free slot; orange-red, for a busy link; black or white, it starts late. The thick line is the critical path: it accounts for all of the time.`,
    hint: spaceTimeHint,
    draw: (host, width) => drawSpaceTime(host, width, { panels, view, onView, leastLeft: margin(width), describe: `Space-time diagram. ${spaceTimeTitle(results, cases)}`, textOf: stepText }),
    table: messageTable(cases),
  });
  const tools = element("div", "choice screen-only");
  tools.append(
    selection("Show ", ["ranks", "links"], 0, (i) => {
      byLink = i === 1;
      makePanels();
      redraw();
      onView();
    }),
  );
  if (ways) {
    const first = colouredBy(ways.steps, gpusOfMachine(ways), view);
    const choices = [first, first === "ways" ? "pieces" : "ways"];
    const words = { pieces: "pieces", ways: "inside and between nodes" };
    tools.append(selection("colours ", choices.map((one) => words[one]), 0, (i) => ((view.colours = choices[i]), redraw())));
  }
  figure.querySelector("figcaption").append(tools);
  return () => panels;
}

/** How many GPUs a node has; 0: there are no nodes. @param {any} one a drawn case */
function gpusOfMachine({ dims, shape }) {
  return dims?.length === 2 && dims[0] > 1 && !["torus", "mesh"].includes(shape) ? dims[1] : 0;
}

/** "gpu0->gpu1" @param {string} name */
function linkText(name) {
  return name.replace("->", "→").replaceAll("gpu", "");
}

/** "57 chunks: 3.282 ms instead of 18.83 ms, 6.3 messages at a time instead of 1"
 *  @param {Results} results */
function spaceTimeTitle(results, cases) {
  const last = cases.at(-1);
  if (cases.length === 1) {
    const many = timesText(messagesAtATime(last));
    const what = many === "0" ? "" : `, with ${many} message${many === "1" ? "" : "s"} at a time on average`;
    return `${last.name}: done after ${timeText(last.time_s)}${what}`;
  }
  const [slow, fast] = cases[0].time_s >= last.time_s ? [cases[0], last] : [last, cases[0]];
  if (timeText(fast.time_s) === timeText(slow.time_s)) return `${cases[0].name} and ${last.name}: both done after ${timeText(last.time_s)}`;
  const rows = cases.map((one) => results.rows[one.row]);
  if (distinct(rows, jobKeyOf({ ...results, rows })) > 1) return `${slow.name}: ${timeText(slow.time_s)}; ${fast.name}: ${timeText(fast.time_s)}`;
  const [many, few] = [messagesAtATime(fast), messagesAtATime(slow)];
  // Only where it is a reason.
  const why = many > 1.1 * few ? `, ${timesText(many)} messages at a time instead of ${timesText(few)}` : "";
  return `${fast.name}: ${timeText(fast.time_s)} instead of ${timeText(slow.time_s)}${why}`;
}

/** How many messages are on their way, each until its last link is free, on average over the whole time. */
function messagesAtATime({ steps, time_s }) {
  let busy = 0;
  for (let i = 0; i < steps.rank.length; ++i) if (steps.route[i] >= 0) busy += lastLeft(steps, i) - steps.departed[i];
  const many = time_s > 0 ? (busy * picosecond) / time_s : 0;
  return Math.abs(many - Math.round(many)) < 0.005 ? Math.round(many) : many;
}

/** When a message has crossed its last link, in picoseconds. @param {Steps} steps @param {number} step */
function lastLeft({ route, routeFirst, firstCrossing, crossingEnded, left }, step) {
  const links = routeFirst[route[step] + 1] - routeFirst[route[step]];
  let last = left[step];
  for (let i = 0; i < links; ++i) last = Math.max(last, crossingEnded[firstCrossing[step] + i]);
  return last;
}

/** @param {HTMLElement} parent @param {Results} results */
function addBreakdown(parent, results) {
  const cases = results.data.cases ?? [];
  if (!cases.length) return;
  const times = cases.map((one) => one.time_s);
  const relative = d3.max(times) > 10 * d3.min(times); // else the short ones could not be seen
  const name = (one) => `${caseName(results, one.row)}${relative ? `: ${timeText(one.time_s)}` : ""}`;
  const rows = jobsTogether(results, cases).map((one) => ({ name: name(one), run: caseName(results, one.row), shares: one.shares, time: one.time_s }));
  const some = cases.length < results.rows.length ? `${cases.length} of ${results.rows.length} rows. ` : "";
  const used = shareKinds.filter(({ kind }) => rows.some((row) => row.shares[kind] > 0));
  const held = rows.some(({ shares }) => contentionShare(shares) > 0);
  const title = rows.length > 1 ? breakdownsTitle(rows) : breakdownTitle(rows[0].shares);
  addFigure(parent, {
    id: `${results.id}breakdown`,
    title,
    text: `${some}${relative ? "Each bar is the whole time of its run. " : ""}What the critical path consists of, from the start to the end of the last rank: only changes on this path can shorten the run. ${[...used, ...(held ? [contention] : [])].map(({ name, note }) => `${name}: ${note}`).join("; ")}.`,
    draw: (host, width) => drawBreakdown(host, width, rows, `Where the time goes. ${title}`, relative),
    table: {
      columns: [
        { head: "run", cell: (row) => row.name, words: true },
        { head: "time", seconds: (row) => row.time },
        ...[...used, ...(held ? [contention] : [])].map(({ kind, name }) => ({ head: name, seconds: (row) => row.shares[kind] ?? 0 })),
      ],
      rows,
    },
  });
}

/** Of several jobs, those of one size and number of ranks together, the fastest first; of one, as the sweep has them.
 *  @param {Results} results @param {any[]} cases */
function jobsTogether(results, cases) {
  const rowOf = ({ row }) => results.rows[row];
  if (distinct(cases.map(rowOf), jobKeyOf(results)) === cases.length || !areOtherJobs(results, () => 0)) return cases;
  const order = [(one) => rowOf(one).ranks, (one) => rowOf(one).size, (one) => one.time_s];
  return [...cases].sort((a, b) => order.map((of) => of(a) - of(b)).find((apart) => apart !== 0) ?? 0);
}

/** What takes most of a row: "wire", 0.94. @param {BreakdownRow & {time: number}} row */
function mainShare({ shares, time }) {
  const { name, kind, to } = shareKinds.reduce((a, b) => ((shares[b.kind] ?? 0) > (shares[a.kind] ?? 0) ? b : a));
  return { key: kind, kind: name, to: to ?? name, share: time > 0 ? (shares[kind] ?? 0) / time : 0 };
}

/** "over 94%": never 100% of what is less. @param {number} share */
function partText(share) {
  return share > 0.995 && share < 1 - 1e-9 ? "over 99%" : percentText(share);
}

/** "1 chunk: 100% wire; 4,096 chunks: 88% startup"; what all rows share where they do
 *  @param {(BreakdownRow & {time: number, run: string})[]} rows */
function breakdownsTitle(rows) {
  const all = rows.map((row) => ({ name: row.run, ...mainShare(row) }));
  const [first, last] = [all[0], all.at(-1)];
  const words = ({ name, kind, share }) => `${name}: ${partText(share)} ${kind}`;
  if (rows.every((row) => !(row.time > 0))) return "No row takes any time";
  if (first.kind !== last.kind) return `${words(first)}; ${words(last)}`;
  const of = (wanted) => all.filter(({ kind }) => kind === wanted).length;
  const most = all.reduce((a, b) => (of(b.kind) > of(a.kind) ? b : a)).kind;
  const other = all.filter(({ kind }) => kind !== most).sort((a, b) => b.share - a.share)[0];
  const who = rows.length === 2 ? "both rows" : `all ${countText(rows.length)} rows`;
  if (other && 2 * of(most) > all.length) return `Most rows: mainly ${most}; but ${words(other)}`;
  if (other) return `${words(first)}; ${words(other)}`;
  const [low, high] = d3.extent(all, ({ share }) => share);
  if (low > 1 - 1e-9) return `In ${who} all of the time goes to ${first.to}`;
  if (low >= 0.9) return `In ${who} at least ${Math.floor(low * 100 + 1e-9)}% of the time goes to ${first.to}`;
  const range = percentText(low) === percentText(high) ? percentText(low) : `${percentText(low)} to ${partText(high)}`;
  const much = all.every(({ share }) => Math.round(share * 100) > 50) ? "most" : "the largest part"; // as they are printed
  return `In ${who} ${much} goes to ${first.to}: ${range} of the time`;
}
