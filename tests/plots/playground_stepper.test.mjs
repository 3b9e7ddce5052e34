// SPDX-License-Identifier: Apache-2.0
// The playground's moving picture: what it shows of a moment, and who moves it.
// usage: COLLSIM_PLAYGROUND=playground.html node --test playground_stepper.test.mjs
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { close, startPlayground, titleOf, turn } from "./playground_page.mjs";

let open, stop;
before(async () => ({ open, stop } = await startPlayground()));
after(() => stop());

test("the moving picture begins at the start, and says what happens", async () => {
  const page = await open("chunks=2&ranks=4");
  const moment = () => page.locator("#stepper .moment").textContent();
  assert.match(await page.locator("#stepper .clock").textContent(), /^0 s of/);
  assert.match(await moment(), /^Start: /);
  const [accent, first] = await page.locator("#stepper .scrub").evaluate((one) => [getComputedStyle(one).accentColor, getComputedStyle(document.querySelector("#stepper .had")).getPropertyValue("--c1")]);
  const asRgb = (hex) => `rgb(${[1, 3, 5].map((i) => Number.parseInt(hex.trim().slice(i, i + 2), 16)).join(", ")})`;
  assert.equal(accent, asRgb(first)); // the page's blue, not the browser's
  await page.getByLabel("one event on").click();
  assert.equal(await moment(), "Rank 1 has received piece 0; rank 0 begins to send piece 1 to rank 1, rank 1 begins to send piece 0 to rank 2.");
  await page.locator("#stepper svg").focus();
  await page.keyboard.press("End");
  assert.match(await moment(), /^End: /);
  await page.locator("#stepper .scrub").fill("100");
  assert.equal(await moment(), "1 message is in flight.");
  await close(page);
});

test("the clock is no news for those who hear the page", async () => {
  const page = await open("ranks=4&chunks=2");
  const live = await page.$$eval("output, [role=status], [role=alert], [role=log], [aria-live]", (all) => all.filter((one) => !one.hidden && one.getAttribute("aria-live") !== "off").map(({ id }) => id));
  assert.deepEqual(live, ["said"]);
  await close(page);
});

