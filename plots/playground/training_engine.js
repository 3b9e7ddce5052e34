// SPDX-License-Identifier: Apache-2.0
// Training steps in the engine; the other side of plots/engine/step.cpp.

/** As `struct StepSetting` of plots/engine/step.hpp, in order. */
const stepFields = [
  "scheme", "layers", "forwardPs", "backwardPs", "gradientBytes", "activationBytes", "optimizerPs", "bucketBytes",
  "firstBucketBytes", "overlap", "microbatches", "schedule",
];
/** As `struct StepAnswer` of plots/engine/step.cpp: two places of 64-bit whole numbers, then doubles, then columns. */
const stepNumbers = ["compute", "hidden", "exposed", "idle", "messages", "recorded", "kinds"];
const boxColumns = [
  ["begin", Float64Array], ["end", Float64Array], ["stream", Int32Array], ["kind", Int32Array], ["number", Int32Array], ["microbatch", Int32Array],
];
/** As `Label::Kind` of collectives/script.hpp; collectives have a number of their own. */
const boxKindNames = { 1: "forward", 2: "backward", 3: "weights", 100: "collective" };

/**
 * @typedef {object} StepAnswer  times in seconds
 * @property {bigint} timePs
 * @property {string} fingerprint
 * @property {number} compute   of a rank, as are the next three: means
 * @property {number} hidden
 * @property {number} exposed
 * @property {number} idle
 * @property {number} messages
 * @property {any|null} picture  as the report has it; null: too many steps to keep
 */

/** @param {Engine} engine @param {EngineSetting} machine @param {Record<string, number>} step @param {number} mostSteps
 *  @returns {StepAnswer} */
function runStep(engine, machine, step, mostSteps) {
  return engine.call((wasm) => {
    engine.write(machine);
    const place = new Float64Array(wasm.memory.buffer, wasm.step_setting(), stepFields.length);
    stepFields.forEach((name, i) => (place[i] = step[name]));
    return stepAnswerAt(engine, wasm.run_step(mostSteps));
  });
}

/** @param {Engine} engine @param {number} at */
function stepAnswerAt(engine, at) {
  const { buffer } = engine.wasm.memory;
  const view = new DataView(buffer, at);
  const answer = { timePs: view.getBigInt64(0, true), fingerprint: view.getBigUint64(8, true).toString(16).padStart(16, "0") };
  stepNumbers.forEach((name, i) => (answer[name] = view.getFloat64(16 + 8 * i, true)));
  const texts = at + 16 + 8 * stepNumbers.length;
  const streams = engine.linesAt(texts).map(([rank, ranks, stream]) => ({ name: `rank ${rank} ${stream}`, ranks: Number(ranks), boxes: [] }));
  const columns = Object.fromEntries(
    boxColumns.map(([name, Type], i) => {
      const [start, count] = engine.placeAt(texts + 8 * (i + 1));
      return [name, new Type(buffer, count ? start : 0, count)];
    }),
  );
  for (let i = 0; i < columns.begin.length; ++i) {
    const [kind, number, microbatch] = [boxKindNames[columns.kind[i]] ?? "optimizer", columns.number[i], columns.microbatch[i]];
    streams[columns.stream[i]].boxes.push({
      begin_s: columns.begin[i] * picosecond,
      end_s: columns.end[i] * picosecond,
      kind,
      number: microbatch || number,
      text: boxText(kind, number, microbatch),
    });
  }
  const picture = { step_s: Number(answer.timePs) * picosecond, kinds: answer.kinds, streams };
  return { ...answer, picture: answer.recorded ? picture : null };
}

/** "microbatch 2: forward of layer 1", as the command line says it. */
function boxText(kind, number, microbatch) {
  const words = { weights: "weight gradients", collective: "all-reduce" }[kind] ?? kind;
  const of = number > 0 ? ` of ${kind === "collective" ? "bucket" : "layer"} ${number}` : kind === "collective" ? " of gradients" : "";
  return `${microbatch > 0 ? `microbatch ${microbatch}: ` : ""}${words}${of}`;
}
