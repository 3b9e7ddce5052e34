// SPDX-License-Identifier: Apache-2.0
// The page of `collsim report` on paper.
// usage: COLLSIM=collsim node --test report_paper.test.mjs
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { constants, inflateSync } from "node:zlib";
import { close, collsim, folder, pageOf, scenarios, startReport } from "./report_page.mjs";

let open, stop;
before(async () => ({ open, stop } = await startReport()));
after(() => stop());

test("two figures fit on a page of paper, or nearly so, in letters of 6 points, without what only a screen can do", async () => {
  const millimetre = 96 / 25.4;
  const [wide, high] = [(210 - 26) * millimetre, (297 - 28) * millimetre];
  // Of 512 ranks there is a page for each figure.
  const many = join(folder, "many.html");
  collsim("run", join(scenarios, "lecture/ring-broadcast.json"), "--quiet", "-o", many, "--set", "cluster.ranks=512", "--set", "sweep.collective.chunks=[1,8]", "--set", "expect=[]");
  for (const name of ["lecture/ring-broadcast", "tuner/ring-or-tree-on-two-dgx-h100", "architect/double-the-nic", "many"]) {
    const page = await open(name === "many" ? many : pageOf(name));
    await page.emulateMedia({ media: "print" });
    await page.setViewportSize({ width: Math.floor(wide), height: Math.floor(high) });
    for (const [id, height] of await page.$$eval("figure", (all) => all.map((one) => [one.id, one.getBoundingClientRect().height])))
      assert.ok(height < (name === "many" ? 1 : 0.54) * high, `${name}, ${id}: ${height} of ${high} pixels`);
    const letters = await page.$$eval("figure svg text", (all) =>
      all.map((one) => {
        const svg = one.ownerSVGElement;
        const pixels = (Number.parseFloat(getComputedStyle(one).fontSize) * svg.getBoundingClientRect().width) / svg.viewBox.baseVal.width;
        return { points: pixels * 0.75, figure: one.closest("figure").id, text: one.textContent };
      }),
    );
    assert.deepEqual(letters.filter(({ points }) => points < 5.99), [], name);
    assert.equal(await page.locator("select:visible, button:visible, details:visible, .hint:visible").count(), 0);
    await close(page);
  }
});

/** How many pages a page has on paper, and how many lines, curves and texts are drawn on the last of them. */
async function lastPaper(page) {
  const pages = (await page.pdf({ format: "A4" })).toString("latin1").match(/\/Type\s*\/Page\b/g).length;
  const last = (await page.pdf({ format: "A4", pageRanges: String(pages) })).toString("latin1");
  const texts = [...last.matchAll(/stream\r?\n([\s\S]*?)\r?\nendstream/g)].map(([, stream]) => {
    try {
      // A stream's last byte may look like the end of its line, and is not needed.
      return inflateSync(Buffer.from(stream, "latin1"), { finishFlush: constants.Z_SYNC_FLUSH }).toString("latin1");
    } catch {
      return ""; // no compressed stream
    }
  });
  return { pages, marks: Math.max(...texts.map((text) => (text.match(/\s([lc]|T[jJ])\n/g) ?? []).length)) };
}

test("on paper the rows are a table at the end, the first 200 of many", async () => {
  const many = join(folder, "many-chunks.html");
  const chunks = `[${Array.from({ length: 300 }, (_, i) => i + 1)}]`;
  collsim("run", join(scenarios, "lecture/ring-broadcast.json"), "--quiet", "-o", many, "--set", `sweep.collective.chunks=${chunks}`, "--set", "expect=[]");
  for (const [file, rows, most] of [[pageOf("tuner/ring-or-tree-on-two-dgx-h100"), 24, 4], [many, 200, 8]]) {
    const page = await open(file);
    assert.equal(await page.locator(".numbers").isVisible(), false);
    await page.emulateMedia({ media: "print" });
    assert.equal(await page.locator(".numbers tbody tr:visible").count(), rows);
    assert.match(await page.locator(".numbers thead").textContent(), /simulated.*lower bound.*busbw/);
    assert.equal(await page.locator(".numbers > p").count(), rows < 200 ? 0 : 1);
    const { pages } = await lastPaper(page);
    assert.ok(pages <= most, `${pages} pages`);
    await close(page);
  }
});

test("no page of paper has the last line alone", async () => {
  const page = await open(pageOf("lecture/naive-master-ring"));
  await page.evaluate(() => document.querySelector(".end").before(document.createElement("hr")));
  const before = (height) => page.$eval("hr", (one, space) => one.style.setProperty("height", `${space}mm`), height);
  const { pages: first } = await lastPaper(page);
  for (let space = 200, pages = first; pages === first; space += 4) {
    assert.ok(space < 400, "somewhere the last table does not fit any more");
    await before(space);
    const paper = await lastPaper(page);
    pages = paper.pages;
    assert.ok(paper.marks > 100, `${space} mm farther down the last table is on the last page: ${paper.marks} lines and texts`);
  }
  await close(page);
});
