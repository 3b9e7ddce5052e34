#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the program writes as results is what "collsim schema results" says, key by key, and
docs/results.md explains every key of a row.  No value of a row is missing in CSV,
but what a prediction's class was off by.

usage: results_schema_test.py COLLSIM SOURCE_FOLDER
"""

import csv
import io
import json
import os
import pathlib
import re
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    jsonschema = None

# Collectives and steps, NCCL's choice and auto, with and without expectations, measured and not.
COMMANDS = [
    "run scenarios/lecture/ring-broadcast.json",
    "run scenarios/tuner/ring-or-tree-on-two-dgx-h100.json",
    "predict all-reduce -b 8 -e 1M -f 64 --preset dgx-h100",
    "predict all-reduce -b 1M --shape ring -g 6 --bandwidth 25GB/s",
    "predict barrier --shape switch -g 6 --bandwidth 25GB/s",
    "compare scenarios/measured/two-dgx-h100.log",
    "validate scenarios/validate/late-rank.json --iters 3",
    "validate scenarios/validate/ddp-step.json --iters 3",
    "validate scenarios/native/over-mpi.json --iters 1",
]


def keys_of(value):
    """The keys of rows and of what is in them, but for paths and the names of communicators."""
    if isinstance(value, list):
        return {key for item in value for key in keys_of(item)}
    if not isinstance(value, dict):
        return set()
    keys = set(value)
    for name, inner in value.items():
        if name == "by_communicator":
            inner = list(inner.values())
        if name != "params":
            keys |= keys_of(inner)
    return keys


def missing_in_csv(results, text):
    """The keys of rows that have a value in JSON and no column of their own; what is by rank has none, nor has an
    object of errors."""
    table = list(csv.DictReader(io.StringIO(text)))
    if len(table) != len(results["rows"]):
        return {"rows"}
    return {
        key
        for row, cells in zip(results["rows"], table)
        for key, value in row.items()
        if value is not None and key not in ("params", "measured", "not_measured", "error_class") and not key.startswith("by_")
        if not cells.get(key)
    }


def main():
    program, source = sys.argv[1:]
    if not jsonschema:
        print("skipped: python3-jsonschema is not installed")
        sys.exit(1 if os.environ.get("COLLSIM_NO_SKIPS") else 77)

    def text(*arguments):
        done = subprocess.run([program, *arguments], cwd=source, capture_output=True, text=True)
        if not done.stdout:
            sys.exit(f"{arguments}: {done.stderr}")
        return done.stdout

    def output(*arguments):
        return json.loads(text(*arguments))

    document = output("schema", "results")
    jsonschema.Draft7Validator.check_schema(document)
    schema = jsonschema.Draft7Validator(document)
    training = sorted(str(path.relative_to(source)) for path in pathlib.Path(source, "scenarios/training").glob("*.json"))
    commands = COMMANDS + [f"run {path}" for path in training]
    explained = set(re.findall(r"`([a-z_0-9.]+)`", pathlib.Path(source, "docs/results.md").read_text()))
    explained |= {key.rpartition(".")[2] for key in explained}
    unexplained = set()
    wrong = 0
    for command in commands:
        results = output(*command.split(), "--format", "json")
        if "errors" in results:
            continue
        for error in schema.iter_errors(results):
            deepest = min(error.context, key=lambda one: -len(one.path)) if error.context else error
            print(f"{command}: {list(deepest.absolute_path)}: {deepest.message[:300]}")
            wrong += 1
        unexplained |= keys_of(results["rows"]) - explained
        if not command.startswith("validate"):  # which would measure again
            for key in missing_in_csv(results, text(*command.split(), "--format", "csv")):
                print(f"{command}: CSV has no value of {key}")
                wrong += 1
        # A schema that takes anything would be no test.
        row = results["rows"][0]
        for change in ({"messages": "1"}, {"new_key": 1}, {"ranks": -1}):
            if schema.is_valid({**results, "rows": [{**row, **change}]}):
                print(f"{command}: the schema takes {change}")
                wrong += 1
    if "bound_s" not in explained or "params" in unexplained:
        sys.exit("docs/results.md has no keys: this test looks for them in the wrong place")
    for key in sorted(unexplained):
        print(f"docs/results.md does not explain {key}")
        wrong += 1
    if wrong:
        sys.exit(f"{wrong} complaints")


if __name__ == "__main__":
    main()
