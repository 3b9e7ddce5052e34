// SPDX-License-Identifier: Apache-2.0
// The frame of a figure: a title that states the finding, the drawing, the numbers behind it, and a
// button that saves the drawing.

/**
 * @typedef {object} Column        of the table below a figure
 * @property {string} head
 * @property {(row: any) => (string|number)} [cell]
 * @property {(row: any) => (number|null)} [seconds]   instead of cell: times, all written alike
 * @property {(row: any) => (number|null)} [rate]      or bytes per second
 * @property {(row: any) => number} [memory]           or bytes
 * @property {boolean} [words]     to the left; numbers go to the right
 *
 * @typedef {object} FigureParts
 * @property {string} id           unique in the page; the saved file is called so
 * @property {string} title        the finding: "57 chunks are best; 4,096 are slower than 1"
 * @property {string} [text]       how to read it, in a sentence
 * @property {boolean} [folded]    how to read it is shown on demand
 * @property {string} [hint]       what keys and mouse do
 * @property {(host: HTMLElement, width: number) => void} draw   into an empty host that is so wide
 * @property {{columns: Column[], rows: any[]}} [table]
 */

/** More rows than this make a page slow. */
const mostTableRows = 2000;

/** @param {string} tag @param {string} [className] @param {string} [text] */
function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

/** Numbers with their units, and words: no line ends inside one that has a blank or a hyphen.
 *  Those without are matched too, so that none is scanned twice: a word in the data may be very
 *  long. */
const wholes = /\d[\d.,]*(?: (?:[kKMGT]i?B\/s|[kMGT]b\/s|[KMGT]iB|B|[pnum]?s)(?![\w/]))?|[A-Za-z]+(?:-[A-Za-z]+)*/g;

/** @param {HTMLElement} parent @param {string} text */
function setWords(parent, text) {
  const parts = [];
  let done = 0;
  for (const { 0: word, index } of text.matchAll(wholes)) {
    if (word.length > 24 || !/[ -]/.test(word)) continue; // so long is no word of ours: narrow screens need to break it
    parts.push(text.slice(done, index), element("span", "whole", word));
    done = index + word.length;
  }
  parent.replaceChildren(...parts, text.slice(done));
}

/**
 * Puts a figure at the end of `parent` and keeps its drawing as wide as the page.
 * @param {HTMLElement} parent @param {FigureParts} parts
 * @returns {{figure: HTMLElement, redraw: () => void, setTitle: (title: string) => void,
 *            setRows: (table: {columns: Column[], rows: any[]}) => void}}
 */
function addFigure(parent, parts) {
  const figure = element("figure", "figure");
  figure.id = parts.id;
  const caption = element("figcaption");
  const title = element("h3");
  setWords(title, parts.title);
  caption.append(title);
  if (parts.text) caption.append(parts.folded ? foldedText(parts.text) : paragraph(parts.text));
  const host = element("div", "drawing");
  const tools = element("div", "figure-tools screen-only");
  const ofDrawing = [element("span", "hint", parts.hint ?? ""), saveButton(host, parts.id, () => title.textContent)];
  tools.append(...ofDrawing);
  const setRows = (table) => {
    const before = tools.querySelector("details");
    const made = dataTable(table);
    if (before) before.replaceWith(made);
    else tools.append(made);
    made.open = before?.open ?? false;
  };
  if (parts.table) setRows(parts.table);
  figure.append(caption, host, tools);
  parent.append(figure);

  let drawnWidth = 0;
  const redraw = () => {
    // Asking makes a layout, so it is done once; and paper scales what is drawn for the screen.
    if (drawnWidth < 1) drawnWidth = Math.floor(host.clientWidth);
    if (drawnWidth < 1) return;
    host.replaceChildren();
    parts.draw(host, drawnWidth);
    for (const one of ofDrawing) one.hidden = !host.querySelector("svg"); // words stand there instead
    const [, , wide, high] = host.querySelector("svg")?.getAttribute("viewBox").split(" ").map(Number) ?? [0, 0, 1, 1];
    host.style.setProperty("--wide-per-high", String(wide / high)); // how large it is on paper
    host.style.setProperty("--wide", String(wide));
  };
  redraw();
  new ResizeObserver(() => {
    // Printing scales the existing picture; redrawing could be too late.
    if (matchMedia("print").matches || Math.floor(host.clientWidth) === drawnWidth) return;
    drawnWidth = 0;
    redraw();
  }).observe(host);
  // Some colours are computed while drawing.
  for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", redraw);
  return { figure, redraw, setTitle: (text) => setWords(title, text), setRows };
}

/** @param {string} text */
function paragraph(text) {
  const made = element("p");
  setWords(made, text);
  return made;
}

