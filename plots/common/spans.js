// SPDX-License-Identifier: Apache-2.0
// From the steps of a timeline to the bars of a space-time diagram.

/**
 * Steps of a timeline as columns, ordered by rank, lane and index: times in picoseconds, -1 for none.
 * See collectives/timeline.hpp for what the times mean and sim/records.hpp for the rest.
 * @typedef {object} Steps
 * @property {ArrayLike<number>} reached
 * @property {ArrayLike<number>} began
 * @property {ArrayLike<number>} ended
 * @property {ArrayLike<number>} departed
 * @property {ArrayLike<number>} left
 * @property {ArrayLike<number>} arrived
 * @property {Float64Array} bytes           of the message
 * @property {ArrayLike<number>} rank
 * @property {ArrayLike<number>} index
 * @property {ArrayLike<number>} to          the rank its message goes to
 * @property {ArrayLike<number>} piece       which piece of the data its message carries
 * @property {number} pieces                 how many there are
 * @property {ArrayLike<number>} added       of how many ranks its message holds the sum; empty: nothing is added
 * @property {number} members              of the collective
 * @property {Int32Array} mixed            1 where the message holds other pieces too
 * @property {ArrayLike<number>} wait        0 none, 1 a message, 2 a free slot, 3 a signal
 * @property {ArrayLike<number>} waitedFor   the step that ended the wait
 * @property {ArrayLike<number>} queuedBehind  the step whose message held its first link
 * @property {ArrayLike<number>} firstCrossing  of its message on the links of its route, in order
 * @property {ArrayLike<number>} crossingBegun  by crossing: when the message began on the link
 * @property {ArrayLike<number>} crossingEnded
 * @property {ArrayLike<number>} crossingBehind  the step whose message it waited for there
 * @property {ArrayLike<number>} route       of its message; -1: it sends none
 * @property {ArrayLike<number>} routeFirst  links of route r: routeLinks from [r] to [r + 1]
 * @property {ArrayLike<number>} routeLinks
 * @property {ArrayLike<number>} linkStartup  by link: how long every message holds it before data flow
 * @property {ArrayLike<number>} pathKind    the critical path: sim/records.hpp
 * @property {ArrayLike<number>} pathStep
 * @property {ArrayLike<number>} pathLink    -1: on none
 * @property {ArrayLike<number>} pathFrom
 * @property {ArrayLike<number>} pathTo
 *
 * Bars of one kind, ordered by row, then track, then start.  A track is a part of a row in which
 * nothing overlaps.
 * @typedef {object} Spans
 * @property {number} count
 * @property {Float64Array} start    seconds
 * @property {Float64Array} end
 * @property {Int32Array} step       what each is about
 * @property {Uint8Array} kind       of spanKinds
 * @property {number[]} tracks       per row, how many
 * @property {Int32Array} first      per track over all rows, and one more: where it begins
 * @property {number[]} firstTrack   per row: its first track
 *
 * @typedef {object} SpaceTimeModel
 * @property {string[]} rows         names
 * @property {number} end            seconds
 * @property {Steps} steps
 * @property {Spans} messages
 * @property {Spans} pauses          waiting, and working
 * @property {boolean} byLink
 * @property {Map<number, number>} rowOf   the row of a link, or of a rank
 * @property {number} gpus            of a node; 0: there are no nodes
 * @property {Halves|null} halves     of an all-reduce
 */

/** Values of Steps.wait. */
const waits = { none: 0, message: 1, slot: 2, signal: 3 };
/** Values of Steps.pathKind, as CriticalPath::Kind. */
const pathKinds = ["start", "work", "startup", "wire", "serial hops", "sharing", "flight", "queue"];
/** What a bar shows; pauses of a lane are numbered as waits. */
const spanKinds = { message: 0, waitMessage: 1, waitSlot: 2, waitSignal: 3, waitLink: 4, late: 5, work: 6 };
const picosecond = 1e-12;
/** More bars side by side are drawn over each other. */
const mostTracks = 6;

/**
 * One row per rank, with what it sends; or one per link, with what crosses it.
 * @param {Steps} steps @param {{end: number, ranks: number, byLink: boolean, linkNames: string[], gpus?: number}} view   gpus: of a node
 * @returns {SpaceTimeModel}
 */
function spaceTimeModel(steps, view) {
  const rows = view.byLink ? usedLinks(steps) : d3.range(view.ranks);
  const rowOf = new Map(rows.map((one, row) => [one, row]));
  const names = rows.map((row) => (view.byLink ? view.linkNames[row] : `rank ${row}`));
  return {
    rows: names,
    end: view.end,
    steps,
    messages: packed(view.byLink ? crossings(steps, rowOf) : sendings(steps), rows.length),
    pauses: packed(view.byLink ? [] : pausesOf(steps), rows.length),
    byLink: view.byLink,
    rowOf,
    gpus: view.gpus ?? 0,
    halves: view.byLink ? null : halvesOf(steps, view.ranks),
  };
}

/** Of all ranks' data, the part that a message holds the sum of; 1 where nothing is added. @param {Steps} steps */
function addedShare(steps, step) {
  return steps.added?.length ? steps.added[step] / steps.members : 1;
}

/** @param {Steps} steps @returns {number[]} */
function usedLinks(steps) {
  return [...new Set(steps.routeLinks)].sort((a, b) => a - b);
}

