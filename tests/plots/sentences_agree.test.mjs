// SPDX-License-Identifier: Apache-2.0
// What titles and captions claim is read back out of them and held against the data, which are drawn at random: who is
// best where, by how much, how many, and where the time goes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { functionsOf, pageWith, resultsOf } from "./report_functions.mjs";

const page = pageWith();
const playground = functionsOf(
  ["common/units", "common/spans", "common/breakdown", "common/cutting", "playground/quantities", "playground/chunk_curve", "playground/knob_curve", "playground/size_curve", "playground/rank_curve", "playground/views"],
  ["curveTitle", "curveReason", "sizeCurveTitle", "rankCurveTitle", "comparedWith", "boundText", "busyTitle"],
);

/** Random numbers that are the same in every run. */
function randomNumbers(seed) {
  let state = seed * 2654435761 + 1;
  const next = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  const whole = (low, high) => low + Math.floor(next() * (high - low + 1));
  return { next, whole, oneOf: (all) => all[whole(0, all.length - 1)], chance: (part) => next() < part };
}

/** A property of random data; `check` says what sort of sentence there was, and several sorts must occur. */
function property(name, check) {
  test(name, () => {
    const sorts = new Set();
    for (let seed = 1; seed <= 400; ++seed) sorts.add(check(randomNumbers(seed)));
    assert.ok(sorts.size > 1, `only ${[...sorts]}`);
  });
}

const algorithms = ["ring", "tree", "flat", "double-tree", "mesh"];
const someAlgorithms = (random, least = 2) => algorithms.slice(0, random.whole(least, algorithms.length));
/** Equal ones are frequent. */
const someTime = (random) => random.whole(1, 6) * random.oneOf([1e-6, 1e-6, 1e-5]);
const minimum = (all, of) => all.reduce((a, b) => (of(b) < of(a) ? b : a));
const maximum = (all, of) => minimum(all, (one) => -of(one));
/** "a, b and c" */
const namesIn = (words) => words.split(/, | and /);
const numberIn = (text) => Number(text.replaceAll(",", ""));
/** "1.03", "5.7", "12": whether it is this ratio, rounded. */
const alike = (text, ratio) => assert.ok(Math.abs(numberIn(text) - ratio) <= (ratio < 1.1 ? 0.005001 : ratio < 9.95 ? 0.05001 : 0.5001), `${text}: ${ratio}`);
const bytesIn = (text) => Number.parseFloat(text) * 1024 ** ["B", "KiB", "MiB", "GiB"].indexOf(text.split(" ")[1]);

/** Who shares the first place in words: names, or how many. */
function assertWho(words, best, all) {
  const some = words.match(/^(\d+) of (\d+) (?:curves|rows|of them)$/);
  if (some) return assert.deepEqual(some.slice(1).map(Number), [best.length, all]);
  const every = words.match(/^[Aa]ll (\d+)$/);
  if (every) return assert.deepEqual([Number(every[1]), best.length], [all, all]);
  assert.deepEqual(namesIn(words).sort(), [...best].sort());
}

const placed = "(?: is fastest| are equally fast| share first place| are fastest)";

property("curves over sizes: who is fastest at each size", (random) => {
  const names = someAlgorithms(random);
  const sizes = Array.from({ length: random.whole(2, 5) }, (_, i) => 2 ** (20 + i));
  const rows = names.flatMap((algorithm) =>
    sizes.filter(() => !random.chance(0.05)).map((size) => ({ op: "all-reduce", ranks: 8, algorithm, size, time: someTime(random), params: [algorithm, `${size / 2 ** 20}MiB`] })),
  );
  const results = resultsOf(["collective.algorithm", "collective.size"], ["algorithm", "size"], rows);
  const groups = page.groupsOf(results, (row) => row.size);
  const title = page.sizeCurvesTitle(results, groups, page.fastestStretches(groups, (row) => row.size), true);
  const there = new Set(rows.map((row) => row.algorithm)).size;
  if (there < 2) return "one";
  const common = sizes.filter((size) => rows.filter((row) => row.size === size).length === there);
  const bestAt = (size) => {
    const here = rows.filter((row) => row.size === size);
    const best = minimum(here, (row) => row.time).time;
    return here.filter((row) => row.time === best).map((row) => row.algorithm);
  };
  const changes = common.slice(1).filter((size, i) => bestAt(size).join() !== bestAt(common[i]).join()).length;
  if (!common.length) return assert.match(title, /no sizes in common/);
  const partly = common.length < new Set(rows.map((row) => row.size)).size;
  assert.equal(/common|that all have/.test(title), partly, title);
  const often = title.match(/^Which of (\d) is fastest changes (\d) times between (.*?) and (.*?)(?:,|$)/);
  if (often) {
    const who = new Set(common.flatMap(bestAt)).size;
    assert.deepEqual([...often.slice(1, 3).map(Number), ...often.slice(3, 5).map(bytesIn)], [who, changes, common[0], common.at(-1)]);
    return "often";
  }
  const claims = title.replace(/, at the sizes that all have$/, "");
  const one = claims.match(new RegExp(`^(.*?)${placed} (?:everywhere|at all common sizes)$`));
  if (one) {
    for (const size of common) assertWho(one[1], bestAt(size), there);
    return "one";
  }
  const ends = claims.match(new RegExp(`^(.*?)${placed} up to ([\\d.]+ \\w+)((?:, .*? to [\\d.]+ \\w+)*), (.*) from ([\\d.]+ \\w+) on$`));
  assert.ok(ends, title);
  const parts = [[ends[1], bytesIn(ends[2])]];
  for (const [, who, size] of ends[3].matchAll(/, (.*?) to ([\d.]+ \w+)/g)) parts.push([who, bytesIn(size)]);
  parts.push([ends[4], Infinity]);
  for (const size of common) assertWho(parts.find(([, last]) => size <= last)[0], bestAt(size), there);
  assert.equal(minimum(common.filter((size) => size > parts.at(-2)[1]), (size) => size), bytesIn(ends[5]));
  return "several";
});

