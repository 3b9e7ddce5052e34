// SPDX-License-Identifier: Apache-2.0
// What the report concludes from rows: its functions alone, without a browser.
import assert from "node:assert/strict";
import { test } from "node:test";
import { functionsOf, pageWith, resultsOf } from "./report_functions.mjs";

const page = pageWith();

/** Sizes times curves: `times[name]` are those at 1, 2, 4 ... MiB; null: no such row. */
function overSizes(times, path = "collective.algorithm", name = "algorithm") {
  const rows = Object.entries(times).flatMap(([param, list]) =>
    list.flatMap((time, i) => (time === null ? [] : [{ params: [param, `${2 ** i}MiB`], size: 2 ** (20 + i), time, algorithm: param }])),
  );
  return resultsOf([path, "collective.size"], [name, "size"], rows);
}

function sizeTitle(results) {
  const xOf = (row) => row.size;
  const groups = page.groupsOf(results, xOf);
  return page.fastestText(groups, page.fastestStretches(groups, xOf), xOf, page.bytesText, "sizes");
}

test("the fastest of nine curves is called so although eight are drawn", () => {
  const times = Object.fromEntries([1, 2, 3, 4, 5, 6, 7, 8, 100].map((radix) => [String(radix), [1 / radix, 2 / radix, 4 / radix]]));
  assert.equal(sizeTitle(overSizes(times, "collective.radix", "radix")), "radix 100 is fastest everywhere");
  assert.match(sizeTitle(overSizes({ "8": [1, 2, 3], "4": [2, 3, 4] }, "collective.chunks", "chunks")), /^8 chunks are fastest/);
});

test("only sizes that all have are judged, and that is said", () => {
  assert.equal(sizeTitle(overSizes({ ring: [2, 2, 2, null], tree: [1, 1, 3, 4] })), "tree is fastest up to 2 MiB, ring from 4 MiB on, at the sizes that all have");
  assert.equal(sizeTitle(overSizes({ ring: [1, 2, 3, null], tree: [2, 3, 4, 1] })), "ring is fastest at all common sizes");
  assert.equal(sizeTitle(overSizes({ ring: [1, 2], tree: [null, 3, 4], flat: [null, null, 1, 2] })), "The curves have no sizes in common, so none is the fastest");
});

test("a curve of what NCCL chooses names its algorithms", () => {
  const text = (...names) => {
    const rows = names.map((algorithm, i) => ({ params: [`${2 ** i}MiB`], size: 2 ** (20 + i), time: 1, algorithm }));
    const xOf = (row) => row.size;
    return page.algorithmsText({ xOf, quantity: page.quantities.size }, { groups: page.groupsOf(resultsOf(["collective.size"], ["size"], rows), xOf) });
  };
  assert.equal(text("Tree LL", "Tree LL", "Tree LL128", "Ring Simple"), "Chosen: Tree LL up to 2 MiB, Tree LL128 up to 4 MiB, Ring Simple from 8 MiB on.");
  assert.equal(text("ring", "ring"), "");
});

test("a protocol is a choice, not another job", () => {
  const results = overSizes({ ll: [1, 2], simple: [2, 3] }, "measure.protocol", "protocol");
  assert.equal(page.areOtherJobs(results, (row) => row.size), false);
});

test("equal times are a tie", () => {
  assert.equal(sizeTitle(overSizes({ ring: [1, 2, 3], tree: [1, 2, 3] })), "ring and tree are equally fast everywhere");
  assert.equal(sizeTitle(overSizes({ a: [1, 2, 3], b: [1, 2, 3], c: [1, 2, 3] })), "All 3 are equally fast everywhere");
  assert.equal(sizeTitle(overSizes({ ring: [1, 2, 3], tree: [1, 2, 3], flat: [9, 9, 9] })), "ring and tree share first place everywhere");
});

test("with most ranks: of all curves, where all have a row, with ties", () => {
  const title = (times) => {
    const rows = Object.entries(times).flatMap(([algorithm, list]) =>
      list.map((time, i) => ({ params: [algorithm, String(2 ** i)], ranks: 2 ** i, time })),
    );
    return page.scalingTitle(page.groupsOf(resultsOf(["collective.algorithm", "cluster.ranks"], ["algorithm", "ranks"], rows), (row) => row.ranks));
  };
  const nine = Object.fromEntries([9, 8, 7, 6, 5, 4, 3, 2, 1].map((time) => [`algorithm${time}`, [time, time, time]]));
  assert.equal(title(nine), "With 4 ranks algorithm1 is fastest; algorithm9 takes 9 times as long");
  assert.equal(title({ ring: [1, 2, 3, 4], tree: [2, 3, 6], flat: [5, 5, 5] }), "With 4 ranks ring is fastest; tree takes 2 times as long");
  assert.equal(title({ ring: [1, 2, 3], tree: [1, 2, 3] }), "With 4 ranks ring and tree are equally fast");
  assert.equal(title({ ring: [9999, 50, 1] }), "4 ranks take under 0.1% of the time of 1");
});

