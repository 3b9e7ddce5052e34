# SPDX-License-Identifier: Apache-2.0
"""Presets as tables in C++, for preset_machines.hpp.  usage: embed_presets.py FOLDER OUTPUT.cpp

Those with more GPUs than the page has ranks are left out.
"""

import json
import re
import sys
from fractions import Fraction
from pathlib import Path

MOST_RANKS = 64
FACTORS = {"GB/s": 10**9, "Gb/s": Fraction(10**9, 8), "ns": 1000, "us": 10**6, "s": 10**12}
KINDS = {"gpu": "gpu", "switch": "network_switch", "cpu": "cpu", "nic": "nic"}


def quantity(text):
    """Bytes per second, or picoseconds."""
    number, unit = re.fullmatch(r"([\d.]+)(\D+)", text).groups()
    value = Fraction(number) * FACTORS[unit]
    assert value.denominator == 1, text
    return int(value)


def expanded(name):
    """gpu0, gpu1 for gpu[0-1]"""
    match = re.fullmatch(r"(.*)\[(\d+)-(\d+)\]", name)
    if not match:
        return [name]
    base, low, high = match.groups()
    return [f"{base}{i}" for i in range(int(low), int(high) + 1)]


def devices_of(cluster):
    devices = []
    for device in cluster["devices"]:
        names = [f"{device['id']}{i}" for i in range(device["count"])] if "count" in device else [device["id"]]
        devices += [(name, KINDS[device["kind"]]) for name in names]
    return devices


def cables_of(cluster, places, kinds):
    for link in cluster["links"]:
        ends = [expanded(link[end]) for end in ("from", "to")]
        count = max(map(len, ends))
        pairs = zip(*(end * count if len(end) == 1 else end for end in ends), strict=True)
        yield from ((places[a], places[b], kinds.index(link["link"])) for a, b in pairs)


def link_text(link):
    half = "true" if link.get("duplex") == "half" else "false"
    fair = "true" if link["sharing"] == "fair" else "false"
    return f"{{{quantity(link['bandwidth'])}, {quantity(link['latency'])}, {quantity(link['overhead'])}, {fair}, {half}}}"


def accuracy_of(preset, accuracy):
    """How far predict --preset was off, of one node, then of several: the errors of each range of sizes, and up to how
    many nodes each operation was measured.

    "65536 2.7 14 13,16777216 ...;...;all-reduce 1,...;all-reduce 4,..." is: up to 64 KiB half of the times within 2.7%,
    95% within 14%, 13 tables; a size of 0 is without end.  Nothing where no table of the preset was used.
    """
    units = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

    def up_to(text):
        return int(text[:-3]) * units[text[-3:]] if text else 0

    def ranges(kinds, kind):
        rows = accuracy[kinds].get(kind, []) if preset["calibrated"] else []
        return ",".join(f"{up_to(r.get('up_to'))} {100 * r['half']:g} {100 * r['most']:g} {r['tables']}" for r in rows)

    def measured(network):
        most = next((m for m in accuracy["most_nodes"] if (m["gpu"], m.get("network")) == (preset["gpu"], network)), {})
        return ",".join(f"{name} {nodes}" for name, nodes in most.items() if name not in ("gpu", "network"))

    network = preset["network"]
    return ";".join((ranges("gpus", preset["gpu"]), ranges("networks", network), measured(None), measured(network)))


def tables_of(preset, adds, accuracy):
    """C++ of one preset: its arrays, and its row."""
    name = preset["preset"].replace("-", "_")
    cluster, kinds = preset["cluster"], list(preset["link_types"])
    devices = devices_of(cluster)
    places = {device: i for i, (device, _) in enumerate(devices)}
    cables = list(cables_of(cluster, places, kinds))
    arrays = (
        f"constexpr PresetDevice {name}_devices[] = {{" + ", ".join(f'{{"{d}", NodeKind::{k}}}' for d, k in devices) + "};\n"
        f"constexpr PresetLink {name}_links[] = {{" + ", ".join(map(link_text, preset["link_types"].values())) + "};\n"
        f"constexpr PresetCable {name}_cables[] = {{" + ", ".join(f"{{{a}, {b}, {k}}}" for a, b, k in cables) + "};\n"
    )
    row = (
        f'{{"{preset["preset"]}", "{preset["title"]}", {preset["gpus"]}, {str(adds).lower()}, {name}_devices, '
        f'{name}_links, {name}_cables, {kinds.index(cluster["network"]["link"])}, "{accuracy}"}}'
    )
    return arrays, row


def main():
    folder, output = map(Path, sys.argv[1:])
    fitted = json.loads((folder / "fitted.json").read_text(encoding="utf-8"))
    gpus = fitted["gpus"]
    files = (json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"), key=lambda path: path.stem))
    presets = [file for file in files if "preset" in file and file["gpus"] <= MOST_RANKS]
    tables = [
        tables_of(preset, "NVLS" in gpus[preset["gpu"]]["protocols"], accuracy_of(preset, fitted["accuracy"]))
        for preset in presets
    ]
    arrays, rows = zip(*tables, strict=True)
    output.write_text(
        '#include "plots/engine/preset_machines.hpp"\n\nnamespace collsim {\nnamespace {\n\n' + "".join(arrays)
        + "constexpr PresetMachine machines[] = {\n" + ",\n".join(rows) + "};\n\n}  // namespace\n\n"
        "std::span<const PresetMachine> preset_machines() {\n  return machines;\n}\n\n}  // namespace collsim\n",
        encoding="utf-8",
    )


main()