test("where there is no picture, nothing is said about its keys", async () => {
  const page = await open("op=all-reduce&algorithm=ring&shape=ring&ranks=64&chunks=8");
  await page.waitForSelector("#machine .cable"); // it needs sums per link only
  const { length } = await page.$$("#machine .cable");
  assert.equal(length, 128);
  for (const [figure, isThere] of [["stepper", false], ["machine", true]]) assert.equal(await page.locator(`#${figure} .save-svg`).isVisible(), isThere, figure);
  assert.equal(await page.locator("#stepper .hint").isVisible(), false);
  await turn(page, "#field-ranks", "4");
  assert.equal(await page.locator("#stepper .hint").isVisible(), true);
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

test("rings of many pieces fill as the pieces come, and messages pass in front of small ranks", async () => {
  for (const [setting, ranks] of [["ranks=16&chunks=8&shape=ring", 16], ["ranks=64&chunks=1&shape=ring", 64]]) {
    const page = await open(`op=all-reduce&algorithm=ring&${setting}`);
    const filled = () => page.locator("#stepper .filled.had[d]").count();
    assert.equal(await page.locator("#stepper .filled.brought[d]").count(), 2 * ranks);
    assert.equal(await filled(), 0);
    await page.locator("#stepper .scrub").fill("750");
    const areas = () => page.locator("#stepper .filled.had[d]").evaluateAll((all) => all.map((one) => one.getTotalLength()));
    const middle = await areas();
    assert.ok(middle.length >= ranks, `${middle.length} rings have something in them`);
    await page.locator("#stepper svg").focus();
    await page.keyboard.press("End");
    const end = await areas();
    assert.ok(end.length === 2 * ranks && Math.min(...end) > Math.max(...middle), "all are full at the end only");
    const order = await page.locator("#stepper svg > g:has(.rank-wheel)").evaluate((wheels) => wheels.nextElementSibling !== null);
    assert.equal(order, ranks === 64, "messages in front");
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

test("a sum is seen to grow: on bars, on dots and in words", async () => {
  const page = await open("op=all-reduce&algorithm=ring&shape=ring&ranks=4&chunks=1");
  const names = await page.locator("#space-time .bar-name").allTextContents();
  assert.deepEqual(names.slice(0, 6), ["3: 1/4", "2: 2/4", "1: 3/4", "0", "3", "2"]);
  assert.deepEqual(await page.locator("#space-time .half-name").allTextContents(), ["reduce-scatter ←", "→ all-gather"]);
  await page.getByLabel("one event on").click();
  assert.match(await page.locator("#stepper .moment").textContent(), /^Rank 1 has received piece 3 and added its own: 2 of 4, .* begins to send piece 2 \(2 of 4 added\) to rank 1/);
  assert.equal(await page.locator("#stepper .part-dot[d]").count(), 4);
  await page.locator("#stepper svg").focus();
  await page.keyboard.press("End");
  assert.equal(await page.locator("#stepper .part-dot[d]").count(), 0);
  await close(page);
});

test("halves are named by who has whole sums first, and only where each rank ends one before the other", async () => {
  for (const [fragment, names] of [
    ["op=all-reduce&algorithm=master&shape=switch&ranks=4&chunks=1", ["reduce ←", "→ broadcast"]],
    ["op=reduce-scatter&algorithm=ring&shape=ring&ranks=4", []],
    ["op=all-gather&algorithm=ring&shape=ring&ranks=4", []],
    ["op=all-reduce&algorithm=ring&shape=ring&ranks=4&rows=links", []],
  ]) {
    const page = await open(fragment);
    assert.deepEqual(await page.locator("#space-time .half-name").allTextContents(), names, fragment);
    await close(page);
  }
});

test("names of ranks do not touch, in trees and circles", async () => {
  for (const width of [360, 1000])
    for (const algorithm of ["all-reduce&algorithm=master", "broadcast&algorithm=binomial", "all-reduce&algorithm=ring"]) {
      const page = await open(`op=${algorithm}&shape=switch&ranks=64&chunks=1`, { viewport: { width, height: 4000 } });
      const names = await page.locator("#stepper .rank-wheel text").evaluateAll((all) => all.map((one) => ({ name: one.textContent, ...one.getBoundingClientRect().toJSON() })));
      assert.ok(names.length >= 16 && names.length <= 64, `${width}, ${algorithm}: ${names.length} names`);
      names.forEach((one, i) => names.slice(0, i).forEach((other) => {
        const apart = one.left >= other.right || other.left >= one.right || one.top + 2 >= other.bottom || other.top + 2 >= one.bottom;
        assert.ok(apart, `${width}, ${algorithm}: ${one.name} touches ${other.name}`);
      }));
      await close(page);
    }
});

test("the space-time diagram and the moving picture show the same moment, and both can move it", async () => {
  const page = await open("op=all-reduce&algorithm=ring&shape=ring&ranks=4&chunks=1");
  const line = page.locator("#space-time .playhead");
  assert.equal(await line.getAttribute("visibility"), "hidden");
  await page.locator("#stepper .scrub").fill("500");
  const { x, width } = await page.locator("#space-time .playhead-grip").boundingBox();
  const at = (await line.boundingBox()).x;
  assert.ok(Math.abs(at - (x + width / 2)) < 3, `the line is at ${at}, the middle at ${x + width / 2}`);
  const grip = await page.locator("#space-time .playhead-grip").boundingBox();
  await page.mouse.click(grip.x + grip.width / 4, grip.y + grip.height / 2);
  assert.ok(Math.abs(Number(await page.locator("#stepper .scrub").inputValue()) - 250) < 5);
  await close(page);
});

test("the moving picture can show A, at the same moment as the space-time diagram", async () => {
  // A takes 18.825 ms, the present setting 4.768 ms.
  const page = await open("chunks=8&a.chunks=1");
  const clock = () => page.locator("#stepper .clock").textContent();
  const { x, y, width, height } = await page.locator("#space-time .playhead-grip").boundingBox();
  await page.mouse.click(x + width / 8, y + height / 2);
  assert.match(await clock(), /^2\.3\d+ ms of 4\.768 ms$/); // an eighth of the longer one
  await page.locator("#stepper-shows").selectOption("a");
  assert.match(await clock(), /^2\.3\d+ ms of 18\.8\d* ms$/);
  assert.equal(await titleOf(page, "stepper"), "All the time, 1 of 8 ranks sends");
  await page.mouse.click(x + width / 2, y + height / 2);
  await page.locator("#stepper-shows").selectOption("now");
  assert.match(await clock(), /^4\.768 ms of 4\.768 ms$/); // which is over by then
  await close(page);
  const alone = await open("chunks=8");
  assert.equal(await alone.locator("#stepper-shows").isVisible(), false);
  await close(alone);
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

test("the machine shows which links are busy, and which work at the moment of the playhead", async () => {
  const page = await open("ranks=4&chunks=1");
  assert.equal(await page.locator("#machine h3").textContent(), "3 of 6 links carry everything; the busiest is busy 33% of the time");
  assert.equal(await page.locator("#machine .device").count(), 4);
  const atWork = () => page.locator("#machine .cable.at-work title").allTextContents();
  assert.deepEqual(await atWork(), []);
  await page.locator("#stepper .scrub").fill("500");
  assert.deepEqual(await atWork(), ["1→2: busy 33% of the time\n64 MiB in 1 message, 25 GB/s"]);
  await close(page);
  const nodes = await open("op=all-reduce&algorithm=hierarchical&shape=nodes&ranks=8&gpus_per_node=4&chunks=1");
  assert.deepEqual(await nodes.locator("#machine .device-name").allTextContents(), ["0", "1", "2", "3", "4", "5", "6", "7", "switch0", "switch1", "network"]);
  await close(nodes);
});

test("links of a machine of which a part is not drawn light up all the same", async () => {
  const page = await open("op=broadcast&algorithm=chain&preset=dgx-h100&ranks=8&chunks=1");
  assert.equal(await page.locator("#machine rect.device").count(), 1); // without NICs
  await page.locator("#stepper .scrub").fill("500");
  const atWork = await page.locator("#machine .cable.at-work title").allTextContents();
  assert.deepEqual(atWork.map((text) => text.split(":")[0]).sort(), ["3→nvswitch", "nvswitch→4"]);
  await close(page);
});

test("the network between nodes is above their switches, and called so wherever a link of it is", async () => {
  const page = await open("op=all-reduce&algorithm=ring&shape=nodes&ranks=16&gpus_per_node=4&chunks=1&rows=links&slow_link=gpu3-switch4");
  const tops = await page.locator("#machine g:has(> rect.device)").evaluateAll((all) => Object.fromEntries(all.map((one) => [one.querySelector("text").textContent, one.querySelector("rect").getBoundingClientRect().top])));
  assert.deepEqual(Object.keys(tops), ["switch0", "switch1", "switch2", "switch3", "network"]);
  assert.ok(tops.network < tops.switch0 - 20, JSON.stringify(tops));
  assert.match(await page.locator("#what").textContent(), /link gpu3 → network is 4 times slower/);
  assert.equal(await page.locator("#control-slow_link option:checked").textContent(), "gpu3 → network");
  assert.ok((await page.locator("#machine .cable title").allTextContents()).some((text) => text.startsWith("3→network: ")));
  assert.match(await page.locator("#space-time .row-name").allTextContents().then((all) => all.join(" ")), /3→network/);
  await close(page);
});
