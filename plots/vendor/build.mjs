// SPDX-License-Identifier: Apache-2.0
// Makes d3-subset.min.js and its LICENSES.txt beside this file.  `--check FOLDER` writes them there
// instead, for a test to compare.  Needs `npm ci` in this folder.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = process.argv[2] === "--check" ? process.argv[3] : here;

const result = await build({
  absWorkingDir: here,
  entryPoints: ["entry.mjs"],
  bundle: true,
  charset: "ascii", // embedded into pages and C++ alike
  format: "iife",
  globalName: "d3",
  legalComments: "none", // all of them are in LICENSES.txt
  metafile: true,
  minify: true,
  target: "es2020",
  write: false,
});

const packages = new Set();
for (const [file, part] of Object.entries(result.metafile.outputs["<stdout>"]?.inputs ??
                                          Object.values(result.metafile.outputs)[0].inputs))
  if (part.bytesInOutput > 0 && file.startsWith("node_modules/")) packages.add(file.split("/")[1]);

const licences = [...packages].sort().map((name) => {
  const folder = join(here, "node_modules", name);
  const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
  const text = readFileSync(join(folder, file), "utf8").trim();
  return `${name} ${about.version} (${about.license})\n\n${text}\n`;
});

const code = result.outputFiles[0].text;
writeFileSync(join(target, "d3-subset.min.js"),
              `/* A part of D3, https://d3js.org; licences: plots/vendor/LICENSES.txt */\n${code}`);
writeFileSync(join(target, "LICENSES.txt"), licences.join(`\n${"-".repeat(78)}\n\n`));
