#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The schema for editors and the program judge small scenario files alike.

usage: corpus_test.py PROGRAM SCHEMA CORPUS

CORPUS/valid              both accept
CORPUS/invalid-structure  both refuse
CORPUS/invalid-meaning    the schema accepts, the program refuses: what a schema cannot say
The schema's part needs python3-jsonschema and is reported as skipped (exit code 77) without it, or as
failed when COLLSIM_NO_SKIPS is set.
"""
import json
import os
import pathlib
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    jsonschema = None

PROGRAM_ACCEPTS = {"valid": True, "invalid-structure": False, "invalid-meaning": False}
SCHEMA_ACCEPTS = {"valid": True, "invalid-structure": False, "invalid-meaning": True}
AT_LEAST = {"valid": 60, "invalid-structure": 120, "invalid-meaning": 40}


def complaints_about_program(program, path, accepts):
    done = subprocess.run(
        [program, "run", "--quiet", str(path)], capture_output=True, text=True, check=False
    )
    if accepts and done.returncode not in (0, 1):  # 1: an expectation does not hold
        yield f"is refused:\n{done.stderr}"
    elif not accepts and done.returncode != 2:
        yield f"is not refused (exit code {done.returncode})"
    elif not accepts and f"{path}:1:" not in done.stderr:
        yield f"is refused without saying where:\n{done.stderr}"
    if "terminate called" in done.stderr or done.returncode in (70, -6, -11):
        yield f"crashes:\n{done.stderr}"


def main():
    program, schema_path, corpus = sys.argv[1:]
    wrong = 0
    schema = None
    if jsonschema:
        document = json.loads(pathlib.Path(schema_path).read_text())
        jsonschema.Draft7Validator.check_schema(document)
        schema = jsonschema.Draft7Validator(document)
    for folder, accepts in PROGRAM_ACCEPTS.items():
        paths = sorted(pathlib.Path(corpus, folder).glob("*.json"))
        if strays := [path.name for path in pathlib.Path(corpus, folder).iterdir() if path not in paths]:
            sys.exit(f"{folder} holds files that no test reads, such as {strays[0]}")
        if len(paths) < AT_LEAST[folder]:
            sys.exit(f"{folder} has only {len(paths)} files: is {corpus} the right folder?")
        for path in paths:
            found = list(complaints_about_program(program, path, accepts))
            if schema and schema.is_valid(json.loads(path.read_text())) != SCHEMA_ACCEPTS[folder]:
                found.append(f"is {'refused' if SCHEMA_ACCEPTS[folder] else 'accepted'} by the schema")
            for text in found:
                print(f"{folder}/{path.name} {text}")
            wrong += len(found)
    if wrong:
        sys.exit(f"{wrong} complaints")
    if not schema:
        print("skipped: the schema was not tried, python3-jsonschema is not installed")
        sys.exit(1 if os.environ.get("COLLSIM_NO_SKIPS") else 77)


if __name__ == "__main__":
    main()
