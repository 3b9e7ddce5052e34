// SPDX-License-Identifier: Apache-2.0
// The buttons below the headline.

/** @param {HTMLElement} parent @param {Playground} page */
function addActions(parent, page) {
  const button = (text, onClick) => {
    const made = /** @type {HTMLButtonElement} */ (element("button", "", text));
    made.type = "button";
    made.addEventListener("click", () => onClick(made));
    parent.append(made);
    return made;
  };
  const copy = (words) => async (made) => {
    const name = made.textContent;
    made.textContent = (await copyText(words())) ? "Copied" : "Could not copy: see below";
    setTimeout(() => (made.textContent = name), 1500);
  };
  const pin = button("Compare with this", () => page.pin());
  pin.title = "keep this setting as A, and compare later ones with it";
  pin.id = "pin";
  const swap = button("Swap", () => page.swap());
  button("Copy as scenario", copy(() => byId("scenario-text").textContent)).id = "copy-scenario";
  button("Copy link", copy(() => {
    page.address.writeNow();
    return location.href;
  })).id = "copy-link";
  const frame = button("Copy as figure", copy(() => {
    page.address.writeNow();
    return frameText(location.href, byId("what").textContent);
  }));
  frame.title = "for a page of yours: this setting, with the diagram and three knobs";
  frame.hidden = !location.protocol.startsWith("http"); // other pages cannot show a file of this machine
  button("Start over", () => page.startOver()).id = "start-over";
  const follow = followBox(page);
  parent.append(follow.label);
  return {
    /** @param {{a: Compared|null, refused: boolean, comparable: boolean, different: boolean}} state */
    show: ({ a, refused, comparable, different }) => {
      pin.textContent = a ? "Stop comparing" : "Compare with this";
      pin.setAttribute("aria-pressed", String(a !== null));
      pin.disabled = refused && !a; // there is no time to compare with
      swap.hidden = !comparable;
      swap.disabled = refused;
      follow.show(a, refused, different);
    },
  };
}

/** Whether A follows the knobs. @param {Playground} page */
function followBox(page) {
  const label = element("label", "follow");
  const box = /** @type {HTMLInputElement} */ (element("input"));
  Object.assign(box, { type: "checkbox", id: "follow" });
  box.addEventListener("change", () => page.follow(box.checked));
  const words = element("span");
  label.append(box, words);
  return {
    label,
    /** @param {Compared|null} a @param {boolean} refused @param {boolean} different */
    show: (a, refused, different) => {
      label.hidden = a === null;
      if (!a) return;
      box.checked = a.apart !== null;
      box.disabled = refused || (!a.apart && !different);
      words.textContent = ` A follows the other knobs${a.apart ? ` (except ${apartText(a)})` : ""}`;
      label.title = box.disabled ? "first change the knob in which A should differ" : "A is the current setting, except where the two differ now";
    },
  };
}

/** @param {string} text @returns {Promise<boolean>} */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = /** @type {HTMLTextAreaElement} */ (element("textarea"));
    area.value = text;
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    return copied;
  }
}
