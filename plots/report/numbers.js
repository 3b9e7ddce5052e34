// SPDX-License-Identifier: Apache-2.0
// The rows as a table: on paper, where those below the figures cannot be opened, and where they are few.

/** About four pages. */
const mostPaperRows = 200;
/** No more than fit beside a figure. */
const mostOpenRows = 12;

/** @param {HTMLElement} parent @param {Results} results */
function addNumbers(parent, results) {
  const { rows, data } = results;
  if (rows.length < 2) return; // the head of the page says what a single row has
  const numbers = element("div", `numbers data-table${rows.length > mostOpenRows ? " paper-only" : ""}`);
  numbers.append(element("h3", "", "Numbers"), tableOf(data.steps ? stepColumns(results) : rowColumns(results), rows.slice(0, mostPaperRows)));
  if (rows.length > mostPaperRows) numbers.append(element("p", "", `The first ${countText(mostPaperRows)} of ${countText(rows.length)} rows.`));
  parent.append(numbers);
}
