// SPDX-License-Identifier: Apache-2.0
// The drawing library that is checked in is what its sources make.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const vendor = join(dirname(fileURLToPath(import.meta.url)), "../../plots/vendor");

test("d3-subset.min.js and its licences are made from package-lock.json and entry.mjs", () => {
  const folder = mkdtempSync(join(tmpdir(), "collsim-vendor-"));
  try {
    execFileSync("node", [join(vendor, "build.mjs"), "--check", folder]);
    for (const file of ["d3-subset.min.js", "LICENSES.txt"])
      assert.ok(readFileSync(join(folder, file)).equals(readFileSync(join(vendor, file))), `${file} is outdated: ./dev vendor`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("lock files name no place to download from", () => {
  for (const file of [join(vendor, "package-lock.json"), join(vendor, "../../tests/plots/package-lock.json")])
    assert.ok(!readFileSync(file, "utf8").includes('"resolved"'), file);
});
