// SPDX-License-Identifier: Apache-2.0
// What memory the ranks of a training step need, over time.

/** @param {HTMLElement} parent @param {Results} results @param {Row} row @param {any} picture */
function addMemoryCurve(parent, results, row, picture) {
  const { memory, step_s: end, device_bytes: device } = picture;
  if (!memory?.length) return;
  const title = memoryTitle(results, row, picture);
  const series = memory.map(({ name, points }, i) => ({
    name,
    colour: (i % 8) + 1,
    line: "solid",
    points: stairs(points, end).map(([x, y]) => ({ x, y, text: `${name}: ${memoryText(y)} at ${timeText(x)}` })),
  }));
  const most = d3.max(memory, mostOf);
  const isNear = device > 0 && device < 2 * most; // else it would press the curves to the bottom
  addFigure(parent, {
    id: `${results.id}memory-${picture.row}`,
    title,
    text: "Parameters, gradients and the optimizer's state, as far as a rank keeps them; activations from the forward pass of a layer until its backward pass has ended; layers that are gathered.",
    hint: chartHint,
    draw: (host, width) =>
      drawXyChart(host, width, {
        x: { quantity: quantities.time, scale: "linear", domain: [0, end || 1e-12] },
        y: { quantity: quantities.memory, scale: "linear", domain: [0, (isNear ? Math.max(device, most) : most) * 1.08] },
        series,
        horizontals: isNear ? [{ y: device, name: `device: ${memoryText(device)}` }] : [],
        describe: `Memory of ranks over the time of the step. ${title}`,
      }),
    table: {
      columns: [
        { head: "ranks", cell: (one) => one.name, words: true },
        { head: "at most", memory: mostOf },
        { head: "from", seconds: (one) => one.points.find(([, bytes]) => bytes === mostOf(one))[0] },
      ],
      rows: memory,
    },
  });
}

/** Between its points a curve keeps what it has. @param {[number, number][]} points @param {number} end */
function stairs(points, end) {
  const steps = points.flatMap(([x, y], i) => (i ? [[x, points[i - 1][1]], [x, y]] : [[x, y]]));
  return [...steps, [end, points[points.length - 1][1]]];
}

function mostOf({ points }) {
  return d3.max(points, ([, bytes]) => bytes);
}

/** "schedule 1f1b: at most 42.4 GB, on rank 0; a device has 80 GB" @param {Results} results @param {Row} row @param {any} picture */
function memoryTitle(results, row, { memory, device_bytes: device }) {
  const most = memory.reduce((a, b) => (mostOf(b) > mostOf(a) ? b : a));
  const where = memory.length > 1 ? `, on ${most.name}` : "";
  const room = device > 0 ? `; a device has ${memoryText(device)}` : "";
  return `${stepName(results, row)}: at most ${memoryText(mostOf(most))} of memory${where}${room}`;
}
