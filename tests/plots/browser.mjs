// SPDX-License-Identifier: Apache-2.0
// A browser for tests of pages: opens a file, and remembers everything that must not happen.
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

/** The browser of Debian's package chromium, or the one that the environment names. */
export const browserPath = process.env.COLLSIM_CHROMIUM ?? "/usr/bin/chromium";

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
  page.setDefaultTimeout(20000);
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