test("the bands of accuracy hold the errors that they name", () => {
  let drawn;
  const row = (time, measured) => ({ time, algorithm: "ring", measured: { time: measured, low: measured, high: measured, error: time / measured - 1 } });
  pageWith((host, width, parts) => (drawn = parts)).drawAccuracy(null, 600, resultsOf([], [], []), [row(1, 1), row(2, 3)], []);
  for (const [i, share] of [0.25, 0.1].entries())
    for (const [k, [predicted, measured]] of drawn.bands[i].points.entries()) {
      const error = predicted / measured - 1;
      assert.ok(Math.abs(error - (k < 2 ? share : -share)) < 1e-9, `corner ${k} of the band of ${share}: ${error}`);
    }
});

test("sizes of a chunk that give the same number of chunks are one curve", () => {
  const sweep = [[8, 1, 8], [6, 2, 5], [4, 2, 5], [2, 4, 3], [1, 8, 4]];
  const rows = sweep.map(([size, chunks, time]) => ({ params: [`${size}MiB`], chunks, time }));
  const results = resultsOf(["collective.chunk_size"], ["chunk_size"], rows);
  const groups = page.groupsOf(results, (row) => row.chunks, page.isChunkSize);
  assert.equal(groups.all.length, 1);
  assert.equal(page.chunksTitle(groups), "4 chunks are best: 2.7 times faster than 1");
});

test("numbers of chunks that are equally good are all named", () => {
  const title = (times) => {
    const rows = Object.entries(times).map(([chunks, time]) => ({ params: [chunks], chunks: Number(chunks), time }));
    return page.chunksTitle(page.groupsOf(resultsOf(["collective.chunks"], ["chunks"], rows), (row) => row.chunks));
  };
  assert.equal(title({ 1: 9, 57: 3, 64: 3, 512: 10 }), "57 to 64 chunks are best: 3 times faster than 1; 512 are slower than 1");
  assert.equal(title({ 1: 9, 2: 3, 4: 4, 8: 3, 16: 5 }), "2 and 8 chunks are best: 3 times faster than 1");
  assert.equal(title({ 1: 9, 2: 3, 4: 3, 8: 4, 16: 3, 32: 8 }), "3 of 6 chunk counts are equally good, the smallest is 2: 3 times faster than 1");
  assert.equal(title({ 1: 9, 2: 9, 4: 9 }), "Cutting into chunks makes no difference here");
  assert.equal(title({ 1: 2, 2: 3, 4: 6 }), "1 chunk is best; 4 take 3 times as long");
  assert.equal(title({ 1: 3, 2: 6, 4: 3 }), "1 and 4 chunks are best; 2 take 2 times as long");
  assert.equal(title({ 1: 3, 2: 3.01, 4: 3.02 }), "1 chunk is best");
});

test("what was measured best is named beside what was predicted", () => {
  const title = (rows) => {
    const all = rows.map(([chunks, time, measured, more]) => ({ params: [String(chunks)], chunks, time, measured: measured === null ? null : { time: measured, error: 0, noisy: false, ...more } }));
    return page.chunksTitle(page.groupsOf(resultsOf(["collective.chunks"], ["chunks"], all), (row) => row.chunks));
  };
  assert.equal(title([[1, 9, 9.1], [57, 3, 3.3], [64, 3.1, 3.2], [512, 4, 5]]), "57 chunks are best: 3 times faster than 1; measured, 64 are best");
  assert.equal(title([[1, 9, 9.1], [57, 3, 3.3], [64, 3.1, 3.4]]), "57 chunks are best: 3 times faster than 1; measured, 57 are best, too");
  assert.equal(title([[1, 3, 3], [2, 4, 5], [4, 9, 2, { noisy: true }]]), "1 chunk is best; 4 take 3 times as long; measured, 1 is best, too");
  // Where nothing that was measured can be judged, a title must not look as if it were measured.
  const noisy = { noisy: true };
  assert.equal(title([[1, 9, 9.1, noisy], [57, 3, 3.3, noisy], [64, 3.1, null]]), "Predicted: 57 chunks are best, 3 times faster than 1; 2 measurements are too noisy to judge");
  assert.equal(title([[1, 9, 9, noisy], [2, 6, 6, { data: "wrong" }], [4, 3, null]]), "Predicted: more chunks help up to the last, 4, 3 times faster than 1; none of 2 measurements can be judged");
  assert.equal(title([[1, 9, null], [57, 3, 3.3], [64, 3.1, null]]), "57 chunks are best: 3 times faster than 1");
});

