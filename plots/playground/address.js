// SPDX-License-Identifier: Apache-2.0
// The page's address, and the way back: whatever comes to rest is an entry of the browser's history.

/** A knob that nobody has touched for so long has come to rest. In milliseconds. */
const restMs = 200;

/**
 * @param {() => string} write            what belongs behind the #
 * @param {(text: string) => void} read   somebody else wrote it: a link, or "back" and "forward"
 */
function addressKeeper(write, read) {
  let known = location.hash; // as last read or written
  let timer = 0;
  let isEntry = false; // what waits to be written
  let isHeld = false; // a slider that is held down is not at rest
  addEventListener("pointerdown", () => (isHeld = true), true);
  for (const end of ["pointerup", "pointercancel", "blur"]) addEventListener(end, () => (isHeld = false), true);
  const writeNow = () => {
    clearTimeout(timer);
    if (location.hash !== known) return; // somebody else wrote one, which is read next
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
