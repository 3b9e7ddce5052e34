// SPDX-License-Identifier: Apache-2.0
// What is on the screen of the playground, and what is drawn only when it is.
// usage: COLLSIM_PLAYGROUND=playground.html node --test playground_layout.test.mjs
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { close, startPlayground, turn } from "./playground_page.mjs";

let open, stop;
before(async () => ({ open, stop } = await startPlayground()));
after(() => stop());

test("what is not on the screen is not drawn until it is", async () => {
  const page = await open("", { viewport: { width: 1366, height: 600 } });
  assert.equal(await page.locator("#breakdown svg").count(), 0);
  await page.locator("#breakdown").scrollIntoViewIfNeeded();
  await page.waitForSelector("#breakdown svg");
  const all = () => page.locator("#breakdown .axis .tick text").last().textContent();
  const before = await all();
  await page.evaluate(() => scrollTo(0, 0));
  await page.waitForTimeout(200);
  await turn(page, "#control-ranks", "40");
  assert.equal(await all(), before);
  await page.locator("#breakdown").scrollIntoViewIfNeeded();
  await page.waitForFunction((old) => [...document.querySelectorAll("#breakdown .axis .tick text")].at(-1).textContent !== old, before);
  await close(page);
});

test("what is not drawn yet does not say that it cannot be drawn", async () => {
  const page = await open("", { viewport: { width: 1366, height: 600 } });
  for (const figure of ["stepper", "machine", "breakdown", "size-curve", "rank-curve"])
    assert.equal(await page.locator(`#${figure} .drawing`).textContent(), "", figure);
  await close(page);
  const long = await open("op=all-to-all&algorithm=direct&shape=fully-connected&ranks=32&chunks=512");
  for (const figure of ["stepper", "machine", "breakdown"]) assert.match(await long.locator(`#${figure} .drawing`).textContent(), /^Too many steps/, figure);
  await close(long);
});

test("cause and effect are on one screen, and sliders are long enough, at every width", async () => {
  for (const [width, height] of [[1366, 768], [1000, 768], [412, 800], [360, 740], [320, 640]]) {
    const page = await open("", { viewport: { width, height } });
    const sliders = await page.locator("#controls fieldset >> nth=0 >> input[type=range]").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().width));
    assert.equal(sliders.length, 5);
    assert.ok(Math.min(...sliders) >= 8 * 16, `${width}: sliders of ${sliders.map(Math.round)}`);
    const knob = await page.locator("#control-overhead").boundingBox();
    if (width >= 360) assert.ok(knob.y + knob.height < height, `${width}: the last of the first knobs is at ${knob.y}`);
    if (width >= 1088) {
      for (const figure of ["space-time", "chunk-curve"]) {
        const drawing = await page.locator(`#${figure} .drawing`).boundingBox();
        assert.ok(drawing.y + drawing.height <= height, `${width}: ${figure} ends at ${drawing.y + drawing.height}`);
      }
    } else {
      await page.locator("#control-overhead").scrollIntoViewIfNeeded();
      const mini = await page.locator("#mini canvas").boundingBox();
      assert.ok(mini.height > 50 && mini.y >= 0 && mini.y + mini.height < height, `${width}: the small picture is at ${mini.y}`);
    }
    await close(page);
  }
});

