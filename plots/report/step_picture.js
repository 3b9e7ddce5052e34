// SPDX-License-Identifier: Apache-2.0
// What the streams of a training step do and when: layers and buckets, or the pipeline diagram of textbooks.

/** @param {HTMLElement} parent @param {Results} results */
function addStepPictures(parent, results) {
  const { data, rows } = results;
  for (const picture of data.pictures ?? []) {
    const row = rows[picture.row];
    if (!row) continue;
    const title = stepPictureTitle(results, row, picture);
    const boxes = picture.streams.flatMap((stream) => stream.boxes.map((box) => ({ ...box, stream: stream.name })));
    addFigure(parent, {
      id: `${results.id}step-${picture.row}`,
      title,
      text: stepPictureText(picture),
      draw: (host, width) => drawStep(host, width, picture, title),
      table: {
        columns: [
          { head: "stream", cell: (box) => box.stream, words: true },
          { head: "what", cell: (box) => box.text, words: true },
          { head: "from", seconds: (box) => box.begin_s },
          { head: "to", seconds: (box) => box.end_s },
        ],
        rows: boxes,
      },
    });
    addMemoryCurve(parent, results, row, picture);
  }
  if (data.why_no_picture) parent.append(element("p", "notice", `No timeline: ${data.why_no_picture}.`));
}

/** "schedule 1f1b: 330 ms" @param {Results} results @param {Row} row @param {any} picture */
function stepPictureTitle(results, row, picture) {
  return `${stepName(results, row)}: the step takes ${timeText(picture.step_s)}`;
}

function stepPictureText({ streams, kinds }) {
  const microbatches = streams.some(({ boxes }) => boxes.some(({ text }) => text.startsWith("microbatch")));
  const ranks = new Set(streams.map(({ name }) => name.split(" ")[1])).size;
  const others = ranks < kinds ? ` The first ${ranks} of ${countText(kinds)} ranks that do different things.` : "";
  const alike = streams.some((stream) => stream.ranks > 1) ? " One rank of all that do the same." : "";
  return `${microbatches ? "Numbers, where they fit, are microbatches." : "Numbers, where they fit, are layers and buckets."}${alike}${others}`;
}
