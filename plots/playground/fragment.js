// SPDX-License-Identifier: Apache-2.0
// The setting in the page's address, behind the #: "op=broadcast&ranks=8&size=64MiB".  Keys are
// listed in README.md; those of a pinned setting begin with "a.".

/** Keys that say what is shown, not what is simulated. */
const viewKeys = { rows: "ranks" };

/**
 * @param {PageSetting} setting @param {PageSetting|null} pinned @param {{rows: string}} view
 * @param {Record<string, {text: (value: any) => string}>} keys
 */
function writeFragment(setting, pinned, view, keys) {
  const parts = partsOf(setting, keys, (key) => isAlwaysWritten(key) || setting[key] !== defaultSetting[key]);
  if (pinned) {
    const changed = partsOf(pinned, keys, (key) => pinned[key] !== setting[key]);
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
function partsOf(setting, keys, isWanted) {
  return Object.keys(keys)
    .filter((key) => isWanted(key) && matters(key, setting))
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
    if (key === "rows" && ["ranks", "links"].includes(value)) view.rows = value;
    else if (Object.hasOwn(keys, key)) own.push([key, value]);
    else if (key.startsWith("a.") && Object.hasOwn(keys, key.slice(2))) ofPinned.push([key.slice(2), value]);
    else notes.push(key === "rows" ? `rows is "ranks" or "links", not "${value}"` : unknownKey(key, Object.keys(keys)));
  }
  const setting = settingFrom(own, { ...defaultSetting }, keys, engine, notes);
  const pinned = ofPinned.length ? settingFrom(ofPinned, { ...setting }, keys, engine, notes) : null;
  return { setting, pinned, view, notes };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function settingFrom(parts, setting, keys, engine, notes) {
  const given = new Set();
  for (const [key, value] of parts) {
    try {
      setting[key] = key in noneValues && (value === "none" || value === "") ? noneValues[key] : keys[key].parse(value);
      given.add(key);
    } catch (error) {
      notes.push(error.message);
    }
  }
  const rows = algorithmsOf(engine, setting.op);
  if (!given.has("algorithm") && !rows.some((row) => row.name === setting.algorithm)) setting.algorithm = rows[0].name;
  notes.push(...settle(engine, setting));
  return setting;
}

/** @param {string} key @param {string[]} known */
function unknownKey(key, known) {
  const near = known.map((name) => ({ name, far: lettersApart(key, name) })).sort((a, b) => a.far - b.far)[0];
  const meant = near.far <= 2 ? `; did you mean "${near.name}"?` : `; keys are ${known.join(", ")}, rows`;
  return `there is no key "${shortened(key, 40)}"${meant}`;
}

/** Letters to change, add or drop. */
function lettersApart(a, b) {
  if (Math.abs(a.length - b.length) > 2) return 3;
  let row = d3.range(b.length + 1);
  for (let i = 1; i <= a.length; ++i) {
    const next = [i];
    for (let j = 1; j <= b.length; ++j)
      next.push(Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length];
}
