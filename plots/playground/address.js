// SPDX-License-Identifier: Apache-2.0
// The page's address and history: every setting that stays unchanged for a moment becomes an entry.

/** A setting unchanged for this long gets an entry.  In milliseconds. */
const restMs = 200;

/**
 * @param {() => string} write            what belongs behind the #
 * @param {(text: string) => void} read   called when it was changed from outside: a link, Back or
 * Forward
 */
function addressKeeper(write, read) {
  let known = location.hash; // as last read or written
  let timer = 0;
  let isEntry = false; // whether the pending one is a new entry
  let isHeld = false; // a slider is held down
  addEventListener("pointerdown", () => (isHeld = true), true);
  for (const end of ["pointerup", "pointercancel", "blur"]) addEventListener(end, () => (isHeld = false), true);
  const writeNow = () => {
    clearTimeout(timer);
    if (location.hash !== known) return; // changed from outside: read that first
    const text = `#${write()}`;
    if (isEntry && text !== known) history.pushState(null, "", text);
    else history.replaceState(null, "", text);
    isEntry = false;
    known = location.hash;
  };
  const writeAtRest = () => {
    clearTimeout(timer);
    timer = setTimeout(() => (isHeld ? writeAtRest() : writeNow()), restMs);
  };
  addEventListener("hashchange", () => {
    if (location.hash === known) return;
    known = location.hash;
    clearTimeout(timer);
    isEntry = false;
    read(known.slice(1));
  });
  return {
    writeNow,
    /** By the reader: the setting before can be come back to. */
    changed: () => {
      isEntry = true;
      writeAtRest();
    },
    /** The same in other words: a link with defaults left out, or with mistakes. */
    tidy: writeAtRest,
  };
}
