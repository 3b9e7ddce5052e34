// SPDX-License-Identifier: Apache-2.0
// Which algorithm is best at each size and number of ranks: a map, where a sweep goes over both.

/**
 * @typedef {object} MapCell
 * @property {number} size
 * @property {number} ranks
 * @property {string} best        a name of names, or "tie"
 * @property {Row} row            of the best
 * @property {string} next        the second best, or those that share the first place; empty where there is none
 * @property {number} lead        how many times as long the second best takes; 1: as fast
 *
 * @typedef {object} BestMap
 * @property {string} name        of the job; empty when it is the only one
 * @property {number[]} sizes
 * @property {number[]} ranks
 * @property {string[]} names     the best anywhere, those that are it most often first
 * @property {MapCell[]} cells
 */

/** Where several are equally fast. */
const tie = "tie";

/** The key of a map: of very many the last colour is that of all that are fastest least often. @param {string[]} names */
function mapKey(names) {
  const own = names.length > mostGroups ? names.slice(0, mostGroups - 1) : names;
  const others = names.length - own.length;
  return [...own, ...(others ? [`${countText(others)} others`] : [])].map((name, i) => ({ kind: name, name, colour: i + 1 }));
}

/** @param {HTMLElement} parent @param {Results} results */
function addBestMap(parent, results) {
  const maps = bestMaps(results);
  if (!maps.length) return;
  let map = maps[0];
  const title = () => (map.name ? `${map.name}: ${bestMapTitle(map)}` : bestMapTitle(map));
  const { figure, redraw, setTitle, setRows } = addFigure(parent, {
    id: `${results.id}best-map`,
    title: title(),
    text: "Each field has the colour of what is fastest at that size and number of ranks; fields of the fastest that are side by side are named once. The paler a field, the less it is ahead: hardly anything where the colour is faint, twice or more where it is full. Grey: several are equally fast. Empty: not in the sweep.",
    draw: (host, width) => drawBestMap(host, width, map, title()),
    table: bestMapTable(map),
  });
  if (maps.length < 2) return;
  const tools = element("div", "choice screen-only");
  tools.append(
    selection("for ", maps.map(({ name }) => name), 0, (i) => {
      map = maps[i];
      setTitle(title());
      setRows(bestMapTable(map));
      redraw();
    }),
  );
  figure.querySelector("figcaption").append(tools);
}

/** One for each job that is done at several sizes by several numbers of ranks, in several ways. @param {Results} results @returns {BestMap[]} */
function bestMaps(results) {
  const rows = results.rows.filter((row) => row.size > 0 && row.time > 0);
  const place = (row) => `${row.size} ${row.ranks}`;
  const jobs = jobsOf({ ...results, rows }, place);
  return jobs.map((job) => bestMapOf(job.name, job.rows, nameOfChoice({ ...results, rows: job.rows }, job, place))).filter((map) => map !== null);
}

/** What the ways differ in: algorithms if they do, else chunks or whatever it is.
 *  @param {Results} results @param {Job} job @returns {(row: Row) => string} */
function nameOfChoice(results, job, place) {
  if (distinct(job.rows, (row) => row.algorithm) > 1) return (row) => row.algorithm;
  return wordsFor(results, place, (path) => !isChoice(path));
}

/** @param {string} name @param {Row[]} rows @param {(row: Row) => string} choiceOf @returns {BestMap|null} */
function bestMapOf(name, rows, choiceOf) {
  const inOrder = (of) => [...new Set(rows.map(of))].sort((a, b) => a - b);
  const [sizes, ranks] = [inOrder((row) => row.size), inOrder((row) => row.ranks)];
  if (sizes.length < 2 || ranks.length < 2 || distinct(rows, choiceOf) < 2) return null;
  if (follows(rows, (row) => row.size, (row) => row.ranks) || follows(rows, (row) => row.ranks, (row) => row.size)) return null;
  const places = groupedBy(rows, (row) => `${row.ranks} ${row.size}`);
  const cells = [...places.values()].map((here) => ({ size: here[0].size, ranks: here[0].ranks, ...winnerOf(here, choiceOf) }));
  const wins = groupedBy(cells.filter(({ best }) => best !== tie), ({ best }) => best);
  return { name, sizes, ranks, names: [...wins.keys()].sort((a, b) => wins.get(b).length - wins.get(a).length), cells };
}

/** @template T @param {T[]} all @param {(one: T) => string} keyOf @returns {Map<string, T[]>} */
function groupedBy(all, keyOf) {
  const groups = new Map();
  for (const one of all) {
    const key = keyOf(one);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(one);
  }
  return groups;
}

/** @param {Row[]} rows of one field @param {(row: Row) => string} choiceOf */
function winnerOf(rows, choiceOf) {
  const ways = [...groupedBy(rows, choiceOf)].map(([name, same]) => ({ name, row: fastestOf(same) }));
  const [best, second] = ways.sort((a, b) => a.row.time - b.row.time);
  const alike = ways.filter(({ row }) => row.time === best.row.time);
  if (alike.length > 1) return { best: tie, row: best.row, next: jointly(alike.map(({ name }) => name), ways.length, "of them"), lead: 1 };
  return { best: best.name, row: best.row, next: second?.name ?? "", lead: second ? second.row.time / best.row.time : Infinity };
}

