// SPDX-License-Identifier: Apache-2.0
// The page of `collsim report` in a real browser.
// usage: COLLSIM=collsim node --test report.test.mjs
import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { xmlMistake } from "./browser.mjs";
import { close, collsim, folder, pageOf, scenarios, startReport } from "./report_page.mjs";

let open, stop;
before(async () => ({ open, stop } = await startReport()));
after(() => stop());

/** Runs that took 10% longer than predicted, the n-th n% more. */
function measure(results) {
  results.rows.forEach((row, i) => {
    const time = row.time_s * (1.1 + i / 100);
    row.measured = {
      time_s: time, min_s: time * 0.98, max_s: time * 1.05, spread: i === 2 ? 0.3 : 0.01, noisy: i === 2,
      error: row.time_s / time - 1, data: "right", backend: "host", paced: true, device: "a machine", iters: 5,
    };
  });
}

/** Middles of all elements, in pixels of the page. */
function places(page, selector) {
  return page.$$eval(selector, (all) =>
    all.map((one) => {
      const box = one.getBoundingClientRect();
      return { x: box.x + box.width / 2 + scrollX, y: box.y + box.height / 2 + scrollY };
    }),
  );
}

/** Where the labelled ticks of an axis are: [[value, pixel]], the unit taken away. */
async function ticks(page, figure, side) {
  const all = await page.$$eval(`${figure} .axis-${side} .tick`, (list) =>
    list.map((one) => {
      const box = one.querySelector("line:not(.grid-line)").getBoundingClientRect();
      return { text: one.textContent, x: box.x + box.width / 2 + scrollX, y: box.y + box.height / 2 + scrollY };
    }),
  );
  return all.map(({ text, x, y }) => [Number.parseFloat(text.replace(",", "")), side === "bottom" ? x : y]);
}

/** From two ticks of a log axis to the place of any value on it. */
function logPlace([[value1, at1], [value2, at2]], value) {
  return at1 + ((at2 - at1) * Math.log(value / value1)) / Math.log(value2 / value1);
}

test("the lecture's curve: every row has its mark, and marks are where the formula says", async () => {
  const page = await open(pageOf("lecture/ring-broadcast"));
  assert.equal(await page.locator("#chunk-curve h3").textContent(), "57 chunks are best: 5.7 times faster than 1; 4,096 are slower than 1");
  const marks = await places(page, "#chunk-curve .series .mark.dot");
  const rows = JSON.parse(readFileSync(join(folder, "lecture-ring-broadcast.json"))).rows;
  assert.equal(marks.length, rows.length);

  const across = await ticks(page, "#chunk-curve", "bottom");
  const up = await ticks(page, "#chunk-curve", "left"); // milliseconds
  const ends = (list) => [list[0], list.at(-1)];
  for (const chunks of [1, 57, 4096]) {
    const milliseconds = (chunks + 6) * (5e-3 + (64 * 2 ** 20) / (chunks * 25e6));
    const mark = marks[rows.findIndex((row) => row.chunks === chunks)];
    assert.ok(Math.abs(mark.x - logPlace(ends(across), chunks)) < 0.5, `x of ${chunks}: ${mark.x}`);
    assert.ok(Math.abs(mark.y - logPlace(ends(up), milliseconds)) < 0.5, `y of ${chunks}: ${mark.y}`);
  }
  // Between 128 and 4,096 chunks there is one row only; the line is the formula's all the same.
  const line = page.locator("#chunk-curve [clip-path] .series-line.solid");
  const bends = (await line.getAttribute("d")).split("L").length;
  assert.ok(bends > 50, `${bends} points`);
  assert.deepEqual(await page.locator("#chunk-curve .faint-name").allTextContents(), ["wire alone", "startup alone"]);
  assert.ok((await page.locator("#chunk-curve .guide-name").allTextContents()).some((text) => text.startsWith("lower bound: ")));
  assert.match(await page.locator("#chunk-curve figcaption p").textContent(), /8 ranks, 64 MiB, alpha = 5 us, B = 25 GB\/s\./);
  await close(page);
});

