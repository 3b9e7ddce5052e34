// SPDX-License-Identifier: Apache-2.0
// What `collsim report` draws of training steps, in a real browser.
// usage: COLLSIM=collsim node --test training_steps.test.mjs
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { assertNoMistakes, launch, openFile } from "./browser.mjs";

const scenarios = join(dirname(fileURLToPath(import.meta.url)), "../../scenarios/training");
const folder = mkdtempSync(join(tmpdir(), "collsim-steps-"));
let browser;
before(async () => (browser = await launch()));
after(async () => {
  await browser.close();
  rmSync(folder, { recursive: true });
});

async function open(name, width, from = scenarios) {
  const file = join(folder, `${name}.html`);
  execFileSync(process.env.COLLSIM, ["run", join(from, `${name}.json`), "--quiet", "-o", file], { stdio: "ignore" });
  const page = await openFile(browser, file, { viewport: { width, height: 900 } });
  await page.waitForSelector("footer");
  return page;
}

const titles = (page) => page.$$eval("figure h3", (all) => all.map((one) => one.textContent));

test("a pipeline is drawn as in textbooks, at every width", async () => {
  for (const width of [1366, 1000, 360]) {
    const page = await open("pipelines", width);
    assert.deepEqual(await titles(page), [
      "The fastest step is schedule zb-h1 with 270 ms, 11% idle; the slowest takes 330 ms",
      "schedule gpipe: the step takes 330 ms",
      "schedule zb-h1: the step takes 270 ms",
    ]);
    const boxes = (kind) => page.$$eval(`#step-3 rect[data-kind=${kind}]`, (all) => all.length);
    for (const kind of ["forward", "backward", "weights"]) assert.equal(await boxes(kind), 4 * 8, kind);
    assert.equal(await page.$$eval("#step-3 text.row-name", (all) => all.length), 4);
    assert.match(await page.$eval("#step-0 rect[data-kind=backward] title", (one) => one.textContent), /microbatch 1: backward of layer 1: 20 ms, from 170 ms/);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), `no scrolling sideways at ${width}`);
    assertNoMistakes(page);
    await page.context().close();
  }
});

test("memory over time stands below the streams, with what a device has", async () => {
  const transformer = { layers: 24, hidden: 4096, heads: 32, seq: 2048, micro_batch: 2, global_batch: 16 };
  const workload = { train: { tp: 2, pp: 4, dp: 1 }, model: { transformer }, device: { memory: "30GB" } };
  writeFileSync(join(folder, "memory.json"), JSON.stringify({ scenario: 1, cluster: { preset: "dgx-a100" }, workload }));
  for (const width of [1366, 360]) {
    const page = await open("memory", width, folder);
    assert.match((await titles(page)).at(-1), /^train: at most 36\.38 GB of memory, on rank 0; a device has 30 GB$/);
    const words = await page.$$eval("#memory-0 svg text", (all) => all.map((one) => one.textContent));
    for (const name of ["rank 0", "rank 2", "rank 4", "rank 6", "device: 30 GB"]) assert.ok(words.includes(name), name);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), `no scrolling sideways at ${width}`);
    assertNoMistakes(page);
    await page.context().close();
  }
});

test("buckets and layers of DDP stand below each other on one axis", async () => {
  const page = await open("buckets", 1366);
  const [shares] = await titles(page);
  assert.match(shares, /^The fastest step is bucket 25 MiB with 252\.5 ms, 14% exposed communication; the slowest takes 380\.2 ms$/);
  const bars = (kind) => page.$$eval(`#step-shares rect[data-kind=${kind}]`, (all) => all.length);
  for (const kind of ["forward", "backward", "other", "hidden"]) assert.equal(await bars(kind), 4, kind);
  assert.equal(await bars("exposed"), 8); // in the step, and beside what is hidden
  const begins = await page.$$eval("#step-0 rect[data-kind=collective], #step-0 rect[data-kind=backward]", (all) =>
    all.map((one) => ({ kind: one.dataset.kind, x: Number(one.getAttribute("x")) })),
  );
  const of = (kind) => begins.filter((one) => one.kind === kind).map(({ x }) => x);
  assert.equal(of("collective").length, 24);
  assert.equal(of("backward").length, 24);
  assert.ok(Math.abs(of("collective")[0] - of("backward")[1]) < 0.01, "the first bucket starts when the last layer is done");
  assertNoMistakes(page);
  await page.context().close();
});

test("a sweep over ranks is a curve, with the scatter of its seeds", async () => {
  const page = await open("jitter", 1366);
  const all = await titles(page);
  assert.match(all[1], /^128 ranks take 1\.\d+ times as long as 1$/);
  assert.equal(await page.locator("#step-scaling .series .mark.dot").count(), 4); // of 8 rows, two seeds each
  assert.equal(await page.locator("#step-scaling .series .error-bar").count(), 4);
  assertNoMistakes(page);
  await page.context().close();
});