/** @param {Steps} steps */
function sendings(steps) {
  const spans = [];
  for (let i = 0; i < steps.rank.length; ++i)
    if (steps.route[i] >= 0) spans.push(span(steps.rank[i], steps.departed[i], steps.left[i], i, spanKinds.message));
  return spans;
}

/** @param {Steps} steps @param {Map<number, number>} rowOf */
function crossings(steps, rowOf) {
  const spans = [];
  for (let i = 0; i < steps.rank.length; ++i) {
    const route = steps.route[i];
    if (route < 0) continue;
    let crossing = steps.firstCrossing[i];
    for (let j = steps.routeFirst[route]; j < steps.routeFirst[route + 1]; ++j, ++crossing)
      spans.push(span(rowOf.get(steps.routeLinks[j]), steps.crossingBegun[crossing], steps.crossingEnded[crossing], i, spanKinds.message));
  }
  return spans;
}

/** When a rank waited or worked, and when its messages queued behind those of others. */
function pausesOf(steps) {
  const spans = idleWaits(steps);
  const add = (i, from, to, kind) => to > from && spans.push(span(steps.rank[i], from, to, i, kind));
  for (let i = 0; i < steps.rank.length; ++i) {
    if (steps.index[i] === 0) add(i, 0, steps.reached[i], spanKinds.late);
    if (steps.wait[i] === waits.slot) add(i, steps.reached[i], steps.began[i], steps.wait[i]);
    add(i, steps.began[i], steps.ended[i], spanKinds.work);
    const behind = steps.queuedBehind[i];
    if (behind >= 0 && steps.rank[behind] !== steps.rank[i])
      add(i, steps.ended[i], steps.departed[i], spanKinds.waitLink);
  }
  return spans;
}

/** Waiting for a message or a signal costs nothing while the rank sends or works: only the rest of it
 *  is shown, and once where several lanes wait.  Steps of a rank follow one another. @param {Steps} steps */
function idleWaits(steps) {
  const spans = [];
  const count = steps.rank.length;
  for (let first = 0, end = 0; first < count; first = end) {
    const busy = [];
    const waiting = [];
    for (end = first; end < count && steps.rank[end] === steps.rank[first]; ++end) {
      if (steps.route[end] >= 0) busy.push([steps.departed[end], steps.left[end]]);
      if (steps.ended[end] > steps.began[end]) busy.push([steps.began[end], steps.ended[end]]);
      if (steps.wait[end] === waits.message || steps.wait[end] === waits.signal) waiting.push(end);
    }
    busy.sort((a, b) => a[0] - b[0]);
    waiting.sort((a, b) => steps.reached[a] - steps.reached[b]);
    let shownUntil = 0;
    let next = 0; // of busy: all before are over by then
    for (const i of waiting) {
      let from = Math.max(steps.reached[i], shownUntil);
      for (; next < busy.length && busy[next][0] < steps.began[i]; ++next) {
        if (busy[next][0] > from) spans.push(span(steps.rank[i], from, busy[next][0], i, steps.wait[i]));
        from = Math.max(from, busy[next][1]);
      }
      if (steps.began[i] > from) spans.push(span(steps.rank[i], from, steps.began[i], i, steps.wait[i]));
      shownUntil = Math.max(from, steps.began[i], shownUntil);
    }
  }
  return spans;
}

function span(row, startPs, endPs, step, kind) {
  return { row, start: startPs * picosecond, end: endPs * picosecond, step, kind, track: 0 };
}

/** Gives every bar the first track of its row that is free. @returns {Spans} */
function packed(list, rowCount) {
  const inOrder = (a, b) => a.row - b.row || a.start - b.start || a.end - b.end;
  for (let i = 1; i < list.length; ++i)
    if (inOrder(list[i - 1], list[i]) > 0) {
      list.sort(inOrder);
      break;
    }
  const tracks = new Array(rowCount).fill(1);
  let row = -1;
  let free = [];
  for (const one of list) {
    if (one.row !== row) [row, free] = [one.row, []];
    one.track = trackFor(one, free);
    free[one.track] = Math.max(free[one.track] ?? 0, one.end);
    tracks[row] = Math.max(tracks[row], one.track + 1);
  }
  return inColumns(list, tracks);
}

function trackFor(one, free) {
  const slack = (one.end - one.start) * 1e-6; // seconds are rounded picoseconds
  const found = free.findIndex((until) => until <= one.start + slack);
  return found >= 0 ? found : Math.min(free.length, mostTracks - 1);
}

function inColumns(list, tracks) {
  const firstTrack = [];
  let total = 0;
  for (const count of tracks) {
    firstTrack.push(total);
    total += count;
  }
  const first = new Int32Array(total + 1);
  for (const one of list) first[firstTrack[one.row] + one.track + 1] += 1;
  for (let i = 0; i < total; ++i) first[i + 1] += first[i];
  const next = first.slice();
  const count = list.length;
  const spans = {
    count,
    start: new Float64Array(count),
    end: new Float64Array(count),
    step: new Int32Array(count),
    kind: new Uint8Array(count),
    tracks,
    first,
    firstTrack,
  };
  for (const one of list) {
    const place = next[firstTrack[one.row] + one.track]++;
    spans.start[place] = one.start;
    spans.end[place] = one.end;
    spans.step[place] = one.step;
    spans.kind[place] = one.kind;
  }
  return spans;
}

/** The first span of a track that ends after a time. @param {Spans} spans */
function firstEndingAfter(spans, track, time) {
  let low = spans.first[track];
  let high = spans.first[track + 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans.end[middle] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}