/** The figure of a sweep over chunks: its text, and what is drawn. `rows`: [chunks, algorithm, best by formula]. */
function chunkFigure(rows, curves, paths = ["collective.chunks"], names = ["chunks"]) {
  let [figure, drawn] = [null, null];
  const own = pageWith((host, width, parts) => (drawn = parts), (parent, parts) => (figure = parts));
  const all = rows.map(([chunks, algorithm, bestChunks, ...params], number) => {
    return { number, chunks, algorithm, bestChunks, params: [String(chunks), ...params], time: chunks + 4 / chunks, analytic: chunks + 4 / chunks, bound: 1, ranks: 8, size: 2 ** 20, measured: null };
  });
  own.addChunkCurve(null, { ...resultsOf(paths, names, all), id: "", data: { formula_curves: curves } });
  figure.draw(null, 600);
  const line = drawn.series.find(({ name }) => name === "formula").points;
  return { text: figure.text, line: line.map(({ x, y }) => [x, y]), guides: [...drawn.verticals, ...drawn.horizontals].map(({ name }) => name) };
}

/** A formula at 1 to 4 chunks. */
function formula(rows, more = {}) {
  const costs = { wire_s: [4, 2, 1.5, 1], startup_s: [1, 2, 3, 4], alpha_s: 1, latency_s: 0, bytes_per_s: 1e9 };
  return { rows, chunks: [1, 2, 3, 4], time_s: [5, 4, 4.5, 5], ...costs, ...more };
}

test("the formula between rows is drawn where it is that of all rows, else theirs alone", () => {
  const alike = chunkFigure([[1, "chain", 2], [2, "chain", 2], [4, "chain", 2]], [formula([0, 1, 2])]);
  assert.deepEqual(alike.line, [[1, 5], [2, 4], [3, 4.5], [4, 5]]);
  assert.deepEqual(alike.guides, ["best by formula: 2", "lower bound: 1 s"]);
  assert.match(alike.text, /B = 1 GB\/s/);
  const auto = chunkFigure([[1, "ring", 3], [2, "chain", 2], [4, "chain", 2]], []);
  assert.deepEqual(auto.line, [[1, 5], [2, 4], [4, 5]]);
  assert.deepEqual(auto.guides, ["lower bound: 1 s"]);
  const rows = [1, 2, 4].map((chunks) => [chunks, "chain", 2, "10GB/s"]).concat([8, 16, 32].map((chunks) => [chunks, "chain", 3, "25GB/s"]));
  const zip = chunkFigure(rows, [formula([0, 1, 2]), formula([3, 4, 5])], ["collective.chunks", "cluster.link.bandwidth"], ["chunks", "link bandwidth"]);
  assert.equal(zip.line.length, 6);
  assert.doesNotMatch(zip.text, /hold for|Grey/);
  assert.deepEqual(zip.guides, ["lower bound: 1 s"]);
});

test("only costs that are drawn are named", () => {
  const text = (more) => chunkFigure([[1, "chain", 2], [2, "chain", 2], [4, "chain", 2]], [formula([0, 1, 2], more)]).text;
  assert.match(text({}), /Grey: what wire alone and startup alone would cost\./);
  assert.match(text({ alpha_s: 0, latency_s: 1 }), /Grey: what wire alone and latency alone would cost\./);
  assert.match(text({ startup_s: [1e-6, 2e-6, 3e-6, 4e-6] }), /Grey: what wire alone would cost\./);
});

test("numbers with units and words with hyphens are whole, others are not", () => {
  let parts;
  page.setWords({ replaceChildren: (...all) => (parts = all) }, "halving-doubling is fastest up to 64 KiB, 1.5 GB/s, 12 chunks");
  assert.deepEqual(parts.map((part) => part.textContent ?? part), ["", "halving-doubling", " is fastest up to ", "64 KiB", ", ", "1.5 GB/s", ", 12 chunks"]);
});

test("a title of one very long word costs little", () => {
  for (const letter of ["a", "1", "a-"]) {
    let words;
    const start = performance.now();
    page.setWords({ replaceChildren: (...parts) => (words = parts) }, letter.repeat(100e3));
    assert.deepEqual(words, [letter.repeat(100e3)]);
    assert.ok(performance.now() - start < 500, `${letter}: ${performance.now() - start} ms`);
  }
});

