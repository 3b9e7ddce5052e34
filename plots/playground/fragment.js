// SPDX-License-Identifier: Apache-2.0
// The setting in the page's address, behind the #: "op=broadcast&ranks=8&size=64MiB".  Keys are
// listed in README.md; those of a pinned setting begin with "a.".

/** Keys that say what is shown, not what is simulated. */
const viewKeys = { rows: "ranks" };

/**
 * @param {PageSetting} setting @param {PageSetting|null} pinned @param {{rows: string}} view
 * @param {Record<string, {text: (value: any) => string}>} keys @param {Engine} engine
 */
function writeFragment(setting, pinned, view, keys, engine) {
  const parts = partsOf(setting, keys, engine, (key) => isAlwaysWritten(key) || setting[key] !== defaultSetting[key]);
  if (pinned) {
    const changed = partsOf(pinned, keys, engine, (key) => pinned[key] !== setting[key]);
    // At least one key, or nobody would know that something is pinned.
    parts.push(...(changed.length ? changed : [["op", pinned.op]]).map(([key, value]) => [`a.${key}`, value]));
  }
  if (view.rows !== viewKeys.rows) parts.push(["rows", view.rows]);
  return parts.map(([key, value]) => `${key}=${encodeURIComponent(value).replaceAll("%2F", "/")}`).join("&");
}

function isAlwaysWritten(key) {
  return ["op", "algorithm", "shape", "ranks", "size", "chunks", "bandwidth", "overhead", "latency"].includes(key);
}

/** Values that stand for "none" are written as "none". */
function partsOf(setting, keys, engine, isWanted) {
  return Object.keys(keys)
    .filter((key) => isWanted(key) && matters(key, setting, engine))
    .map((key) => [key, setting[key] === noneValues[key] ? "none" : keys[key].text(setting[key])]);
}

/**
 * @param {string} fragment without the # @param {Engine} engine
 * @returns {{setting: PageSetting, pinned: PageSetting|null, view: {rows: string}, notes: string[]}}
 */
function readFragment(fragment, engine) {
  const keys = settingKeys(engine);
  const notes = [];
  const own = [];
  const ofPinned = [];
  const view = { ...viewKeys };
  for (const part of fragment.split("&")) {
    if (part === "") continue;
    const at = part.indexOf("=");
    const key = decoded(at < 0 ? part : part.slice(0, at));
    const value = at < 0 ? "" : decoded(part.slice(at + 1));
    const note = (text) => notes.push(noteOn(key, at < 0 ? null : value, text));
    if (key === "rows" && ["ranks", "links"].includes(value)) view.rows = value;
    else if (Object.hasOwn(keys, key)) own.push([key, value]);
    else if (key.startsWith("a.") && Object.hasOwn(keys, key.slice(2))) ofPinned.push([key.slice(2), value]);
    else note(key === "rows" ? 'rows are "ranks" or "links"' : unknownKey(key, Object.keys(keys)));
  }
  const setting = settingFrom(own, { ...defaultSetting }, keys, engine, { notes, prefix: "" });
  const pinned = ofPinned.length ? settingFrom(ofPinned, { ...setting }, keys, engine, { notes, prefix: "a." }) : null;
  return { setting, pinned, view, notes };
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

function settingFrom(parts, setting, keys, engine, { notes, prefix }) {
  const given = new Set();
  for (const [key, value] of parts) {
    try {
      setting[key] = key in noneValues && (value === "none" || value === "") ? noneValues[key] : keys[key].parse(value);
      given.add(key);
    } catch (error) {
      const instead = setting[key] === noneValues[key] ? "none" : keys[key].text(setting[key]);
      notes.push(noteOn(prefix + key, value, `${error.message}; instead, it is ${instead}`));
    }
  }
  const rows = algorithmsOf(engine, setting.op);
  if (!given.has("algorithm") && !rows.some((row) => row.name === setting.algorithm)) setting.algorithm = rows[0].name;
  notes.push(...settle(engine, setting).map((text) => `${prefix && "A: "}${text}`));
  return setting;
}

/** @param {string} key @param {string[]} known */
function unknownKey(key, known) {
  const all = [...known, ...Object.keys(viewKeys)];
  const name = key.startsWith("a.") ? key.slice(2) : key;
  return `there is no key "${shortened(key, 40)}"${didYouMean(name, all)}; keys are ${all.join(", ")}`;
}
