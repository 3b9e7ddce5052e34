// SPDX-License-Identifier: Apache-2.0
// When each link was busy: links below each other over the time axis of the space-time diagram.

const mostHeatRows = 40;
/** Pixels of one cell, and how many colours there are. */
const heatCell = 4;
const heatLevels = 20;

/**
 * @typedef {object} LinkWork     when a link worked
 * @property {string} name
 * @property {string} kind        "gpu→nvswitch"
 * @property {number} busy        share of the whole time
 * @property {number[]} from      seconds, of each message that crossed it
 * @property {number[]} to
 * @property {string[]} [links]   for which it stands
 * @property {number[]} weight    how much of the link it took: 1 of a link that is held, less of one that is shared
 */

/** Links that carried something, the busiest first. @param {any} one a drawn case @returns {LinkWork[]} */
function workOfLinks(one) {
  const { steps, links, time_s } = one;
  const works = links.map((link, i) => ({ name: linkText(one.link_names[i]), kind: kindOfLink(linkText(one.link_names[i])), busy: time_s > 0 ? link.busy_s / time_s : 0, from: [], to: [], weight: [] }));
  for (let i = 0; i < steps.rank.length; ++i) {
    const route = steps.route[i];
    if (route < 0) continue;
    let crossing = steps.firstCrossing[i];
    for (let j = steps.routeFirst[route]; j < steps.routeFirst[route + 1]; ++j, ++crossing) {
      const link = steps.routeLinks[j];
      const [from, to] = [steps.crossingBegun[crossing] * picosecond, steps.crossingEnded[crossing] * picosecond];
      works[link].from.push(from);
      works[link].to.push(to);
      works[link].weight.push(links[link].fair && to > from ? Math.min(1, steps.bytes[i] / links[link].bytes_per_s / (to - from)) : 1);
    }
  }
  return works.filter((work) => work.from.length).sort((a, b) => b.busy - a.busy);
}

/** The share of each of `count` equal parts of a time in which a link was busy. @param {LinkWork} work */
function busyShares({ from, to, weight }, [start, end], count) {
  const shares = new Float64Array(count);
  const each = (end - start) / count;
  for (let i = 0; i < from.length; ++i) {
    const first = Math.max(0, Math.floor((from[i] - start) / each));
    const last = Math.min(count - 1, Math.floor((to[i] - start) / each));
    for (let k = first; k <= last; ++k) {
      const inside = Math.min(to[i], start + (k + 1) * each) - Math.max(from[i], start + k * each);
      if (inside > 0) shares[k] += (weight[i] * inside) / each;
    }
  }
  return shares.map((share) => Math.min(1, share));
}

/** "gpu→nvswitch" of "3→node0.nvswitch" @param {string} name */
function kindOfLink(name) {
  return name.split("→").map((device) => kindOfDevice(device) || "gpu").join("→");
}

/** Links that work alike all the time are one row: all links, or those of a kind.
 *  @param {LinkWork[]} works @param {number} time @returns {LinkWork[]} */
function rowsOfWorks(works, time) {
  if (works.length < 2 || !(time > 0)) return works;
  const shares = new Map(works.map((work) => [work, busyShares(work, [0, time], 50)]));
  const areAlike = (one, other) => shares.get(one).every((share, i) => Math.abs(share - shares.get(other)[i]) <= alikeBusy);
  if (works.every((work) => areAlike(work, works[0]))) return [rowOfWorks(works, `all ${countText(works.length)}`)];
  const kinds = new Map();
  for (const work of works) {
    if (!kinds.has(work.kind)) kinds.set(work.kind, []);
    const groups = kinds.get(work.kind);
    const group = groups.find(([first]) => areAlike(work, first));
    if (group) group.push(work);
    else groups.push([work]);
  }
  return [...kinds].flatMap(([kind, groups]) => rowsOfKind(kind, groups)).sort((a, b) => b.busy - a.busy);
}

/** "16 gpu→nvswitch", or of several groups "4 like 0→nvswitch". @param {string} kind @param {LinkWork[][]} groups */
function rowsOfKind(kind, groups) {
  const own = groups.map(([{ name }]) => name.split("→").map(ownName).join("→"));
  const first = new Set(own).size === own.length ? own : groups.map(([{ name }]) => name);
  return groups.map((group, i) => rowOfWorks(group, `${countText(group.length)} ${groups.length > 1 ? `like ${first[i]}` : kind}`));
}

/** @param {LinkWork[]} works that are alike @param {string} name if they are several */
function rowOfWorks(works, name) {
  return works.length > 1 ? { ...works[0], name, links: works.map((work) => work.name) } : works[0];
}