/** What a title says of runs over chunks; of the report, and of the playground. */
function assertChunks(title, runs) {
  const [first, last] = [runs[0], runs.at(-1)];
  const best = minimum(runs, (run) => run.time).time;
  const bests = runs.filter((run) => run.time === best).map((run) => run.chunks);
  const most = maximum(runs, (run) => run.time).time;
  if (/makes no difference/.test(title)) return assert.ok(most <= best * 1.001);
  const gain = title.match(/: ([\d.,]+) times faster than ([\d,]+)/);
  if (gain) {
    alike(gain[1], first.time / best);
    assert.equal(numberIn(gain[2]), first.chunks);
  } else assert.equal(first.time, best, title);
  const slower = title.match(/; ([\d,]+) are slower than ([\d,]+)$/);
  if (slower) assert.ok(runs.find((run) => run.chunks === numberIn(slower[1])).time > first.time, title);
  const longer = title.match(/; ([\d,]+) take ([\d.,]+) times as long/);
  if (longer) {
    assert.equal(runs.find((run) => run.chunks === numberIn(longer[1])).time, most);
    alike(longer[2], most / best);
  }
  const upToLast = title.match(/^More chunks help up to the last, ([\d,]+):/);
  if (upToLast) {
    assert.deepEqual(bests, [last.chunks]);
    assert.equal(numberIn(upToLast[1]), last.chunks);
    assert.ok(runs.every((run, i) => i === 0 || run.time <= runs[i - 1].time), `${title}: ${JSON.stringify(runs)}`);
    return;
  }
  const some = title.match(/^(\d) of (\d) chunk counts are equally good, the smallest is (\d+)/);
  if (some) return assert.deepEqual(some.slice(1).map(Number), [bests.length, runs.length, bests[0]]);
  const named = title.match(/^([\d,]+)(?: (to|and) ([\d,]+))? chunks? (?:is|are) best/);
  assert.ok(named, title);
  const ends = [named[1], named[3] ?? named[1]].map(numberIn);
  assert.deepEqual(ends, [bests[0], bests.at(-1)], title);
  if (named[2] === "to") assert.ok(runs.every((run) => run.time === best || run.chunks < ends[0] || run.chunks > ends[1]), title);
}

property("curves over chunks: how many are best, and by how much", (random) => {
  const counts = [1, 2, 4, 16, 57, 512, 4096].filter(() => random.chance(0.7));
  if (counts.length < 2) return "few";
  const steep = random.chance(0.3); // falling, for the greater part
  const runs = counts.map((chunks, i) => ({ chunks, time: steep && random.chance(0.8) ? 1 / (1 + i) : someTime(random) * 1e6 }));
  const rows = runs.map(({ chunks, time }) => ({ params: [String(chunks)], chunks, time, measured: null }));
  assertChunks(page.chunksTitle(page.groupsOf(resultsOf(["collective.chunks"], ["chunks"], rows), (row) => row.chunks)), runs);
  assertChunks(playground.curveTitle({ simulated: runs.map(({ chunks, time }) => ({ x: chunks, y: time })) }), runs);
  return steep ? "steep" : "any";
});

