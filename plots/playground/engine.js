// SPDX-License-Identifier: Apache-2.0
// The simulator's core, compiled to WebAssembly; the other side of plots/engine/engine.cpp.

/** As `struct Setting` of plots/engine/setting.hpp, in order. */
const settingFields = [
  "shape", "algorithm", "ranks", "gpusPerNode", "root", "bytes", "chunks", "channels", "slots", "bandwidth",
  "networkBandwidth", "overheadPs", "latencyPs", "fair", "reduceBandwidth", "slowLink", "slowBandwidth", "lateRank", "latePs", "preset",
];
/** As `struct Answer` of plots/engine/engine.cpp: two places of 64-bit whole numbers, then doubles. */
const answerNumbers = [
  "formulaS", "bestChunks", "exact", "messages", "instructions", "recorded", "pieces", "busFactor", "contentionPs",
];
/** As the columns of sim/records.hpp. */
const numberColumns = [
  "reached", "began", "ended", "departed", "left", "arrived", "bytes", "pathFrom", "pathTo",
  "crossingBegun", "crossingEnded", "linkBusy", "linkMessages", "linkStartup", "hadBegun", "hadDone",
];
const wholeColumns = [
  "rank", "index", "to", "piece", "mixed", "added", "wait", "waitedFor", "queuedBehind", "firstCrossing", "crossingBehind",
  "route", "routeFirst", "routeLinks", "pathKind", "pathStep", "pathLink", "hadRank", "hadPiece", "broughtRank", "broughtFirst", "broughtEnd",
];
/**
 * @typedef {object} EngineSetting   numbers only; see settingFields
 * @typedef {object} Answer
 * @property {bigint} timePs
 * @property {string} fingerprint    as the command line prints it
 * @property {bigint} boundPs
 * @property {number} formulaS       NaN: no formula is known for this case
 * @property {number} bestChunks     NaN: there is none
 * @property {number} exact
 * @property {number} messages
 * @property {number} instructions
 * @property {number} busFactor      of busbw, as in nccl-tests
 * @property {string} formula
 * @property {string} formulaWithValues     with numbers put in; empty: it is a sentence
 * @property {string[]} formulaDefinitions  what its words mean, and how its numbers came about
 * @property {string} reference
 * @property {string} boundCut       what must pass where; empty: something else is the bound
 * @property {string[]} warnings     what the command line warns of
 * @property {Steps|null} steps      null: there were too many to keep
 *
 * @typedef {object} Steps           columns named as in numberColumns and wholeColumns, and
 * @property {number} pieces         of how many pieces of data there are messages
 * @property {number} contention     picoseconds of the critical path while links were held by messages of other ranks
 */