/** Times at which a link begins and ends to work, however many messages share it. @param {LinkWork} work */
function workingTimes({ from, to }) {
  const order = d3.range(from.length).sort((a, b) => from[a] - from[b]);
  const [starts, ends] = [[], []];
  for (const i of order) {
    const last = ends.length - 1;
    if (last >= 0 && from[i] <= ends[last] * (1 + 1e-9)) ends[last] = Math.max(ends[last], to[i]);
    else {
      starts.push(from[i]);
      ends.push(to[i]);
    }
  }
  return { starts, ends };
}

/** For how much of the time all links work, none does, and how many do at most.
 *  @param {LinkWork[]} works @param {number} time */
function togetherOf(works, time) {
  const spans = works.map(workingTimes);
  const starts = Float64Array.from(spans.flatMap((one) => one.starts)).sort();
  const ends = Float64Array.from(spans.flatMap((one) => one.ends)).sort();
  let [now, busy, all, none, most] = [0, 0, 0, 0, 0];
  for (let i = 0, j = 0; j < ends.length; ) {
    const next = i < starts.length && starts[i] < ends[j] ? starts[i] : ends[j];
    if (busy === works.length) all += next - now;
    if (busy === 0) none += next - now;
    now = next;
    if (i < starts.length && starts[i] < ends[j]) [busy, i] = [busy + 1, i + 1];
    else [busy, j] = [busy - 1, j + 1];
    most = Math.max(most, busy);
  }
  return { all: all / time, none: (none + Math.max(0, time - now)) / time, most };
}

/** "The 7 links are busy together for 71% of the time" @param {any} one a drawn case @param {LinkWork[]} works */
function heatTitle(one, works) {
  if (!(one.time_s > 0)) return "No link is ever busy";
  const count = countText(works.length);
  if (works.length === 1) return `One link carries everything; it is busy ${percentText(works[0].busy)} of the time`;
  const { all, none, most } = togetherOf(works, one.time_s);
  const every = works.length === 2 ? "Both" : `All ${count}`;
  // Messages on shared links need not take all that a link has.
  const work = d3.min(works, ({ busy }) => busy) > 0.99 * all ? "are busy" : "carry messages";
  if (all > 0.995) return `${every} links ${work} from start to end`;
  if (none > 1 - 1e-9) return "No link is ever busy";
  if (none > 0.5) return `No link is busy for ${partText(none)} of the time`;
  if (all >= 0.01) return `${every} links ${work} at once for ${percentText(all)} of the time`;
  return most === 1 ? `Of ${count} links one is busy at a time` : `Of ${count} links at most ${countText(most)} are busy at once`;
}

/**
 * What is drawn of each case: its links, and the rows that stand for them.
 * @param {any[]} cases @returns {{one: any, works: LinkWork[], rows: LinkWork[]}[]}
 */
function heatOf(cases) {
  return cases.filter((one) => one.links).map((one) => {
    const works = workOfLinks(one);
    return { one, works, rows: rowsOfWorks(works, one.time_s) };
  });
}

/**
 * @param {HTMLElement} parent @param {Results} results @param {{one: any, works: LinkWork[], rows: LinkWork[]}[]} drawn
 * @param {{view: SpaceTimeView, left: (width: number) => number}} axis   of the space-time diagram
 * @returns {() => void}   draws it again, when the view has changed
 */
function addLinkHeat(parent, results, drawn, axis) {
  if (!drawn.length || !drawn.every(({ works }) => works.length)) return () => {};
  const most = Math.floor(mostHeatRows / drawn.length);
  const hidden = d3.max(drawn, ({ rows }) => rows.length) > most;
  const alike = drawn.some(({ works, rows }) => rows.length < works.length);
  const { one, works } = drawn.at(-1);
  const finding = heatTitle(one, works);
  const title = drawn.length > 1 ? `${one.name}: ${finding.replace(/^[A-Z]/, (letter) => letter.toLowerCase())}` : finding;
  const slices = d3.range(10);
  const table = drawn.flatMap(({ one: { name, time_s }, works: all }) => all.map((work) => ({ run: name, work, shares: busyShares(work, [0, time_s || 1], 10) })));
  return addFigure(parent, {
    id: `${results.id}link-heat`,
    title,
    text: `A row is one direction of a link, the busiest first${hidden ? `, at most ${most} of a run` : ""}${alike ? ", and links that are busy alike all the time are one" : ""}; the time axis is that of the diagram above, and zooms with it. The stronger the colour, the busier the link at that moment.`,
    draw: (host, width) => drawLinkHeat(host, width, drawn, most, axis, title),
    table: {
      columns: [
        ...(drawn.length > 1 ? [{ head: "run", cell: (row) => row.run, words: true }] : []),
        { head: "link", cell: (row) => row.work.name, words: true },
        { head: "busy", cell: (row) => percentText(row.work.busy) },
        ...slices.map((i) => ({ head: `to ${(i + 1) * 10}% of the time`, cell: (row) => percentText(row.shares[i]) })),
      ],
      rows: table,
    },
  }).redraw;
}

