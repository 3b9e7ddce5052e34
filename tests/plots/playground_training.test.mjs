// SPDX-License-Identifier: Apache-2.0
// Training steps in the playground: the same picoseconds and fingerprint as the command line, by way of the
// scenario file that the page offers; the picture; the address.
// usage: COLLSIM=collsim COLLSIM_PLAYGROUND=playground.html node --test playground_training.test.mjs
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { close, startPlayground, timePs, titleOf, turn } from "./playground_page.mjs";

let open, stop;
const folder = mkdtempSync(join(tmpdir(), "collsim-"));
before(async () => ({ open, stop } = await startPlayground()));
after(async () => {
  await stop();
  rmSync(folder, { recursive: true });
});

/** What `collsim run` makes of the scenario file of a page. */
async function native(page) {
  const file = join(folder, "playground.json");
  writeFileSync(file, await page.locator("#scenario-text").textContent());
  const { status, stdout, stderr } = spawnSync(process.env.COLLSIM, ["run", file, "--format", "json"], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  const [row] = JSON.parse(stdout).rows;
  return { ps: String(Math.round(row.step_s * 1e12)), fingerprint: row.fingerprint };
}

test("steps take as long as on the command line", async () => {
  for (const fragment of [
    "step=ddp",
    "step=ddp&bucket=0&layers=5&ranks=3&gradients=1000B&latency=3us",
    "step=ddp&overlap=false&shape=ring&ranks=16",
    "step=ddp&shape=nodes&ranks=8&gpus_per_node=4&layers=7&bucket=100MiB&optimizer=0",
    "step=pipeline",
    "step=pipeline&schedule=gpipe&activations=64MiB&overhead=10us",
    "step=pipeline&schedule=zb-h1&layers=11&microbatches=5",
    "step=pipeline&schedule=interleaved&layers=8&shape=ring&activations=1MiB",
  ]) {
    const page = await open(fragment);
    assert.equal(await page.locator("#notes").textContent(), "", fragment);
    const found = { ps: await timePs(page), fingerprint: await page.locator("#fingerprint").textContent() };
    assert.deepEqual(found, await native(page), fragment);
    await close(page);
  }
});

test("a pipeline is drawn as in textbooks, and fits at every width", async () => {
  for (const width of [1366, 1000, 360]) {
    const page = await open("step=pipeline", { viewport: { width, height: 900 } });
    assert.equal(await page.locator("#time").textContent(), "330 ms");
    assert.equal(await titleOf(page, "streams"), "Ranks are idle 27% of the time: the bubble");
    for (const kind of ["forward", "backward"]) assert.equal(await page.locator(`#streams rect[data-kind=${kind}]`).count(), 4 * 8);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), `no scrolling sideways at ${width}`);
    await turn(page, "#control-schedule", "zb-h1");
    assert.equal(await page.locator("#time").textContent(), "270 ms");
    assert.equal(await page.locator("#streams rect[data-kind=weights]").count(), 4 * 8);
    await page.waitForURL(/#step=pipeline&schedule=zb-h1$/);
    await close(page);
  }
});

test("a bucket that turns redraws the step; mistakes in the address are told", async () => {
  const page = await open("step=ddp&bucket=7parsecs&bucked=1");
  assert.match(await page.locator("#notes").textContent(), /7parsecs.*using 25MiB.*no key "bucked"/s);
  const calls = () => page.locator("#streams rect[data-kind=collective]").count();
  assert.equal(await calls(), 24);
  await turn(page, "#field-bucket", "10GiB");
  assert.equal(await calls(), 2);
  await turn(page, "#control-overlap", "false");
  assert.equal(await calls(), 1);
  assert.equal(await page.locator("#control-bucket").isVisible(), false);
  await turn(page, "#control-step", "pipeline");
  assert.equal(await page.locator("#control-microbatches").isVisible(), true);
  await close(page);
});

test("links lead from one collective to training steps and back", async () => {
  const page = await open();
  for (const [link, control] of [["a step of DDP", "bucket"], ["a pipeline", "microbatches"], ["one collective", "chunks"]]) {
    await page.getByRole("link", { name: link }).click();
    await page.locator(`#control-${control}`).waitFor({ state: "visible" });
    await page.waitForFunction(() => document.body.dataset.drawn);
  }
  await close(page);
});
