// SPDX-License-Identifier: Apache-2.0
// Names beside what they name, moved apart where they would overlap.

/** Moves places apart so that neighbours keep their distance and all stay inside.
 *  @param {number[]} wanted @param {number} distance @param {[number, number]} inside */
function spreadOut(wanted, distance, inside) {
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[a] - wanted[b]);
  const places = [...wanted];
  let lowest = inside[0];
  for (const i of order) {
    places[i] = Math.max(wanted[i], lowest);
    lowest = places[i] + distance;
  }
  let highest = inside[1];
  for (const i of [...order].reverse()) {
    places[i] = Math.min(places[i], highest);
    highest = places[i] - distance;
  }
  return places;
}

/** How wide a text is in the letters of charts, roughly: enough to keep room for it. @param {string} text */
function textWidth(text) {
  return text.length * 6.7;
}

/** Cuts a text that is longer than a number of letters. @param {string} text @param {number} most */
function shortened(text, most) {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** Cuts the words of all names alike and leaves the numbers, which tell them apart: "node0.3→node0.nvs…1" of
 *  "node0.3→node0.nvswitch1". @param {string[]} names @param {number} most letters @returns {string[]} */
function shortenedWords(names, most) {
  const word = /[A-Za-z]+/g;
  const cut = (letters) => names.map((name) => name.replace(word, (one) => shortened(one, letters)));
  const longest = d3.max(names.flatMap((name) => name.match(word) ?? []).map((one) => one.length)) ?? 1;
  const fits = d3.range(longest, 1, -1).map(cut).find((all) => all.every((name) => name.length <= most));
  return fits ?? names.map((name) => shortened(name, most));
}

/** Words in lines of at most so many letters. @param {string} text @param {number} most */
function wrapped(text, most) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines[lines.length - 1];
    if (last && last.length + 1 + word.length > most) lines.push(word);
    else lines[lines.length - 1] = last ? `${last} ${word}` : word;
  }
  return lines;
}
