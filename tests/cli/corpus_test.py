#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The schema for editors and the program judge small scenario files alike.

usage: corpus_test.py PROGRAM SCHEMA CORPUS

CORPUS/valid.jsonl              both accept
CORPUS/invalid-structure.jsonl  both refuse
CORPUS/invalid-meaning.jsonl    the schema accepts, the program refuses: what a schema cannot say

Whatever it is, the program answers within 4 GB of address space and ten seconds.
Each line is {"name": NAME, "scenario": FILE}; the program reads it as NAME.json.
The schema's part needs python3-jsonschema and is reported as skipped (exit code 77) without it, or as
failed when COLLSIM_NO_SKIPS is set.
"""
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    jsonschema = None

SANITIZED = "COLLSIM_SANITIZED" in os.environ
ADDRESS_SPACE = 4_000_000 * 1024
SECONDS = 100 if SANITIZED else 10

PROGRAM_ACCEPTS = {"valid": True, "invalid-structure": False, "invalid-meaning": False}
SCHEMA_ACCEPTS = {"valid": True, "invalid-structure": False, "invalid-meaning": True}
AT_LEAST = {"valid": 60, "invalid-structure": 120, "invalid-meaning": 40}


def limit_memory():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not SANITIZED:  # which reserve terabytes
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))


def complaints_about_program(program, path, accepts):
    done = subprocess.run(
        [program, "run", "--quiet", str(path)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        preexec_fn=limit_memory,
        check=False,
    )
    if accepts and done.returncode not in (0, 1):  # 1: an expectation does not hold
        yield f"is refused:\n{done.stderr}"
    elif not accepts and done.returncode != 2:
        yield f"is not refused (exit code {done.returncode})"
    elif not accepts and f"{path}:1:" not in done.stderr:
        yield f"is refused without saying where:\n{done.stderr}"
    if "not enough memory" in done.stderr or len(done.stderr) > 100_000:
        yield f"needs too much memory, or too many words:\n{done.stderr[:1000]}"
    if "terminate called" in done.stderr or done.returncode in (70, -6, -11):
        yield f"crashes:\n{done.stderr}"


def read(file):
    scenarios = {}
    for line in file.read_text().splitlines():
        entry = json.loads(line)
        if entry.keys() != {"name", "scenario"} or entry["name"] in scenarios:
            sys.exit(f"{file}: a line has other keys, or a name that an earlier one has: {line}")
        scenarios[entry["name"]] = entry["scenario"]
    return scenarios


def main():
    program, schema_path, corpus = sys.argv[1:]
    wrong = 0
    schema = None
    if jsonschema:
        document = json.loads(pathlib.Path(schema_path).read_text())
        jsonschema.Draft7Validator.check_schema(document)
        schema = jsonschema.Draft7Validator(document)
    if strays := {path.name for path in pathlib.Path(corpus).iterdir()} - {f"{k}.jsonl" for k in AT_LEAST}:
        sys.exit(f"{corpus} holds files that no test reads, such as {min(strays)}")
    with tempfile.TemporaryDirectory() as root:
        for kind, accepts in PROGRAM_ACCEPTS.items():
            lines = read(pathlib.Path(corpus, f"{kind}.jsonl"))
            if len(lines) < AT_LEAST[kind]:
                sys.exit(f"{kind} has only {len(lines)} scenarios: is {corpus} the right folder?")
            folder = pathlib.Path(root, "scenarios", kind)  # nothing is included from beyond "scenarios"
            folder.mkdir(parents=True)
            for name, scenario in lines.items():
                path = folder / f"{name}.json"
                path.write_text(json.dumps(scenario, ensure_ascii=False) + "\n")
                found = list(complaints_about_program(program, path, accepts))
                if schema and schema.is_valid(scenario) != SCHEMA_ACCEPTS[kind]:
                    found.append(f"is {'refused' if SCHEMA_ACCEPTS[kind] else 'accepted'} by the schema")
                for text in found:
                    print(f"{kind}/{name} {text}")
                wrong += len(found)
    if wrong:
        sys.exit(f"{wrong} complaints")
    if not schema:
        print("skipped: the schema was not tried, python3-jsonschema is not installed")
        sys.exit(1 if os.environ.get("COLLSIM_NO_SKIPS") else 77)


if __name__ == "__main__":
    main()
