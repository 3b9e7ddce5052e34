// SPDX-License-Identifier: Apache-2.0
// The setting in the page's address, behind the #: "op=broadcast&ranks=8&size=64MiB".  Keys are
// listed in README.md; those of a pinned setting, A, begin with "a."; with "a=follows" it follows in
// all others.

/** Keys that say what is shown, not what is simulated. */
const viewKeys = { rows: "ranks" };

/**
 * @param {PageSetting} setting @param {Compared|null} a @param {{rows: string}} view
 * @param {Record<string, {text: (value: any, setting: PageSetting) => string}>} keys @param {Engine} engine
 */
function writeFragment(setting, a, view, keys, engine) {
  const parts = partsOf(setting, keys, (key) => matters(key, setting, engine) && (isAlwaysWritten(key) || setting[key] !== defaultSetting[key]));
  if (a?.apart) parts.push(["a", "follows"]);
  if (a) parts.push(...partsOfCompared(setting, a, keys, engine).map(([key, value]) => [`a.${key}`, value]));
  if (view.rows !== viewKeys.rows) parts.push(["rows", view.rows]);
  return parts.map(([key, value]) => `${key}=${encodeURIComponent(value).replaceAll("%2F", "/")}`).join("&");
}

function partsOfCompared(setting, a, keys, engine) {
  if (a.apart) return partsOf({ ...a.setting, ...a.apart }, keys, (key) => key in a.apart);
  const changed = partsOf(a.setting, keys, (key) => matters(key, a.setting, engine) && a.setting[key] !== setting[key]);
  // At least one key, to show that a setting is pinned.
  return changed.length ? changed : [["op", a.setting.op]];
}

function isAlwaysWritten(key) {
  return ["op", "algorithm", "shape", "ranks", "size", "chunks", "bandwidth", "overhead", "latency"].includes(key);
}

/** Values that stand for "none" are written as "none". */
function partsOf(setting, keys, isWanted) {
  return Object.keys(keys)
    .filter(isWanted)
    .map((key) => [key, setting[key] === noneValues[key] ? "none" : keys[key].text(setting[key], setting)]);
}

/**
 * @param {string} fragment without the # @param {Engine} engine
 * @returns {{setting: PageSetting, a: Compared|null, view: {rows: string}, notes: string[]}}
 */
function readFragment(fragment, engine) {
  const keys = settingKeys(engine);
  const notes = [];
  const own = [];
  const ofPinned = [];
  const view = { ...viewKeys };
  let follows = false;
  for (const part of fragment.split("&")) {
    if (part === "") continue;
    const at = part.indexOf("=");
    const key = decoded(at < 0 ? part : part.slice(0, at));
    const value = at < 0 ? "" : decoded(part.slice(at + 1));
    const note = (text) => notes.push(noteOn(key, at < 0 ? null : value, text));
    if (key === "rows" && ["ranks", "links"].includes(value)) view.rows = value;
    else if (key === "a" && value === "follows") follows = true;
    else if (Object.hasOwn(keys, key)) own.push([key, value]);
    else if (key.startsWith("a.") && Object.hasOwn(keys, key.slice(2))) ofPinned.push([key.slice(2), value]);
    else note(Object.hasOwn(wrongKeys, key) ? wrongKeys[key] : unknownKey(key, Object.keys(keys)));
  }
  const { setting } = settingFrom(own, { ...defaultSetting }, keys, engine, { notes, prefix: "" });
  const a = ofPinned.length ? comparedFrom(ofPinned, follows, setting, keys, engine, notes) : null;
  if (follows && !a?.apart) notes.push(noteOn("a", "follows", "A must differ in something: add a key such as a.chunks=1"));
  return { setting, a, view, notes };
}

/** Notes on known keys with unknown values. */
const wrongKeys = { rows: 'rows are "ranks" or "links"', a: 'a is "follows", or absent' };

/** @returns {Compared} */
function comparedFrom(parts, follows, setting, keys, engine, notes) {
  const { setting: own, given } = settingFrom(parts, { ...setting }, keys, engine, { notes, prefix: "a." });
  return { ...standing(own), apart: follows && given.length ? partOf(own, given) : null };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** What was written, and what is wrong with it. @param {string} key @param {string|null} value null: there is no "=" */
function noteOn(key, value, text) {
  const written = value === null ? key : `${key}=${value}`;
  return `In the address, "${shortened(written, 60)}": ${text}.`;
}

/** @returns {{setting: PageSetting, given: string[]}} with the keys that were understood */
function settingFrom(parts, setting, keys, engine, { notes, prefix }) {
  const given = new Set();
  for (const [key, value] of parts) {
    try {
      setting[key] = key in noneValues && (value === "none" || value === "") ? noneValues[key] : keys[key].parse(value);
      Object.assign(setting, keys[key].also?.(value));
      given.add(key);
    } catch (error) {
      const instead = setting[key] === noneValues[key] ? "none" : keys[key].text(setting[key], setting);
      notes.push(noteOn(prefix + key, value, `${error.message}; using ${instead}`));
    }
  }
  for (const [key, value] of parts)
    if (setting.preset && given.has(key) && machineKeys.includes(key)) notes.push(noteOn(prefix + key, value, `the preset ${setting.preset} says what its network is; ignoring "${key}"`));
  if (!given.has("algorithm")) fitAlgorithm(engine, setting);
  notes.push(...settle(engine, setting).map((text) => `${prefix && "A: "}${text}`));
  return { setting, given: [...given] };
}

/** @param {string} key @param {string[]} known */
function unknownKey(key, known) {
  const all = [...known, ...Object.keys(viewKeys), "embed"];
  const name = key.startsWith("a.") ? key.slice(2) : key;
  return `there is no key "${shortened(key, 40)}"${didYouMean(name, all)}; keys are ${all.join(", ")}`;
}