test("every judged row is in the figure, however many algorithms there are", () => {
  const rows = Array.from({ length: 18 }, (_, i) => ({ algorithm: `algorithm${i % 9}` }));
  const groups = page.errorGroups(resultsOf([], [], rows), rows);
  assert.deepEqual(groups.map((group) => group.rows.length), [2, 2, 2, 2, 2, 2, 6]);
  assert.equal(groups.at(-1).name, "3 others");
  assert.equal(page.errorGroups(resultsOf([], [], rows), rows.slice(0, 7)).length, 7);
});

/** Operations times algorithms over sizes: `times["all-reduce, ring"]` are those at 1, 2, 4 MiB. */
function operations(times) {
  const rows = Object.entries(times).flatMap(([name, list]) => {
    const [op, algorithm] = name.split(", ");
    return list.map((time, i) => {
      const size = 2 ** (20 + i);
      return { op, algorithm, ranks: 2, size, time, busbw: size / time, algbw: size / time, params: [op, algorithm, `${2 ** i}MiB`] };
    });
  });
  return resultsOf(["collective.op", "collective.algorithm", "collective.size"], ["op", "algorithm", "size"], rows);
}

test("a line of errors joins rows of one operation only", () => {
  const results = operations({ "all-reduce, ring": [1, 2, 3], "all-gather, ring": [1, 2, 3] });
  const groups = page.errorGroups(results, results.rows);
  assert.deepEqual(groups.map(({ name }) => name), ["all-reduce, ring", "all-gather, ring"].map((name) => name.split(", ")[0]));
  for (const { rows } of groups) assert.equal(new Set(rows.map((row) => row.op)).size, 1);
});

function sizePages(results) {
  const xOf = (row) => row.size;
  return page.pagesOf(results, (row) => row.ranks, String, xOf).map(({ name, rows }) => {
    const part = { ...results, rows };
    const groups = page.groupsOf(part, xOf);
    const other = page.areOtherJobs(part, xOf);
    return { name, title: page.sizeCurvesTitle(part, groups, other ? [] : page.fastestStretches(groups, xOf), !other) };
  });
}

test("operations are no alternatives: none of them is the fastest", () => {
  const mib = 2 ** 20;
  const one = sizePages(operations({ "broadcast, chain": [1, 2, 4 * mib / 2e9], "all-gather, ring": [1, 2, 4 * mib / 3e9] }));
  assert.deepEqual(one, [{ name: "", title: "At 4 MiB busbw is 3 GB/s for all-gather and 2 GB/s for broadcast" }]);
});

test("operations with a choice of algorithms have a page each", () => {
  const pages = sizePages(operations({ "broadcast, chain": [1, 2, 4], "broadcast, binomial": [2, 3, 5], "all-gather, ring": [9, 9, 9] }));
  assert.deepEqual(pages[0], { name: "broadcast", title: "chain is fastest everywhere" });
  assert.equal(pages[1].name, "all-gather");
});

test("rows side by side: the best choice of each job, else who takes longer", () => {
  const rows = (list) => list.map(([ranks, algorithm, time]) => ({ op: "reduce", ranks, algorithm, size: 1, time, params: [String(ranks), algorithm] }));
  const title = (list) => page.comparisonTitle(resultsOf(["cluster.ranks", "collective.algorithm"], ["ranks", "algorithm"], rows(list)));
  assert.equal(title([[5, "a", 1e-3], [5, "b", 2e-3], [8, "a", 2e-3], [8, "b", 1e-3]]), "5 ranks: a is fastest; 8 ranks: b is fastest");
  assert.equal(title([[5, "a", 1e-3], [5, "b", 2e-3], [8, "a", 3e-3], [8, "b", 4e-3]]), "a is fastest in both cases: 1 ms (5 ranks) to 3 ms (8 ranks)");
  assert.equal(title([[5, "a", 1e-3], [8, "a", 3e-3]]), "With 8 ranks it takes 3 times as long as with 5 ranks: 3 ms instead of 1 ms");
  assert.equal(title([[5, "a", 1e-3], [5, "b", 2e-3]]), "a is fastest: 1 ms; b takes 2 times as long");
  const ties = ["a", "b", "c", "d"].map((name) => [5, name, 1e-3]);
  assert.equal(title([...ties, [5, "e", 3e-3]]), "4 of 5 rows share first place: 1 ms; e takes 3 times as long");
  assert.equal(title([2, 3, 4, 5].map((ranks) => [ranks, "a", 1e-3]).concat([[8, "a", 3e-3]])), "With 8 ranks it takes 3 times as long as with 4 of 5 rows: 3 ms instead of 1 ms");
  assert.equal(title([2, 3, 4, 5].map((ranks) => [ranks, "a", 0]).concat([[8, "a", 3e-3]])), "8 ranks take 3 ms, 4 of 5 rows no time: 3 ms instead of 0 s");
});