property("curves over ranks: who is fastest with most ranks, and how time grows", (random) => {
  const names = someAlgorithms(random, 1);
  const counts = [2, 4, 8].slice(0, random.whole(2, 3));
  const rows = names.flatMap((algorithm) => counts.map((ranks) => ({ algorithm, ranks, time: someTime(random), params: [algorithm, String(ranks)] })));
  const groups = page.groupsOf(resultsOf(["collective.algorithm", "cluster.ranks"], ["algorithm", "ranks"], rows), (row) => row.ranks);
  for (const title of [page.scalingTitle(groups, false), page.stepScalingTitle(groups)]) {
    const most = counts.at(-1);
    if (names.length === 1) {
      const grows = rows.at(-1).time / rows[0].time;
      const words = title.match(/^(\d) ranks take (?:(as long as)|(.*) of the time of|(.*) times as long as) 2$/);
      assert.ok(words, title);
      assert.equal(Number(words[1]), most);
      if (words[2]) assert.ok(Math.abs(grows - 1) < 0.02);
      else if (words[3]) assert.equal(words[3], page.percentText(grows));
      else alike(words[4], grows);
      continue;
    }
    const here = rows.filter((row) => row.ranks === most);
    const best = minimum(here, (row) => row.time).time;
    const words = title.match(new RegExp(`^With (\\d) ranks (.*?)${placed}(?:; (.*) takes ([\\d.]+) times as long)?$`));
    assert.ok(words, title);
    assert.equal(Number(words[1]), most);
    assertWho(words[2], here.filter((row) => row.time === best).map((row) => row.algorithm), names.length);
    const slowest = maximum(here, (row) => row.time);
    assert.equal(words[3], slowest.time > best ? slowest.algorithm : undefined, title);
    if (words[4]) alike(words[4], slowest.time / best);
  }
  return names.length === 1 ? "one" : "several";
});

property("rows side by side: the fastest of each job", (random) => {
  const names = someAlgorithms(random);
  const counts = [4, 8, 16].slice(0, random.whole(1, 3));
  const rows = counts.flatMap((ranks) => names.map((algorithm) => ({ op: "reduce", size: 1, algorithm, ranks, time: someTime(random), params: [String(ranks), algorithm] })));
  const title = page.comparisonTitle(resultsOf(["cluster.ranks", "collective.algorithm"], ["ranks", "algorithm"], rows));
  const bestOf = (ranks) => {
    const here = rows.filter((row) => row.ranks === ranks);
    const { time } = minimum(here, (row) => row.time);
    return { ranks, time, who: here.filter((row) => row.time === time).map((row) => row.algorithm), slowest: maximum(here, (row) => row.time) };
  };
  const bests = counts.map(bestOf);
  const assertEnds = (words) => {
    const [low, high] = [minimum(bests, ({ time }) => time), maximum(bests, ({ time }) => time)];
    const texts = [low, high].map(({ ranks, time }) => `${page.timeText(time)} (${ranks} ranks)`);
    assert.equal(words, words.includes("(") ? `${texts[0]}${words.includes(" to ") ? " to " : " and "}${texts[1]}` : page.timeText(low.time), title);
  };
  if (/^All \d+ take/.test(title)) return assert.equal(new Set(rows.map((row) => row.time)).size, 1);
  if (counts.length === 1) {
    const words = title.match(new RegExp(`^(.*?)${placed}: (.*); (.*) takes ([\\d.]+) times as long$`));
    assertWho(words[1], bests[0].who, names.length);
    assert.equal(words[2], page.timeText(bests[0].time));
    assert.equal(words[3], bests[0].slowest.algorithm);
    alike(words[4], bests[0].slowest.time / bests[0].time);
    return "one";
  }
  const everywhere = title.match(new RegExp(`^(.*?)${placed} in (?:both|all \\d) cases: (.*)$`));
  if (everywhere) {
    for (const { who } of bests) assertWho(everywhere[1], who, names.length);
    assertEnds(everywhere[2]);
    return "everywhere";
  }
  for (const part of title.split("; ")) {
    const [, ranks, who] = part.match(new RegExp(`^(\\d+) ranks: (.*?)${placed}$`)) ?? assert.fail(title);
    assertWho(who, bests.find((best) => best.ranks === Number(ranks)).who, names.length);
  }
  return "each";
});

const kinds = { wire: "the wire", "serial hops": "serial hops", startup: "startup (alpha)", sharing: "sharing links", flight: "latency", work: "adding and copying", queue: "queues for links" };

