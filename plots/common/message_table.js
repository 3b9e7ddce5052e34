// SPDX-License-Identifier: Apache-2.0
// The numbers below a space-time diagram: one row per message.

/** @param {{name: string, steps: Steps}[]} cases */
function messageTable(cases) {
  const time = (ps) => timeText(ps * picosecond);
  const columns = [
    { head: "run", cell: (row) => row.name, words: true },
    { head: "from", cell: (row) => row.steps.rank[row.i] },
    { head: "to", cell: (row) => row.steps.to[row.i] },
    { head: "piece", cell: (row) => row.steps.piece[row.i] + 1 },
    { head: "bytes", cell: (row) => countText(row.steps.bytes[row.i]) },
    { head: "ready", cell: (row) => time(row.steps.ended[row.i]) },
    { head: "on the link", cell: (row) => time(row.steps.departed[row.i]) },
    { head: "off the link", cell: (row) => time(row.steps.left[row.i]) },
    { head: "arrived", cell: (row) => time(row.steps.arrived[row.i]) },
  ];
  const rows = [];
  for (const { name, steps } of cases)
    for (let i = 0; i < steps.rank.length; ++i) if (steps.route[i] >= 0) rows.push({ name, steps, i });
  return { columns: cases.length > 1 ? columns : columns.slice(1), rows };
}