test("on a preset, bands and words say how sure a prediction is", async () => {
  const log = join(scenarios, "measured/two-dgx-h100-slow.log");
  collsim("compare", log, "--quiet", "-o", "slow.html");
  const page = await open(join(folder, "slow.html"));
  assert.equal(await page.locator("h1").textContent(), "two-dgx-h100-slow");
  assert.match(await page.locator(".sureness").textContent(), /^How sure: InfiniBand, fitted to \d+ published tables.*\nup to 64 KiB: half of the times within/);
  assert.match(await page.locator(".notice").first().textContent(), /^Below its class: from 32MiB on busbw is/);
  assert.equal(await page.locator("#chunk-curve").count(), 0, "NCCL takes its own number of chunks for each size");
  for (const figure of ["#size-curves", "#errors"]) {
    assert.equal(await page.locator(`${figure} .band`).count(), 2, figure);
    assert.match(await page.locator(`${figure} figcaption p`).textContent(), /Bands: how far half, and 95%, of the published measurements of InfiniBand were/);
  }
  // The wide band is 95%: an error of zero lies in the middle of both, and the last row outside.
  const [wide, narrow] = await page.$$eval("#errors .band", (all) => all.map((one) => ({ y: one.getBBox().y, height: one.getBBox().height })));
  assert.ok(wide.height > narrow.height && Math.abs(wide.y + wide.height / 2 - narrow.y - narrow.height / 2) < 0.5);
  const bottom = await page.locator("#errors .band").first().evaluate((one) => one.getBoundingClientRect().bottom + scrollY);
  assert.ok((await places(page, "#errors .series .mark")).at(-1).y > bottom);
  await close(page);

  collsim("predict", "all-reduce", "-b", "1K", "-e", "1M", "-f", "32", "--preset", "dgx-h100", "--nccl-proto", "LL", "-q", "-o", "forced.html");
  const forced = await open(join(folder, "forced.html"));
  assert.equal(await forced.locator(".band").count(), 0, "the published measurements are of what NCCL chose");
  assert.match(await forced.locator(".sureness").textContent(), /in which NCCL chose freely/);
  assert.match(await forced.locator("#size-curves figcaption p").textContent(), /Dotted: no schedule can be faster with the same protocol\./);
  await close(forced);
});

test("pointing, keys and the wheel", async () => {
  const page = await open(pageOf("lecture/ring-broadcast"));
  const figure = page.locator("#chunk-curve");
  await figure.scrollIntoViewIfNeeded();
  const box = await figure.locator(".series .mark.dot").nth(6).boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  const tooltip = figure.locator(".tooltip");
  assert.match(await tooltip.textContent(), /57 chunks\nsimulated 3\.282 ms\nformula 3\.282 ms/);

  const labels = () => figure.locator(".axis-bottom .tick text").allTextContents();
  const before = await labels();
  await page.mouse.wheel(0, -400);
  assert.deepEqual(await labels(), before, "the wheel scrolls the page until the chart is chosen");
  const again = await figure.locator(".catcher").boundingBox();
  await page.mouse.click(again.x + again.width / 2, again.y + again.height / 2);
  await page.mouse.wheel(0, -400);
  await page.waitForFunction((old) => JSON.stringify([...document.querySelectorAll("#chunk-curve .axis-bottom .tick text")].map((t) => t.textContent)) !== old, JSON.stringify(before));
  await page.keyboard.press("0");
  assert.deepEqual(await labels(), before);

  await page.keyboard.press("ArrowRight");
  assert.match(await tooltip.textContent(), /^1 chunk\n/);
  await page.keyboard.press("ArrowRight");
  assert.match(await tooltip.textContent(), /^2 chunks\n/);
  await page.keyboard.press("Escape");
  assert.equal(await tooltip.isVisible(), false);
  await close(page);
});

test("up and down go to the next mark above and below, whatever the order of the curves", async () => {
  const page = await open(pageOf("tuner/ring-or-tree-on-two-dgx-h100"));
  await page.locator("#size-curves svg").focus();
  const height = () => page.$eval("#size-curves .pointed", (one) => Number(one.getAttribute("transform").match(/,([\d.]+)/)[1]));
  await page.keyboard.press("ArrowRight");
  const seen = [];
  for (const key of ["ArrowDown", "ArrowUp"]) {
    for (let i = 0; i < 5; ++i) {
      const before = await height();
      await page.keyboard.press(key);
      const after = await height();
      assert.ok(key === "ArrowUp" ? after <= before : after >= before, `${key}: from ${before} to ${after}`);
      seen.push(after);
    }
  }
  assert.ok(new Set(seen).size >= 3, `all marks of the size: ${seen}`);
  await close(page);
});