/** Shares of a path, none or a few of them large. */
function someShares(random) {
  const shares = {};
  for (const kind of Object.keys(kinds)) if (random.chance(0.5)) shares[kind] = random.whole(1, 9) * random.oneOf([1, 1, 1, 100, 1e-4]);
  if (!Object.keys(shares).length) shares.wire = 1;
  return shares;
}
const total = (shares) => Object.values(shares).reduce((sum, share) => sum + share, 0);

property("where the time of a run goes", (random) => {
  const shares = someShares(random);
  const title = page.breakdownTitle(shares);
  const parts = [...title.matchAll(/([\d.]+)%(?: of the time goes)? to ([^,;]+)/g)];
  const largest = maximum(Object.keys(shares), (kind) => shares[kind]);
  if (/^All of the time/.test(title)) assert.deepEqual([Object.keys(shares), title], [[largest], `All of the time goes to ${kinds[largest]}`]);
  else if (/^Over 99\.9%/.test(title)) assert.ok(shares[largest] / total(shares) > 0.999 && title.endsWith(kinds[largest]), title);
  else {
    assert.equal(shares[Object.keys(kinds).find((kind) => kinds[kind] === parts[0][2])], shares[largest], title);
    for (const [, percent, words] of parts) {
      const kind = Object.keys(kinds).find((one) => kinds[one] === words);
      assert.ok(Math.abs(Number(percent) / 100 - shares[kind] / total(shares)) <= 0.0005 + 1e-12, title);
    }
    // What is not named is no more than what is.
    const least = Math.min(...parts.map(([, percent]) => Number(percent) / 100));
    for (const [kind, share] of Object.entries(shares)) if (!title.includes(kinds[kind])) assert.ok(share / total(shares) <= least + 0.001, title);
  }
  const reason = playground.curveReason({ simulated: [{ x: 1, y: 9 }, { x: 2, y: 3 }, { x: 4, y: 6 }], ends: [{ chunks: 4, shares }] });
  assert.ok(reason.endsWith(`With 4 chunks ${title[0].toLowerCase()}${title.slice(1)}.`), reason);
  return parts.length > 1 ? "several" : "one";
});

property("where the time of several runs goes", (random) => {
  const rows = Array.from({ length: random.whole(2, 5) }, (_, i) => ({ run: `row${i}`, shares: someShares(random) })).map((row) => ({ ...row, time: total(row.shares) }));
  const title = page.breakdownsTitle(rows);
  const names = { ...kinds, wire: "wire", sharing: "sharing", queue: "queue" };
  const mainOf = ({ shares }) => maximum(Object.keys(kinds), (kind) => shares[kind] ?? 0);
  const shareOf = (row, kind = mainOf(row)) => (row.shares[kind] ?? 0) / row.time;
  const mains = rows.map(mainOf);
  const tied = rows.some((row) => Object.values(row.shares).filter((share) => share === row.shares[mainOf(row)]).length > 1);
  if (tied) return "tied"; // which of two equal ones is named is nobody's concern
  /** "94", "over 99" */
  const isShare = (words, share) => assert.ok(words === "over 99" ? share > 0.99 && share < 1 : Math.abs(Number(words) / 100 - share) <= 0.0051, title);
  for (const [, name, percent, kind] of title.matchAll(/(row\d): ((?:over )?[\d.]+)% (.*?)(?:;|$)/g)) {
    const row = rows.find(({ run }) => run === name);
    assert.equal(kind, names[mainOf(row)], title);
    isShare(percent, shareOf(row));
  }
  const most = title.match(/^Most rows: mainly (.*); but/);
  if (most) assert.ok(2 * mains.filter((kind) => names[kind] === most[1]).length > rows.length, title);
  const all = title.match(/^In (?:both|all \d) rows (?:(all) of the time|at least (\d+)% of the time|most) goes to (.*?)(?:: (.*?)%(?: to (.*)%)? of the time)?$/);
  if (!all) return "apart";
  assert.equal(new Set(mains).size, 1, title);
  assert.equal(all[3], kinds[mains[0]]);
  const shares = rows.map((row) => shareOf(row));
  if (all[1]) assert.ok(Math.min(...shares) > 1 - 1e-9);
  if (all[2]) assert.ok(Math.min(...shares) >= Number(all[2]) / 100 - 1e-9, title);
  if (all[4]) isShare(all[4], Math.min(...shares));
  if (all[4]) isShare(all[5] ?? all[4], Math.max(...shares));
  return "together";
});

