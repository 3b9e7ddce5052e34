// SPDX-License-Identifier: Apache-2.0
// The playground for tests: opened, its knobs turned, closed.
import { assertNoMistakes, launch, openFile } from "./browser.mjs";

/** As high as the page: figures are drawn where they are on the screen. */
const tall = { width: 1100, height: 4000 };

/** `open(fragment, options)` gives a page that has drawn; `stop()` ends the browser. */
export async function startPlayground() {
  const browser = await launch();
  const open = async (fragment = "", options = {}) => {
    const page = await openFile(browser, process.env.COLLSIM_PLAYGROUND + (fragment && `#${fragment}`), { viewport: tall, ...options });
    await page.waitForFunction(() => document.body.dataset.drawn);
    return page;
  };
  return { open, stop: () => browser.close() };
}

/** Closes a page in which nothing may have gone wrong. */
export async function close(page) {
  assertNoMistakes(page);
  await page.context().close();
}

export const timePs = (page) => page.locator("#time").getAttribute("data-ps");
const drawn = (page) => page.evaluate(() => Number(document.body.dataset.drawn));
export const titleOf = (page, figure) => page.locator(`#${figure} h3`).textContent();

/** Turns a control and waits until the picture is there. */
export async function turn(page, selector, value) {
  const count = await drawn(page);
  await page.evaluate(
    ([where, to]) => {
      const control = document.querySelector(where);
      control.value = to;
      control.dispatchEvent(new Event(control.type === "range" ? "input" : "change", { bubbles: true }));
    },
    [selector, value],
  );
  await page.waitForFunction((before) => Number(document.body.dataset.drawn) > before, count);
}