test("zoomed as far as it goes, ticks are round, different and inside", async () => {
  const page = await open(pageOf("tuner/ring-or-tree-on-two-dgx-h100"));
  await page.locator("#size-curves svg").focus();
  for (let i = 0; i < 30; ++i) await page.keyboard.press("+");
  for (const side of ["left", "bottom"]) {
    const texts = await page.locator(`#size-curves .axis-${side} .tick text`).allTextContents();
    assert.ok(texts.length >= 2, `${side}: ${texts}`);
    assert.equal(new Set(texts).size, texts.length, `${texts}`);
    const decimals = texts.map((text) => /\.(\d+)/.exec(text)?.[1].length ?? 0);
    assert.equal(new Set(decimals).size, 1, `${texts}`);
    if (side === "bottom") assert.equal(decimals[0], 0, `${texts}`);
  }
  const inside = await page.$eval("#size-curves svg", (svg) => svg.getBoundingClientRect().left);
  const left = await page.$$eval("#size-curves .axis-left .tick text", (all) => Math.min(...all.map((one) => one.getBoundingClientRect().left)));
  assert.ok(left >= inside, `${left} of ${inside}`);
  await close(page);
});

test("several results have a list of links to them", async () => {
  const names = ["lecture/ring-broadcast", "architect/double-the-nic"];
  names.forEach((name) => pageOf(name));
  collsim("report", ...names.map((name) => `${name.replaceAll("/", "-")}.json`), "-o", "two.html", "--quiet");
  const page = await open(join(folder, "two.html"));
  const heads = await page.locator("h2").allTextContents();
  assert.deepEqual(await page.locator("nav a").allTextContents(), heads);
  await page.locator("nav a").nth(1).click();
  assert.ok(Math.abs((await page.locator("h2").nth(1).boundingBox()).y) < 100);
  await close(page);
});

test("one result of several figures begins with a list of what they say, and few rows end it", async () => {
  const page = await open(pageOf("lecture/ring-broadcast"));
  assert.deepEqual(await page.locator("nav a").allTextContents(), await page.locator("figure h3").allTextContents());
  await page.locator("nav a").nth(1).click();
  assert.ok(Math.abs((await page.locator("figure").nth(1).boundingBox()).y) < 100);
  assert.equal(await page.locator(".numbers tbody tr").count(), 12);
  assert.equal(await page.locator(".numbers").isVisible(), true);
  const whole = await page.locator("#chunk-curve figcaption p .whole").allTextContents();
  for (const number of ["64 MiB", "5 us", "25 GB/s"]) assert.ok(whole.includes(number), `a line may end inside ${number}`);
  await close(page);
  const many = await open(pageOf("tuner/ring-or-tree-on-two-dgx-h100"));
  assert.ok((await many.locator(".numbers tbody tr").count()) > 12);
  assert.equal(await many.locator(".numbers").isVisible(), false);
  await close(many);
});

test("the pale start of a bar is the startup of the links it crosses", async () => {
  const change = { shape: "chain", ranks: 3, link: { bandwidth: "1GB/s", overhead: "50us" }, links_override: [{ from: "gpu1", to: "gpu2", overhead: "500us" }] };
  const scenario = { scenario: 1, cluster: change, collective: { op: "broadcast", algorithm: "chain", size: "1MB" } };
  writeFileSync(join(folder, "startups.json"), JSON.stringify(scenario));
  collsim("run", "startups.json", "--quiet", "-o", "startups.html");
  const page = await open(join(folder, "startups.html"));
  const widths = await page.$$eval("[id$=space-time] rect.startup", (pale) => pale.map((one) => Number(one.getAttribute("width"))));
  assert.equal(widths.length, 2);
  assert.ok(Math.abs(widths[1] / widths[0] - 10) < 0.5, String(widths));
  await close(page);
});