/** Of a letter of a link's name: wide ones fit too. */
const nameLetter = 7.6;

/** How wide names of links want their margin. @param {{one: any, rows: LinkWork[]}[]} drawn @param {number} width */
function heatMargin(drawn, width) {
  const names = drawn.flatMap(({ one, rows }) => [...rows.map(({ name }) => name), ...one.link_names.map(linkText)]);
  return Math.min((d3.max(names, (name) => name.length) ?? 0) * nameLetter + 8, 176, width * 0.36);
}

function drawLinkHeat(host, width, drawn, most, { view, left: leftOf }, finding) {
  const [left, right] = [leftOf(width), width - 10];
  const heading = drawn.length > 1 ? 22 : 4;
  const shown = drawn.map(({ one, rows }) => ({ one, works: rows.slice(0, most) }));
  const count = d3.max(shown, ({ works }) => works.length);
  const rowHeight = count > 12 ? 13 : 20;
  let y = 0;
  const places = shown.map(({ one, works }) => {
    const top = y + heading;
    y = top + works.length * rowHeight + 6;
    return { one, works, top };
  });
  const end = d3.max(drawn, ({ one }) => one.time_s) || 1e-12;
  const x = d3.scaleLinear(view.zoom ?? [0, end], [left, right]);
  const svg = d3
    .select(host)
    .append("svg")
    .attr("class", "chart link-heat")
    .attr("viewBox", `0 0 ${width} ${y + 68}`)
    .attr("role", "img")
    .attr("aria-label", `How busy links were over time. ${finding}`);
  drawTimeAxis(svg.append("g"), x, { left, right, bottom: y, height: y + 40 });
  const colour = d3.interpolateRgb(themeColour("--grid"), themeColour("--c2"));
  const short = shortNames(shown.flatMap(({ works }) => works), Math.floor((left - 6) / nameLetter));
  for (const { one, works, top } of places) {
    if (drawn.length > 1) svg.append("text").attr("class", "panel-name").attr("x", 0).attr("y", top - 7).text(one.name);
    works.forEach((work, i) => drawHeatRow(svg, { ...work, short: short.get(work.name) }, top + i * rowHeight, rowHeight, x, colour));
  }
  drawRamp(svg, colour, width, y + 80);
}

/** Names of links are cut alike, those of kinds one by one: they have no numbers that tell them apart.
 *  @param {LinkWork[]} works @param {number} most letters @returns {Map<string, string>} */
function shortNames(works, most) {
  const isKind = ({ name, kind }) => name.endsWith(` ${kind}`);
  const names = [...new Set(works.filter((work) => !isKind(work)).map(({ name }) => name))];
  const cut = shortenedWords(names, most);
  return new Map([...names.map((name, i) => [name, cut[i]]), ...works.filter(isKind).map(({ name }) => [name, shortenedWords([name], most)[0]])]);
}

/** Neighbours of one colour are one bar. */
function drawHeatRow(svg, work, y, height, x, colour) {
  const [left, right] = x.range();
  svg.append("text").attr("class", "row-name").attr("text-anchor", "end").attr("x", left - 6).attr("y", y + height / 2).attr("dy", "0.35em").text(work.short);
  const row = svg.append("g");
  row.append("title").text(`${work.links ? `${work.name}, such as ${work.links.slice(0, 4).join(", ")}` : work.name}: busy ${percentText(work.busy)} of the time, ${countText(work.from.length)} messages${work.links ? " each" : ""}`);
  row.append("rect").attr("class", "heat-row").attr("x", left).attr("y", y).attr("width", right - left).attr("height", height - 1);
  const count = Math.max(1, Math.floor((right - left) / heatCell));
  const levels = busyShares(work, x.domain(), count).map((share) => Math.ceil(share * heatLevels - 1e-9));
  const each = (right - left) / count;
  for (let i = 0, j = 0; i < count; i = j) {
    for (j = i + 1; j < count && levels[j] === levels[i]; ++j);
    if (!levels[i]) continue;
    row.append("rect").attr("class", "heat").attr("fill", colour(levels[i] / heatLevels)).attr("x", left + i * each).attr("y", y).attr("width", (j - i) * each).attr("height", height - 1);
  }
}
