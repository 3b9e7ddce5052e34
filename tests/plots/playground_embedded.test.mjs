// SPDX-License-Identifier: Apache-2.0
// The playground in a frame of another page: only the figures and knobs that the address asks for.
// usage: COLLSIM_PLAYGROUND=playground.html node --test playground_embedded.test.mjs
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { close, startPlayground, timePs, turn } from "./playground_page.mjs";

let open, stop;
before(async () => ({ open, stop } = await startPlayground()));
after(() => stop());

/** Names of the figures and knobs that can be seen. */
const seen = (page) =>
  page.evaluate(() => {
    const isSeen = (part) => part.checkVisibility();
    return {
      figures: [...document.querySelectorAll(".figure")].filter(isSeen).map(({ id }) => id),
      knobs: [...document.querySelectorAll(".control")].filter(isSeen).map(({ dataset }) => dataset.key),
      others: ["header", "#actions", "#formula", "#about", "#mini"].filter((where) => isSeen(document.querySelector(where))),
    };
  });
const drawnIn = (page, figure) => page.locator(`#${figure} .drawing :is(svg, canvas)`).first().waitFor();

test("shows what it is asked for, and turns its knobs", async () => {
  const setting = "op=broadcast&algorithm=chain&shape=chain&ranks=8&size=64MiB&chunks=4&bandwidth=25GB/s&overhead=5us&latency=0";
  const page = await open(`${setting}&embed=space-time,chunk-curve,chunks,latency`);
  assert.deepEqual(await seen(page), { figures: ["space-time", "chunk-curve"], knobs: ["chunks", "latency"], others: [] });
  for (const figure of ["space-time", "chunk-curve"]) await drawnIn(page, figure);
  const [first, entries] = [await timePs(page), await page.evaluate(() => history.length)];
  await turn(page, "#field-chunks", "8");
  assert.notEqual(await timePs(page), first);
  await page.waitForURL(/chunks=8&.*&embed=space-time,chunk-curve,chunks,latency$/);
  assert.equal(await page.evaluate(() => history.length), entries, "Back belongs to the page around");
  const link = page.locator(".whole-page");
  await link.evaluate((one) => one.addEventListener("click", (event) => event.preventDefault()));
  await link.click();
  assert.match(await link.getAttribute("href"), /^#op=broadcast&.*chunks=8/);
  assert.doesNotMatch(await link.getAttribute("href"), /embed/);
  assert.equal(await page.locator(".notice:not([hidden])").count(), 0);
  await close(page);
});

test("a page of its own shows all", async () => {
  const page = await open("op=broadcast");
  const { figures, knobs } = await seen(page);
  assert.ok(figures.length > 3 && knobs.length > 5);
  assert.equal(await page.locator(".whole-page").count(), 0);
  await close(page);
});

test("names what it does not know", async () => {
  const page = await open("op=broadcast&embed=space-tim,chunks");
  assert.match(await page.locator(".notice:not([hidden])").textContent(), /no figure or knob "space-tim" \(did you mean "space-time"\?\); there are space-time, chunk-curve/);
  assert.deepEqual((await seen(page)).knobs, ["chunks"]);
  await close(page);
});

test("a page on a server gives itself as a figure", async () => {
  const copied = await open("op=broadcast&chunks=4");
  assert.equal(await copied.getByText("Copy as figure").isVisible(), false, "a file of this machine is of no use to others");
  const server = createServer((_, answer) => answer.end(readFileSync(process.env.COLLSIM_PLAYGROUND)));
  await new Promise((listening) => server.listen(0, "localhost", listening));
  await copied.goto(`http://localhost:${server.address().port}/playground.html#op=broadcast&chunks=4`);
  await copied.waitForFunction(() => document.body.dataset.drawn);
  await copied.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await copied.getByText("Copy as figure").click();
  await copied.getByText("Copied").waitFor();
  const frame = await copied.evaluate(() => navigator.clipboard.readText());
  assert.match(frame, /^<iframe src="http:[^"]*#op=broadcast&amp;[^"]*chunks=4&amp;[^"]*&amp;embed=space-time,ranks,size,chunks" title="8 ranks, chain: /);
  const other = await copied.context().newPage();
  await other.setContent(`<!doctype html>${frame}`);
  await other.frameLocator("iframe").locator("#space-time .drawing :is(svg, canvas)").first().waitFor();
  server.close();
  await copied.context().close();
});

test("the live figures of the lessons are drawn, at every width", async () => {
  const lessons = new URL("../../docs/lessons/", import.meta.url);
  let count = 0;
  for (const name of readdirSync(lessons).filter((one) => /^\d.*\.md$/.test(one))) {
    const text = readFileSync(new URL(name, lessons), "utf8");
    const live = /<!-- live: (.*?) -->/.exec(text);
    if (!live) continue;
    ++count;
    const [, fragment] = /.*playground\.html#([^)]*)\)/s.exec(text.slice(0, live.index));
    const parts = live[1].split(", ");
    const page = await open(`${fragment}&embed=${parts.join(",")}`, { viewport: { width: count % 2 ? 940 : 330, height: 2000 } });
    assert.equal(await page.locator(".notice:not([hidden])").count(), 0, name);
    const { figures } = await seen(page);
    assert.deepEqual(figures, parts.filter((part) => figures.includes(part)), name);
    assert.ok(figures.length > 0, name);
    for (const figure of figures) await drawnIn(page, figure);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name}: no scrolling sideways`);
    await close(page);
  }
  assert.ok(count > 10);
});
