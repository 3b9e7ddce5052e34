// SPDX-License-Identifier: Apache-2.0
// The page's address and history: every setting that stays unchanged for a moment becomes an entry, but within another
// page, whose Back button it would take.

/** A setting unchanged for this long gets an entry.  In milliseconds. */
const restMs = 200;

/**
 * @param {() => string} write            what belongs behind the #
 * @param {(text: string) => void} read   called with what is there now, and when it was changed from
 * outside: by a link, Back or Forward
 */
function addressKeeper(write, read) {
  const { embed } = apartFromEmbed(location.hash.slice(1));
  const whole = () => `#${write()}`;
  let known = location.hash; // as last read or written
  let timer = 0;
  let isEntry = false; // whether the pending one is a new entry
  let isHeld = false; // a slider is held down
  addEventListener("pointerdown", () => (isHeld = true), true);
  for (const end of ["pointerup", "pointercancel", "blur"]) addEventListener(end, () => (isHeld = false), true);
  const writeNow = () => {
    clearTimeout(timer);
    if (location.hash !== known) return; // changed from outside: read that first
    const text = whole() + (embed && `&embed=${embed}`);
    if (isEntry && !embed && text !== known) history.pushState(null, "", text);
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
    const changed = apartFromEmbed(known.slice(1));
    if (changed.embed !== embed) location.reload();
    else read(changed.rest);
  });
  return {
    /** Once the page is there. */
    begin: () => {
      read(apartFromEmbed(known.slice(1)).rest);
      if (embed) showAlone(embed, whole);
    },
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
