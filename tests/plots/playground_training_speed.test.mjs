// SPDX-License-Identifier: Apache-2.0
// From a turned slider to the new picture of a training step: below 100 ms, on a slow machine as much more as a
// loop takes it longer.  The best of several, because others use the machine too.
// usage: COLLSIM_PLAYGROUND=playground.html node --test playground_training_speed.test.mjs
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { slowness } from "./browser.mjs";
import { close, startPlayground } from "./playground_page.mjs";

let open, stop;
before(async () => ({ open, stop } = await startPlayground()));
after(() => stop());

/** Milliseconds from the event to the frame after the picture, for each of some turns of a slider. */
function turns(page, control, count) {
  return page.evaluate(
    async ([id, times]) => {
      const slider = document.querySelector(id);
      const taken = [];
      for (let i = 0; i < times; ++i) {
        await new Promise((resolve) => setTimeout(resolve, 200));
        const start = performance.now();
        slider.value = String(5 + (i % 5));
        slider.dispatchEvent(new Event("input", { bubbles: true }));
        await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
        taken.push(performance.now() - start);
      }
      return taken;
    },
    [control, count],
  );
}

for (const { fragment, control } of [
  { fragment: "step=ddp", control: "#control-bucket" },
  { fragment: "step=ddp&ranks=16&layers=48", control: "#control-bucket" },
  { fragment: "step=pipeline&ranks=8&layers=8&activations=16MiB&microbatches=32", control: "#control-forward" },
  { fragment: "step=pipeline", control: "#control-microbatches" },
])
  test(`${fragment}: below 100 ms`, async (t) => {
    const page = await open(fragment, { viewport: { width: 1366, height: 1000 } });
    const taken = (await turns(page, control, 9)).sort((a, b) => a - b);
    const slower = await slowness(page);
    t.diagnostic(`best ${taken[0].toFixed(1)} ms, median ${taken[4].toFixed(1)} ms, worst ${taken[8].toFixed(1)} ms; goal 100 x ${slower.toFixed(2)}`);
    assert.ok(taken[0] < 100 * slower, `best of 9: ${taken[0].toFixed(1)} ms`);
    await close(page);
  });
