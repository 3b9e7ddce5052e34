// SPDX-License-Identifier: Apache-2.0
// What the pages use of D3.  A name that is not here is not in the bundle.
export { bisector, extent, max, median, min, quantile, range, ticks } from "d3-array";
export { axisBottom, axisLeft } from "d3-axis";
export { rgb } from "d3-color";
export { interpolateRgb } from "d3-interpolate";
export { scaleLinear, scaleLog } from "d3-scale";
export { pointer, select } from "d3-selection";
export { line, symbol, symbolCircle, symbolSquare } from "d3-shape";
export { zoom, zoomIdentity, zoomTransform } from "d3-zoom";