test("where the time of several rows goes", () => {
  const title = (list) => page.breakdownsTitle(list.map(([run, startup, wire]) => ({ run, time: startup + wire, shares: { startup, wire } })));
  assert.equal(title([["a", 1, 99], ["b", 6, 94], ["c", 2, 98]]), "In all 3 rows at least 94% of the time goes to the wire");
  assert.equal(title([["a", 0, 1], ["b", 0, 3]]), "In both rows all of the time goes to the wire");
  assert.equal(title([["a", 1, 3], ["b", 1, 1.5]]), "In both rows most goes to the wire: 60% to 75% of the time");
  assert.equal(title([["a", 3, 1], ["b", 1, 1]]), "In both rows the largest part goes to startup (alpha): 50% to 75% of the time");
  assert.equal(title([["1 chunk", 1, 999], ["9 chunks", 9, 1]]), "1 chunk: over 99% wire; 9 chunks: 90% startup (alpha)");
  assert.equal(title([["a", 1, 3], ["b", 9, 1], ["c", 1, 3]]), "Most rows: mainly wire; but b: 90% startup (alpha)");
  assert.equal(title([["a", 1, 3], ["b", 9, 1], ["c", 8, 2], ["d", 8, 2], ["e", 1, 4]]), "Most rows: mainly startup (alpha); but e: 80% wire");
  assert.equal(title([["a", 1, 3], ["b", 9, 1], ["c", 8, 2], ["d", 1, 4]]), "a: 75% wire; b: 90% startup (alpha)");
  assert.equal(title([["a", 0, 0], ["b", 0, 0]]), "No row takes any time");
});

test("what stands in the box of a device fits into it", () => {
  const nodes = Array.from({ length: 8 }, (_, i) => ({ name: `node${i}.switch${i}`, rank: null }));
  for (const each of [20, 34, 40, 60]) {
    const boxes = page.boxesOf(nodes, nodes.map((_, i) => ({ x: each * i, y: 0 })), nodes.map(() => each - 3));
    for (const { text, wide } of boxes) assert.ok(text === "" || page.deviceWidth(text) <= wide && wide < each, `${text} in ${wide} of ${each}`);
  }
  assert.ok(page.deviceWidth("sw…0") > 31); // two wide letters
});

test("a message is counted until it has crossed its last link", () => {
  const ms = 1e9; // picoseconds
  const steps = {
    rank: [1, 2], route: [0, 1], routeFirst: [0, 1, 3], firstCrossing: [0, 1],
    departed: [0, 0], left: [10 * ms, 10 * ms], crossingEnded: [10 * ms, 10 * ms, 20 * ms],
  };
  const title = page.spaceTimeTitle({}, [{ name: "flat", time_s: 20e-3, steps }]);
  assert.equal(title, "flat: done after 20 ms, with 1.5 messages at a time on average");
});

test("of many curves those are drawn that the title names or that are fastest somewhere", () => {
  const time = (chunks, size) => (chunks === 20 ? 1 : chunks === 15 && size === 2 ? 0.5 : 2 + chunks);
  const all = Array.from({ length: 20 }, (_, i) => i + 1).map((chunks) => ({ name: `${chunks} chunk${chunks > 1 ? "s" : ""}`, colour: 1, rows: [1, 2].map((size) => ({ size, time: time(chunks, size) })) }));
  const { shown, leftOut } = page.withNamedShown({ all, shown: all.slice(0, 8), leftOut: 12 }, "20 chunks are fastest; 11 chunks take 2 times as long", (row) => row.size);
  assert.deepEqual(shown.map(({ name }) => name), ["1 chunk", "2 chunks", "3 chunks", "4 chunks", "5 chunks", "11 chunks", "15 chunks", "20 chunks"]);
  assert.deepEqual(shown.map(({ colour }) => colour), [1, 2, 3, 4, 5, 6, 7, 8]);
  assert.equal(leftOut, 12);
});

test("every winner of a map has a place in its key", () => {
  const names = [..."abcdefghij"];
  assert.deepEqual(page.mapKey(names.slice(0, 8)).map(({ name }) => name), names.slice(0, 8));
  assert.deepEqual(page.mapKey(names).map(({ name, colour }) => `${name} ${colour}`).slice(-2), ["g 7", "3 others 8"]);
});

