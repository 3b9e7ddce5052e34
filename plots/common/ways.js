// SPDX-License-Identifier: Apache-2.0
// Whether messages stay inside their node or go to another: where pieces are too many to be told apart, that is what
// colours can say.

/** More pieces than this have colours that look alike. */
const mostToldPieces = 8;
const wayColours = ["--c1", "--c5"]; // inside, between
const wayWords = "blue inside a node, orange between nodes";

/** Whether messages of both kinds are there. @param {Steps} steps @param {number} gpus of a node; 0: there are no nodes */
function hasWays(steps, gpus) {
  if (!gpus) return false;
  let [inside, between] = [false, false];
  for (let i = 0; i < steps.rank.length && !(inside && between); ++i)
    if (steps.route[i] >= 0) staysInNode(steps, i, gpus) ? (inside = true) : (between = true);
  return inside && between;
}

/** @param {Steps} steps @param {number} step @param {number} gpus */
function staysInNode(steps, step, gpus) {
  return Math.floor(steps.rank[step] / gpus) === Math.floor(steps.to[step] / gpus);
}

/** By the piece of the data, or by the way. @param {SpaceTimeModel} model @param {SpaceTimeView} view @returns {(step: number) => string} */
function stepColours({ steps, gpus }, view) {
  if (colouredBy(steps, gpus, view) === "ways") {
    const colours = wayColours.map(themeColour);
    return (step) => colours[staysInNode(steps, step, gpus) ? 0 : 1];
  }
  const colourOf = pieceColours(steps.pieces);
  return (step) => colourOf(steps.piece[step]);
}

/** What was chosen, else what can be told apart. @returns {"ways"|"pieces"} */
function colouredBy(steps, gpus, view) {
  if (!hasWays(steps, gpus)) return "pieces";
  return view.colours ?? (steps.pieces > mostToldPieces ? "ways" : "pieces");
}
