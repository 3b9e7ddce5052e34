// SPDX-License-Identifier: Apache-2.0
// The playground in a real browser: what it shows, what changes it, and how fast.
// usage: COLLSIM_PLAYGROUND=playground.html node --test playground.test.mjs
import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { after, before, test } from "node:test";
import { xmlMistake } from "./browser.mjs";
import { close, startPlayground, timePs, titleOf, turn } from "./playground_page.mjs";

const file = process.env.COLLSIM_PLAYGROUND;
let open, stop;
before(async () => ({ open, stop } = await startPlayground()));
after(() => stop());

test("one file below 1 MB", () => {
  assert.ok(statSync(file).size < 1e6, `${statSync(file).size} bytes`);
});

test("the first picture is the textbook's: (K-2+S)(alpha + N/(SB))", async () => {
  const page = await open();
  const seconds = (8 - 2 + 8) * (5e-6 + 2 ** 26 / (8 * 25e9));
  assert.ok(Math.abs(Number(await timePs(page)) - seconds * 1e12) < 200);
  assert.match(await page.locator("#formula").textContent(), /\(K-2\+S\)\*tau\(N\/S\).*as simulated/s);
  assert.match(await page.locator("#formula").textContent(), /tau\(n\) = alpha \+ n\/B: .*tau\(\d[^)]*B\) = /s);
  await page.waitForSelector("#chunk-curve .mark.dot");
  assert.match(await titleOf(page, "chunk-curve"), /^57 chunks are best: 5\.7 times faster than 1; 4,096 are slower than 1$/);
  await close(page);
});

test("three marks are where they must be, within a pixel", async () => {
  const page = await open("op=broadcast&algorithm=chain&shape=chain&ranks=8&size=64MiB&chunks=8&bandwidth=25GB/s&overhead=5us");
  // Bar c of rank r is on its link from (r + c) tau to (r + c + 1) tau; the run takes 14 tau.
  const places = await page.evaluate(() => {
    const svg = document.querySelector("#space-time svg");
    const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    const area = svg.querySelector(".row").getBoundingClientRect();
    const bars = [...svg.querySelectorAll(".bar")]
      .filter((bar) => bar.height.baseVal.value > 10)
      .map((bar) => bar.getBoundingClientRect())
      .map(({ left, top }) => ({ left, top }))
      .sort((a, b) => a.top - b.top || a.left - b.left);
    return { scale, area: { left: area.left, width: area.width }, bars };
  });
  assert.equal(places.bars.length, 56);
  for (const [rank, chunk] of [[0, 0], [3, 2], [6, 7]]) {
    const { left } = places.bars[rank * 8 + chunk];
    const expected = places.area.left + (places.area.width * (rank + chunk)) / 14;
    assert.ok(Math.abs(left - expected) <= 1, `chunk ${chunk} of rank ${rank}: at ${left}, not ${expected}`);
  }
  await close(page);
});

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
    ["slow_link=gpu1-gpu2&late_rank=2", /so the best number lies in between\. Dots: simulated/],
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
    ["", /The time is the sum of both, so the best number lies in between\. Line: .*; grey: /],
    ["overhead=0&latency=0", /Many chunks: ranks forward one part .* next to nothing\. Line: the closed form\. Dots/],
    [`${ring}&overhead=0`, /^Cutting makes no difference here/],
    [ring, /^Cutting does not help here: .* each extra message costs a startup\./],
  ];
  for (const [fragment, reason] of reasons) {
    const page = await open(fragment);
    await page.waitForSelector("#chunk-curve .mark.dot");
    assert.match(await page.locator("#chunk-curve figcaption p").textContent(), reason, fragment);
    await close(page);
  }
});

test("controls change the result", async () => {
  const page = await open();
  const seen = new Set([await timePs(page)]);
  const changes = [
    ["#control-chunks", "30"], ["#control-ranks", "14"], ["#control-size", "20"], ["#control-bandwidth", "3"],
    ["#control-overhead", "12"], ["#control-latency", "10"], ["#control-slots", "9"], ["#control-shape", "switch"],
    ["#control-late_rank", "3"], ["#control-late", "9"], ["#control-slow_link", "gpu0-switch0"], ["#control-slow_factor", "7"],
    ["#control-algorithm", "flat"], ["#control-op", "all-gather"],
  ];
  for (const [control, value] of changes) {
    await turn(page, control, value);
    const now = await timePs(page);
    // Slots matter only when somebody receives late.
    if (control !== "#control-slots") assert.ok(!seen.has(now), `${control} = ${value} changed nothing`);
    seen.add(now);
  }
  await close(page);
});