property("links: how many are busy, when, and which most", (random) => {
  // Whole seconds, so that looking at each is exact.
  const seconds = 10;
  const busyIn = Array.from({ length: random.whole(1, 4) }, () => Array.from({ length: seconds }, () => random.chance(random.oneOf([0.1, 0.5, 0.95]))));
  const works = busyIn.map((busy, i) => {
    const at = busy.flatMap((is, second) => (is ? [second] : []));
    return { name: `${i}→${i + 1}`, busy: at.length / seconds, from: at, to: at.map((second) => second + 1), weight: at.map(() => 1), messages: at.length };
  });
  const counts = Array.from({ length: seconds }, (_, second) => busyIn.filter((busy) => busy[second]).length);
  const share = (test) => counts.filter(test).length / seconds;
  const title = page.heatTitle({ time_s: seconds }, works);
  const [all, none] = [share((count) => count === works.length), share((count) => count === 0)];
  if (works.length === 1) assert.ok(title.includes(`busy ${page.percentText(works[0].busy)} of the time`), title);
  else if (/from start to end$/.test(title)) assert.equal(all, 1, title);
  else if (/^No link is ever/.test(title)) assert.equal(none, 1, title);
  else if (/^No link is busy/.test(title)) assert.ok(title.includes(page.percentText(none)), title);
  else if (/at once for/.test(title)) assert.ok(title.includes(page.percentText(all)), title);
  else assert.equal(Number(title.match(/one is busy|at most (\d)/)[1] ?? 1), Math.max(...counts), title);
  const used = works.filter((work) => work.messages).sort((a, b) => b.busy - a.busy);
  if (!used.length) return "idle";
  const of = page.linksTitle({ time_s: seconds, shares: { wire: seconds } }, works, used);
  const alikeMost = used.filter((work) => work.busy === used[0].busy).length;
  assert.ok(of.includes(`busy ${page.percentText(used[0].busy)} of the time`), of);
  if (/^The busiest link,/.test(of)) assert.ok(of.includes(used[0].name) && alikeMost === 1, of);
  else assert.equal(/^Both/.test(of) ? 2 : Number(of.match(/^(?:All|The) (\d)/)[1]), alikeMost, of);
  assert.equal(Number(of.match(/; (\d) of \d carry nothing/)?.[1] ?? 0), works.length - used.length, of);
  const linkBusy = works.map(({ busy }) => busy * seconds * 1e12);
  const busiest = playground.busyTitle({ answer: { timePs: BigInt(seconds * 1e12), steps: { linkBusy, linkMessages: works.map(({ messages }) => messages) } } });
  assert.ok(busiest.includes(page.percentText(used[0].busy)), busiest);
  assert.equal(/^Used links are/.test(busiest), alikeMost === used.length, busiest);
  return title.split(" ").at(-1);
});

property("two results: how many rows are faster and slower, and where most", (random) => {
  const rows = (times) => resultsOf(["collective.size"], ["size"], times.map((time, i) => ({ params: [`${2 ** i}MiB`], time })));
  const times = Array.from({ length: random.whole(1, 6) }, () => someTime(random));
  const later = times.map((time) => (random.chance(0.3) ? time : someTime(random)));
  const title = page.differenceTitle(page.changesOf(rows(times), rows(later)), (row) => row.params[0]);
  const claims = [["faster", (i) => times[i] / later[i]], ["slower", (i) => later[i] / times[i]]];
  for (const [kind, ratio] of claims) {
    const which = [...times.keys()].filter((i) => ratio(i) > 1.000001);
    const words = title.match(new RegExp(`(\\d) (?:is|are) ${kind}, (?:at most )?([\\d.]+) times(?: \\((\\d+)MiB\\))?`));
    assert.equal(Number(words?.[1] ?? 0), which.length, title);
    if (!words) continue;
    const most = Math.max(...which.map(ratio));
    alike(words[2], most);
    if (words[3]) assert.ok(Math.abs(ratio(Math.log2(Number(words[3]))) / most - 1) < 1e-12, title);
  }
  return /faster|slower/.test(title) ? "changed" : "same";
});