test("only steps that hide communication have a bar of it", () => {
  const text = (bars, shown = 2) => page.communicationText(new Array(shown), new Array(bars));
  assert.equal(text(2), "");
  assert.equal(text(3), " A bar below steps that hide communication: communication, hidden behind work or exposed.");
  assert.match(text(4), /^ A bar below each step: /);
  assert.match(text(2, 1), /^ A bar below the step: /);
});

/** Links of a case of 10 s, with what went over each: [from, to] in seconds. */
function worksOf(...links) {
  return links.map((spans, i) => ({ name: `${i}→${i + 1}`, busy: spans.reduce((sum, [from, to]) => sum + to - from, 0) / 10, from: spans.map(([from]) => from), to: spans.map(([, to]) => to), weight: spans.map(() => 1) }));
}

test("how much of each moment a link was busy", () => {
  const [work] = worksOf([[0, 1], [1.5, 2]]);
  assert.deepEqual([...page.busyShares(work, [0, 4], 4)], [1, 0.5, 0, 0]);
  assert.deepEqual([...page.busyShares(work, [0.5, 1.5], 2)], [1, 0]);
  assert.deepEqual([...page.busyShares({ from: [0, 0], to: [2, 2], weight: [0.5, 0.5] }, [0, 2], 1)], [1]);
});

test("when links work together", () => {
  const title = (...links) => page.heatTitle({ time_s: 10 }, worksOf(...links));
  assert.equal(title([[0, 10]], [[0, 4], [4, 10]]), "Both links are busy from start to end");
  assert.equal(title([[0, 8]], [[1, 9]], [[2, 10]]), "All 3 links are busy at once for 60% of the time");
  assert.equal(title([[0, 4]], [[4, 8]], [[8, 10]]), "Of 3 links one is busy at a time");
  assert.equal(title([[0, 4]], [[3, 8]], [[7, 10]]), "Of 3 links at most 2 are busy at once");
  assert.equal(title([[9, 10]], [[9, 10]]), "No link is busy for 90% of the time");
  const half = worksOf([[0, 10]], [[0, 10]]).map((work) => ({ ...work, busy: 0.5 }));
  assert.equal(page.heatTitle({ time_s: 10 }, half), "Both links carry messages from start to end");
  assert.equal(page.heatTitle({ time_s: 0 }, worksOf([[0, 0]], [[0, 0]])), "No link is ever busy");
  assert.equal(page.heatTitle({ time_s: 0 }, worksOf([[0, 0]])), "No link is ever busy");
});

test("links that are hardly used: where the time goes instead", () => {
  const link = (busy) => ({ busy, name: "0→1", messages: 1 });
  const one = { time_s: 100, shares: { work: 95, wire: 5 } };
  assert.equal(page.linksTitle(one, [link(0.02)], [link(0.02)]), "Links are hardly used, the busiest 2.0% of the time: 95% of it goes to adding and copying");
  assert.equal(page.linksTitle({ time_s: 0, shares: {} }, [link(0)], [link(0)]), "The run takes no time: no link is ever busy");
  assert.equal(page.linksTitle({ ...one, shares: { wire: 100 } }, [link(0.02), link(0.02)], [link(0.02), link(0.02)]), "Both used links are busy 2.0% of the time");
});

// Sentences below figures come from the data: with other data they are others.

test("what chunks cost is read off the critical paths of the ends", () => {
  const rows = [1, 8, 4096].map((chunks, number) => ({ number, chunks, time: 1 }));
  const said = (few, many) => page.endsText({ data: { cases: [{ row: 2, shares: many }, { row: 0, shares: few }] } }, { all: [{ rows }] });
  assert.equal(said({ wire: 3, startup: 1 }, { startup: 9, queue: 1 }), "With 1 chunk 75.0% of the time goes to the wire, 25.0% to startup (alpha). With 4,096 chunks 90.0% of the time goes to startup (alpha), 10.0% to queues for links.");
  assert.doesNotMatch(said({ wire: 4 }, { queue: 3, wire: 1 }), /startup/);
  assert.equal(page.endsText({ data: { cases: [] } }, { all: [{ rows }] }), "");
});