test("values fit their fields, and names of knobs are not cut, at every width", async () => {
  for (const setting of ["bandwidth=12.5GB/s&size=512KiB&gamma=12.5GB/s&shape=nodes&network_bandwidth=12.5GB/s&ranks=16&gpus_per_node=8&latency=100ns", "step=ddp&bandwidth=12.5GB/s", "step=pipeline"]) {
    const page = await open(setting, { viewport: { width: 1366, height: 800 } });
    for (const width of [1366, 1000, 412, 360, 320]) {
      await page.setViewportSize({ width, height: 800 });
      const rows = await page.locator(".control").evaluateAll((all) => all.filter((row) => row.checkVisibility()).map((row) => {
        const [label, field] = [row.querySelector("label"), row.querySelector(".field")];
        const range = document.createRange();
        range.selectNodeContents(label);
        const cut = (field ?? label).scrollWidth - (field ?? label).clientWidth;
        const next = (field ?? row.querySelector("select")).getBoundingClientRect();
        const [name, frame] = [range.getBoundingClientRect(), row.getBoundingClientRect()];
        const beside = next.top < name.bottom && name.top < next.bottom; // else below
        return { text: `${label.textContent} ${field?.value}`, cut, over: name.right - (beside ? next.left : frame.right), out: next.right - frame.right };
      }));
      for (const { text, cut, over, out } of rows) assert.ok(cut <= 0 && over <= 0 && out <= 0.5, `${width}, ${setting}: ${text}: ${cut}, ${over}, ${out}`);
      const room = await page.locator("#mini").evaluate((mini) => mini.offsetHeight);
      if (setting.startsWith("step=")) assert.equal(room, 0, `${width}: an empty small picture`);
    }
    await close(page);
  }
});

test("formulas of any length fit the screen: they wrap between terms, and a term that is too wide scrolls", async () => {
  const settings = ["all-reduce ring", "all-reduce rabenseifner", "all-reduce bidirectional-ring", "all-reduce chain", "reduce-scatter ring", "all-gather pat", "broadcast scatter-allgather"];
  for (const width of [1000, 360]) {
    const page = await open("", { viewport: { width, height: 740 } });
    for (const chunks of [1, 8, 4096])
      for (const setting of settings) {
        const [op, algorithm] = setting.split(" ");
        const before = await page.evaluate(() => document.body.dataset.drawn);
        await page.evaluate((fragment) => (location.hash = fragment), `op=${op}&algorithm=${algorithm}&shape=fully-connected&ranks=16&chunks=${chunks}`);
        await page.waitForFunction((old) => document.body.dataset.drawn !== old, before);
        await page.locator("#formula").scrollIntoViewIfNeeded();
        await page.waitForSelector("#formula :is(.formula, .muted)");
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(wide <= width, `${width}: ${setting} in ${chunks} chunks is ${wide} wide`);
        const cut = await page.locator("#formula .formula").evaluateAll((lines) => lines.filter((one) => one.scrollWidth > one.clientWidth + 1).length);
        if (width === 1000) assert.equal(cut, 0, `${setting} in ${chunks} chunks has lines that scroll`);
      }
    await close(page);
  }
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

test("on paper there are the values of the knobs, and nothing that only a screen can do", async () => {
  const page = await open("");
  await page.emulateMedia({ media: "print" });
  for (const shown of ["#field-size", "#field-bandwidth", "#control-op"]) assert.ok(await page.locator(shown).isVisible(), shown);
  assert.equal(await page.locator("#mini:visible, .how-to-read:visible, input[type=range]:visible, button:visible, #scenario:visible").count(), 0);
  await close(page);
});

test("sliders of sizes and counts have ticks at round values, where the thumb stands then", async () => {
  const page = await open("chunks=64&size=1MiB&ranks=16");
  for (const [control, ticks, which] of [["chunks", 13, 6], ["size", 3, 1], ["ranks", 6, 3]]) {
    const row = page.locator(`.control:has(#control-${control})`);
    const places = await row.locator(".slider-ticks i").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().x));
    assert.equal(places.length, ticks, control);
    const { x, width, at } = await row.locator("input[type=range]").evaluate((one) => ({ x: one.getBoundingClientRect().x, width: one.clientWidth, at: Number(one.value) / Number(one.max) }));
    assert.ok(Math.abs(places[which] - (x + 8 + at * (width - 16))) < 1.5, `${control}: ${places[which]}`);
  }
  await close(page);
});

test("the field of the size shows all of it on a narrow screen", async () => {
  for (const size of ["720MB", "720MiB", "64MiB"]) {
    const page = await open(`size=${size}`, { viewport: { width: 360, height: 740 } });
    assert.ok(await page.locator("#field-size").evaluate((field) => field.scrollWidth <= field.clientWidth), size);
    await close(page);
  }
});