test("links over time stand below the messages, on the same axis, also when that is zoomed", async () => {
  const page = await open(pageOf("architect/double-the-nic"));
  const same = async () => {
    const [messages, links] = [await ticks(page, "#space-time", "bottom"), await ticks(page, "#link-heat", "bottom")];
    assert.deepEqual(links.map(([value]) => value), messages.map(([value]) => value));
    for (const [i, [, x]] of messages.entries()) assert.ok(Math.abs(links[i][1] - x) < 0.5, `${x} and ${links[i][1]}`);
    return messages.map(([value]) => value);
  };
  const before = await same();
  await page.locator("#space-time svg").focus();
  await page.keyboard.press("+");
  await page.keyboard.press("+");
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  assert.notDeepEqual(await same(), before);
  await page.locator("#link-heat summary").click();
  await page.waitForSelector("#link-heat tbody tr");
  const { data } = await page.evaluate(() => ({ data: JSON.parse(document.getElementById("data").textContent).results[0] }));
  const used = data.cases.filter((one) => one.links).flatMap((one) => one.links.filter((link) => link.messages > 0));
  assert.equal(await page.locator("#link-heat tbody tr").count(), used.length);
  await close(page);
});

test("measured beside predicted: squares, errors, and what is too noisy to judge", async () => {
  const page = await open(pageOf("lecture/ring-broadcast", measure));
  const rows = 12;
  assert.equal(await page.locator("#chunk-curve .series .mark.square").count(), rows);
  assert.equal(await page.locator("#chunk-curve .error-bar").count(), rows);
  assert.equal(await page.locator('#chunk-curve [data-series="too noisy to judge"] .mark').count(), 1);
  assert.ok((await page.locator("#chunk-curve .series-name").allTextContents()).includes("too noisy to judge"));
  assert.equal(await page.locator("#accuracy .series .mark.square:not(.open)").count(), rows - 1);
  assert.equal(await page.locator("#accuracy .series .mark.square.open").count(), 1);
  // errors are 1/1.1 - 1, 1/1.11 - 1, 1/1.13 - 1 ... 1/1.21 - 1: median of eleven the sixth.
  const text = await page.locator("#accuracy figcaption p").textContent();
  assert.match(text, /^11 rows: median error 14%, worst 17%\. Reality was slower every time\. 1 more scattered too much/);
  assert.match(await page.locator("#errors h3").textContent(), /^The largest error, -17%, is at 8,192 chunks$/);
  await close(page);
});

test("sizes and algorithms: who is fastest where", async () => {
  const page = await open(pageOf("tuner/ring-or-tree-on-two-dgx-h100"));
  const { rows } = JSON.parse(readFileSync(join(folder, "tuner-ring-or-tree-on-two-dgx-h100.json")));
  assert.equal(await page.locator("#size-curves .series .mark.dot").count(), rows.length);
  const title = await page.locator("#size-curves h3").textContent();
  const fastest = (size) => rows.filter((row) => row.size_bytes === size).reduce((a, b) => (b.time_s < a.time_s ? b : a)).algorithm;
  const sizes = [...new Set(rows.map((row) => row.size_bytes))].sort((a, b) => a - b);
  assert.ok(title.startsWith(`${fastest(sizes[0])} is fastest`), title);
  assert.ok(title.includes(`${fastest(sizes.at(-1))} from `), title);
  const guides = await page.locator("#size-curves .guide-name").allTextContents();
  assert.ok(guides.includes("gpu to nvswitch: 370.8 GB/s"), `what links carry is drawn: ${guides}`);
  assert.equal(await page.locator("#size-curves [clip-path] .series-line.limit").count(), 1, "all have the same bound");
  const first = await page.locator("#size-curves .axis-name").allTextContents();
  await page.locator("#size-curves select").selectOption({ label: "time" });
  assert.notDeepEqual(await page.locator("#size-curves .axis-name").allTextContents(), first);
  await close(page);
});

test("over ranks, efficiency says how far each curve is from the best possible", async () => {
  const page = await open(pageOf("lecture/naive-master-ring"));
  await page.locator("#scaling select").first().selectOption({ label: "efficiency (bound / time)" });
  assert.match(await page.locator("#scaling figcaption p").textContent(), /Efficiency is the lower bound divided by the time/);
  const { rows } = JSON.parse(readFileSync(join(folder, "lecture-naive-master-ring.json")));
  const marks = await places(page, "#scaling .series .mark.dot");
  assert.equal(marks.length, rows.length);
  const up = await ticks(page, "#scaling", "left"); // percent
  const shares = rows.map((row) => (100 * row.bound_s) / row.time_s).sort((a, b) => b - a);
  const heights = marks.map(({ y }) => y).sort((a, b) => a - b);
  for (const i of [0, rows.length - 1]) assert.ok(Math.abs(heights[i] - logPlace([up[0], up.at(-1)], shares[i])) < 0.7, `${shares[i]}% at ${heights[i]}`);
  await close(page);
});

