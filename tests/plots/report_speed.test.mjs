// SPDX-License-Identifier: Apache-2.0
// A page with hundreds of thousands of bars: it opens, zooms and is moved without freezing.
// usage: COLLSIM=collsim node --test report_speed.test.mjs
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { assertNoMistakes, launch, openFile, slowness } from "./browser.mjs";

const scenario = {
  scenario: 1,
  name: "many-messages",
  cluster: { shape: "chain", ranks: 64, link: { bandwidth: "25GB/s", overhead: "1us" } },
  collective: { op: "broadcast", algorithm: "chain", size: "1GiB", chunks: 3500 },
};

/** Milliseconds until two frames after an action are there. */
async function frames(page, action) {
  const start = performance.now();
  await action();
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  return performance.now() - start;
}

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

test("220,500 messages", async () => {
  const folder = mkdtempSync(join(tmpdir(), "collsim-report-"));
  const browser = await launch();
  try {
    writeFileSync(join(folder, "many.json"), JSON.stringify(scenario));
    execFileSync(process.env.COLLSIM, ["run", "many.json", "--quiet", "-o", "many.html"], { cwd: folder });
    const page = await openFile(browser, join(folder, "many.html"));
    await page.waitForSelector("footer");
    const drawing = page.locator("#space-time .drawing");
    assert.equal(await drawing.getAttribute("data-bars"), "canvas");
    assert.ok(Number(await drawing.getAttribute("data-count")) > 220500);
    await drawing.scrollIntoViewIfNeeded();
    const box = await page.locator("#space-time svg").boundingBox();
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 3];
    await page.locator("#space-time svg").focus();
    await page.mouse.move(x, y);
    const zooms = [];
    for (let i = 0; i < 10; ++i) zooms.push(await frames(page, () => page.mouse.wheel(0, -200)));
    const moves = [];
    await page.mouse.down();
    for (let i = 1; i <= 15; ++i) moves.push(await frames(page, () => page.mouse.move(x + 10 * i, y)));
    await page.mouse.up();
    const slower = await slowness(page);
    console.log(`slower ${slower.toFixed(2)}; zoom ${median(zooms).toFixed(0)} ms, worst ${Math.max(...zooms).toFixed(0)}; pan ${median(moves).toFixed(0)} ms, worst ${Math.max(...moves).toFixed(0)}`);
    assert.ok(median(zooms) < 500 * slower && median(moves) < 300 * slower);
    assertNoMistakes(page);
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true });
  }
});