property("a map: how often each is fastest", (random) => {
  const names = someAlgorithms(random);
  const rows = names.flatMap((algorithm) => [1, 2, 4].flatMap((size) => [2, 4].map((ranks) => ({ op: "reduce", algorithm, size, ranks, time: someTime(random), params: [algorithm, `${size}B`, String(ranks)] }))));
  const [map] = page.bestMaps(resultsOf(["collective.algorithm", "collective.size", "cluster.ranks"], ["algorithm", "size", "ranks"], rows));
  const title = page.bestMapTitle(map);
  const won = { several: 0 };
  for (const size of [1, 2, 4])
    for (const ranks of [2, 4]) {
      const here = rows.filter((row) => row.size === size && row.ranks === ranks);
      const best = minimum(here, (row) => row.time).time;
      const who = here.filter((row) => row.time === best).map((row) => row.algorithm);
      const name = who.length > 1 ? "several" : who[0];
      won[name] = (won[name] ?? 0) + 1;
    }
  if (title.startsWith("At all")) return void assert.equal(won.several, 6);
  const said = Object.fromEntries([...title.matchAll(/([a-z-]+)(?: (?:is|are) fastest)? at (?:all )?(\d)/g)].map(([, name, count]) => [name, Number(count)]));
  const more = title.match(/, (\d) more at (\d)/);
  delete said.more;
  for (const [name, count] of Object.entries(said)) assert.equal(count, won[name], title);
  assert.equal(Object.values(said).reduce((a, b) => a + b, 0) + Number(more?.[2] ?? 0), 6, title);
  const first = title.match(/^[a-z-]+/)[0];
  for (const [name, count] of Object.entries(won)) if (name !== "several") assert.ok(count <= won[first], title);
  return won.several ? "ties" : "none";
});

property("errors of predictions: how large, how many, and where", (random) => {
  const some = (count) => Array.from({ length: count }, (_, i) => ({ op: "reduce", algorithm: random.oneOf(["ring", "tree"]), params: [`${2 ** i}MiB`], size: 2 ** (20 + i), measured: { error: (random.whole(0, 800) - 400) / 1000 } }));
  const judged = some(random.whole(1, 9));
  const others = Array.from({ length: random.whole(0, 2) }, () => ({ measured: { noisy: true } }));
  const sizes = judged.map((row) => Math.abs(row.measured.error)).sort((a, b) => a - b);
  const title = page.accuracyTitle(judged, others);
  const middle = [Math.floor((sizes.length - 1) / 2), Math.ceil((sizes.length - 1) / 2)];
  const median = (sizes[middle[0]] + sizes[middle[1]]) / 2;
  const few = judged.length < 8;
  const error = few ? sizes.at(-1) : median;
  assert.ok(title.includes(` ${page.percentText(judged.length > 1 ? Math.max(error, 0.001) : error)} `), title);
  assert.equal(title.startsWith(few ? "All" : "Half of"), judged.length > 1, title);
  assert.equal(Number(title.match(/; (\d) more rows?/)?.[1] ?? 0), others.length, title);
  const text = page.accuracyText(judged, others);
  assert.ok(text.includes(`worst ${page.percentText(sizes.at(-1))}.`), text);
  assert.equal(/slower every time/.test(text), judged.every((row) => row.measured.error < 0), text);
  assert.equal(/faster every time/.test(text), judged.every((row) => row.measured.error > 0), text);
  const where = page.errorsTitle(resultsOf(["collective.size"], ["size"], judged), judged, { quantity: page.quantities.size, xOf: (row) => row.size });
  const [, largest, size] = where.match(/^The largest error, (.*), is at ([\d.]+ \w+)/);
  const row = judged.find((one) => one.size === bytesIn(size));
  assert.deepEqual([Math.abs(row.measured.error), largest], [sizes.at(-1), page.signedPercent(row.measured.error)], where);
  return judged.length > 1 ? "several" : "one";
});

property("training steps: the best of those that fit, by tokens where these differ", (random) => {
  const rows = Array.from({ length: random.whole(2, 4) }, (_, i) => ({ op: "step", params: [`s${i}`], time: someTime(random), exposed: 0, idle: 0, tokens: random.oneOf([1e3, 2e3, 3e3]), fits: random.oneOf([true, true, false]) }));
  const title = page.stepSharesTitle(resultsOf(["workload.schedule"], ["schedule"], rows));
  const fitting = rows.some(({ fits }) => fits) ? rows.filter(({ fits }) => fits) : rows;
  const byTokens = title.match(/^schedule (s\d) has most tokens\/s/);
  if (byTokens) assert.equal(rows.find((row) => row.params[0] === byTokens[1]).tokens, maximum(fitting, (row) => row.tokens).tokens, title);
  const fastest = title.match(/^The fastest step( that fits)? is schedule (s\d) /);
  if (fastest) assert.equal(rows.find((row) => row.params[0] === fastest[2]).time, minimum(fitting, (row) => row.time).time, title);
  if (fastest) assert.equal(Boolean(fastest[1]), fitting.length < rows.length, title);
  assert.ok(byTokens || fastest || title.startsWith("All "), title);
  return byTokens ? "tokens" : "time";
});

