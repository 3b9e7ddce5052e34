// SPDX-License-Identifier: Apache-2.0
// From a turned slider to the new picture: below 50 ms for 8 ranks and 64 chunks, below 300 ms for 64
// ranks and 1,024 chunks; and moving through a picture of 250,000 messages does not freeze.  The best of
// several, because others use the machine too; for the same reason the time of the page's own thread is
// judged by the processor's clock.  These are times of a quick, quiet machine; a slow one has as much more as
// a loop takes it longer.  What caches and hyperthreads lose to others the processor's clock counts, too, and
// that comes and goes: there the loop runs between the turns, and medians are compared.
// usage: COLLSIM_PLAYGROUND=playground.html node --test playground_speed.test.mjs
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { assertNoMistakes, giveLoop, launch, openFile, slowness, slownessOf } from "./browser.mjs";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

/** Milliseconds from the event to the frame after the picture, for each of some turns of the bandwidth. */
function turns(page, count) {
  return page.evaluate(async (times) => {
    const slider = document.querySelector("#control-bandwidth");
    const taken = [];
    for (let i = 0; i < times; ++i) {
      await new Promise((resolve) => setTimeout(resolve, 1500)); // the chunk curve is made meanwhile
      const before = document.body.dataset.drawn;
      const start = performance.now();
      slider.value = String(8 + (i % 5));
      slider.dispatchEvent(new Event("input", { bubbles: true }));
      while (document.body.dataset.drawn === before) await new Promise(requestAnimationFrame);
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      taken.push(performance.now() - start);
    }
    return taken;
  }, count);
}

for (const { ranks, chunks, goal } of [
  { ranks: 8, chunks: 64, goal: 50 },
  { ranks: 64, chunks: 1024, goal: 300 },
])
  test(`${ranks} ranks, ${chunks} chunks: in ${goal} ms on a quick machine`, async (t) => {
    const page = await openFile(browser, `${process.env.COLLSIM_PLAYGROUND}#ranks=${ranks}&chunks=${chunks}`, {
      viewport: { width: 1400, height: 1000 },
    });
    await page.waitForFunction(() => document.body.dataset.drawn);
    const taken = (await turns(page, 9)).sort((a, b) => a - b);
    const slower = await slowness(page);
    t.diagnostic(`best ${taken[0].toFixed(1)} ms, median ${taken[4].toFixed(1)} ms, worst ${taken[8].toFixed(1)} ms; goal ${goal} x ${slower.toFixed(2)}`);
    assert.ok(taken[0] < goal * slower, `best of 9: ${taken[0].toFixed(1)} ms`);
    assertNoMistakes(page);
  });

/** Milliseconds of the page's thread, by the processor's clock, for each of some turns of the bandwidth and loops between. */
async function threadTimes(page, count) {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const now = async () => (await session.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value * 1000;
  const spent = async (work, argument) => {
    const before = await now();
    await page.evaluate(work, argument);
    return (await now()) - before;
  };
  const turn = async (value) => {
    const { drawn } = document.body.dataset;
    const slider = document.querySelector("#control-bandwidth");
    slider.value = value;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    while (document.body.dataset.drawn === drawn) await new Promise(requestAnimationFrame);
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  };
  await giveLoop(page);
  const turns = [];
  const loops = [];
  for (let i = 0; i < count; ++i) {
    turns.push(await spent(turn, String(8 + (i % 5))));
    loops.push(await spent(() => window.calibrationLoop()));
  }
  return [turns, loops].map((times) => times.sort((a, b) => a - b));
}

for (const { name, fragment, goal } of [
  { name: "8 ranks, 64 chunks", fragment: "ranks=8&chunks=64", goal: 40 },
  { name: "a ring all-reduce among 64 ranks", fragment: "op=all-reduce&algorithm=ring&shape=ring&ranks=64&chunks=1", goal: 120 },
])
  test(`${name}: a turn keeps the page's thread busy for ${goal} ms on a quick machine`, async (t) => {
    const page = await openFile(browser, `${process.env.COLLSIM_PLAYGROUND}#${fragment}`, { viewport: { width: 1400, height: 1000 } });
    await page.waitForFunction(() => document.body.dataset.drawn);
    await page.waitForTimeout(2000);
    const [taken, loops] = await threadTimes(page, 30);
    const slower = slownessOf(loops[15]);
    t.diagnostic(`best ${taken[0].toFixed(1)} ms, median ${taken[15].toFixed(1)} ms, worst ${taken[29].toFixed(1)} ms; goal ${goal} x ${slower.toFixed(2)}`);
    assert.ok(taken[15] < goal * slower, `median of 30: ${taken[15].toFixed(1)} ms`);
    assertNoMistakes(page);
  });

test("a picture of 258,048 messages moves within 100 ms", async (t) => {
  const page = await openFile(browser, `${process.env.COLLSIM_PLAYGROUND}#op=all-reduce&algorithm=ring&shape=ring&ranks=64&chunks=32`, {
    viewport: { width: 1400, height: 1000 },
  });
  await page.waitForFunction(() => document.body.dataset.drawn);
  await page.waitForTimeout(2000);
  const taken = await page.evaluate(async () => {
    const svg = document.querySelector("#space-time svg");
    svg.focus();
    const times = [];
    for (const key of ["+", "+", "ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft", "-", "-", "0"]) {
      const start = performance.now();
      svg.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      times.push(performance.now() - start);
    }
    return times.sort((a, b) => a - b);
  });
  assert.equal(await page.locator("#space-time .drawing").getAttribute("data-bars"), "canvas");
  const slower = await slowness(page);
  t.diagnostic(`best ${taken[0].toFixed(1)} ms, median ${taken[4].toFixed(1)} ms, worst ${taken[8].toFixed(1)} ms; goal 100 x ${slower.toFixed(2)}`);
  assert.ok(taken[0] < 100 * slower, `best of 9: ${taken[0].toFixed(1)} ms`);
  assertNoMistakes(page);
});
