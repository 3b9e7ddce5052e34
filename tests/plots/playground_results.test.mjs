// SPDX-License-Identifier: Apache-2.0
// The page's results are the command line's: the same picoseconds and fingerprint for 100 settings, by way
// of the scenario file that the page offers.
// usage: COLLSIM=collsim COLLSIM_PLAYGROUND=playground.html node --test playground_results.test.mjs
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { assertNoMistakes, launch, openFile } from "./browser.mjs";

const wanted = 100;
let browser, page, folder;
before(async () => {
  browser = await launch();
  page = await openFile(browser, process.env.COLLSIM_PLAYGROUND, { permissions: ["clipboard-read", "clipboard-write"] });
  await page.waitForFunction(() => document.body.dataset.drawn);
  folder = mkdtempSync(join(tmpdir(), "collsim-"));
});
after(async () => {
  await browser.close();
  rmSync(folder, { recursive: true });
});

/** The same numbers every time. */
function randomNumbers(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

async function show(fragment) {
  await page.evaluate((text) => {
    document.body.dataset.drawn = "0";
    location.hash = text;
  }, fragment);
  await page.waitForFunction(() => document.body.dataset.drawn === "1");
  return page.evaluate(() => ({
    refused: document.body.classList.contains("stale"),
    notes: [...document.querySelectorAll("#notes .notice:not(.caution, .tip)")].map((note) => note.textContent).join("\n"),
    warnings: [...document.querySelectorAll("#notes .caution")].map((note) => note.textContent.replace(/^Warning: /, "")),
    formula: document.querySelector("#formula").textContent,
    ps: document.querySelector("#time").dataset.ps,
    fingerprint: document.querySelector("#fingerprint").textContent,
    scenario: document.querySelector("#scenario-text").textContent,
    links: [...document.querySelector("#control-slow_link").options].map((option) => option.value),
  }));
}

/** What `collsim run` makes of a scenario file. */
function native(scenario) {
  const file = join(folder, "playground.json");
  writeFileSync(file, scenario);
  const { status, stdout, stderr } = spawnSync(process.env.COLLSIM, ["run", file, "--format", "json"], { encoding: "utf8" });
  if (status !== 0) return { status, stderr };
  const { rows: [row], warnings } = JSON.parse(stdout);
  return { status, warnings, ps: String(Math.round(row.time_s * 1e12)), fingerprint: row.fingerprint };
}

async function choicesOfPage() {
  const all = {};
  const { shapes, ops } = await page.evaluate(() => ({
    shapes: [...document.querySelector("#control-shape").options].map((option) => option.value),
    ops: [...document.querySelector("#control-op").options].map((option) => option.value),
  }));
  for (const op of ops) {
    await show(`op=${op}&ranks=4`);
    all[op] = await page.evaluate(() => [...document.querySelector("#control-algorithm").options].map((o) => o.value));
  }
  const presets = await page.evaluate(() => [...document.querySelector("#control-preset").options].map((option) => option.value).filter(Boolean));
  return { shapes, presets, algorithms: all };
}

/** GPUs of a preset's node, from its file. */
const gpusOf = (preset) => JSON.parse(readFileSync(new URL(`../../scenarios/presets/${preset}.json`, import.meta.url), "utf8")).gpus;

function randomFragment({ shapes, presets, algorithms }, random) {
  const pick = (list) => list[Math.floor(random() * list.length)];
  const op = pick(Object.keys(algorithms));
  const shape = pick(shapes);
  const anyRanks = shape === "hypercube" ? pick([2, 4, 8, 16]) : 2 + Math.floor(random() ** 2 * 31);
  const gpus = pick([1, 2, 3, 4, 8]);
  const ranks = shape === "nodes" ? gpus * Math.max(2, Math.floor(anyRanks / gpus)) : anyRanks;
  const parts = {
    op,
    algorithm: pick(algorithms[op]),
    shape,
    ranks,
    size: pick([`${4 * Math.floor(random() * 5e6)}B`, "0", "1MiB", "64MiB", "96kB", `${4 + 4 * Math.floor(random() * 300)}B`]),
    chunks: 1 + Math.floor(random() ** 3 * 40),
    bandwidth: pick(["25GB/s", "12.5GB/s", "100Gb/s", "7GB/s", `${1 + Math.floor(random() * 1e9)}B/s`]),
    overhead: pick(["0", "5us", "0.3us", `${Math.floor(random() * 1e5)}ps`]),
    latency: pick(["0", "0", "1us", "12.345us"]),
  };
  if (random() < 0.3) Object.assign(parts, { late_rank: Math.floor(random() * ranks), late: pick(["5us", "1ms", "0.25ns"]) });
  if (shape === "nodes") Object.assign(parts, { gpus_per_node: gpus, network_bandwidth: pick(["3GB/s", "12.5GB/s", "25GB/s", "7777777B/s"]) });
  if (random() < 0.3) parts.channels = pick([2, 3, 8]);
  if (random() < 0.5) parts.root = Math.floor(random() * ranks);
  if (random() < 0.3) parts.sharing = "fair";
  if (random() < 0.3) parts.gamma = pick(["100GB/s", "2TB/s", "333MB/s"]);
  if (random() < 0.3) parts.slots = pick([1, 2, 8]);
  if (random() < 0.25) {
    const preset = pick(presets);
    Object.assign(parts, { preset, ranks: gpusOf(preset) * pick([1, 2, 3]) });
    for (const key of ["shape", "gpus_per_node", "bandwidth", "network_bandwidth", "overhead", "latency", "sharing"]) delete parts[key];
    for (const key of ["root", "late_rank"]) if (parts[key] >= parts.ranks) delete parts[key];
  }
  return { parts, slow: random() < 0.4, factor: pick([1, 1.5, 3, 10, 7.77]) };
}

/** Warnings that the page has elsewhere, beside the formula or where it says how sure it is, or not at all. */
const notAbove = ["approximate-formula", "uncalibrated-preset", "far-slower-link"];

/** The page warns of what the command line warns of; of an approximate formula it does so beside the formula. */
function checkWarnings(shown, own, fragment) {
  const approximate = own.warnings.some(({ code }) => code === "approximate-formula");
  const others = own.warnings.filter(({ code }) => !notAbove.includes(code)).map(({ message }) => message);
  assert.deepEqual(shown.warnings, others, fragment);
  if (approximate) assert.match(shown.formula, /the data does not divide evenly/, fragment);
  return own.warnings.length;
}

const fragmentOf = (parts) => Object.entries(parts).map(([key, value]) => `${key}=${value}`).join("&");

test(`time and fingerprint are those of collsim run, for ${wanted} settings`, async () => {
  const random = randomNumbers(20261122);
  const choices = await choicesOfPage();
  const tried = { nodes: 0, presets: 0, channels: 0, root: 0, slowNetwork: 0 };
  let same = 0;
  let refused = 0;
  let warned = 0;
  while (same < wanted) {
    const { parts, slow, factor } = randomFragment(choices, random);
    let shown = await show(fragmentOf(parts));
    const links = shown.links.filter(Boolean);
    if (slow && links.length) {
      parts.slow_link = links[Math.floor(random() * links.length)];
      parts.slow_factor = factor;
      shown = await show(fragmentOf(parts));
    }
    const fragment = fragmentOf(parts);
    if (shown.refused) {
      assert.notEqual(native(shown.scenario).status, 0, `refused by the page alone: ${fragment}: ${shown.notes}`);
      refused += 1;
      assert.ok(refused < wanted, `too many settings are refused; the last one: ${fragment}: ${shown.notes}`);
      continue;
    }
    assert.equal(shown.notes, "", fragment);
    const own = native(shown.scenario);
    assert.equal(own.status, 0, `${fragment}\n${own.stderr}`);
    assert.deepEqual({ ps: shown.ps, fingerprint: shown.fingerprint }, { ps: own.ps, fingerprint: own.fingerprint }, fragment);
    const { cluster, collective } = JSON.parse(shown.scenario);
    tried.nodes += cluster.shape === "nodes";
    tried.presets += "preset" in cluster;
    tried.channels += collective.channels > 1;
    tried.root += collective.root > 0;
    tried.slowNetwork += cluster.shape === "nodes" && JSON.stringify(cluster.links_override ?? []).includes(`"switch${cluster.nodes}"`);
    warned += checkWarnings(shown, own, fragment);
    same += 1;
  }
  for (const [what, count] of Object.entries(tried)) assert.ok(count >= (what === "slowNetwork" ? 1 : 8), `${what}: only ${count} of ${wanted} settings`);
  assert.ok(warned > 10, `only ${warned} warnings were compared`);
  assertNoMistakes(page);
});

test("every preset of the command line is the page's, on one node and on two", async () => {
  const { stdout } = spawnSync(process.env.COLLSIM, ["presets"], { encoding: "utf8" });
  const small = [...stdout.matchAll(/^(\S+) +(\d+) {2}(?:yes|no)/gm)].map(([, name, gpus]) => ({ name, gpus: Number(gpus) })).filter(({ gpus }) => gpus <= 64);
  assert.deepEqual((await choicesOfPage()).presets, small.map(({ name }) => name));
  for (const { name, gpus } of small)
    for (const [nodes, algorithm] of [[1, "nvls"], [2, "ring"]]) {
      const shown = await show(`op=all-reduce&algorithm=${algorithm}&preset=${name}&ranks=${nodes * gpus}&size=1MiB`);
      assert.equal(shown.notes, "", name);
      assert.deepEqual(JSON.parse(shown.scenario).cluster, nodes > 1 ? { preset: name, nodes } : { preset: name });
      const own = native(shown.scenario);
      assert.deepEqual([own.status, own.ps, own.fingerprint], [0, shown.ps, shown.fingerprint], `${name} x ${nodes}, ${algorithm}`);
    }
});

test("copying as a scenario gives a file that runs and agrees", async () => {
  const fragment = "op=all-reduce&algorithm=ring&shape=torus&ranks=12&size=10MiB&chunks=3&late_rank=5&late=20us&slow_link=gpu0-gpu1&slots=4";
  const shown = await show(fragment);
  assert.equal(shown.notes, "");
  await page.locator("#copy-scenario").click();
  await page.waitForFunction(() => document.querySelector("#copy-scenario").textContent === "Copied");
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  const own = native(copied);
  assert.deepEqual([own.status, own.ps, own.fingerprint], [0, shown.ps, shown.fingerprint]);
});

test("the engine counts ranks once, for the network and for the group", async () => {
  const source = readFileSync(new URL("../../plots/playground/engine.js", import.meta.url), "utf8");
  const Engine = new Function(`${source}; return Engine;`)();
  const page = readFileSync(process.env.COLLSIM_PLAYGROUND, "utf8");
  const engine = await Engine.load(/packedEngine = "([^"]*)"/.exec(page)[1]);
  const algorithm = engine.algorithms.find((one) => one.operation === "broadcast" && one.name === "chain").index;
  const messages = (ranks) =>
    engine.run({ shape: 0, algorithm, ranks, gpusPerNode: 1, root: 0, bytes: 1024, chunks: 1, channels: 1, slots: 0, bandwidth: 1e9, networkBandwidth: 1e9, overheadPs: 0, latencyPs: 0,
      slowLink: -1, slowBandwidth: 0, lateRank: -1, latePs: 0 }, 0).messages;
  assert.equal(messages(3), 2);
  assert.equal(messages(2.6), 2);
  assert.throws(() => messages(NaN), /the number of ranks is not a number/);
});
