// SPDX-License-Identifier: Apache-2.0
// The page as a figure of another page: `embed=space-time,chunks` in the address shows this figure and this knob alone,
// with the result above them and a link to all of the page.

const embedKey = /(?:^|&)embed=([^&]*)/;

/** @param {string} address what is behind the # @returns {{rest: string, embed: string}} `embed` is empty on a page of its own */
function apartFromEmbed(address) {
  return { rest: address.replace(embedKey, "").replace(/^&/, ""), embed: embedKey.exec(address)?.[1] ?? "" };
}

/** Knobs by their keys, figures by their names. @param {string} embed @param {() => string} address of the whole page */
function showAlone(embed, address) {
  const figures = [...document.querySelectorAll(".figure")].map((part) => ({ name: part.id, part }));
  const knobs = [...document.querySelectorAll(".control")].map((part) => ({ name: part.dataset.key, part }));
  const known = [...figures, ...knobs];
  for (const name of decoded(embed).split(",").filter(Boolean)) {
    const found = known.filter((one) => one.name === name);
    for (const { part } of found) part.classList.add("alone");
    for (const { part } of found) part.closest("details")?.setAttribute("open", "");
    if (!found.length) byId("results").prepend(element("p", "notice", noteOn("embed", embed, unknownPart(name, known.map((one) => one.name)))));
  }
  const link = /** @type {HTMLAnchorElement} */ (element("a", "whole-page", "Open in the playground"));
  Object.assign(link, { href: address(), target: "_blank", rel: "noopener" });
  link.addEventListener("click", () => (link.href = address()));
  document.querySelector(".time-line").after(link);
  // So that the page around can make the frame as high as this.
  new ResizeObserver(() => parent.postMessage({ collsimHeight: Math.ceil(document.body.offsetHeight) }, "*")).observe(document.body);
}

function unknownPart(name, known) {
  return `there is no figure or knob "${shortened(name, 40)}"${didYouMean(name, known)}; there are ${known.join(", ")}`;
}

/** What a page puts where the figure is to be. @param {string} address of the page @param {string} title */
function frameText(address, title) {
  const quoted = (text) => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  return `<iframe src="${quoted(address)}&amp;embed=space-time,ranks,size,chunks" title="${quoted(title)}" width="100%" height="560" loading="lazy"></iframe>`;
}
