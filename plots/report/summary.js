// SPDX-License-Identifier: Apache-2.0
// The head of the results of one scenario: what it is, and what a reader must know.

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
  for (const text of noticesOf(results)) parent.append(element("p", "notice", text));
  const failed = data.expect.filter((one) => !one.ok && !one.skipped);
  for (const one of failed) parent.append(element("p", "notice", `Expectation ${one.id} failed${one.failure ? `: ${one.failure}` : ""}`));
  if (rows.length === 1) parent.append(element("p", "", rowText(results, rows[0]).replaceAll("\n", " · ")));
}

/** @param {Results} results @returns {{text: string, failed?: boolean}[]} */
function factsOf({ data, rows }) {
  const facts = [{ text: `${countText(rows.length + data.left_out)} row${rows.length + data.left_out === 1 ? "" : "s"}` }];
  const judged = data.expect.filter((one) => !one.skipped);
  const held = judged.filter((one) => one.ok).length;
  if (judged.length) facts.push({ text: `${held} of ${judged.length} expectations hold`, failed: held < judged.length });
  const how = data.how_measured;
  if (how) facts.push({ text: `measured on ${how.backend}${how.paced ? ", paced (links emulated)" : ""}${how.device ? `: ${how.device}` : ""}` });
  return facts;
}

/** @param {Results} results */
function noticesOf({ data, rows }) {
  const notices = [];
  if (data.left_out)
    notices.push(`This page shows the first ${countText(rows.length)} of ${countText(rows.length + data.left_out)} rows; the others are in the results file only.`);
  if (!data.complete) notices.push(`The run was interrupted: only ${countText(rows.length + data.left_out)} of ${countText(data.points)} rows are there.`);
  if (!rows.length) notices.push("Nothing was run: these results have no rows, so there is nothing to draw.");
  for (const { message } of data.warnings) notices.push(message);
  return notices;
}
