// SPDX-License-Identifier: Apache-2.0
// The playground's curve of time over chunks: its lines and its words.
// usage: COLLSIM_PLAYGROUND=playground.html node --test playground_curve.test.mjs
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { close, startPlayground, titleOf, turn } from "./playground_page.mjs";

let open, stop;
before(async () => ({ open, stop } = await startPlayground()));
after(() => stop());

/** What the chunk curve shows: where lines end and dots are, in pixels, and its words. */
function curveOf(page) {
  return page.evaluate(() => {
    const svg = document.querySelector("#chunk-curve svg");
    const ends = (path) => {
      const numbers = path.getAttribute("d").match(/-?[\d.]+/g).map(Number);
      return { from: numbers.slice(0, 2), to: numbers.slice(-2) };
    };
    const dots = (name) =>
      [...svg.querySelectorAll(`[data-series="${name}"] .mark`)].map((mark) => mark.getAttribute("transform").match(/-?[\d.]+/g).map(Number));
    const [wire, start] = [...svg.querySelectorAll("g > .series-line.faint[d]")].filter((path) => path.getAttribute("d").length > 40).map(ends);
    const line = ends(svg.querySelector(".series-line.solid"));
    return { wire, start, line, dots: dots("simulated"), now: dots("now")[0], words: [...svg.querySelectorAll(".names text")].map((one) => one.textContent) };
  });
}

test("the chunk curve shows the two costs whose sum has a least value", async () => {
  const page = await open();
  await page.waitForSelector("#chunk-curve .mark.dot");
  const { wire, start, line, dots, words } = await curveOf(page);
  assert.deepEqual(words.filter((word) => / alone|formula$|simulated|now/.test(word)).sort(), ["formula", "now", "simulated", "startup alone", "wire alone"]);
  assert.ok(words.includes("lower bound: 2.689 ms"));
  const time = (chunks, alpha, bytes) => (6 + chunks) * (alpha + bytes / (chunks * 25e9));
  const [top, low] = [time(4096, 5e-6, 2 ** 26), time(57, 5e-6, 2 ** 26)];
  const [yTop, yLow] = [dots.at(-1)[1], Math.max(...dots.map(([, y]) => y))];
  const y = (seconds) => yTop + ((yLow - yTop) * Math.log(top / seconds)) / Math.log(top / low);
  assert.ok(Math.abs(wire.from[1] - y(time(1, 0, 2 ** 26))) < 1, "wire alone, one chunk");
  assert.ok(Math.abs(wire.to[1] - y(time(4096, 0, 2 ** 26))) < 1, "wire alone, 4,096 chunks");
  assert.ok(Math.abs(start.to[1] - y(time(4096, 5e-6, 0))) < 1, "startup alone, 4,096 chunks");
  await close(page);
});

test("the line of the chunk curve ends where its dots do, and the present one is named beside its dot", async () => {
  for (const fragment of ["chunks=6000&ranks=64", "op=all-reduce&algorithm=ring&shape=ring&ranks=64&chunks=100", "chunks=1&size=4KiB"]) {
    const page = await open(fragment);
    await page.waitForSelector("#chunk-curve .mark.dot");
    const { line, dots, now } = await curveOf(page);
    const ends = [...dots, now].map(([x]) => x);
    assert.ok(Math.abs(line.from[0] - Math.min(...ends)) < 0.1 && Math.abs(line.to[0] - Math.max(...ends)) < 0.1, fragment);
    const { far, inside } = await page.evaluate(() => {
      const box = (one) => one.getBoundingClientRect();
      const dot = box(document.querySelector('#chunk-curve [data-series="now"] .mark'));
      const name = box([...document.querySelectorAll("#chunk-curve .series-name")].find((one) => one.textContent === "now"));
      const middle = (one) => [one.x + one.width / 2, one.y + one.height / 2];
      return { far: Math.hypot(middle(dot)[0] - middle(name)[0], middle(dot)[1] - middle(name)[1]), inside: name.right <= box(document.body).right };
    });
    assert.ok(far < 40 && inside, `${fragment}: "now" is ${far} pixels away from its dot`);
    await close(page);
  }
});

test("a network without startup has one cost, and no lines of two", async () => {
  const page = await open("overhead=0&latency=0");
  await page.waitForSelector("#chunk-curve .mark.dot");
  assert.equal((await curveOf(page)).wire, undefined);
  await close(page);
});

test("the words below the chunk curve name the lines that are there", async () => {
  for (const [fragment, words] of [
    ["", /Line: the closed form; grey: wire alone, and startup alone\. Dots: simulated/],
    ["latency=1us&overhead=0", /Line: the closed form; grey: wire alone\. Dots/], // latency alone lies below what is shown
    ["overhead=0", /Line: the closed form\. Dots/],
    ["slow_link=gpu1-gpu2&late_rank=2", /% of the time .*\. Dots: simulated/],
  ]) {
    const page = await open(fragment);
    await page.waitForSelector("#chunk-curve .mark.dot");
    assert.match(await page.locator("#chunk-curve figcaption p").textContent(), words, fragment);
    await close(page);
  }
});

