// SPDX-License-Identifier: Apache-2.0
// Reads the data of the page and puts it together.

/** The most important first: what the reader asked, then why. */
const views = [addChunkCurve, addSizeCurves, addBestMap, addScaling, addComparison, addAccuracy, addRunPictures, addNumbers];
const stepViews = [addStepBars, addStepScaling, addStepPictures, addNumbers];

const page = JSON.parse(document.getElementById("data").textContent);
const report = document.getElementById("report");
const severalResults = page.results.length > 1;
if (severalResults) {
  report.append(element("h1", "", `${page.results.length} results`));
  addContents(report, page.results);
}
const all = page.results.map((data, i) => {
  const id = severalResults ? `r${i + 1}-` : "";
  return data.steps ? readTrainingSteps(data, id) : readResults(data, id);
});
if (all.length === 2 && !page.results.some(({ steps }) => steps)) addDifference(report, all[0], all[1]);
page.results.forEach((data, i) => {
  const results = all[i];
  const section = element("section");
  if (severalResults) section.id = `r${i + 1}`;
  report.append(section);
  addSummary(section, results, severalResults ? "h2" : "h1");
  if (results.rows.length) for (const view of data.steps ? stepViews : views) view(section, results);
  if (!severalResults) addFindings(section);
});
const end = element("div", "end"); // on paper the last line stays with what is above it
report.append(end);
const last = [...report.querySelectorAll("figure, .numbers")].at(-1);
if (last) {
  last.after(end);
  end.append(last);
}
end.append(element("footer", "", `Made by collsim ${page.collsim}. A line was calculated, a dot was simulated, a square was measured.`));
document.title = `${page.results.map((data) => data.title || data.name).join(", ")} · collsim report`;