test("tables have every row, and the same numbers as the terminal", async () => {
  const page = await open(pageOf("lecture/naive-master-ring"));
  assert.equal(await page.locator("#scaling .data-table").count(), 0);
  await page.locator("#scaling summary").click();
  await page.waitForSelector("#scaling tbody tr");
  assert.equal(await page.locator("#scaling tbody tr").count(), 12);
  const cells = await page.locator("#scaling tbody tr").first().locator("td").allTextContents();
  assert.deepEqual(cells.slice(0, 2), ["4", "naive"]);
  await close(page);
});

test("every figure saves as a well-formed SVG of its own", async () => {
  const page = await open(pageOf("lecture/ring-broadcast", measure));
  const buttons = page.locator("button.save-svg");
  assert.ok((await buttons.count()) >= 5);
  for (const button of await buttons.all()) {
    const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
    const text = readFileSync(await download.path(), "utf8");
    assert.equal(await xmlMistake(page, text), null, download.suggestedFilename());
    assert.ok(!text.includes("var(--") && !text.includes("class="), "needs no style sheet");
    assert.match(text, /<title>[^<]+<\/title>/);
  }
  await close(page);
});

test("dark, narrow and printed", async () => {
  const file = pageOf("lecture/ring-broadcast", measure);
  const paper = (page) => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const dark = await open(file, { colorScheme: "dark" });
  assert.equal(await paper(dark), "rgb(21, 24, 28)");
  await dark.emulateMedia({ media: "print", colorScheme: "dark" });
  assert.equal(await paper(dark), "rgb(255, 255, 255)");
  assert.equal(await dark.locator("button.save-svg").first().isVisible(), false);
  await close(dark);

  for (const name of ["lecture/ring-broadcast", "tuner/ring-or-tree-on-two-dgx-h100", "architect/double-the-nic"]) {
    const narrow = await open(pageOf(name), { viewport: { width: 360, height: 800 } });
    assert.equal(await narrow.evaluate(() => document.documentElement.scrollWidth), 360, name);
    const outside = await narrow.$$eval("svg text", (all) => all.filter((one) => one.getBoundingClientRect().right > 361).map((one) => one.textContent));
    assert.deepEqual(outside, [], name);
    const marks = await places(narrow, "#size-curves .mark.dot");
    const labels = await narrow.$$eval("#size-curves .rate-name", (all) => all.map((one) => one.getBoundingClientRect()).map(({ left, right, top, bottom }) => ({ left, right, top: top + scrollY, bottom: bottom + scrollY })));
    for (const { left, right, top, bottom } of labels) assert.ok(!marks.some(({ x, y }) => x > left && x < right && y > top && y < bottom), "rates are named where no dot is");
    assert.equal(labels.length, name.startsWith("tuner") ? 3 : 0, name);
    const rows = await narrow.$$eval("#link-heat .row-name", (all) => all.map((one) => ({ text: one.textContent, left: one.getBoundingClientRect().left })));
    assert.ok(rows.every(({ left }) => left >= 0), name);
    const links = await narrow.$$eval("#link-heat g > title", (all) => all.map((one) => one.textContent.split(": busy")[0]));
    assert.equal(new Set(rows.map(({ text }) => text)).size, new Set(links).size, `${name}: ${JSON.stringify(rows)}`);
    await close(narrow);
  }
});

test("those who do not see a picture hear what it shows", async () => {
  const page = await open(pageOf("lecture/ring-broadcast"));
  for (const figure of ["links", "link-heat", "breakdown"]) {
    const [label, title] = [await page.locator(`#${figure} svg`).getAttribute("aria-label"), await page.locator(`#${figure} h3`).textContent()];
    assert.ok(label.endsWith(`. ${title}`), `${figure}: ${label}`);
  }
  await close(page);
});