test("the chunk curve says why it is as it is", async () => {
  const ring = "op=all-reduce&algorithm=ring&shape=ring&ranks=4&size=4MiB";
  const reasons = [
    ["", /^Both too few and too many messages cost time\. With 1 chunk .*% of the time goes to serial hops, .* to the wire, .* With \d+,\d+ chunks .*% of the time goes to startup \(alpha\), .* Line: .*; grey: /],
    ["overhead=0&latency=0", /^Cutting helps as far as was simulated\. With 1 chunk 85\.7% of the time goes to serial hops, 14\.3% to the wire\. .* Line: the closed form\. Dots/],
    [`${ring}&overhead=0`, /^Cutting makes no difference here/],
    [ring, /^Cutting does not help here\. .* to startup \(alpha\)/],
    // As collsim explain: 2.684 of 6.753 ms.
    ["op=all-reduce&algorithm=double-tree&shape=switch&ranks=16&chunks=64&overhead=0", /With 256 chunks, the most whose path is followed here, 79\.9% of the time goes to the wire, 20\.1% to serial hops; for 39\.\d% of it messages of other ranks held the links\./],
  ];
  for (const [fragment, reason] of reasons) {
    const page = await open(fragment);
    await page.waitForSelector("#chunk-curve .mark.dot");
    assert.match(await page.locator("#chunk-curve figcaption p").textContent(), reason, fragment);
    await close(page);
  }
});

test("the curve over size marks the present size, and says where half of the best bandwidth is reached", async () => {
  const page = await open("op=all-reduce&algorithm=ring&shape=ring&ranks=8&chunks=1");
  await page.waitForSelector("#size-curve .mark.dot");
  // t(N) = 14 (5 us + N / (8 B)): N / t is half of its limit, 8 B / 14, where both parts are equal, at 1 MB.
  assert.equal(await page.locator("#size-curve h3").textContent(), "Half of the best bandwidth is reached from 1 MiB on");
  assert.equal(await page.locator('#size-curve [data-series="simulated"] .mark').count(), 33);
  const places = (name) => page.locator(`#size-curve [data-series="${name}"] .mark`).evaluateAll((all) => all.map((one) => one.getAttribute("transform")));
  assert.ok((await places("simulated")).includes((await places("now"))[0]), "64 MiB is one of the sizes");
  await page.locator("#field-size").fill("100MB");
  await page.locator("#field-size").press("Tab");
  await page.waitForFunction(() => document.querySelector("#what").textContent.includes("100 MB"));
  await page.waitForSelector("#size-curve:not(.stale-figure) .mark.dot");
  assert.ok(!(await places("simulated")).includes((await places("now"))[0]));
  await close(page);
  // Without startup nothing but too few pieces makes small data slow.
  const free = await open("op=all-reduce&algorithm=double-tree&shape=switch&ranks=16&overhead=0&latency=0");
  await free.waitForSelector("#size-curve .mark.dot");
  assert.equal(await titleOf(free, "size-curve"), "Time grows as the size does: startup does not matter");
  await close(free);
  const barrier = await open("op=barrier&algorithm=dissemination");
  assert.equal(await barrier.locator("#size-curve").isVisible(), false);
  await close(barrier);
});

test("names in a chart do not touch, and none is outside of it", async () => {
  for (const [width, fragment] of [[360, "op=all-reduce&algorithm=double-tree&shape=switch&ranks=16&chunks=64&a.algorithm=ring"], [360, "op=all-reduce&algorithm=ring&ranks=8&chunks=8&a.chunks=9"], [320, "op=all-reduce&preset=dgx-h100&ranks=8&chunks=2"]]) {
    const page = await open(fragment, { viewport: { width, height: 4000 } });
    await page.waitForSelector("#chunk-curve .mark.dot");
    const boxes = await page.$$eval("#chunk-curve .series-name", (all) => all.map((one) => ({ name: one.textContent, ...one.getBoundingClientRect().toJSON() })));
    for (const [i, a] of boxes.entries())
      for (const b of boxes.slice(i + 1)) assert.ok(a.right <= b.left || b.right <= a.left || a.bottom <= b.top + 5 || b.bottom <= a.top + 5, `${fragment}: ${a.name} over ${b.name}`);
    const outside = await page.$$eval("#machine svg text, #breakdown svg text", (all) =>
      all.filter((one) => one.getBoundingClientRect().right > one.ownerSVGElement.getBoundingClientRect().right + 1 || one.getBoundingClientRect().left < one.ownerSVGElement.getBoundingClientRect().left - 1).map((one) => one.textContent),
    );
    assert.deepEqual(outside, [], fragment);
    await close(page);
  }
});

