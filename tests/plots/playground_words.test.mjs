// SPDX-License-Identifier: Apache-2.0
// What the playground says, by its functions alone.
// usage: node --test playground_words.test.mjs
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const source = (path) => readFileSync(new URL(`../../plots/${path}`, import.meta.url), "utf8");
const files = ["common/units", "common/spans", "common/step_text", "common/stepper", "playground/nearest_word", "playground/formula_text"];
const wanted = ["didYouMean", "lettersApart", "definitionsIn", "stepText", "momentText", "spanKinds", "waits"];
const page = new Function([source("vendor/d3-subset.min.js"), ...files.map((file) => source(`${file}.js`)), `return { ${wanted.join(", ")} };`].join("\n"))();

test("letters to change, add or drop", () => {
  for (const [a, b, far] of [["", "ab", 2], ["ring", "ring", 0], ["rign", "ring", 2], ["ranks", "rank", 1], ["chain", "chaim", 1], ["a", "abcd", 3]])
    assert.deepEqual([page.lettersApart(a, b), page.lettersApart(b, a)], [far, far], `${a} ${b}`);
});

test("only what is near is suggested, and of several the nearest", () => {
  const known = ["ranks", "root", "chunks"];
  assert.equal(page.didYouMean("rank", known), ' (did you mean "ranks"?)');
  assert.equal(page.didYouMean("CHUNK", known), ' (did you mean "chunks"?)');
  assert.equal(page.didYouMean("ro", known), "");
  assert.equal(page.didYouMean("bandwidth", known), "");
  assert.equal(page.didYouMean("x", []), "");
});

test("the words of a formula are explained, those of its definitions too", () => {
  const values = { K: "8", N: "1 MiB", S: "4", alpha: "5 us", B: "25 GB/s", L: "0 s" };
  const tau = "tau(n) = alpha + n/B = 5 us + n/25 GB/s: for so long one message of n bytes keeps a link busy";
  assert.deepEqual(page.definitionsIn("floor(log2(K))*tau(N)", values), [tau, "floor(x): x rounded down"]);
  assert.deepEqual(page.definitionsIn("ceil(log2(K))*N/B", values), ["ceil(x): x rounded up"]);
  assert.equal(page.definitionsIn("2*step(N/K)", values).length, 2);
});

/** Rank 0 sends to 1, which passes it on to 2; each takes 1 us. */
function passedOn({ bytes, mixed = [0, 0] }) {
  const us = 1e6;
  const steps = {
    rank: [0, 1], to: [1, 2], index: [0, 0], piece: [0, 0], pieces: 1, route: [0, 1], queuedBehind: [-1, 0], waitedFor: [-1, 0], wait: [0, page.waits.message],
    reached: [0, 0], began: [0, us], ended: [0, us], departed: [0, us], left: [us, 2 * us], arrived: [us, 2 * us],
  };
  return { ...steps, bytes: Float64Array.from(bytes), mixed: Int32Array.from(mixed) };
}

const momentAt = (steps, time) => {
  const messages = [0, 1].map((step) => ({ from: steps.rank[step], to: steps.to[step], step, piece: steps.piece[step], departed: steps.departed[step] * 1e-12, arrived: steps.arrived[step] * 1e-12 }));
  return page.momentText(messages, time, { end: 2e-6, steps });
};

test("a message without data carries no piece", () => {
  const barrier = passedOn({ bytes: [0, 0] });
  assert.equal(momentAt(barrier, 1e-6), "Rank 1 has got a message; rank 1 begins to send a message to rank 2.");
  assert.doesNotMatch(page.stepText(barrier, 1, page.spanKinds.message, []), /piece/);
  assert.match(page.stepText(barrier, 1, page.spanKinds.message, []), /^a message: 0 B\n.*waited for a message from rank 0$/s);
});

test("of each message it is said whether it holds more than its piece", () => {
  const steps = passedOn({ bytes: [4, 8], mixed: [0, 1] });
  assert.equal(momentAt(steps, 1e-6), "Rank 1 has got piece 0; rank 1 begins to send piece 0 and others to rank 2.");
  assert.match(page.stepText(steps, 0, page.spanKinds.message, []), /^piece 0: 4 B\n/);
  assert.match(page.stepText(steps, 1, page.spanKinds.message, []), /^piece 0 and others: 8 B\n/);
});