property("training steps: the fastest, the slowest, and whose memory is fullest", (random) => {
  const rows = Array.from({ length: random.whole(1, 4) }, (_, i) => ({ op: "step", params: [`s${i}`], time: someTime(random) })).map((row) => ({ ...row, exposed: random.oneOf([0, 0.25]) * row.time, idle: random.oneOf([0, 0.125]) * row.time }));
  const results = resultsOf(["workload.schedule"], ["schedule"], rows);
  const title = page.stepSharesTitle(results);
  const [best, worst] = [minimum(rows, (row) => row.time), maximum(rows, (row) => row.time)];
  const fastest = rows.filter((row) => row.time === best.time);
  assert.ok(title.includes(page.timeText(best.time)), title);
  const apart = title.match(/^The fastest step is schedule (s\d) with .*; the slowest takes (.*)$/);
  if (apart) assert.ok(fastest.some((row) => row.params[0] === apart[1]) && apart[2] === page.timeText(worst.time), title);
  else assert.equal(best.time, worst.time, title);
  // Of whom it is told: of the one that is named, else of all.
  const told = apart ? rows.filter((row) => row.params[0] === apart[1]) : rows;
  for (const [words, key] of [["25% exposed communication", "exposed"], ["13% idle", "idle"]]) {
    if (title.includes(words)) assert.ok(told.every((row) => row[key] > 0), title);
    else if (told.length === 1) assert.equal(told[0][key], 0, title);
  }
  const memory = Array.from({ length: random.whole(1, 3) }, (_, i) => ({ name: `rank ${i}`, points: [[0, random.whole(1, 9) * 1e9], [1, random.whole(1, 9) * 1e9]] }));
  const filled = page.memoryTitle(results, rows[0], { memory, device_bytes: 80e9 });
  const mostOf = ({ points }) => Math.max(...points.map(([, bytes]) => bytes));
  const named = memory.find(({ name }) => filled.includes(name)) ?? memory[0];
  assert.equal(mostOf(named), Math.max(...memory.map(mostOf)), filled);
  assert.ok(filled.includes(`at most ${page.memoryText(mostOf(named))} of memory`), filled);
  return rows.length > 1 ? "several" : "one";
});

property("the playground's curves over sizes and ranks, and what A is", (random) => {
  const points = Array.from({ length: random.whole(2, 6) }, (_, i) => ({ x: 2 ** (i + 1), y: someTime(random) }));
  const rates = points.map(({ x, y }) => x / y);
  const title = playground.sizeCurveTitle({ simulated: points });
  const from = title.match(/reached (?:from (.*) on|at (.*), but not at all larger sizes)$/);
  const isFast = rates.map((rate) => rate >= Math.max(...rates) / 2);
  assert.equal(isFast.indexOf(true), from ? points.findIndex(({ x }) => x === bytesIn(from[1] ?? from[2])) : 0, title);
  assert.equal(isFast.lastIndexOf(false) < isFast.indexOf(true), !from?.[2], `${title}: ${JSON.stringify(points)}`);
  const grows = points.at(-1).y / points[0].y;
  const words = grows === 1 ? "stays the same" : grows > 1 ? `grows ${grows.toFixed(2)} times` : `falls to ${page.percentText(grows)}`;
  assert.equal(playground.rankCurveTitle({ simulated: points, bound: [] }), `From 2 to ${points.at(-1).x} ranks the time ${words}`);
  const caseOf = (ps, bound = 1) => ({ answer: { timePs: BigInt(ps), boundPs: BigInt(bound) } });
  const [a, b] = [random.whole(1, 4) * 1000, random.whole(1, 4) * 1000];
  const compared = playground.comparedWith(caseOf(b), caseOf(a));
  assert.equal(compared, a === b ? `A takes as long: ${a / 1000} ns` : b < a ? `${(a / b).toFixed(2)} times faster than A (${a / 1000} ns)` : `${(b / a).toFixed(2)} times slower than A (${a / 1000} ns)`);
  assert.equal(playground.boundText(caseOf(b, a)), `${(b / a).toFixed(2)} × the lower bound of ${a / 1000} ns`);
  return from ? "later" : "at once";
});

