// SPDX-License-Identifier: Apache-2.0
// The head of the results of one scenario: what it is, and its warnings.

/** Links to each of several results. @param {HTMLElement} parent @param {any[]} all */
function addContents(parent, all) {
  parent.append(linkList("Results", all.map((data, i) => ({ to: `r${i + 1}`, text: data.title || data.name }))));
}

/** Fewer figures are seen at once. */
const leastListed = 4;

/** The findings of a report, each with a link to its figure. @param {HTMLElement} section */
function addFindings(section) {
  const figures = [...section.querySelectorAll("figure")];
  if (figures.length < leastListed) return;
  const frame = linkList("Findings", figures.map((figure) => ({ to: figure.id, text: figure.querySelector("h3").textContent })));
  frame.classList.add("screen-only");
  figures[0].before(frame);
}

/** @param {string} name of the list, for those who do not see it @param {{to: string, text: string}[]} links */
function linkList(name, links) {
  const list = element("ol", "contents");
  for (const { to, text } of links) {
    const link = /** @type {HTMLAnchorElement} */ (element("a"));
    setWords(link, text);
    link.href = `#${to}`;
    const line = element("li");
    line.append(link);
    list.append(line);
  }
  const frame = element("nav");
  frame.setAttribute("aria-label", name);
  frame.append(list);
  return frame;
}

/** @param {HTMLElement} parent @param {Results} results @param {string} tag "h1" or "h2" */
function addSummary(parent, results, tag) {
  const { data, rows } = results;
  const head = element(tag);
  setWords(head, data.title || data.name);
  parent.append(head);
  if (data.description) parent.append(element("p", "muted", data.description));
  const facts = element("ul", "facts");
  for (const fact of factsOf(results)) facts.append(element("li", fact.failed ? "failed" : "", fact.text));
  parent.append(facts);
  if (data.how_sure) addSureness(parent, data.how_sure);
  for (const text of noticesOf(results)) parent.append(element("p", "notice", text));
  const failed = data.expect.filter((one) => !one.ok && !one.skipped);
  for (const one of failed) parent.append(element("p", "notice", `Expectation ${one.id} failed${one.failure ? `: ${one.failure}` : ""}`));
  if (rows.length === 1 && !data.steps) parent.append(element("p", "", rowText(results, rows[0]).replaceAll("\n", " · ")));
}

/** A paragraph per kind of machine, with what is said of its sizes. @param {HTMLElement} parent @param {string[]} lines */
function addSureness(parent, lines) {
  for (const line of lines)
    if (line.startsWith(" ")) parent.lastElementChild.textContent += `\n${line.trim()}`;
    else parent.append(element("p", "sureness", line.replace(/^how/, "How")));
}

/** @param {Results} results @returns {{text: string, failed?: boolean}[]} */
function factsOf({ data, rows }) {
  const facts = [{ text: `${countText(rows.length + data.left_out)} row${rows.length + data.left_out === 1 ? "" : "s"}` }];
  const judged = data.expect.filter((one) => !one.skipped);
  const held = judged.filter((one) => one.ok).length;
  if (judged.length) facts.push({ text: `${held} of ${judged.length} expectations hold`, failed: held < judged.length });
  const how = data.how_measured;
  if (how) facts.push({ text: `measured ${how.backend === "log" ? "elsewhere" : `on ${how.backend}`}${how.paced ? ", paced (links emulated)" : ""}${how.device ? `: ${how.device}` : ""}` });
  return facts;
}

/** What a repeated simulation contradicts. */
const factTexts = {
  time_s: { name: "time", text: timeText },
  ranks: { name: "number of ranks", text: countText },
  size_bytes: { name: "size", text: bytesText },
  chunks: { name: "number of chunks", text: countText },
};
/** Whole picoseconds, 64 bits of them: 106 days. */
const longestSimulated = 2 ** 63 * 1e-12;

/** Where rows cannot be what a simulation gave. @param {Results} results @returns {string[]} */
function doubtsOf(results) {
  const { data, rows } = results;
  const found = data.contradictions ?? [];
  const doubts = d3.range(Math.min(3, found.length)).map((i) => {
    const { row, key, stored, simulated } = found[i];
    const { name, text } = factTexts[key];
    return `${rowWords(results, rows[row])}: the ${name} in the results is ${text(stored)}, simulating it again gives ${text(simulated)}.`;
  });
  const more = found.length - doubts.length;
  if (more) doubts.push(`${countText(more)} more numbers differ.`);
  if (doubts.length) return [`${doubts.join(" ")} The file was edited, or comes from another version of collsim.`];
  const long = rows.filter(({ time }) => time > longestSimulated);
  if (!long.length) return [];
  return [`${rowWords(results, long[0])}: the time in the results is ${timeText(long[0].time)}, longer than collsim can simulate${long.length > 1 ? `; likewise in ${countText(long.length - 1)} more rows` : ""}. The file was edited.`];
}

/** @param {Results} results */
function noticesOf(results) {
  const { data, rows } = results;
  const notices = [];
  if (data.left_out)
    notices.push(`This page shows the first ${countText(rows.length)} of ${countText(rows.length + data.left_out)} rows; the others are only in the results file.`);
  if (!data.complete) notices.push(`The run was interrupted: only ${countText(rows.length + data.left_out)} of ${countText(data.points)} rows are included.`);
  if (!rows.length) notices.push("These results have no rows, so there is nothing to draw.");
  notices.push(...doubtsOf(results), ...[...(data.below_class ?? []), ...(data.above_class ?? [])].map((text) => text[0].toUpperCase() + text.slice(1)));
  for (const { message } of data.warnings) notices.push(message);
  return notices;
}