/** @param {string} text */
function foldedText(text) {
  const details = element("details", "how-to-read");
  details.append(element("summary", "", "How to read it"), paragraph(text));
  return details;
}

/** The rows of a long table are made when it is opened. */
function dataTable({ columns, rows }) {
  const details = element("details");
  details.append(element("summary", "", `Data: ${countText(rows.length)} row${rows.length === 1 ? "" : "s"}`));
  details.addEventListener("toggle", () => {
    if (!details.open || details.querySelector("table")) return;
    const shown = rows.slice(0, mostTableRows);
    if (shown.length < rows.length)
      details.append(element("p", "notice", `The first ${countText(shown.length)} of ${countText(rows.length)} rows.`));
    const frame = element("div", "data-table");
    frame.tabIndex = 0;
    frame.append(tableOf(columns, shown));
    details.append(frame);
  });
  return details;
}

/** @param {Column[]} columns @param {any[]} rows */
function tableOf(columns, rows) {
  const table = element("table");
  const head = element("tr");
  for (const column of columns) {
    const cell = element("th", column.words ? "words" : "", column.head);
    cell.scope = "col";
    head.append(cell);
  }
  const body = element("tbody");
  const texts = columns.map((column) => columnCells(column, rows));
  rows.forEach((_, i) => {
    const line = element("tr");
    columns.forEach((column, j) => line.append(element("td", column.words ? "words" : "", texts[j][i])));
    body.append(line);
  });
  const top = element("thead");
  top.append(head);
  table.append(top, body);
  return table;
}

/** @param {Column} column @param {any[]} rows @returns {string[]} */
function columnCells(column, rows) {
  if (column.seconds) return columnTexts(rows.map(column.seconds), timeUnits, "middle");
  if (column.rate) return columnTexts(rows.map(column.rate), rateUnits, "largest");
  if (column.memory) return columnTexts(rows.map(column.memory), memoryUnits, "largest");
  return rows.map((row) => String(column.cell(row)));
}

/** @param {HTMLElement} host @param {string} name @param {() => string} title */
function saveButton(host, name, title) {
  const button = element("button", "save-svg", "Save as SVG");
  button.type = "button";
  button.addEventListener("click", () => {
    const address = URL.createObjectURL(new Blob([svgFile(host, title())], { type: "image/svg+xml" }));
    const link = element("a");
    link.href = address;
    link.download = `${name}.svg`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  });
  return button;
}

/** What a drawing gets from the page's style sheet and needs to look the same alone. */
const keptStyles = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap",
  "stroke-linejoin", "opacity", "font-family", "font-size", "font-weight", "text-anchor", "paint-order",
  "shape-rendering", "visibility",
];

/**
 * The drawing of a host as an SVG file of its own: style sheet resolved, canvases as pictures, paper
 * below, title above for screen readers.
 * @param {HTMLElement} host @param {string} title
 */
function svgFile(host, title) {
  const drawn = host.querySelector("svg");
  const copy = /** @type {SVGSVGElement} */ (drawn.cloneNode(true));
  const ofScreen = [...copy.querySelectorAll(".catcher, .pointed")]; // keepStyles() takes their class
  keepStyles(drawn, copy);
  for (const part of ofScreen) part.remove();
  const [, , width, height] = copy.getAttribute("viewBox").split(" ").map(Number);
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  const paper = svgElement("rect", { width, height, fill: getComputedStyle(host).getPropertyValue("--paper").trim() });
  const name = svgElement("title", {});
  name.textContent = title;
  copy.prepend(name, paper, ...[...host.querySelectorAll("canvas")].map((canvas) => pictureOf(canvas, drawn, width)));
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(copy)}\n`;
}

/** @param {string} tag @param {Record<string, string|number>} attributes */
function svgElement(tag, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  return made;
}

/** @param {Element} from @param {Element} to */
function keepStyles(from, to) {
  const style = getComputedStyle(from);
  to.removeAttribute("class");
  to.removeAttribute("tabindex");
  to.removeAttribute("style");
  for (const name of keptStyles) {
    const value = style.getPropertyValue(name);
    if (value !== "") to.setAttribute(name, value);
  }
  [...from.children].forEach((child, i) => keepStyles(child, to.children[i]));
}

/** @param {HTMLCanvasElement} canvas @param {SVGSVGElement} drawn @param {number} width of the view box */
function pictureOf(canvas, drawn, width) {
  const frame = drawn.getBoundingClientRect();
  const place = canvas.getBoundingClientRect();
  const scale = width / frame.width;
  return svgElement("image", {
    x: (place.left - frame.left) * scale,
    y: (place.top - frame.top) * scale,
    width: place.width * scale,
    height: place.height * scale,
    href: canvas.toDataURL("image/png"),
  });
}
