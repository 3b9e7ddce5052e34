// SPDX-License-Identifier: Apache-2.0
// What the streams of a training step do and when: layers and buckets, or the pipeline diagram of textbooks.

const boxKinds = [
  { kind: "forward", name: "forward", colour: 6 },
  { kind: "backward", name: "backward", colour: 1 },
  { kind: "weights", name: "weight gradients", colour: 3 },
  { kind: "collective", name: "collective", colour: 2 },
  { kind: "optimizer", name: "optimizer and other work", colour: 4 },
  { kind: "launch", name: "launches by the host", colour: 7 },
  { kind: "late", name: "late start", colour: 5 },
];

/** @param {HTMLElement} host @param {number} width @param {any} picture @param {string} describe */
function drawStep(host, width, picture, describe) {
  const { streams } = picture;
  const used = boxKinds.filter(({ kind }) => streams.some(({ boxes }) => boxes.some((box) => box.kind === kind)));
  const key = keyPlaces(used, width);
  const top = (key.rows + 1) * 20 + 4;
  const longest = d3.max(streams, ({ name }) => textWidth(name)) ?? 0;
  const above = longest > width * 0.3; // names have no room beside the boxes
  const [left, right] = [above ? 4 : longest + 10, width - 10];
  const thick = streams.length > 12 ? 16 : 24;
  const each = thick + (above ? 22 : 6);
  const bottom = top + streams.length * each;
  const svg = d3
    .select(host)
    .append("svg")
    .attr("class", "chart breakdown")
    .attr("viewBox", `0 0 ${width} ${bottom + 40}`)
    .attr("role", "img")
    .attr("aria-label", describe);
  const x = d3.scaleLinear([0, picture.step_s || 1e-12], [left, right]);
  drawTimeAxis(svg.append("g"), x, { left, right, bottom, height: bottom + 40 });
  drawKeyOf(svg, key.places);
  streams.forEach(({ name, boxes }, i) => {
    const y = top + i * each + (above ? 14 : 0);
    drawRowName(svg, name, above ? y - 8 : y + thick / 2, Math.floor(width / 6.2));
    for (const box of boxes) drawBox(svg, box, x, y, thick);
  });
}

function drawBox(svg, box, x, y, thick) {
  const { colour } = boxKinds.find(({ kind }) => kind === box.kind);
  const [x0, x1] = [x(box.begin_s), x(box.end_s)];
  svg
    .append("rect")
    .attr("class", `share s${colour}`)
    .attr("data-kind", box.kind)
    .attr("x", x0)
    .attr("y", y)
    .attr("width", Math.max(0.5, x1 - x0 - (x1 - x0 > 3 ? 1 : 0)))
    .attr("height", thick)
    .append("title")
    .text(`${box.text}: ${timeText(box.end_s - box.begin_s)}, from ${timeText(box.begin_s)}`);
  const text = box.number > 0 ? String(box.number) : "";
  if (!text || x1 - x0 < textWidth(text) + 4) return;
  svg
    .append("text")
    .attr("class", `share-name ${inkOn(themeColour(`--c${colour}`))}`)
    .attr("text-anchor", "middle")
    .attr("x", (x0 + x1) / 2)
    .attr("y", y + thick / 2)
    .attr("dy", "0.35em")
    .text(text);
}