test("the playground's chunk curve names what its ends spend time on, whatever that is", () => {
  const { curveReason } = functionsOf(["common/units", "common/spans", "common/breakdown", "common/cutting", "playground/chunk_curve"], ["curveReason"]);
  const simulated = [[1, 9], [8, 3], [512, 6]].map(([x, y]) => ({ x, y }));
  const many = (shares) => curveReason({ simulated, ends: [{ chunks: 1, shares: { wire: 1 } }, { chunks: 512, shares }] });
  assert.match(many({ startup: 3, wire: 1 }), /^Both too few .* With 1 chunk all of the time goes to the wire\. With 512 chunks 75\.0% of the time goes to startup/);
  assert.match(many({ queue: 3, wire: 1 }), /^(?!.*startup).* 75\.0% of the time goes to queues for links/);
  assert.match(curveReason({ simulated: simulated.slice(0, 2), ends: [] }), /^Cutting helps as far as was simulated/);
  assert.match(curveReason({ simulated: simulated.slice(1), ends: [] }), /^Cutting does not help here/);
});

test("how far predictions are off says of how many rows, and no percentile of a handful", () => {
  const rows = (count) => Array.from({ length: count }, (_, i) => ({ measured: { error: 0.01 * (1 + (i % 3)) } }));
  const noisy = [{ measured: { noisy: true } }];
  assert.equal(page.accuracyTitle(rows(3), noisy), "All 3 predictions are within 3.0% of the measurement; 1 more row could not be judged");
  assert.equal(page.accuracyTitle(rows(4), [...noisy, ...noisy]), "All 4 predictions are within 3.0% of the measurement; 2 more rows could not be judged");
  assert.equal(page.accuracyTitle(rows(1), []), "The prediction is 1.0% off the measurement");
  assert.doesNotMatch(page.accuracyText(rows(3), []), /percentile/);
  assert.match(page.accuracyText(rows(30), []), /95th percentile 3\.0%/);
  assert.match(page.accuracyText(rows(3), noisy), /\. 1 more scattered too much to judge/);
  assert.match(page.accuracyText([], [...noisy, ...noisy]), /^2 scattered too much to judge/);
});

test("an error that is not zero is never called 0.0%", () => {
  assert.deepEqual([0, 0.0004, -0.0004, 0.0006, -0.0006].map(page.signedPercent), ["0.0%", "under 0.1%", "under 0.1%", "+0.1%", "-0.1%"]);
  const rows = [1, 2, 4].map((mib, i) => ({ params: [`${mib}MiB`], size: mib * 2 ** 20, algorithm: "ring", measured: { error: -0.0001 * (i + 1) } }));
  assert.equal(page.accuracyTitle(rows, []), "All 3 predictions are within 0.1% of the measurement");
  assert.match(page.accuracyText(rows, []), /median error under 0\.1%, worst under 0\.1%/);
  const axis = { quantity: page.quantities.size, xOf: (row) => row.size };
  assert.equal(page.errorsTitle(resultsOf(["collective.size"], ["size"], rows), rows, axis), "The largest error, under 0.1%, is at 4 MiB");
});

test("a share below one is never called 100%, or all", () => {
  assert.deepEqual([1, 0.9993, 0.9961, 0.9949, 0.5].map(page.percentText), ["100%", "99.9%", "99.6%", "99%", "50%"]);
  assert.equal(page.breakdownTitle({ wire: 1 }), "All of the time goes to the wire");
  assert.equal(page.breakdownTitle({ wire: 0.9996, startup: 0.0004 }), "Over 99.9% of the time goes to the wire");
});

test("curves cross where lines between their dots do", () => {
  const xOf = (row) => row.size;
  const crossing = (ring, tree) => {
    const groups = page.groupsOf(overSizes({ ring, tree }), xOf);
    const [before, after] = page.fastestStretches(groups, xOf);
    return page.crossingOf(groups, xOf, before, after) / 2 ** 20;
  };
  assert.equal(crossing([4, 4, 4], [1, 3, 7]), 2 + 2 * (1 / 4));
  assert.equal(crossing([4, 4, 4], [1, 2, 6]), 3);
  const shared = page.groupsOf(overSizes({ ring: [2, 2], tree: [1, 2] }), xOf);
  assert.equal(page.crossingOf(shared, xOf, ...page.fastestStretches(shared, xOf)), null);
});

test("contention is a part of the other kinds, and said where it is worth a word", () => {
  const { breakdownTitle } = page;
  assert.equal(breakdownTitle({ wire: 6, startup: 2, contention: 4 }), "75.0% of the time goes to the wire, 25.0% to startup (alpha); for 50.0% of it messages of other ranks held the links");
  assert.equal(breakdownTitle({ wire: 6, startup: 2, contention: 0.01 }), "75.0% of the time goes to the wire, 25.0% to startup (alpha)");
});

