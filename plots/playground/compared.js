// SPDX-License-Identifier: Apache-2.0
// A, the setting to compare with: it is fixed, or follows every knob except those in which it
// differs.

/**
 * @typedef {object} Compared
 * @property {PageSetting} setting
 * @property {Partial<PageSetting>|null} apart   where A differs while it follows; null: A is fixed
 * @property {string[]} notes                    what had to give way in it
 */

/** @param {PageSetting} setting @returns {Compared} */
function standing(setting) {
  return { setting: { ...setting }, apart: null, notes: [] };
}

/** The current setting with A's differences.
 *  @param {Engine} engine @param {PageSetting} setting @param {Partial<PageSetting>} apart @returns {Compared} */
function following(engine, setting, apart) {
  const own = { ...setting, ...apart };
  if (!("algorithm" in apart)) fitAlgorithm(engine, own);
  return { setting: own, apart, notes: settle(engine, own).map((text) => `A: ${text}`) };
}

/** Where one setting differs from another, among the keys that have a meaning in it.
 *  @param {Engine} engine @param {PageSetting} one @param {PageSetting} other @returns {Partial<PageSetting>} */
function setApart(engine, one, other) {
  return partOf(one, Object.keys(settingKeys(engine)).filter((key) => one[key] !== other[key] && matters(key, one, engine)));
}

/** A size goes with its unit. @param {PageSetting} setting @param {string[]} keys @returns {Partial<PageSetting>} */
function partOf(setting, keys) {
  const part = Object.fromEntries(keys.map((key) => [key, setting[key]]));
  return "size" in part ? { ...part, size_unit: setting.size_unit } : part;
}

/** Swaps both. @param {Compared} a @param {PageSetting} now @returns {Compared} */
function swapped(a, now) {
  return { ...standing(now), apart: a.apart && partOf(now, Object.keys(a.apart)) };
}

/** "algorithm, late rank" @param {Compared} a */
function apartText({ apart }) {
  return Object.keys(apart)
    .filter((key) => key !== "size_unit")
    .map((key) => key.replaceAll("_", " "))
    .join(", ");
}
