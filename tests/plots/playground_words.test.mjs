// SPDX-License-Identifier: Apache-2.0
// The playground's words about a setting: headline, copied scenario, titles, the lines at the knobs.
// usage: COLLSIM_PLAYGROUND=playground.html node --test playground_words.test.mjs
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { close, startPlayground, titleOf, turn } from "./playground_page.mjs";

let open, stop;
before(async () => ({ open, stop } = await startPlayground()));
after(() => stop());

test("a size keeps the unit in which it was typed, wherever it is shown", async () => {
  const page = await open("size=100MB");
  const shown = async () => [await page.locator("#field-size").inputValue(), /of ([^,]*),/.exec(await page.locator("#what").textContent())[1], /"size": "(.*)"/.exec(await page.locator("#scenario-text").textContent())[1]];
  assert.deepEqual(await shown(), ["100MB", "100 MB", "100MB"]);
  await page.waitForURL(/size=100MB&/);
  const typed = [["512kB", "512 kB"], ["1.5GB", "1.5 GB"], ["2048KiB", "2048 KiB"], ["0.0001MB", "100 B", "100B"], ["64B", "64 B"]];
  for (const [text, words, field = text] of typed) {
    await turn(page, "#field-size", text);
    assert.deepEqual(await shown(), [field, words, field]);
  }
  await turn(page, "#control-size", "20"); // a stop of the slider is a power of two
  assert.deepEqual(await shown(), ["4MiB", "4 MiB", "4MiB"]);
  await page.locator("#pin").click();
  await turn(page, "#field-size", "720MB");
  assert.match(await page.locator("#space-time .panel-name").last().textContent(), /^Now: size 720MB: /);
  await close(page);
});

test("headline and copied scenario say what goes wrong, and ratios have two decimals", async () => {
  const page = await open("slow_link=gpu2-gpu3&slow_factor=4&late_rank=3&slots=2&a.late_rank=none&a.slow_link=none");
  const wrong = /in 8 chunks; link gpu2 → gpu3 is 4 times slower, rank 3 starts 500 us late, 2 slots per connection/;
  assert.match(await page.locator("#what").textContent(), wrong);
  const { name, title } = JSON.parse(await page.locator("#scenario-text").textContent());
  assert.match(title, wrong);
  assert.equal(name, "chain-broadcast-64mib-8");
  assert.match(await page.locator("#facts").textContent(), /^\d+\.\d\d × the lower bound/);
  assert.match(await page.locator("#compared").textContent(), /^\d+\.\d\d times slower than A/);
  await turn(page, "#control-slow_factor", "0"); // 1.5
  assert.match(await page.locator("#what").textContent(), /is 1\.5 times slower/);
  await close(page);
});