test("a wrong value in a field is said there, and changes nothing", async () => {
  const page = await open();
  const before = await timePs(page);
  await page.locator("#field-bandwidth").fill("25");
  await page.locator("#field-bandwidth").press("Tab");
  assert.match(await page.locator(".mistake:visible").textContent(), /write it like 25GB\/s/);
  assert.equal(await timePs(page), before);
  await page.locator("#field-bandwidth").fill("50GB/s");
  await page.locator("#field-bandwidth").press("Tab");
  await page.waitForFunction((ps) => document.querySelector("#time").dataset.ps !== ps, before);
  assert.equal(await page.locator(".mistake:visible").count(), 0);
  await close(page);
});

test("the address holds the setting, with what is pinned", async () => {
  const page = await open();
  await turn(page, "#control-chunks", "0");
  await page.locator("#pin").click();
  await turn(page, "#control-chunks", "58");
  await turn(page, "#control-late_rank", "2");
  await page.waitForURL(/late_rank=2/); // written when things have come to rest
  const [address, time] = [page.url(), await timePs(page)];
  assert.match(address, /#op=broadcast&algorithm=chain&shape=chain&ranks=8&size=64MiB&chunks=315&.*late_rank=2&a\.chunks=1&a\.late_rank=none$/);
  const again = await open(address.split("#")[1]);
  assert.equal(await timePs(again), time);
  assert.equal(await again.locator("#compared").textContent(), await page.locator("#compared").textContent());
  assert.equal(await again.locator("#space-time .panel-name").count(), 2);
  // A link that somebody else wrote into the address of an open page counts too.
  await again.evaluate(() => (location.hash = "op=reduce&ranks=4"));
  await again.waitForFunction((ps) => document.querySelector("#time").dataset.ps !== ps, time);
  assert.equal(await again.locator("#control-op").inputValue(), "reduce");
  await close(again);
  await close(page);
});

test("a wrong address is a note, never a broken page", async () => {
  const wrong = [
    ["foo", /^In the address, "foo": there is no key "foo"; keys are op, algorithm, shape, ranks, .*rows\.$/],
    ["op=foo", /^In the address, "op=foo": there is no op "foo"; known: broadcast, .*; using broadcast\.$/],
    ["op=all-redcue", /there is no op "all-redcue" \(did you mean "all-reduce"\?\); known: broadcast/],
    ["rank=8", /^In the address, "rank=8": there is no key "rank" \(did you mean "ranks"\?\); keys are op/],
    ["ranks=1000", /^In the address, "ranks=1000": ranks is a whole number from 2 to 64, not "1000"; using 8\.$/],
    ["a.ranks=1", /^In the address, "a.ranks=1": ranks is a whole number from 2 to 64/],
    ["rows=columns", /^In the address, "rows=columns": rows are "ranks" or "links"\.$/],
    ["op=<img src=x onerror=alert(1)>", /there is no op "<img src=x onerror=alert\(1\)>"/],
    ["toString=5", /there is no key "toString"/],
    ["a.constructor=5", /there is no key "a.constructor"/],
    ["size=5constructor", /"5constructor" is not valid: write it like 64MiB/],
    ["latency=3valueOf", /"3valueOf" is not valid: write it like 5us/],
    ["size=64M", /"64M" is not valid: write it like 64MiB \(did you mean 64MB, 64MiB\?\), with one of B, kB.*; using 64MiB/],
    ["slow_link=gpu0-gpu7", /a chain of 8 ranks has no link "gpu0-gpu7" \(try gpu0-gpu1\); ignoring "slow link"/],
    ["shape=nodes&slow_link=gpux", /a network of 2 nodes of 4 GPUs has no link "gpux"/],
    ["shape=fully-connected&slow_link=gpux", /a fully-connected network of 8 ranks has no link "gpux"/],
    ["shape=switch&slow_link=gpux", /a switch of 8 ranks has no link "gpux" \(try gpu0-switch0, /],
    ["late_rank=9", /there is no late rank 9 among 8 ranks, 0 to 7; ignoring "late rank"/],
    ["algorithm=magic", /broadcast has no algorithm "magic"; known: chain, .*; using chain/],
    ["algorithm=chian", /broadcast has no algorithm "chian" \(did you mean "chain"\?\)/],
    ["%E0%A4%A&=&&chunks", /there is no key/],
    ["=", /^In the address, "=": there is no key ""/],
    [`size=${"9".repeat(5000)}B`, /^In the address, "size=9{54}…": size goes from 0B to 1024GiB, not "9{59}…"; using 64MiB\.$/],
    ["op=all-reduce&algorithm=swing&shape=switch&ranks=7", /does not work with 7 ranks/],
    ["shape=hypercube&ranks=6", /6/],
    ["op=all-to-all&shape=chain&ranks=64&chunks=65536", /million instructions/],
  ];
  for (const [fragment, note] of wrong) {
    const page = await open(fragment);
    assert.match(await page.locator("#notes").textContent(), note);
    for (const menu of await page.locator("#controls select").all()) assert.notEqual(await menu.evaluate((one) => one.selectedIndex), -1, `${fragment}: an empty menu`);
    assert.equal(await page.locator("#controls select").first().isVisible(), true);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${fragment.slice(0, 40)}: scrolls sideways`);
    await turn(page, "#control-ranks", "14"); // 16 ranks
    await turn(page, "#control-chunks", "0");
    assert.equal(await page.locator("#space-time svg").isVisible(), true);
    await close(page);
  }
});

test("pointing says what a bar is, a click follows its chunk", async () => {
  const page = await open("chunks=4");
  const bar = page.locator("#space-time .bar").filter({ hasNot: page.locator("title") });
  await page.locator("#space-time .hint").scrollIntoViewIfNeeded();
  const boxes = await bar.evaluateAll((bars) => bars.map((one) => one.getBoundingClientRect().toJSON()).filter((box) => box.height > 10));
  const third = boxes[2];
  await page.mouse.move(third.x + third.width / 2, third.y + third.height / 2);
  const words = await page.locator("#space-time .tooltip").textContent();
  assert.match(words, /^piece 2 \(0 to 3\): 16 MiB\nrank 0 → rank 1\non the link/);
  assert.match(words, /was ready at 0 s; the link was busy with piece 1 of rank 0/);
  await page.mouse.click(third.x + third.width / 2, third.y + third.height / 2);
  assert.ok((await page.locator("#space-time .bar[fill-opacity='0.15']").count()) === 21, "all but chunk 2's seven bars are pale");
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#space-time .bar[fill-opacity='0.15']").count(), 0);
  await close(page);
});

test("wheel and keys zoom the diagram", async () => {
  const page = await open();
  const ticks = () => page.locator("#space-time .axis .tick text").allTextContents();
  const all = await ticks();
  await page.locator("#space-time .hint").scrollIntoViewIfNeeded();
  const area = await page.locator("#space-time .catcher").boundingBox();
  await page.mouse.click(area.x + area.width / 2, area.y + area.height - 8);
  await page.mouse.wheel(0, -600);
  await page.waitForFunction((before) => document.querySelectorAll("#space-time .axis .tick text")[1].textContent !== before, all[1]);
  const zoomed = await ticks();
  await page.keyboard.press("ArrowRight");
  assert.notDeepEqual(await ticks(), zoomed);
  await page.keyboard.press("0");
  assert.deepEqual(await ticks(), all);
  await close(page);
});

test("the moving picture begins at the start, and says what happens", async () => {
  const page = await open("chunks=2&ranks=4");
  const moment = () => page.locator("#stepper .moment").textContent();
  assert.match(await page.locator("#stepper .clock").textContent(), /^0 s of/);
  assert.match(await moment(), /^Start: /);
  await page.getByLabel("one event on").click();
  assert.equal(await moment(), "Rank 1 has received piece 0; rank 0 begins to send piece 1 to rank 1, rank 1 begins to send piece 0 to rank 2.");
  await page.locator("#stepper svg").focus();
  await page.keyboard.press("End");
  assert.match(await moment(), /^End: /);
  await page.locator("#stepper .scrub").fill("100");
  assert.equal(await moment(), "1 message is in flight.");
  await close(page);
});

test("arrow keys step from event to event in true time", async () => {
  const page = await open("chunks=2");
  const clock = () => page.locator("#stepper .clock").textContent();
  await page.locator("#stepper svg").focus();
  assert.match(await clock(), /^0 s of/);
  const step = 5e-6 + 2 ** 25 / 25e9; // a message
  for (const k of [1, 2]) {
    await page.keyboard.press("ArrowRight");
    assert.equal((await clock()).split(" of")[0], `${Number((step * k * 1000).toPrecision(4))} ms`);
  }
  await page.keyboard.press("ArrowLeft");
  assert.equal((await clock()).split(" of")[0], `${Number((step * 1000).toPrecision(4))} ms`);
  const filled = () => page.locator("#stepper .had[fill-opacity='1']").count();
  assert.equal(await filled(), 3); // rank 0 has both chunks, rank 1 one
  await page.keyboard.press("End");
  assert.equal(await filled(), 16);
  await close(page);
});

test("a barrier's messages carry no pieces", async () => {
  const page = await open("op=barrier&algorithm=dissemination&ranks=4");
  await page.getByLabel("one event on").click();
  await page.getByLabel("one event on").click();
  assert.match(await page.locator("#stepper .moment").textContent(), /^Rank \d has received a message, (?!.*piece)/);
  assert.equal(await page.locator("#stepper .segment").count(), 0);
  await close(page);
});

test("of messages that hold several pieces the first is named", async () => {
  const page = await open("op=all-gather&algorithm=recursive-doubling&ranks=4&chunks=1&shape=switch");
  await page.getByLabel("one event on").click();
  assert.match(await page.locator("#stepper .moment").textContent(), /has received piece \d, .*begins to send piece \d and others to/);
  await close(page);
});

/** Full segments of the rings of each rank: what it brought along, what it has now. */
const ringsOf = (page) =>
  page.locator("#stepper .rank-wheel").evaluateAll((wheels) => {
    const full = (wheel, ring) => wheel.querySelectorAll(`.${ring}[fill-opacity='1']`).length;
    return wheels.map((wheel) => `${full(wheel, "brought")} ${full(wheel, "had")}`).join(", ");
  });

test("rings show what each rank brings along and what it has at the end", async () => {
  const cases = [
    ["op=broadcast&algorithm=chain", "1 1, 0 0, 0 0, 0 0", "1 1, 0 1, 0 1, 0 1"],
    ["op=reduce&algorithm=chain", "1 0, 1 0, 1 0, 1 0", "1 1, 1 0, 1 0, 1 0"],
    ["op=reduce-scatter&algorithm=ring", "4 0, 4 0, 4 0, 4 0", "4 1, 4 1, 4 1, 4 1"],
    ["op=all-reduce&algorithm=master", "1 0, 1 0, 1 0, 1 0", "1 1, 1 1, 1 1, 1 1"],
    ["op=gather&algorithm=binomial", "1 1, 1 0, 1 0, 1 0", "1 4, 1 0, 1 0, 1 0"],
    ["op=scatter&algorithm=binomial&root=1", "0 0, 4 1, 0 0, 0 0", "0 1, 4 1, 0 1, 0 1"],
    ["op=all-to-all&algorithm=direct", "4 1, 4 1, 4 1, 4 1", "4 4, 4 4, 4 4, 4 4"],
  ];
  for (const [fragment, start, end] of cases) {
    const page = await open(`${fragment}&ranks=4&chunks=1&shape=switch`);
    assert.equal(await ringsOf(page), start, fragment);
    await page.locator("#stepper svg").focus();
    await page.keyboard.press("End");
    assert.equal(await ringsOf(page), end, fragment);
    await close(page);
  }
});

test("a part of a sum is pale", async () => {
  const page = await open("op=all-reduce&algorithm=halving-doubling&ranks=4&chunks=1&shape=switch");
  const pale = () => page.locator("#stepper .had[fill-opacity='0.3']").count();
  assert.equal(await pale(), 0);
  let seen = 0;
  for (let i = 0; i < 6; ++i) {
    await page.getByLabel("one event on").click();
    seen = Math.max(seen, await pale());
  }
  assert.ok(seen > 0);
  await page.locator("#stepper svg").focus();
  await page.keyboard.press("End");
  assert.equal(await pale(), 0);
  await close(page);
});

test("where formula and simulation part, the reason is the case's own", async () => {
  const reasons = [
    ["op=all-reduce&algorithm=bidirectional-ring&shape=ring&ranks=16&size=64B&chunks=1", /less than 0\.1% from the simulation: the data does not divide evenly/],
    ["op=all-reduce&algorithm=ring&shape=ring&ranks=8&size=64B&chunks=1&overhead=0&bandwidth=300GB/s", /rounds each message up to a picosecond/],
    ["op=all-reduce&algorithm=ring&shape=ring&ranks=7&size=64B&chunks=1&overhead=0", /the data does not divide evenly/],
    ["size=0B&overhead=0&latency=0", /= 0 s, as simulated/],
    ["op=all-reduce&algorithm=ring&shape=nodes&gpus_per_node=8&chunks=1", /^(?!.*between nodes).*, as simulated/s],
    ["op=broadcast&algorithm=binomial&shape=fully-connected&ranks=7", /floor\(x\): x rounded down/],
    ["op=all-reduce&algorithm=hierarchical&shape=nodes", /^(?!.*8 = 1).*between nodes: n\/B = n\/12\.5 GB\/s= .*, as simulated/],
  ];
  for (const [fragment, reason] of reasons) {
    const page = await open(fragment);
    assert.match(await page.locator("#formula").textContent(), reason, fragment);
    await close(page);
  }
});

test("a run that takes no time leaves the moving picture usable", async () => {
  const page = await open("op=barrier&algorithm=dissemination&overhead=0&latency=0");
  assert.match(await page.locator("#stepper .clock").textContent(), /^0 s of 0 s$/);
  await turn(page, "#control-op", "broadcast");
  assert.match(await page.locator("#stepper .clock").textContent(), /^0 s of [0-9.]+ ms$/);
  await close(page);
});

test("playing moves with the clock, and step by step where motion is not wanted", async () => {
  for (const reducedMotion of ["no-preference", "reduce"]) {
    const page = await open("chunks=2", { reducedMotion });
    await page.locator("#stepper svg").focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("Space");
    await page.waitForTimeout(400);
    const early = await page.locator("#stepper .clock").textContent();
    assert.equal(/^0 s/.test(early), reducedMotion === "reduce");
    await page.waitForFunction(() => !/^0 s/.test(document.querySelector("#stepper .clock").textContent));
    await page.keyboard.press("Space");
    const stopped = await page.locator("#stepper .clock").textContent();
    await page.waitForTimeout(900);
    assert.equal(await page.locator("#stepper .clock").textContent(), stopped);
    await close(page);
  }
});

test("rows can be links, and many bars go to a canvas", async () => {
  const page = await open("op=all-reduce&algorithm=ring&shape=ring&ranks=4&rows=links");
  assert.equal(await page.locator("#space-time .row-name").first().textContent(), "0→1");
  assert.equal(await page.locator("#space-time .drawing").getAttribute("data-bars"), "svg");
  await turn(page, "#field-chunks", "1024");
  assert.equal(await page.locator("#space-time .drawing").getAttribute("data-bars"), "canvas");
  const painted = await page.locator("#space-time canvas").evaluate((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return data.filter((value, i) => i % 4 === 3 && value > 0).length;
  });
  assert.ok(painted > 10000, `${painted} pixels`);
  await close(page);
});

/** Heights and widths of thin lines below bars. */
const thinLines = (page) =>
  page.evaluate(() => [...document.querySelectorAll("#space-time .bar")].filter((bar) => bar.height.baseVal.value < 6).map((bar) => ({ fill: bar.getAttribute("fill"), width: bar.width.baseVal.value })));

test("a rank that sends all the while is not shown to wait", async () => {
  let page = await open("op=all-reduce&algorithm=ring&shape=ring&ranks=4&chunks=4");
  assert.match(await titleOf(page, "space-time"), /busy 100% of the time/);
  assert.deepEqual(await thinLines(page), []);
  await close(page);
  // Rank r of a chain waits r steps for its first message; the last one sends nothing, and waits for all 8.
  page = await open("chunks=8");
  assert.equal((await thinLines(page)).length, 6 + 8);
  await close(page);
});

test("waiting is shown only while a rank does nothing else, and once for all its lanes", async () => {
  const read = (path) => readFileSync(new URL(`../../plots/${path}`, import.meta.url), "utf8");
  const { Engine, pausesOf, waits, settingFields } = new Function(
    `${read("playground/engine.js")}\n${read("common/spans.js")}; return { Engine, pausesOf, waits, settingFields };`,
  )();
  const engine = await Engine.load(/packedEngine = "([^"]*)"/.exec(readFileSync(file, "utf8"))[1]);
  const { index } = engine.algorithms.find((one) => one.operation === "all-reduce" && one.name === "double-tree");
  const setting = { ...Object.fromEntries(settingFields.map((name) => [name, 0])), shape: 3, algorithm: index, ranks: 9, bytes: 2 ** 20, chunks: 7, channels: 2 };
  Object.assign(setting, { bandwidth: 25e9, overheadPs: 5e6, latencyPs: 3e7, slowLink: -1, lateRank: 2, latePs: 5e7 });
  const { steps } = engine.run(setting, 1e6);
  const idle = pausesOf(steps).filter(({ kind }) => kind === waits.message || kind === waits.signal);
  const overlap = (a, b) => Math.min(a.end, b.end) - Math.max(a.start, b.start) > 1e-12;
  const sendings = [...steps.rank].map((row, i) => ({ row, step: i, start: steps.departed[i] * 1e-12, end: steps.left[i] * 1e-12 })).filter(({ step }) => steps.route[step] >= 0);
  assert.ok(idle.length > 20, `${idle.length} waits`);
  for (const one of idle) {
    for (const other of [...sendings, ...idle]) assert.ok(one === other || one.row !== other.row || !overlap(one, other), JSON.stringify([one, other]));
    const lane = { start: steps.reached[one.step] * 1e-12, end: steps.began[one.step] * 1e-12 };
    assert.ok(one.start > lane.start - 1e-12 && one.end < lane.end + 1e-12, "no more than the lane's own wait");
  }
  // Nothing is left out: each moment of a lane's waiting is shown, or its rank sends.
  for (let i = 0; i < steps.rank.length; ++i) {
    if (steps.wait[i] !== waits.message) continue;
    const middle = (steps.reached[i] + steps.began[i]) * 0.5e-12;
    const covers = ({ row, start, end }) => row === steps.rank[i] && start - 1e-12 <= middle && middle <= end + 1e-12;
    assert.ok(idle.some(covers) || sendings.some(covers), `step ${i}`);
  }
});

test("the critical path is drawn over links, too", async () => {
  const page = await open("op=broadcast&shape=switch&ranks=4&rows=links");
  const path = page.locator("#space-time .critical");
  assert.ok((await path.getAttribute("d")).length > 20);
  assert.match(await path.getAttribute("d"), /^M[0-9.,]+L(?!.*(NaN|undefined))/);
  await page.locator("#critical-path").uncheck();
  assert.equal(await path.count(), 0);
  await close(page);
});

test("columns and axes have one unit and one number of decimals, and pieces count from 0 as ranks do", async () => {
  const page = await open("op=broadcast&ranks=3&size=24MiB&chunks=4");
  await page.locator("#space-time summary").click();
  await page.waitForSelector("#space-time tbody tr");
  const cells = await page.locator("#space-time tbody td").allTextContents();
  const column = (i) => cells.filter((_, k) => k % 8 === i);
  assert.deepEqual(column(2), ["0", "1", "2", "3", "0", "1", "2", "3"]);
  assert.deepEqual(column(6).slice(0, 4), ["256.7 us", "513.3 us", "770.0 us", "1026.6 us"]);
  const ticks = (await page.locator("#space-time .axis .tick text").allTextContents()).slice(1);
  assert.deepEqual([...new Set(ticks.map((tick) => tick.replace(/\d/g, "0")))], ["0.0 ms"]);
  const names = await page.locator("#space-time .bar-name").allTextContents();
  assert.deepEqual(names, ["0", "1", "2", "3", "0", "1", "2", "3"]);
  await close(page);
});

test("nodes, channels and roots: knobs where they mean something", async () => {
  const page = await open();
  const isVisible = (key) => page.locator(`#control-${key}`).isVisible();
  assert.deepEqual([await isVisible("gpus_per_node"), await isVisible("network_bandwidth"), await isVisible("root")], [false, false, true]);
  await turn(page, "#control-op", "all-reduce");
  assert.equal(await isVisible("root"), false);
  await turn(page, "#control-algorithm", "master");
  assert.equal(await isVisible("root"), true);
  await turn(page, "#control-op", "broadcast");
  await turn(page, "#control-shape", "nodes");
  assert.deepEqual([await isVisible("gpus_per_node"), await isVisible("network_bandwidth")], [true, true]);
  assert.match(await page.locator("#what").textContent(), /^8 ranks, 2 nodes of 4 GPUs: /);
  const seen = new Set([await timePs(page)]);
  for (const [control, value] of [["#control-network_bandwidth", "2"], ["#control-root", "2"], ["#field-gpus_per_node", "2"], ["#field-channels", "4"]]) {
    await turn(page, control, value);
    const now = await timePs(page);
    assert.ok(!seen.has(now), `${control} = ${value} changed nothing`);
    seen.add(now);
  }
  assert.match(await page.locator("#what").textContent(), /with root 2, .* over 4 channels$/);
  await turn(page, "#field-ranks", "7"); // whole nodes only
  assert.match(await page.locator("#notes").textContent(), /7 ranks do not fill whole nodes of 2 GPUs; using 8 ranks/);
  await page.waitForURL(/shape=nodes&ranks=8&gpus_per_node=2&root=2&.*channels=4&.*network_bandwidth=3GB\/s/);
  await turn(page, "#control-op", "all-gather");
  assert.equal(await isVisible("root"), false);
  assert.doesNotMatch(await page.locator("#scenario-text").textContent(), /root/);
  await turn(page, "#control-shape", "ring");
  assert.equal(await isVisible("gpus_per_node"), false);
  assert.doesNotMatch(await page.locator("#scenario-text").textContent(), /gpus_per_node|inter/);
  await close(page);
});

test("a barrier has no size and no chunks", async () => {
  const page = await open("op=barrier&size=4KiB&chunks=4");
  for (const key of ["size", "chunks"]) assert.equal(await page.locator(`#control-${key}`).isVisible(), false, key);
  assert.equal(await page.locator("#chunk-curve").isVisible(), false);
  assert.doesNotMatch(await page.locator("#headline").textContent(), /chunk|size|4 KiB/);
  await page.waitForURL(/op=barrier&(?!.*(size|chunks)=)/);
  await turn(page, "#control-op", "broadcast");
  await page.waitForSelector("#chunk-curve .mark.dot");
  assert.match(await page.locator("#what").textContent(), /broadcast of 4 KiB, .* in 4 chunks/);
  await close(page);
});

test("warns as the command line does", async () => {
  const page = await open("size=64B&chunks=17&overhead=0");
  const warnings = () => page.locator("#notes .caution").allTextContents();
  const [first, second, ...others] = await warnings();
  assert.match(first, /^Warning: there are more chunks than elements to cut \(such as 17 chunks for 16 elements\)/);
  assert.match(second, /neither overhead nor latency/);
  assert.deepEqual(others, []);
  await turn(page, "#field-size", "64MiB");
  assert.deepEqual(await warnings(), []);
  await close(page);
});

test("too many steps: time and fingerprint without a picture, and a note", async () => {
  const page = await open("op=all-reduce&algorithm=ring&shape=ring&ranks=64&chunks=1024");
  assert.match(await page.locator(".too-many").textContent(), /8,323,072 steps, too many to draw/);
  assert.match(await page.locator("#fingerprint").textContent(), /^[0-9a-f]{16}$/);
  await close(page);
});

test("the drawing can be saved as well-formed SVG", async () => {
  const page = await open();
  const download = page.waitForEvent("download");
  await page.locator("#space-time .save-svg").click();
  const text = readFileSync(await (await download).path(), "utf8");
  assert.equal(await xmlMistake(page, text), null);
  assert.ok((text.match(/<rect/g) ?? []).length > 56);
  await close(page);
});

test("a drawing on a canvas can be saved too", async () => {
  const page = await open("op=all-reduce&algorithm=ring&shape=ring&ranks=8&chunks=256");
  assert.equal(await page.locator("#space-time .drawing").getAttribute("data-bars"), "canvas");
  const download = page.waitForEvent("download");
  await page.locator("#space-time .save-svg").click();
  assert.match(readFileSync(await (await download).path(), "utf8"), /<image[^>]*href="data:image\/png/);
  await close(page);
});

test("fits narrow screens, and everything can be reached by keyboard", async () => {
  const page = await open("chunks=16&slow_link=gpu1-gpu2&late_rank=2", { viewport: { width: 360, height: 740 } });
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360);
  const reached = new Set();
  for (let i = 0; i < 60; ++i) {
    await page.keyboard.press("Tab");
    reached.add(await page.evaluate(() => document.activeElement.id || document.activeElement.closest("figure")?.id || ""));
  }
  for (const id of ["control-op", "control-chunks", "field-chunks", "control-slots", "pin", "copy-scenario", "space-time", "chunk-curve", "stepper"])
    assert.ok(reached.has(id), `Tab does not reach ${id}`);
  await close(page);
});
