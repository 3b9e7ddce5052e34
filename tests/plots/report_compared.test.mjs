// SPDX-License-Identifier: Apache-2.0
// What the page of `collsim report` compares: algorithms over size and ranks, and two results of one sweep.
// usage: COLLSIM=collsim node --test report_compared.test.mjs
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { assertNoMistakes, launch, openFile } from "./browser.mjs";

const scenario = join(dirname(fileURLToPath(import.meta.url)), "../../scenarios/lecture/double-tree-against-ring.json");
const sweep = { "cluster.ranks": [2, 4, 8], "collective.algorithm": ["ring", "one-shot"], "collective.size": ["1KiB", "64KiB", "64MiB"] };
const folder = mkdtempSync(join(tmpdir(), "collsim-report-"));
let browser;
before(async () => (browser = await launch()));
after(async () => {
  await browser.close();
  rmSync(folder, { recursive: true });
});

const collsim = (...words) => execFileSync(process.env.COLLSIM, words, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });

/** Runs the sweep. @returns {any[]} its rows */
function run(name, changes = {}) {
  const sets = Object.entries({ ...changes, expect: [] }).flatMap(([path, value]) => ["--set", `${path}=${JSON.stringify(value)}`]);
  collsim("run", scenario, "--quiet", "-o", `${name}.json`, ...sets);
  return JSON.parse(readFileSync(join(folder, `${name}.json`))).rows;
}

async function open(name, files, width) {
  collsim("report", ...files.map((one) => `${one}.json`), "-o", `${name}.html`, "--quiet");
  const page = await openFile(browser, join(folder, `${name}.html`), { viewport: { width, height: 900 } });
  await page.waitForSelector("footer");
  return page;
}

test("the map has a field for each size and number of ranks, in the colour of the fastest", async () => {
  const rows = run("map", { sweep });
  const best = new Map();
  for (const { ranks, size_bytes: size, algorithm, time_s: time } of rows) {
    const known = best.get(`${ranks} ${size}`);
    if (!known || time < known.time) best.set(`${ranks} ${size}`, { algorithm, time });
    else if (time === known.time) known.algorithm = "tie";
  }
  for (const width of [1366, 360]) {
    const page = await open("map", ["map"], width);
    const fields = await page.locator("#best-map [data-best]").evaluateAll((all) => all.map((one) => one.dataset.best));
    assert.deepEqual(fields.sort(), [...best.values()].map(({ algorithm }) => algorithm).sort());
    assert.match(await page.locator("#best-map h3").textContent(), /^(ring|one-shot) is fastest at \d of 9 pairs of size and ranks/);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    assertNoMistakes(page);
    await page.context().close();
  }
});

test("two results of one sweep are compared, over size or row by row", async () => {
  const old = run("before", { sweep });
  const now = run("after", { sweep, "cluster.link.bandwidth": "100GB/s", "cluster.link.overhead": "3us" });
  const page = await open("both", ["before", "after"], 1000);
  const count = (test) => now.filter((row, i) => test(row.time_s / old[i].time_s)).length;
  assert.match(await page.locator("#difference h3").textContent(), new RegExp(`^Of 18 rows ${count((ratio) => ratio < 1)} are faster, .*; ${count((ratio) => ratio > 1)} are slower, `));
  assert.equal(await page.locator("#difference .mark.dot").count() > 10, true);
  assertNoMistakes(page);
  await page.context().close();
  // Of the same results nothing is said to have changed; of others there is nothing to compare.
  const same = await open("same", ["before", "before"], 1000);
  assert.equal(await same.locator("#difference h3").textContent(), "All 18 rows take as long as before");
  await same.context().close();
  run("other", { sweep: { "collective.size": ["1KiB", "2KiB"] } });
  const others = await open("others", ["before", "other"], 1000);
  assert.equal(await others.locator("#difference").count(), 0);
  await others.context().close();
  run("few", { sweep: { "collective.algorithm": ["ring", "one-shot"] } });
  run("fewer", { sweep: { "collective.algorithm": ["ring", "one-shot"] }, "cluster.link.bandwidth": "100GB/s" });
  const bars = await open("bars", ["few", "fewer"], 360);
  assert.equal(await bars.locator("#difference rect.share").count(), 2);
  assert.ok(await bars.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  await bars.context().close();
});