// What stands below the head of a page of one row, and beside every mark that is pointed at.
property("a single row: its times, how far it is off, its bound and its rates", (random) => {
  const time = someTime(random);
  const some = (part, of) => (random.chance(part) ? of() : null);
  const measured = some(0.5, () => ({ time: someTime(random), low: 1e-7, high: 1e-3, noisy: random.chance(0.3), error: random.whole(-400, 400) / 1000 }));
  const row = { params: ["ring"], algorithm: "ring", time, analytic: some(0.5, () => someTime(random)), bound: random.chance(0.7) ? time / random.oneOf([1, 1.05, 2.5, 30]) : 0, boundCut: null, algbw: 1e9, busbw: random.chance(0.5) ? 2e9 : 0, measured };
  const results = resultsOf(["collective.algorithm"], ["algorithm"], [row, { ...row, params: ["tree"] }]);
  const lines = page.rowText(results, row).split("\n");
  const said = (start) => lines.find((line) => line.startsWith(start))?.slice(start.length) ?? null;
  assert.equal(lines[0], "ring");
  assert.equal(said("simulated "), page.timeText(time));
  assert.equal(said("formula "), row.analytic === null ? null : page.timeText(row.analytic));
  assert.equal(said("measured ")?.split(" [")[0] ?? null, measured && page.timeText(measured.time));
  assert.equal(lines.includes("too noisy to judge"), Boolean(measured?.noisy));
  const off = said("prediction is off by ");
  assert.equal(off, measured && !measured.noisy ? page.signedPercent(measured.error) : null);
  if (off) assert.equal(off.startsWith("-"), measured.error <= -0.0005, off);
  const times = lines.map((line) => line.match(/^(.*) × the lower bound of (.*)$/)).find(Boolean);
  assert.equal(Boolean(times), row.bound > 0);
  if (times) alike(times[1], time / row.bound);
  if (times) assert.equal(times[2], page.timeText(row.bound));
  assert.equal(said("algbw "), row.busbw > 0 ? `${page.rateText(row.algbw)}, busbw ${page.rateText(row.busbw)}` : null);
  return `${Boolean(measured)} ${row.bound > 0}`;
});

property("timelines: which takes how long, and with how many messages at a time", (random) => {
  const seconds = () => random.whole(1, 4);
  const stepsOf = (sent) => ({
    rank: sent.map((_, i) => i), route: sent.map((_, i) => i), routeFirst: [...sent.keys(), sent.length], firstCrossing: [...sent.keys()],
    departed: sent.map(() => 0), left: sent.map((end) => end * 1e12), crossingEnded: sent.map((end) => end * 1e12),
  });
  const cases = ["first", "last"].slice(random.whole(0, 1)).map((name, i) => {
    const sent = Array.from({ length: random.whole(1, 3) }, seconds);
    return { name, row: i, time_s: Math.max(...sent), steps: stepsOf(sent), many: sent.reduce((a, b) => a + b, 0) / Math.max(...sent) };
  });
  const sizes = cases.map(() => random.oneOf([1, 1, 2]));
  const rows = cases.map(({ time_s }, i) => ({ op: "reduce", ranks: 2, size: sizes[i], time: time_s, params: [`${sizes[i]}B`] }));
  const title = page.spaceTimeTitle(resultsOf(["collective.size"], ["size"], rows), cases);
  const [one, other] = cases;
  if (!other) {
    const [, name, time, many] = title.match(/^(\w+): done after (.*), with ([\d.]+) messages? at a time on average$/);
    assert.deepEqual([name, time], [one.name, page.timeText(one.time_s)]);
    alike(many, one.many);
    return "one";
  }
  if (one.time_s === other.time_s) return void assert.equal(title, `first and last: both done after ${page.timeText(one.time_s)}`);
  const fast = minimum(cases, ({ time_s }) => time_s);
  const slow = maximum(cases, ({ time_s }) => time_s);
  if (sizes[0] !== sizes[1]) return void assert.equal(title, `${slow.name}: ${page.timeText(slow.time_s)}; ${fast.name}: ${page.timeText(fast.time_s)}`);
  const words = title.match(/^(\w+): (.*?) instead of ([^,]*)(?:, ([\d.]+) messages at a time instead of ([\d.]+))?$/);
  assert.deepEqual(words.slice(1, 4), [fast.name, page.timeText(fast.time_s), page.timeText(slow.time_s)], title);
  assert.equal(Boolean(words[4]), fast.many > 1.1 * slow.many, title);
  if (words[4]) alike(words[4], fast.many);
  if (words[4]) alike(words[5], slow.many);
  return words[4] ? "why" : "two";
});

property("a caption says that a bound is of a protocol where a row runs under one", (random) => {
  const rows = Array.from({ length: random.whole(1, 3) }, () => ({ algorithm: random.oneOf(["ring", "tree", "Ring LL", "Tree LL128", "NVLS Simple"]) }));
  const under = rows.some(({ algorithm }) => algorithm.includes(" "));
  assert.equal(page.boundText(rows), `no schedule can be faster${under ? " with the same protocol" : ""}`);
  return String(under);
});
