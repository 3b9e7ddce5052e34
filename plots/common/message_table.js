// SPDX-License-Identifier: Apache-2.0
// The numbers below a space-time diagram: one row per message.

/** @param {{name: string, steps: Steps}[]} cases */
function messageTable(cases) {
  const columns = [
    { head: "run", cell: (row) => row.name, words: true },
    { head: "from", cell: (row) => row.steps.rank[row.i] },
    { head: "to", cell: (row) => row.steps.to[row.i] },
    { head: "piece", cell: (row) => row.steps.piece[row.i] },
    { head: "bytes", cell: (row) => countText(row.steps.bytes[row.i]) },
    { head: "ready", seconds: (row) => row.steps.ended[row.i] * picosecond },
    { head: "on its first link", seconds: (row) => row.steps.departed[row.i] * picosecond },
    { head: "off its first link", seconds: (row) => row.steps.left[row.i] * picosecond },
    { head: "arrived", seconds: (row) => row.steps.arrived[row.i] * picosecond },
  ];
  const rows = [];
  for (const { name, steps } of cases)
    for (let i = 0; i < steps.rank.length; ++i) if (steps.route[i] >= 0) rows.push({ name, steps, i });
  return { columns: cases.length > 1 ? columns : columns.slice(1), rows };
}