test("links that are alike need no colours: one row, and one sentence", async () => {
  const alike = await open(pageOf("tuner/chunks-of-a-ring-all-reduce"));
  const texts = (page, selector) => page.locator(selector).allTextContents();
  assert.deepEqual(await texts(alike, "#link-heat .row-name"), ["all 8", "all 8"]);
  assert.deepEqual(await texts(alike, "#links .alike"), ["all 8 used links are busy 99.9% of the time"]);
  const colours = (page) => page.$$eval("#links .machine > .cable:not([stroke-dasharray])", (all) => [...new Set(all.map((one) => one.getAttribute("stroke")))]);
  assert.equal((await colours(alike)).length, 1);
  await close(alike);
  const others = await open(pageOf("architect/double-the-nic"));
  assert.deepEqual(await texts(others, "#links .alike"), []);
  assert.ok((await colours(others)).length > 1 && (await texts(others, "#link-heat .row-name")).length > 2);
  await close(others);
});

test("ticks of sizes are at points, and no label sticks out", async () => {
  const file = pageOf("lecture/ring-against-tree");
  const { rows } = JSON.parse(readFileSync(join(folder, "lecture-ring-against-tree.json")));
  const sizes = new Set(rows.map((row) => row.size_bytes));
  const unit = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };
  for (const width of [1366, 1000, 360]) {
    const page = await open(file, { viewport: { width, height: 800 } });
    const labels = await page.locator("#size-curves .axis-bottom .tick text").allTextContents();
    assert.ok(labels.length >= 3, `${labels}`);
    for (const label of labels) assert.ok(sizes.has(Number.parseFloat(label.replace(",", "")) * unit[label.split(" ")[1]]), `${width}: no point at ${label}`);
    const out = await page.$$eval(".axis-bottom .tick text", (all) => all.map((one) => ({ text: one.textContent, out: one.getBoundingClientRect().right - one.closest("svg").getBoundingClientRect().right })).filter(({ out }) => out > 0));
    assert.deepEqual(out, [], `${width}`);
    await close(page);
  }
});

test("names of links are whole or end in an ellipsis, those of devices are whole, and the machine says which ranks are a node", async () => {
  collsim("predict", "all-reduce", "-b", "1M", "-e", "1M", "--preset", "dgx-h100", "--nodes", "2", "-q", "-o", "two-dgx.html");
  for (const width of [1366, 360]) {
    const page = await open(join(folder, "two-dgx.html"), { viewport: { width, height: 800 } });
    const texts = (selector) => page.locator(selector).allTextContents();
    const words = [...(await texts("#link-heat .row-name")), ...(await texts("#links .device-name"))].flatMap((name) => name.match(/[a-z]+…?/g) ?? []);
    assert.ok(!(await texts("#links .device-name")).some((name) => name.endsWith("…")));
    for (const word of words) assert.ok(word.endsWith("…") || ["node", "nvswitch", "nic", "network", "gpu", "like"].includes(word), `${width}: ${word}`);
    assert.deepEqual(await texts("#links .node-name"), ["node0", "node1"]);
    const [rank, ...lines] = await page.$$eval("#links circle.device, #links .node-line", (all) => all.map((one) => one.getBoundingClientRect()).map(({ left, right }) => [left, right])).then((all) => [all[0], ...all.slice(-2)]);
    assert.ok(lines[0][0] <= rank[0] && rank[1] <= lines[0][1] && lines[0][1] < lines[1][0], `${width}: ${JSON.stringify(lines)}`);
    assert.equal((await texts("#links .width-name")).length, 2);
    if (width > 1000) for (const name of ["nic0", "nvswitch"]) assert.ok((await texts("#links .device-name")).includes(name), name);
    // A legend says what boxes without a name are.
    const unnamed = await page.locator("#links g:has(> rect.device):not(:has(text)) > title").allTextContents();
    assert.equal(unnamed.length, width > 1000 ? 0 : 18);
    assert.deepEqual(await texts("#links .kind-name"), width > 1000 ? [] : ["nvswitch", "nic"]);
    const fills = await page.$$eval("#links rect.device", (all) => all.map((one) => getComputedStyle(one).fill));
    if (width === 360) assert.equal(new Set(fills).size, 2);
    await close(page);
  }
});

