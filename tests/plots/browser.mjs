// SPDX-License-Identifier: Apache-2.0
// A browser for tests of pages: opens a file, and remembers everything that must not happen.
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

/** The browser of Debian's package chromium-headless-shell, or the one that the environment names. */
export const browserPath = process.env.COLLSIM_CHROMIUM ?? "/usr/bin/chromium-headless-shell";

/** The loop of giveLoop() on the machine that limits are meant for. */
const QUICK_MS = 2.5;

export function launch() {
  return chromium.launch({ executablePath: browserPath, args: ["--no-sandbox", "--disable-gpu"] });
}

/**
 * A page of its own with a file in it.  `options` go to newContext(): viewport, colorScheme ...
 * `page.mistakes` collects what appears in the console as an error and every request but the first.
 */
export async function openFile(browser, file, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1100, height: 900 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60000); // others use the machine, too
  page.mistakes = [];
  const address = pathToFileURL(file.split("#")[0]).href;
  const isTheFile = (url) => url.split("#")[0] === address;
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) page.mistakes.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => page.mistakes.push(`exception: ${error.message}`));
  page.on("request", (request) => {
    const url = request.url();
    if (!isTheFile(url) && !url.startsWith("blob:") && !url.startsWith("data:")) page.mistakes.push(`request: ${url}`);
  });
  page.on("dialog", (dialog) => {
    page.mistakes.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  const fragment = file.includes("#") ? file.slice(file.indexOf("#")) : "";
  await page.goto(address + fragment);
  return page;
}

/** Gives the page a loop of what pages do, numbers made into text: `calibrationLoop()`. */
export function giveLoop(page) {
  return page.evaluate(() => {
    window.calibrationLoop = () => {
      const texts = [];
      for (let i = 0; i < 20000; ++i) texts.push(`M${(i * 0.37).toFixed(2)},${i % 61}`);
      texts.sort();
      return texts.join("").length;
    };
    for (let run = 0; run < 10; ++run) window.calibrationLoop(); // compiled by now
  });
}

/** How many times slower a machine that takes this long for the loop is than the one that limits are meant for. */
export const slownessOf = (loopMs) => Math.max(1, loopMs / QUICK_MS);

/** The same of this machine: the loop is timed as pages are, the best of many, since others use the machine. */
export async function slowness(page) {
  await giveLoop(page);
  return slownessOf(
    await page.evaluate(() => {
      let least = Infinity;
      for (let run = 0; run < 30; ++run) {
        const start = performance.now();
        window.calibrationLoop();
        least = Math.min(least, performance.now() - start);
      }
      return least;
    }),
  );
}

export function assertNoMistakes(page) {
  assert.deepEqual(page.mistakes, []);
}

/** How far text is from being well-formed XML: the browser's own parser judges. */
export function xmlMistake(page, text) {
  return page.evaluate((source) => {
    const parsed = new DOMParser().parseFromString(source, "image/svg+xml");
    return parsed.querySelector("parsererror")?.textContent ?? null;
  }, text);
}