test("a preset takes the place of the knobs that say what its links are", async () => {
  const page = await open("op=all-reduce&algorithm=ring&preset=dgx-h100&ranks=16");
  assert.match(await page.locator("#what").textContent(), /^16 ranks, 2 dgx-h100: /);
  for (const key of ["shape", "bandwidth", "overhead", "latency", "sharing"]) assert.equal(await page.locator(`#control-${key}`).isVisible(), false, key);
  await page.waitForSelector("#rank-curve .mark.dot");
  assert.equal(await page.locator('#rank-curve [data-series="simulated"] .mark').count(), 6, "1, 2, 3, 4, 6 and 8 machines");
  await turn(page, "#control-preset", "");
  assert.equal(await page.locator("#control-bandwidth").isVisible(), true);
  await close(page);
});

test("the curve over ranks says how time and bound grow, and leaves out what the algorithm does not allow", async () => {
  const page = await open("op=all-reduce&algorithm=ring&shape=switch&ranks=8&chunks=1&overhead=0");
  await page.waitForSelector("#rank-curve .mark.dot");
  // 2 (K-1)/K N/B: 63/64 at 64 ranks, 1/2 at 2.
  assert.equal(await titleOf(page, "rank-curve"), "From 2 to 64 ranks the time grows 1.97 times, its lower bound grows 1.97 times");
  const count = () => page.locator('#rank-curve [data-series="simulated"] .mark').count();
  assert.equal(await count(), 11);
  await turn(page, "#control-algorithm", "recursive-doubling");
  await page.waitForFunction(() => document.querySelector("#rank-curve h3").textContent.startsWith("From 2 to 64 ranks the time grows 6.00"));
  await turn(page, "#control-shape", "hypercube");
  await page.waitForFunction(() => document.querySelectorAll('#rank-curve [data-series="simulated"] .mark').length === 6);
  await close(page);
});

test("curves show A: another curve as open dots, and where it is", async () => {
  const page = await open("op=all-reduce&algorithm=ring&shape=switch&ranks=8&chunks=4&a.overhead=50us");
  for (const figure of ["chunk-curve", "size-curve", "rank-curve"]) {
    await page.waitForFunction((id) => document.querySelectorAll(`#${id} [data-series="A"] .mark.open`).length > 3, figure);
    assert.equal(await page.locator(`#${figure} [data-series="A"] .mark:not(.open)`).count(), 1, figure);
  }
  // What differs in the knob of a curve alone is on the same curve.
  const same = await open("op=all-reduce&algorithm=ring&shape=switch&ranks=8&chunks=4&a.chunks=1");
  await same.waitForSelector('#chunk-curve [data-series="A"] .mark');
  assert.equal(await same.locator('#chunk-curve [data-series="A"] .mark.open').count(), 0);
  await same.locator("#pin").click();
  assert.equal(await same.locator('#chunk-curve [data-series="A"]').count(), 0);
  await close(same);
  await close(page);
});

test("curves over size and ranks can be of the bus bandwidth", async () => {
  const page = await open("op=all-reduce&algorithm=ring&shape=switch&ranks=8&chunks=1&overhead=0&bandwidth=25GB/s");
  await page.waitForSelector("#size-curve .mark.dot");
  await page.locator("#size-curve-shows").selectOption("rate");
  assert.match(await page.locator("#size-curve svg").getAttribute("aria-label"), /^Bus bandwidth against size/);
  await page.locator("#size-curve .figure-tools summary").click();
  await page.waitForSelector("#size-curve tbody tr");
  const last = await page.locator("#size-curve tbody tr").last().locator("td").allTextContents();
  assert.equal(last[2], "25.000 GB/s"); // 2 (K-1)/K N/t, where t = 2 (K-1)/K N/B
  await close(page);
});

test("of many pieces on several nodes colours tell which messages stay in their node", async () => {
  const page = await open("op=all-reduce&algorithm=ring&shape=nodes&gpus_per_node=2&ranks=6&chunks=2");
  const colours = () => page.locator("#space-time .bar").evaluateAll((all) => new Set(all.filter((one) => one.height.baseVal.value > 10).map((one) => one.getAttribute("fill"))).size);
  assert.equal(await page.locator("#colours").inputValue(), "ways"); // of 12 pieces
  assert.equal(await colours(), 2);
  await page.locator("#colours").selectOption("pieces");
  assert.equal(await colours(), 12);
  await turn(page, "#control-shape", "ring");
  assert.equal(await page.locator("#colours").isVisible(), false);
  await close(page);
  const narrow = await open("op=all-reduce&algorithm=ring&shape=nodes&gpus_per_node=2&ranks=6&chunks=2", { viewport: { width: 360, height: 740 } });
  assert.ok(await narrow.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  await close(narrow);
  const few = await open("op=all-reduce&algorithm=ring&shape=nodes&gpus_per_node=2&ranks=4&chunks=1");
  assert.equal(await few.locator("#colours").inputValue(), "pieces"); // 4 can be told apart
  await close(few);
});
