// SPDX-License-Identifier: Apache-2.0
// What the pages use of D3.  A name that is not here is not in the bundle.
export { bisector, extent, max, median, min, quantile, range, ticks } from "d3-array";
export { axisBottom, axisLeft, axisRight, axisTop } from "d3-axis";
export { hsl, rgb } from "d3-color";
export { format, formatPrefix } from "d3-format";
export { interpolateRgb } from "d3-interpolate";
export { scaleBand, scaleLinear, scaleLog, scaleOrdinal, scalePoint, scaleSequential } from "d3-scale";
export { interpolateCividis, interpolateTurbo, interpolateViridis } from "d3-scale-chromatic";
export { create, pointer, select, selectAll } from "d3-selection";
export { area, curveStepAfter, line, symbol, symbolCircle, symbolCross, symbolDiamond, symbolSquare, symbolStar,
         symbolTriangle, symbolWye } from "d3-shape";
export { zoom, zoomIdentity, zoomTransform } from "d3-zoom";
