// SPDX-License-Identifier: Apache-2.0
// Single functions of the pages, without a browser.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const plots = join(dirname(fileURLToPath(import.meta.url)), "../../plots");
const source = (name) => readFileSync(join(plots, `${name}.js`), "utf8");
const reportFiles = [
  "common/units", "common/figure", "common/axes", "common/chart_labels", "common/cutting", "report/crossovers", "report/groups", "report/jobs", "report/chunk_curve",
  "report/size_curves", "report/scaling", "report/best_map", "report/comparison", "report/difference", "report/accuracy", "report/table", "common/spans", "common/breakdown",
  "report/run_pictures", "report/link_picture", "common/machine_layout", "common/machine_picture", "report/link_heat", "report/step_scaling", "report/training_steps", "report/memory_curve",
];
const reportFunctions = [
  "groupsOf", "fastestStretches", "fastestText", "chunksTitle", "scalingTitle", "comparisonTitle", "bytesText",
  "drawAccuracy", "errorGroups", "isChunkSize", "pagesOf", "sizeCurvesTitle", "areOtherJobs", "breakdownsTitle", "linksTitle", "heatTitle", "busyShares",
  "addChunkCurve", "algorithmsText", "setWords", "accuracyTitle", "accuracyText", "percentText", "signedPercent", "errorsTitle", "quantities", "breakdownTitle", "withNamedShown", "communicationText", "mapKey", "crossingOf", "endsText", "bestMaps", "jobsTogether", "bestMapTitle", "changesOf", "differenceTitle",
  "stepScalingTitle", "stepSharesTitle", "memoryTitle", "spaceTimeTitle", "rowText", "boundText", "boxesOf", "deviceWidth", "timesText", "timeText", "rateText", "memoryText",
];

/** Functions of files of `plots/`; `given`, by name, stands in for what these files expect to be there.
 *  @param {string[]} files @param {string[]} wanted @param {Record<string, any>} given */
export function functionsOf(files, wanted, given = {}) {
  // What the files have themselves is replaced, what they miss is declared.
  const put = Object.keys(given).map((name) => `${name} = given.${name};`);
  const absent = Object.keys(given).filter((name) => !files.some((file) => source(file).includes(`function ${name}(`)));
  const declared = absent.length ? [`let ${absent.join(", ")};`] : [];
  const script = [source("vendor/d3-subset.min"), ...declared, ...files.map(source), ...put, `return { ${wanted.join(", ")} };`];
  return new Function("given", script.join("\n"))(given);
}

/** The report's functions, where charts are handed to `drawXyChart` instead of drawn, and figures to `addFigure`. */
export function pageWith(drawXyChart = () => {}, addFigure = () => {}) {
  const document = { createElement: () => ({}) };
  return functionsOf(reportFiles, reportFunctions, { drawXyChart, addFigure, document, chartHint: "" });
}

/** Results over one swept path and another. */
export function resultsOf(paths, names, rows) {
  return { paths, names, rows };
}
