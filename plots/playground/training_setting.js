// SPDX-License-Identifier: Apache-2.0
// The setting of a training step: in the address, for the engine, as a scenario file.

const schemes = ["ddp", "pipeline"];
const pipelineSchedules = ["gpipe", "1f1b", "interleaved", "zb-h1"];

/** The machine is that of a setting of the page; what is not here has its defaults. */
const trainingMachine = { op: "all-reduce", algorithm: "ring", latency: 0 };
const trainingDefaults = {
  ddp: {
    step: "ddp", shape: "switch", ranks: 8, bandwidth: 12.5e9, overhead: 10e6, layers: 24, forward: 3e9, backward: 6e9, gradients: 48 * 2 ** 20,
    activations: 0, optimizer: 4e9, bucket: 25 * 2 ** 20, first_bucket: 2 ** 20, overlap: "true", microbatches: 8, schedule: "1f1b",
  },
  pipeline: {
    step: "pipeline", shape: "chain", ranks: 4, bandwidth: 25e9, overhead: 0, layers: 4, forward: 10e9, backward: 20e9, gradients: 0,
    activations: 0, optimizer: 0, bucket: 25 * 2 ** 20, first_bucket: 2 ** 20, overlap: "true", microbatches: 8, schedule: "1f1b",
  },
};

const mostLayers = 256;
const mostMicrobatches = 256;

/** @param {string} scheme */
function trainingSetting(scheme) {
  return { ...defaultSetting, ...trainingMachine, ...trainingDefaults[scheme] };
}

/** How each key is written in a link and read from it. @param {Engine} engine */
function trainingKeys(engine) {
  const machine = settingKeys(engine);
  const plain = (parse) => ({ parse, text: String });
  const time = (what) => ({ parse: within(parseTime, 0, mostPs, what, timeWord), text: timeWord });
  const bytes = { parse: machine.size.parse, text: (value) => sizeWord(value) };
  return {
    step: plain(oneOf(schemes, "step")),
    layers: plain(wholeIn(1, mostLayers, "layers")),
    forward: time("forward"),
    backward: time("backward"),
    gradients: bytes,
    activations: bytes,
    optimizer: time("optimizer"),
    bucket: bytes,
    first_bucket: bytes,
    overlap: plain(oneOf(["true", "false"], "overlap")),
    microbatches: plain(wholeIn(1, mostMicrobatches, "microbatches")),
    schedule: plain(oneOf(pipelineSchedules, "schedule")),
    ...Object.fromEntries(["shape", "ranks", "gpus_per_node", "bandwidth", "network_bandwidth", "overhead", "latency"].map((key) => [key, machine[key]])),
  };
}

const trainingKeysOf = { ddp: ["gradients", "optimizer", "bucket", "first_bucket", "overlap"], pipeline: ["activations", "microbatches", "schedule"] };

/** Whether a knob has an effect in a setting. */
function mattersInTraining(key, setting) {
  const scheme = schemes.find((one) => trainingKeysOf[one].includes(key));
  if (key === "bucket" || key === "first_bucket") return setting.step === "ddp" && setting.overlap === "true";
  return scheme ? scheme === setting.step : matters(key, setting);
}

/** @param {any} setting */
function stepNumbersOf(setting) {
  return {
    scheme: schemes.indexOf(setting.step),
    layers: setting.layers,
    forwardPs: setting.forward,
    backwardPs: setting.backward,
    gradientBytes: setting.gradients,
    activationBytes: setting.activations,
    optimizerPs: mattersInTraining("optimizer", setting) ? setting.optimizer : 0,
    bucketBytes: setting.bucket,
    firstBucketBytes: setting.first_bucket,
    overlap: setting.overlap === "true" ? 1 : 0,
    microbatches: setting.microbatches,
    schedule: pipelineSchedules.indexOf(setting.schedule),
  };
}

/** "ddp on 8 ranks, switch: 24 layers, buckets of 25 MiB" @param {any} setting */
function trainingText(setting) {
  const { step, ranks, shape, layers } = setting;
  const how = step === "pipeline" ? `${setting.schedule}, ${setting.microbatches} microbatches` : setting.overlap === "true" ? `buckets of ${bytesText(setting.bucket)}` : "one all-reduce after the backward pass";
  return `${step} on ${ranks} ranks, ${shape === "nodes" ? nodesText(setting) : shape}: ${layers} layer${layers === 1 ? "" : "s"}, ${how}`;
}

/** The file that `collsim run` takes. @param {Engine} engine @param {any} setting */
function trainingScenario(engine, setting) {
  const layer = { times: setting.layers, forward: timeWord(setting.forward), backward: timeWord(setting.backward) };
  const model = { layers: [layer] };
  const workload = {};
  if (setting.step === "pipeline") {
    workload.pipeline = { microbatches: setting.microbatches, schedule: setting.schedule };
    if (setting.activations > 0) layer.activations = sizeWord(setting.activations);
  } else {
    workload.ddp = setting.overlap === "true" ? { bucket: sizeWord(setting.bucket), first_bucket: sizeWord(setting.first_bucket) } : { overlap: false };
    if (setting.gradients > 0) layer.gradients = sizeWord(setting.gradients);
    if (setting.optimizer > 0) model.optimizer = timeWord(setting.optimizer);
  }
  return { scenario: 1, title: trainingText(setting), cluster: clusterOf(engine, setting), workload: { ...workload, model } };
}

/** @param {any} setting @param {Record<string, any>} keys */
function writeTraining(setting, keys) {
  const defaults = trainingSetting(setting.step);
  return Object.keys(keys)
    .filter((key) => key === "step" || (mattersInTraining(key, setting) && setting[key] !== defaults[key]))
    .map((key) => `${key}=${encodeURIComponent(keys[key].text(setting[key], setting)).replaceAll("%2F", "/")}`)
    .join("&");
}

/** @param {string} fragment @param {Record<string, any>} keys */
function readTraining(fragment, keys) {
  const parts = fragment.split("&").filter(Boolean).map((part) => {
    const [key, ...value] = part.split("=");
    return [decoded(key), decoded(value.join("="))];
  });
  const notes = [];
  const scheme = parts.find(([key]) => key === "step")?.[1];
  const setting = trainingSetting(schemes.includes(scheme) ? scheme : schemes[0]);
  for (const [key, value] of parts) {
    if (!Object.hasOwn(keys, key)) {
      notes.push(noteOn(key, value, `there is no key "${shortened(key, 40)}"${didYouMean(key, Object.keys(keys))}; keys are ${Object.keys(keys).join(", ")}`));
      continue;
    }
    try {
      setting[key] = keys[key].parse(value);
    } catch (error) {
      notes.push(noteOn(key, value, `${error.message}; using ${keys[key].text(setting[key], setting)}`));
    }
  }
  return { setting, notes };
}
