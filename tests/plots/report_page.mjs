// SPDX-License-Identifier: Apache-2.0
// The page of `collsim report` for tests: made of a scenario, opened, closed.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { assertNoMistakes, launch, openFile } from "./browser.mjs";

export const scenarios = join(dirname(fileURLToPath(import.meta.url)), "../../scenarios");
export const folder = mkdtempSync(join(tmpdir(), "collsim-report-"));

/** `open(file, options)` gives a page that has drawn; `stop()` ends the browser and removes the folder. */
export async function startReport() {
  const browser = await launch();
  const open = async (file, options) => {
    const page = await openFile(browser, file, options);
    await page.waitForSelector("footer");
    return page;
  };
  const stop = async () => {
    await browser.close();
    rmSync(folder, { recursive: true });
  };
  return { open, stop };
}

/** Closes a page in which nothing may have gone wrong. */
export async function close(page) {
  assertNoMistakes(page);
  await page.context().close();
}

export function collsim(...arguments_) {
  return execFileSync(process.env.COLLSIM, arguments_, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
}

/** Results of a scenario that comes along, changed by a function, as a page. */
export function pageOf(name, change = null, ...options) {
  const base = name.replaceAll("/", "-");
  collsim("run", join(scenarios, `${name}.json`), "--quiet", "-o", `${base}.json`);
  if (change) {
    const results = JSON.parse(readFileSync(join(folder, `${base}.json`)));
    change(results);
    writeFileSync(join(folder, `${base}.json`), JSON.stringify(results));
  }
  collsim("report", `${base}.json`, "-o", `${base}.html`, "--quiet", ...options);
  return join(folder, `${base}.html`);
}