test("links of a kind that are busy alike are one row", async () => {
  for (const width of [1366, 360]) {
    const page = await open(pageOf("tuner/ring-or-tree-on-two-dgx-h100"), { viewport: { width, height: 800 } });
    const rows = await page.locator("#link-heat .row-name").allTextContents();
    assert.deepEqual(rows.sort(), ["gpu→nic", "gpu→nvswitch", "network→nic", "nic→gpu", "nic→network", "nvswitch→gpu"].map((kind) => `16 ${kind}`));
    assert.match(await page.locator("#link-heat g > title").first().textContent(), /^16 .*, such as \S+, \S+, \S+, \S+: busy [\d.]+% of the time, [\d,]+ messages each$/);
    await page.locator("#link-heat summary").click();
    await page.waitForSelector("#link-heat tbody tr");
    assert.equal(await page.locator("#link-heat tbody tr").count(), 96);
    await close(page);
  }
  // A ring on one channel: of each kind of link inside the nodes there are groups that work one after the other.
  const page = await open(pageOf("architect/double-the-nic"), { viewport: { width: 360, height: 800 } });
  const rows = await page.locator("#link-heat .row-name").allTextContents();
  for (const name of ["4 nic→gpu", "4 like 0→nvswi…", "32 gpu→nvswitch", "32 gpu→nic"]) assert.ok(rows.includes(name), `${name} is one of ${rows}`);
  await close(page);
});

test("of a single node nothing is drawn that no route leads through", async () => {
  collsim("predict", "all-reduce", "-b", "1M", "-e", "1G", "-f", "4", "--preset", "dgx-h100", "-q", "-o", "one-dgx.html");
  const page = await open(join(folder, "one-dgx.html"));
  assert.deepEqual(await page.locator("#links rect.device + .device-name").allTextContents(), ["nvswitch"]);
  assert.match(await page.locator("#links h3").textContent(), /^All 16 used links are busy [\d.]+% of the time$/);
  assert.match(await page.locator("#links figcaption p").textContent(), /Not drawn: 8 nic, through which no route leads\.$/);
  assert.deepEqual(await page.locator("#size-curves .guide-name").allTextContents(), ["gpu to nvswitch: 370.8 GB/s"]);
  await close(page);
});

test("no line of a title ends inside a number with its unit or a word with a hyphen", async () => {
  const page = await open(pageOf("tuner/ring-or-tree-on-two-dgx-h100"), { viewport: { width: 360, height: 800 } });
  const wholes = await page.$$eval("h3 .whole", (all) => all.map((one) => ({ text: one.textContent, lines: one.getClientRects().length })));
  for (const text of ["64 KiB", "halving-doubling", "512 KiB"]) assert.ok(wholes.some((one) => one.text === text), `${text} is one of ${JSON.stringify(wholes)}`);
  for (const { text, lines } of wholes) assert.equal(lines, 1, text);
  await close(page);
});

test("texts in the data are texts", async () => {
  const evil = "</script><img src=x onerror=alert(1)>";
  const page = await open(
    pageOf("lecture/ring-broadcast", (results) => {
      Object.assign(results, { title: evil, description: evil });
      results.warnings.push({ code: "x", message: evil });
      results.rows.forEach((row) => (row.algorithm = evil));
    }),
  );
  assert.equal(await page.locator("h1").textContent(), evil);
  assert.equal(await page.locator("img").count(), 0);
  assert.equal(await page.evaluate(() => document.scripts.length), 2);
  await page.locator("#chunk-curve summary").click();
  await page.waitForSelector("#chunk-curve tbody tr");
  assert.equal(await page.locator("img").count(), 0);
  await close(page);
});

test("rows that were left out, interrupted runs and failed expectations are said", async () => {
  const page = await open(
    pageOf("lecture/ring-broadcast", (results) => {
      results.rows = Array.from({ length: 5003 }, (_, i) => results.rows[i % 12]);
      results.complete = false;
      results.points = 9000;
      results.expect[0] = { id: "a-hope", ok: false, failure: "it was not so" };
    }),
  );
  const notices = (await page.locator(".notice").allTextContents()).join("\n");
  assert.match(notices, /first 5,000 of 5,003 rows/);
  assert.match(notices, /only 5,003 of 9,000 rows/);
  assert.match(notices, /a-hope failed: it was not so/);
  await close(page);
});