/** "ring is fastest in 61 of 88 fields, tree in 20, flat in 7" @param {BestMap} map */
function bestMapTitle({ names, cells }) {
  const won = (name) => cells.filter(({ best }) => best === name).length;
  const [first, ...others] = names;
  const [ties, pairs] = [won(tie), `${countText(cells.length)} pairs of size and ranks`];
  if (!first) return `At all ${pairs} several are equally fast`;
  const verb = isPlural(first) ? "are" : "is";
  if (!others.length && !ties) return `${first} ${verb} fastest at all ${pairs}`;
  const named = others.slice(0, 3).map((name) => `${name} at ${countText(won(name))}`);
  if (others.length > 3) named.push(`${countText(others.length - 3)} more at ${countText(others.slice(3).reduce((sum, name) => sum + won(name), 0))}`);
  if (ties) named.push(`several at ${countText(ties)}`);
  return `${first} ${verb} fastest at ${countText(won(first))} of ${pairs}, ${named.join(", ")}`;
}

/** @param {BestMap} map */
function bestMapTable(map) {
  return {
    columns: [
      { head: "ranks", cell: (cell) => countText(cell.ranks) },
      { head: "size", cell: (cell) => bytesText(cell.size) },
      { head: "fastest", cell: (cell) => cell.best, words: true },
      { head: "time", seconds: (cell) => cell.row.time },
      { head: "next", cell: (cell) => cell.next || "-", words: true },
      { head: "takes times as long", cell: (cell) => (cell.next ? cell.lead.toFixed(2) : "-") },
    ],
    rows: map.cells,
  };
}

/** How strong the colour of a field is: by how far its best is ahead. @param {number} lead */
function leadOpacity(lead) {
  return 0.25 + 0.75 * Math.min(1, Math.log2(Math.max(1, lead)));
}

/** @param {HTMLElement} host @param {number} width @param {BestMap} map @param {string} finding */
function drawBestMap(host, width, map, finding) {
  const left = 20 + d3.max(map.ranks, (count) => textWidth(countText(count)));
  const key = keyPlaces(mapKey(map.names), width);
  const top = key.rows * 20 + 42;
  const height = Math.max(22, Math.min(40, 420 / map.ranks.length));
  const bottom = top + height * map.ranks.length;
  const wide = (width - 4 - left) / map.sizes.length;
  const xOf = (size) => left + wide * map.sizes.indexOf(size);
  const yOf = (count) => bottom - height * (map.ranks.indexOf(count) + 1);
  const svg = d3
    .select(host)
    .append("svg")
    .attr("class", "chart best-map")
    .attr("viewBox", `0 0 ${width} ${bottom + 44}`)
    .attr("role", "img")
    .attr("aria-label", `The fastest at each size and number of ranks. ${finding}`);
  drawKeyOf(svg, key.places);
  nameMapAxes(svg, map, { xOf, wide, yOf, left, top, bottom, height, width });
  const last = mapKey(map.names).length;
  const colours = new Map(map.names.map((name, i) => [name, Math.min(i + 1, last)]));
  const cellAt = groupedBy(map.cells, (cell) => `${cell.ranks} ${cell.size}`);
  for (const count of map.ranks) {
    const line = map.sizes.map((size) => cellAt.get(`${count} ${size}`)?.[0] ?? null);
    line.forEach((cell, i) => cell && drawMapCell(svg, cell, colours.get(cell.best) ?? 0, { x: left + i * wide, y: yOf(count), wide, height }));
    nameRuns(svg, line, { left, wide, y: yOf(count) + height / 2 });
  }
}

function nameMapAxes(svg, map, { xOf, wide, yOf, left, top, bottom, height, width }) {
  const name = (className, text, px, py, anchor) => svg.append("text").attr("class", className).attr("x", px).attr("y", py).attr("text-anchor", anchor).text(text);
  name("axis-name", "↑ ranks", 4, top - 8, "start");
  name("axis-name", "size →", width - 4, bottom + 36, "end");
  for (const count of map.ranks) name("row-name", countText(count), left - 8, yOf(count) + height / 2, "end").attr("dy", "0.35em");
  let until = -Infinity;
  for (const size of map.sizes) {
    const middle = xOf(size) + wide / 2;
    const half = textWidth(bytesText(size)) / 2;
    if (middle - half < until || middle + half > width) continue;
    name("axis", bytesText(size), middle, bottom + 16, "middle");
    until = middle + half + 8;
  }
}

/** @param {MapCell} cell @param {number} colour 0: of ties */
function drawMapCell(svg, cell, colour, { x, y, wide, height }) {
  const field = svg
    .append("rect")
    .attr("class", colour ? `share s${colour}` : "heat-row")
    .attr("data-best", cell.best)
    .attr("x", x + 0.5)
    .attr("y", y + 0.5)
    .attr("width", Math.max(1, wide - 1))
    .attr("height", height - 1);
  if (colour) field.attr("fill-opacity", colour === mostGroups ? 0.6 + 0.4 * leadOpacity(cell.lead) : leadOpacity(cell.lead)); // pale, it would look like a tie
  const ahead = cell.best === tie ? `equally fast: ${cell.next}` : !cell.next ? "nothing else was tried" : `${cell.next} takes ${timesText(cell.lead)} times as long`;
  field.append("title").text(`${countText(cell.ranks)} ranks, ${bytesText(cell.size)}\n${cell.best === tie ? "" : `${cell.best}: `}${timeText(cell.row.time)}\n${ahead}`);
}

/** Names of neighbours with the same best, once, where there is room. @param {(MapCell|null)[]} line */
function nameRuns(svg, line, { left, wide, y }) {
  for (let i = 0, j = 0; i < line.length; i = j) {
    for (j = i + 1; j < line.length && line[j]?.best === line[i]?.best; ++j);
    if (!line[i]) continue;
    const [from, to] = [left + i * wide, left + j * wide];
    if (textWidth(line[i].best) + 8 > to - from) continue;
    svg.append("text").attr("class", "map-name").attr("text-anchor", "middle").attr("x", (from + to) / 2).attr("y", y).attr("dy", "0.35em").text(line[i].best);
  }
}