class EngineError extends Error {
  /** @param {string} code @param {string} message */
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** One running module.  After an error it starts anew, because its memory is then in no known state. */
class Engine {
  /** @param {string} packed engine.wasm, compressed by gzip, in base64 */
  static async load(packed) {
    const bytes = new Blob([Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0))]);
    const unpacked = new Response(bytes.stream().pipeThrough(new DecompressionStream("gzip")));
    const engine = new Engine(await WebAssembly.compile(await unpacked.arrayBuffer()));
    engine.algorithms = engine.readAlgorithms();
    engine.shapes = engine.call((wasm) => engine.linesAt(wasm.shapes()));
    engine.presets = engine.call((wasm) => engine.linesAt(wasm.presets())).map(([name, title, gpus, accuracy], index) => ({ name, title, gpus: Number(gpus), accuracy, index }));
    return engine;
  }

  /** @param {WebAssembly.Module} module */
  constructor(module) {
    this.module = module;
    this.wasm = null;
  }

  /** Simulates one case. @param {EngineSetting} setting @param {number} mostSteps that are kept
   *  @returns {Answer} */
  run(setting, mostSteps) {
    return this.call((wasm) => {
      this.write(setting);
      const answer = this.answerAt(wasm.run(mostSteps));
      answer.steps = answer.recorded ? { ...this.stepsAt(wasm.columns(), answer.pieces), members: setting.ranks, contention: answer.contentionPs } : null;
      return answer;
    });
  }

  /** The closed form alone. @param {EngineSetting} setting @returns {Answer} */
  formula(setting) {
    return this.call((wasm) => {
      this.write(setting);
      return this.answerAt(wasm.formula());
    });
  }

  /** The links of a setting's network. @returns {{from: string, to: string, bytesPerSecond: number}[]} */
  links(setting) {
    return this.call((wasm) => {
      this.write(setting);
      return this.linesAt(wasm.links()).map(([from, to, rate]) => ({ from, to, bytesPerSecond: Number(rate) }));
    });
  }

  /** The sizes of a torus or mesh; empty for other networks. @returns {number[]} */
  dims(setting) {
    return this.call((wasm) => {
      this.write(setting);
      return this.linesAt(wasm.dims()).map(Number);
    });
  }

  readAlgorithms() {
    return this.call((wasm) => this.linesAt(wasm.algorithms())).map(([operation, name, summary, root], index) => ({
      index,
      operation,
      name,
      summary,
      takesRoot: root === "1",
    }));
  }

  /** @template T @param {(wasm: any) => T} action @returns {T} */
  call(action) {
    this.wasm ??= this.start();
    try {
      return action(this.wasm);
    } catch (error) {
      this.wasm = null;
      throw error;
    }
  }

  start() {
    const text = (at, bytes) => new TextDecoder().decode(new Uint8Array(instance.exports.memory.buffer, at, bytes));
    const refuse = () => 8; // EBADF: there are no files here
    const instance = new WebAssembly.Instance(this.module, {
      collsim: {
        error: (code, codeBytes, message, messageBytes) => {
          throw new EngineError(text(code, codeBytes), text(message, messageBytes));
        },
        bug: (message, bytes) => {
          throw new EngineError("bug", `this is a bug in collsim, please report it: ${text(message, bytes)}`);
        },
      },
      wasi_snapshot_preview1: { fd_close: refuse, fd_seek: refuse, fd_write: refuse },
    });
    instance.exports._initialize();
    return instance.exports;
  }

  /** @param {EngineSetting} setting */
  write(setting) {
    const place = new Float64Array(this.wasm.memory.buffer, this.wasm.setting(), settingFields.length);
    settingFields.forEach((name, i) => (place[i] = setting[name]));
  }

  answerAt(at) {
    const view = new DataView(this.wasm.memory.buffer, at);
    const answer = {
      timePs: view.getBigInt64(0, true),
      fingerprint: view.getBigUint64(8, true).toString(16).padStart(16, "0"),
      boundPs: view.getBigInt64(16, true),
    };
    answerNumbers.forEach((name, i) => (answer[name] = view.getFloat64(24 + 8 * i, true)));
    const texts = at + 24 + 8 * answerNumbers.length;
    answer.formula = this.textAt(texts);
    answer.reference = this.textAt(texts + 8);
    answer.formulaWithValues = this.textAt(texts + 16);
    answer.formulaDefinitions = this.linesAt(texts + 24);
    answer.warnings = this.linesAt(texts + 32);
    answer.boundCut = this.textAt(texts + 40);
    return answer;
  }

  /** Copies, because the module's memory is used again. */
  stepsAt(at, pieces) {
    const steps = { pieces };
    const copy = (Type, names, first) =>
      names.forEach((name, i) => {
        const [start, count] = this.placeAt(first + 8 * i);
        steps[name] = new Type(this.wasm.memory.buffer, count ? start : 0, count).slice();
      });
    copy(Float64Array, numberColumns, at);
    copy(Int32Array, wholeColumns, at + 8 * numberColumns.length);
    return steps;
  }

  /** Where something is, and how much of it. */
  placeAt(at) {
    return new Uint32Array(this.wasm.memory.buffer, at, 2);
  }

  textAt(at) {
    const [start, count] = this.placeAt(at);
    return new TextDecoder().decode(new Uint8Array(this.wasm.memory.buffer, start, count));
  }

  /** Lines; those of several fields as lists. */
  linesAt(at) {
    const lines = this.textAt(at).split("\n").slice(0, -1);
    return lines.map((line) => (line.includes("\t") ? line.split("\t") : line));
  }
}