/** Sizes times ranks times algorithms; `time(algorithm, size, ranks)`. */
function overSizesAndRanks(algorithms, time) {
  const all = algorithms.flatMap((algorithm) => [1, 2, 4].flatMap((size) => [2, 8].map((ranks) => ({ algorithm, size, ranks }))));
  const rows = all.map(({ algorithm, size, ranks }) => ({ params: [algorithm, `${size}MiB`, String(ranks)], op: "all-reduce", algorithm, size: size * 2 ** 20, ranks, time: time(algorithm, size, ranks) }));
  return resultsOf(["collective.algorithm", "collective.size", "cluster.ranks"], ["algorithm", "size", "ranks"], rows);
}

test("a map says which algorithm is fastest at how many pairs of size and ranks", () => {
  const times = { ring: (size, ranks) => ranks + size, tree: (size) => 4 + 2 * size };
  const [map] = page.bestMaps(overSizesAndRanks(["ring", "tree"], (algorithm, size, ranks) => times[algorithm](size, ranks)));
  assert.equal(page.bestMapTitle(map), "ring is fastest at 3 of 6 pairs of size and ranks, tree at 2, several at 1");
  const cell = map.cells.find(({ size, ranks }) => size === 2 ** 20 && ranks === 8);
  assert.deepEqual([cell.best, cell.next, cell.lead], ["tree", "ring", 3 / 2]);
  assert.deepEqual(map.cells.filter(({ best }) => best === "tie").map(({ size, ranks, next }) => [size / 2 ** 20, ranks, next]), [[4, 8, "ring and tree"]]);
  const alone = page.bestMaps(overSizesAndRanks(["ring", "tree"], (algorithm) => (algorithm === "ring" ? 1 : 2)));
  assert.equal(page.bestMapTitle(alone[0]), "ring is fastest at all 6 pairs of size and ranks");
  assert.deepEqual(page.bestMaps(overSizesAndRanks(["ring"], () => 1)), []); // nothing to choose from
  assert.deepEqual(page.bestMaps(overSizes({ ring: [1, 2, 3], tree: [3, 2, 1] })), []); // one number of ranks
});

test("two results are compared where their swept values are the same, and the largest change is named", () => {
  const rows = (times) => resultsOf(["collective.size", "collective.chunks"], ["size", "chunks"], times.map((time, i) => ({ params: [`${2 ** i}MiB`, "8"], size: 2 ** (20 + i), time, ranks: 8, chunks: 8, algorithm: "ring" })));
  const before = rows([1, 2, 4]);
  const words = (row) => row.params[0];
  const title = (times) => page.differenceTitle(page.changesOf(before, rows(times)), words);
  assert.equal(title([1, 2, 4]), "All 3 rows take as long as before");
  assert.equal(title([0.5, 0.5, 4]), "Of 3 rows 2 are faster, at most 4 times (2MiB)");
  assert.equal(title([2, 1, 4]), "Of 3 rows 1 is faster, 2 times (2MiB); 1 is slower, 2 times (1MiB)");
  assert.equal(title([2, 4, 8]), "Of 3 rows all 3 are slower, at most 2 times (1MiB)");
  // The order of the swept paths does not matter, and rows of one file alone are left out.
  const other = { ...before, paths: ["collective.chunks", "collective.size"], rows: before.rows.slice(1).map((row) => ({ ...row, params: [...row.params].reverse(), time: 1 })) };
  assert.deepEqual(page.changesOf(before, other).map(({ ratio }) => ratio), [1 / 2, 1 / 4]);
});

test("where the time goes is listed by ranks and size where a sweep has several jobs, and as swept where it has one", () => {
  const results = overSizesAndRanks(["ring", "tree"], (algorithm, size, ranks) => size * ranks * (algorithm === "ring" ? 2 : 1));
  const cases = results.rows.map((row, i) => ({ row: i, time_s: row.time }));
  const listed = page.jobsTogether(results, cases).map(({ row }) => results.rows[row]);
  assert.deepEqual(listed.slice(0, 4).map(({ ranks, size, algorithm }) => [ranks, size / 2 ** 20, algorithm]), [[2, 1, "tree"], [2, 1, "ring"], [2, 2, "tree"], [2, 2, "ring"]]);
  const chunks = resultsOf(["collective.chunks"], ["chunks"], [1, 8, 64].map((count, i) => ({ params: [String(count)], op: "broadcast", algorithm: "chain", size: 1024, ranks: 8, chunks: count, time: [3, 1, 2][i] })));
  const inOrder = chunks.rows.map((row, i) => ({ row: i, time_s: row.time }));
  assert.deepEqual(page.jobsTogether(chunks, inOrder), inOrder);
});
