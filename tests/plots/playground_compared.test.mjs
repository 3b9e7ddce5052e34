// SPDX-License-Identifier: Apache-2.0
// The playground's other settings: A, to compare with; those before, in the browser's history; those that
// cannot be simulated.
// usage: COLLSIM_PLAYGROUND=playground.html node --test playground_compared.test.mjs
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { close, startPlayground, timePs, turn } from "./playground_page.mjs";

let open, stop;
before(async () => ({ open, stop } = await startPlayground()));
after(() => stop());

const textOf = (page, selector) => page.locator(selector).textContent();
const trees = "op=all-reduce&algorithm=binomial&shape=switch&ranks=64&size=1MiB&chunks=1&bandwidth=50GB/s&overhead=4us&latency=0";
/** "545.3 us" of "1.2 times slower than A (545.3 us)" */
const timeOfA = async (page) => /\(([^)]*)\)$/.exec(await textOf(page, "#compared"))[1];

test("A follows the other knobs where that is asked for, and stands still elsewhere", async () => {
  const page = await open(`${trees}&a.algorithm=ring`);
  const small = await timeOfA(page);
  await turn(page, "#field-size", "2MiB");
  assert.equal(await timeOfA(page), small);
  await turn(page, "#field-size", "1MiB");
  await page.locator("#follow").check();
  assert.match(await textOf(page, ".follow"), /except algorithm/);
  await turn(page, "#field-size", "2MiB");
  const ring = await open(`${trees.replace("1MiB", "2MiB")}&a.algorithm=ring`);
  assert.equal(await timeOfA(page), await timeOfA(ring));
  assert.notEqual(await timeOfA(page), small);
  // What is set apart stays so, whatever the present setting has.
  await turn(page, "#control-algorithm", "double-tree");
  assert.equal(await timeOfA(page), await timeOfA(ring));
  assert.match(await textOf(page, "#space-time .panel-name >> nth=0"), /^A: algorithm ring: /);
  await page.locator("#follow").uncheck();
  await turn(page, "#field-size", "4MiB");
  assert.equal(await timeOfA(page), await timeOfA(ring));
  await close(ring);
  await close(page);
});

test("the address says that A follows, and in what it does not", async () => {
  const page = await open(`${trees}&a=follows&a.algorithm=ring`);
  assert.equal(await page.locator("#follow").isChecked(), true);
  await turn(page, "#field-ranks", "16");
  await page.waitForURL(/ranks=16&.*&a=follows&a\.algorithm=ring$/);
  await turn(page, "#control-algorithm", "ring"); // the same as A for once
  assert.match(await textOf(page, "#compared"), /^A takes as long/);
  await page.waitForURL(/algorithm=ring&.*&a=follows&a\.algorithm=ring$/);
  await page.getByText("Swap").click();
  await page.waitForURL(/&a=follows&a\.algorithm=ring$/);
  await close(page);
  for (const [fragment, note] of [["a=stands", /a is "follows", or absent/], ["a=follows", /must differ in something: add a key such as a\.chunks=1/], ["a=follows&a.chunks=x", /must differ/]]) {
    const wrong = await open(fragment);
    assert.match(await textOf(wrong, "#notes"), note);
    await close(wrong);
  }
});

test("what is pinned has to differ before it can follow", async () => {
  const page = await open("chunks=8");
  assert.equal(await page.locator("#follow").isVisible(), false);
  await page.locator("#pin").click();
  assert.equal(await page.locator("#follow").isDisabled(), true);
  await turn(page, "#field-chunks", "16");
  assert.equal(await page.locator("#follow").isDisabled(), false);
  await close(page);
});

test("starting over forgets A", async () => {
  const page = await open("ranks=5");
  await page.locator("#pin").click();
  await turn(page, "#field-ranks", "6");
  await page.locator("#start-over").click();
  await page.waitForURL(/ranks=8&(?!.*a\.)/);
  assert.equal(await textOf(page, "#compared"), "");
  await close(page);
});