test("the page says that its machines are ideal", async () => {
  const page = await open("");
  const sure = () => page.locator("#how-sure").textContent();
  assert.match(await sure(), /^How sure: exact for these ideal links, which no machine has;/);
  await turn(page, "#control-preset", "dgx-h100");
  assert.match(await sure(), /taken from NCCL's source, not measured\. collsim predict --preset dgx-h100 predicts what NCCL takes/);
  assert.match(await sure(), /no published table of broadcast on one node of this machine was used/);
  assert.match(await page.locator("#what").textContent(), /^8 ranks, dgx-h100: broadcast/);
  await turn(page, "#control-preset", "rtx-4090");
  assert.match(await sure(), /no published table of one node of this machine was used/);
  await close(page);
});

test("predictions are judged by tables of the operation on as many nodes", async () => {
  const cases = [
    ["ranks=8", /That, not the time on this page, was held against measurements: on one node of this kind, at this size, half of the times within \d+% and 95% within \d+% of 1\d published tables/],
    ["ranks=16", /on several nodes of this kind, at this size, half of the times/],
    ["ranks=64", /no published table of all-reduce on more than 4 nodes of this machine was used/],
  ];
  for (const [ranks, expected] of cases) {
    const page = await open(`op=all-reduce&preset=dgx-h100&${ranks}`);
    assert.match(await page.locator("#how-sure").textContent(), expected);
    await close(page);
  }
});

test("the link to two machines uses all of their NICs, and a setting that does not says so", async () => {
  const page = await open("");
  const notes = () => page.locator("#notes").textContent();
  await page.locator("header a", { hasText: "two DGX H100" }).click();
  await page.waitForFunction(() => document.querySelector("#what").textContent.startsWith("16 ranks, 2 dgx-h100"));
  const bound = async () => Number.parseFloat(await page.locator("#facts").textContent());
  assert.ok((await bound()) < 2, `${await bound()} times the lower bound`);
  assert.equal(await notes(), "");
  assert.equal(await page.locator("#stepper svg.stepper").count(), 1); // few enough steps
  await turn(page, "#field-channels", "1");
  assert.ok((await bound()) > 10);
  assert.equal(await notes(), "Over 1 channel a node sends through 1 of its 8 NICs; more channels use more of them.");
  await turn(page, "#control-ranks", "6"); // one node
  assert.equal(await notes(), "");
  await turn(page, "#control-op", "all-to-all"); // every rank sends to other nodes
  await turn(page, "#field-ranks", "16");
  assert.equal(await notes(), "");
  await close(page);
});

test("symbols are spelled alike in formula, its lines and knobs, and gamma is explained", async () => {
  const page = await open("op=all-reduce&algorithm=ring&shape=ring&ranks=4");
  const lines = () => page.locator("#formula .formula").allTextContents().then((all) => all.join("\n"));
  assert.match(await lines(), /τ\(n\) = α \+ n\/B/);
  assert.match(await lines(), /γ = 0: adding is free/);
  await turn(page, "#field-gamma", "100GB/s");
  assert.match(await lines(), /γ = 1\/\(100 GB\/s\): time to add one byte/);
  assert.doesNotMatch(`${await lines()} ${await page.locator("#controls").textContent()}`, /\b(alpha|gamma|tau)\b/);
  await close(page);
  const broadcast = await open("");
  assert.doesNotMatch(await broadcast.locator("#formula").textContent(), /γ/);
  await close(broadcast);
});

test("a page says what it shows in plain words", async () => {
  const page = await open("op=all-reduce&algorithm=ring&shape=ring&ranks=4&chunks=1&overhead=0");
  assert.equal(await titleOf(page, "space-time"), "Used links are busy 100% of the time");
  assert.match(await page.locator("#controls").textContent(), /every rank gets the sum of all ranks' data/);
  assert.match(await page.locator("#stepper .how-to-read p").textContent(), /Inner ring: input\. Outer ring: result so far, pale while it is a partial sum/);
  assert.deepEqual(await page.locator("#rows option").allTextContents(), ["ranks", "links"]);
  assert.equal(await page.locator("#pin").textContent(), "Compare with this");
  await page.locator("#pin").click();
  assert.equal(await page.locator("#pin").textContent(), "Stop comparing");
  assert.equal(await page.getByRole("button", { name: "Swap", exact: true }).count(), 1);
  await close(page);
});

test("q is explained in plain words", async () => {
  const page = await open("op=all-reduce&algorithm=binomial&shape=switch&ranks=8&chunks=1");
  assert.match(await page.locator("#formula").textContent(), /q = .*the number of doublings from 1 to K/);
  await close(page);
});

test("the first Tab leads to the result, and figures with keys say that they have some", async () => {
  const page = await open("");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the result");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "result");
  for (const [figure, role] of [["space-time", "application"], ["chunk-curve", "application"], ["stepper", "application"], ["machine", "img"], ["breakdown", "img"]])
    assert.equal(await page.locator(`#${figure} svg`).first().getAttribute("role"), role, figure);
  assert.equal(await page.locator("#space-time svg").getAttribute("aria-roledescription"), "figure with keys");
  await close(page);
});

test("the thin lines in the space-time diagram are explained below it, those that are there", async () => {
  for (const [fragment, words] of [
    ["ranks=2&chunks=1", ["waits for a message"]],
    ["op=all-reduce&algorithm=ring&shape=ring&ranks=4&chunks=1&late_rank=2&gamma=100GB/s", ["waits for a message", "starts late", "adds or copies"]],
    ["op=all-reduce&algorithm=ring&shape=ring&ranks=4&chunks=1&rows=links", []],
  ]) {
    const page = await open(fragment);
    assert.deepEqual(await page.locator("#space-time .pause-name").allTextContents(), words, fragment);
    const fills = await page.locator("#space-time .pause-sample").evaluateAll((all) => all.map((one) => one.getAttribute("fill")));
    const drawn = new Set(await page.locator("#space-time .bar").evaluateAll((all) => all.map((one) => one.getAttribute("fill"))));
    assert.deepEqual(fills.filter((fill) => !drawn.has(fill)), [], fragment);
    await close(page);
  }
});

test("the root of an all-reduce adds up", async () => {
  const page = await open("op=all-reduce&algorithm=master&shape=switch");
  assert.equal(await page.locator("#note-root").textContent(), "the rank that adds up and sends the sum back");
  await close(page);
});

test("the moving picture's title says how many ranks send", async () => {
  const titles = [
    ["", "4 of 8 ranks send at a time on average, 7 at most"], // 56 messages in 14 steps
    ["op=all-reduce&algorithm=ring&shape=ring&ranks=4", "All 4 ranks send all the time"],
    ["ranks=3&chunks=1", "All the time, 1 of 3 ranks sends"],
    ["ranks=3&chunks=1&late_rank=0&late=20ms", /^0\.\d of 3 ranks send at a time on average, 1 at most$/],
    ["op=barrier&overhead=0&latency=0", "No message takes any time"],
  ];
  for (const [fragment, title] of titles) {
    const page = await open(fragment);
    assert.match(await titleOf(page, "stepper"), title instanceof RegExp ? title : new RegExp(`^${title}$`), fragment);
    await close(page);
  }
});

test("headings go from one level to the next, and none is empty, whether its figure was seen or not", async () => {
  for (const fragment of ["", "step=ddp", "step=pipeline"]) {
    const page = await open(fragment, { viewport: { width: 360, height: 600 } });
    const headings = await page.$$eval("h1, h2, h3, h4", (all) => all.filter((one) => !one.closest("[hidden]")).map((one) => ({ level: Number(one.tagName[1]), text: one.textContent.trim() })));
    assert.equal(headings[0].level, 1);
    headings.slice(1).forEach(({ level, text }, i) => assert.ok(level > 1 && level - headings[i].level <= 1, `${text} is of level ${level}, after ${headings[i].level}`));
    for (const { level, text } of headings) assert.notEqual(text, "", `a heading of level ${level}`);
    await close(page);
  }
});

test("those who do not see a picture hear what it shows", async () => {
  const page = await open("");
  const label = (figure) => page.locator(`#${figure} svg`).getAttribute("aria-label");
  assert.equal(await label("machine"), "The machine. 7 of 14 links carry everything; the busiest is busy 57% of the time");
  assert.match(await label("breakdown"), /% of the time goes to the wire/);
  assert.match(await page.locator("#breakdown .how-to-read p").textContent(), /can shorten the run\. startup \(alpha\): messages paid alpha; wire: bytes crossed links/);
  await close(page);
  const step = await open("step=pipeline");
  assert.equal(await step.locator("#step-shares svg").getAttribute("aria-label"), "72.7% of the time goes to computing, 27.3% to waiting");
  assert.equal(await titleOf(step, "step-shares"), "72.7% of the time goes to computing, 27.3% to waiting");
  await close(step);
});
