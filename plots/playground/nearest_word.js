// SPDX-License-Identifier: Apache-2.0
// Which known word an unknown one was probably meant to be.

/** ' (did you mean "ranks"?)', or nothing when no known word is similar. @param {string} word @param {string[]} known */
function didYouMean(word, known) {
  const near = known.map((name) => ({ name, far: lettersApart(word.toLowerCase(), name.toLowerCase()) }));
  const best = near.reduce((a, b) => (b.far < a.far ? b : a), { name: "", far: Infinity });
  return best.far <= Math.min(2, Math.ceil(word.length / 3)) ? ` (did you mean "${best.name}"?)` : "";
}

/** Letters to change, add or drop. */
function lettersApart(a, b) {
  if (Math.abs(a.length - b.length) > 2) return 3;
  let row = d3.range(b.length + 1);
  for (let i = 1; i <= a.length; ++i) {
    const next = [i];
    for (let j = 1; j <= b.length; ++j)
      next.push(Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length];
}