test("back and forward go from setting to setting, not from pixel to pixel", async () => {
  const page = await open("ranks=5");
  await page.waitForURL(/op=broadcast.*ranks=5/);
  const length = () => page.evaluate(() => history.length);
  const before = await length();
  // One go, to 14 ranks: no rest between its steps, however long a picture takes.
  await page.evaluate(async () => {
    const control = document.querySelector("#control-ranks");
    for (const stop of ["10", "11", "12"]) {
      control.value = stop;
      control.dispatchEvent(new Event("input", { bubbles: true }));
      await new Promise(requestAnimationFrame);
    }
  });
  await page.waitForURL(/ranks=14/);
  const slider = await page.locator("#control-ranks").boundingBox();
  await page.mouse.move(slider.x + slider.width / 2, slider.y + slider.height / 2);
  await page.mouse.down();
  for (const part of [0.6, 0.7, 0.8]) {
    await page.mouse.move(slider.x + slider.width * part, slider.y + slider.height / 2);
    await page.waitForTimeout(300); // at rest, but held
  }
  await page.mouse.up();
  await page.waitForURL(/ranks=5\d/);
  assert.equal((await length()) - before, 2);
  const last = await timePs(page);
  const shows = (ranks) => page.waitForFunction((value) => document.querySelector("#field-ranks").value === value, ranks);
  await page.goBack();
  await shows("14");
  await page.goBack();
  await shows("5");
  assert.match(await textOf(page, "#what"), /^5 ranks/);
  await page.waitForTimeout(300); // reading an entry writes none
  await page.goForward();
  await shows("14");
  await page.goForward();
  await page.waitForFunction((ps) => document.querySelector("#time").dataset.ps === ps, last);
  assert.equal((await length()) - before, 2);
  await close(page);
});

test("a setting that is refused says whose time and pictures there are", async () => {
  const page = await open("op=all-to-all&ranks=64&chunks=8");
  assert.equal(await page.locator("#whose").isVisible(), false);
  await turn(page, "#field-chunks", "60000");
  assert.match(await textOf(page, "#whose"), /are those of the last setting that worked:$/);
  assert.match(await textOf(page, "#what"), /in 8 chunks$/);
  assert.equal(await textOf(page, "#compared"), "(the last setting that worked)");
  assert.equal(await page.locator("#pin").isDisabled(), true);
  await turn(page, "#field-chunks", "4");
  assert.equal(await page.locator("#whose").isVisible(), false);
  assert.equal(await textOf(page, "#compared"), "");
  assert.equal(await page.locator("#pin").isDisabled(), false);
  await close(page);
  const fresh = await open("op=all-to-all&ranks=64&chunks=60000");
  assert.match(await textOf(fresh, "#result"), /No time: cannot be simulated/);
  assert.equal(await fresh.locator("#facts").isVisible(), false);
  await close(fresh);
});

test("an A that is refused is said as long as it is pinned", async () => {
  const page = await open("op=all-reduce&algorithm=ring&shape=ring&ranks=4&a.slots=1");
  assert.match(await textOf(page, "#notes"), /^A: Deadlock/);
  await turn(page, "#field-size", "32MiB");
  assert.match(await textOf(page, "#notes"), /^A: Deadlock/);
  await page.locator("#pin").click();
  assert.equal(await textOf(page, "#notes"), "");
  await close(page);
});

test("a deadlock is explained, with the fewest slots that work", async () => {
  const page = await open("op=all-reduce&algorithm=ring&shape=ring&ranks=4&slots=1");
  const words = await textOf(page, "#notes");
  assert.match(words, /^Deadlock: .*holds 1 message here .*\nIn detail \(a lane is a sequence of steps/);
  const fewest = Number(/It works with (\d+) slots or more/.exec(words)[1]);
  await turn(page, "#field-slots", String(fewest - 1));
  assert.match(await textOf(page, "#notes"), new RegExp(`works with ${fewest} slots`));
  await turn(page, "#field-slots", String(fewest));
  assert.equal(await textOf(page, "#notes"), "");
  await close(page);
});