test("what no axis has a place for is said", async () => {
  const change = (time) => (results) => results.rows.forEach((row, i) => Object.assign(row, time(i) === undefined ? {} : { time_s: time(i), analytic_s: null, best_chunks: null }));
  const texts = async (name, time, figure) => {
    const page = await open(pageOf(name, change(time)));
    const body = await page.locator("main").textContent();
    assert.doesNotMatch(body, /NaN|undefined|Infinity|\d{20}/);
    const said = await page.locator(`${figure} .missing, .notice`).allTextContents();
    await close(page);
    return said.join("\n");
  };
  assert.match(await texts("lecture/ring-broadcast", () => 0, "#chunk-curve"), /Nothing can be drawn: a log scale cannot show 0/);
  assert.match(await texts("lecture/ring-broadcast", (i) => (i === 2 ? 1e308 : undefined), "#chunk-curve"), /^1 of \d+ points is not drawn/m);
  assert.match(await texts("lecture/ring-broadcast", () => 1e308, "#chunk-curve"), /Nothing can be drawn/);
  assert.match(await texts("tuner/ring-or-tree-on-two-dgx-h100", () => 0, "#size-curves"), /No curve over size/);
  await texts("tuner/ring-or-tree-on-two-dgx-h100", (i) => (i % 3 ? undefined : 1e308), "#size-curves");
  await texts("lecture/naive-master-ring", (i) => (i % 2 ? 0 : 1e308), "#scaling");
  await texts("architect/double-the-nic", (i) => (i % 2 ? 0 : 1e308), "#comparison");
});

test("what simulating again contradicts is said", async () => {
  const notices = async (change) => {
    const page = await open(pageOf("lecture/ring-broadcast", change));
    const texts = await page.locator(".notice").allTextContents();
    await close(page);
    return texts.join("\n");
  };
  const row57 = (results) => results.rows.find((row) => row.chunks === 57);
  assert.equal(await notices(() => {}), "");
  assert.match(await notices((results) => (row57(results).time_s = 0)), /^57 chunks: the time in the results is 0 s, simulating it again gives 3\.282 ms\. The file was edited/);
  assert.match(await notices((results) => (row57(results).size_bytes = 0)), /the size in the results is 0 B, simulating it again gives 64 MiB/);
  assert.match(await notices((results) => (row57(results).ranks = 1e9)), /the number of ranks in the results is 1,000,000,000, simulating it again gives 8\./);
  assert.match(await notices((results) => results.rows.forEach((row) => (row.time_s = 0))), /simulating it again gives [^.]*\.\d+ ms\. \d+ more numbers differ\./);
  const unlike = (results) => Object.assign(row57(results), { time_s: 1e9, messages: 1e12 }); // too many to be simulated again
  assert.match(await notices(unlike), /57 chunks: the time in the results is 1000000000 s, longer than collsim can simulate/);
});

test("what is missing from a chart stands below it, not in it", async () => {
  const page = await open(pageOf("lecture/ring-broadcast", (results) => (results.rows[2].time_s = 1e308)));
  const bottom = await page.$eval("#chunk-curve .catcher", (one) => one.getBoundingClientRect().bottom);
  const tops = await page.$$eval("#chunk-curve .missing", (all) => all.map((one) => one.getBoundingClientRect().top));
  assert.ok(tops.length > 0 && tops.every((top) => top > bottom), `${tops} below ${bottom}`);
  await close(page);
});

test("a number that is too large is refused as such", () => {
  pageOf("lecture/ring-broadcast");
  const text = readFileSync(join(folder, "lecture-ring-broadcast.json"), "utf8");
  writeFileSync(join(folder, "large.json"), text.replace(/"size_bytes": *\d+/, `"size_bytes": 1${"0".repeat(30)}`));
  assert.throws(() => collsim("report", "large.json", "-o", "large.html"), /must be a whole number that is not negative, not larger than 9223372036854775807/);
});

test("results without rows", async () => {
  const page = await open(pageOf("lecture/ring-broadcast", (results) => (results.rows = [])));
  assert.match((await page.locator(".notice").allTextContents()).join("\n"), /^These results have no rows/m);
  assert.equal(await page.locator("figure").count(), 0);
  await close(page);
});

test("below 400 KB but for the data", () => {
  const file = pageOf("tutorial/all-reduce");
  assert.ok(statSync(file).size < 400e3, `${statSync(file).size} bytes`);
});
