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
  assert.match(await page.locator("#formula").textContent(), /as simulated/s);
  assert.match(await page.locator("#formula math").first().getAttribute("alttext"), /^T = \(K-2\+S\)\*tau\(N\/S\)/);
  assert.match(await page.locator("#formula").textContent(), /τ\(n\) = α \+ n\/B: .*τ\(\d[^)]*B\) = /s);
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

test("a formula is typeset, and the terms of the knob that was moved are lit", async () => {
  const page = await open("op=all-reduce&algorithm=ring&shape=ring&ranks=4&chunks=1&latency=1us");
  const fractions = () => page.locator("#formula .formula").first().locator("mfrac").allTextContents();
  assert.deepEqual(await fractions(), ["NK", "K−1K"]);
  const lit = async () => (await page.locator("#formula .formula").first().locator(".lit").allTextContents()).join(" ");
  assert.equal(await lit(), "");
  await turn(page, "#control-overhead", "12");
  assert.match(await lit(), /τ/);
  assert.doesNotMatch(await lit(), /γ/);
  await turn(page, "#field-gamma", "100GB/s");
  assert.match(await lit(), /^(?!.*τ).*γ/);
  await close(page);
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
    ["foo", /^In the address, "foo": there is no key "foo"; keys are op, algorithm, preset, shape, ranks, .*rows, embed\.$/],
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
    ["preset=dgx-h10", /there is no preset "dgx-h10" \(did you mean "dgx-h100"\?\); known: a100-nvlink-pair/],
    ["preset=dgx-h100&bandwidth=1GB/s", /^In the address, "bandwidth=1GB\/s": the preset dgx-h100 says what its network is; ignoring "bandwidth"\.$/],
    ["preset=dgx-h100&ranks=12", /12 ranks do not fill whole nodes of 8 GPUs; using 16 ranks/],
    ["preset=dgx-h100&slow_link=gpu0-gpu1", /a dgx-h100 has no link "gpu0-gpu1" \(try gpu0-nvswitch, gpu0-nic0\)/],
    ["algorithm=magic", /broadcast has no algorithm "magic"; known: chain, .*; using chain/],
    ["algorithm=chian", /broadcast has no algorithm "chian" \(did you mean "chain"\?\)/],
    ["%E0%A4%A&=&&chunks", /there is no key/],
    ["=", /^In the address, "=": there is no key ""/],
    [`size=${"9".repeat(5000)}B`, /^In the address, "size=9{54}…": size goes from 0B to 1024GiB, not "9{59}…"; using 64MiB\.$/],
    ["op=all-reduce&algorithm=swing&shape=switch&ranks=7", /does not work with 7 ranks/],
    ["shape=hypercube&ranks=6", /6/],
    ["op=all-to-all&shape=chain&ranks=64&chunks=65536", /million instructions/],
  ];
  let page = await open();
  for (const [number, [fragment, note]] of wrong.entries()) {
    if (number % 6 === 0) { // of these some are opened, the others typed into the page that is there
      await close(page);
      page = await open(fragment);
    } else {
      await page.evaluate((text) => {
        document.body.dataset.drawn = "0";
        location.hash = text;
      }, fragment);
      await page.waitForFunction(() => Number(document.body.dataset.drawn) > 0);
    }
    assert.match(await page.locator("#notes").textContent(), note);
    for (const menu of await page.locator("#controls select").all()) assert.notEqual(await menu.evaluate((one) => one.selectedIndex), -1, `${fragment}: an empty menu`);
    assert.equal(await page.locator("#controls select").first().isVisible(), true);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${fragment.slice(0, 40)}: scrolls sideways`);
    await turn(page, "#control-ranks", "14"); // 16 ranks
    await turn(page, "#control-chunks", "0");
    assert.equal(await page.locator("#space-time svg").isVisible(), true);
  }
  await close(page);
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
  // Escape gives the wheel back to the page.
  await page.keyboard.press("Escape");
  await page.mouse.wheel(0, -600);
  await page.waitForTimeout(100);
  assert.deepEqual(await ticks(), all);
  assert.match(await page.locator("#space-time .hint").textContent(), /the wheel zooms and no longer scrolls the page, until Escape/);
  await close(page);
});

test("a critical path that changes its rank at every message is a band, and ties are said", async () => {
  const page = await open("op=all-reduce&algorithm=ring&shape=ring&ranks=64&chunks=1");
  assert.ok((await page.locator("#space-time .critical-band").getAttribute("d")).length > 1000);
  assert.match(await page.locator("#space-time .view-tools").textContent(), /critical path, of one of 64 ranks that end last/);
  await close(page);
  const chain = await open("chunks=4");
  assert.equal(await chain.locator("#space-time .critical-band").count(), 0);
  assert.match(await chain.locator("#space-time .view-tools").textContent(), /critical path$/);
  await close(chain);
});

test("busbw is in the headline, as nccl-tests counts it", async () => {
  const page = await open("op=all-reduce&algorithm=ring&shape=ring&ranks=4&chunks=1&overhead=0");
  assert.match(await page.locator("#facts").textContent(), /busbw 25 GB\/s · algbw 16\.67 GB\/s/);
  await close(page);
});

test("fair links and the rate of adding change the time, the formula and the scenario", async () => {
  const page = await open("op=all-reduce&algorithm=double-tree&shape=switch&ranks=16&chunks=64");
  const seen = new Set([await timePs(page)]);
  for (const [control, value, words] of [["#control-sharing", "fair", /"sharing": "fair"/], ["#field-gamma", "100GB/s", /"reduce_bandwidth": "100GB\/s"/]]) {
    await turn(page, control, value);
    assert.ok(!seen.has(await timePs(page)), control);
    seen.add(await timePs(page));
    assert.match(await page.locator("#scenario-text").textContent(), words);
  }
  assert.match(await page.locator("#what").textContent(), /; messages share links, ranks add 100 GB\/s$/);
  await page.waitForURL(/sharing=fair&gamma=100GB\/s/);
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
  Object.assign(setting, { bandwidth: 25e9, overheadPs: 5e6, latencyPs: 3e7, slowLink: -1, lateRank: 2, latePs: 5e7, preset: -1 });
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

test("the critical path is on the link that its message is on", async () => {
  const page = await open("op=gather&algorithm=flat&shape=chain&ranks=3&size=720MB&chunks=1&bandwidth=24GB%2Fs&overhead=0&latency=0&rows=links");
  const places = (await page.locator("#space-time .critical").getAttribute("d")).match(/,[0-9.]+/g);
  assert.equal(new Set(places).size, 1); // 1→0 carries one message after the other
  await close(page);
});

test("columns and axes have one unit and one number of decimals, and pieces count from 0 as ranks do", async () => {
  const page = await open("op=broadcast&ranks=3&size=24MiB&chunks=4");
  await page.locator("#space-time .figure-tools summary").click();
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
  await page.locator(".more-controls summary").click();
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
