# SPDX-License-Identifier: Apache-2.0
"""Device code neither spills registers nor warns, on every architecture it is built for, and never reads
messages through the read-only cache.  usage: resources_test.py BUILD_FOLDER

Compiles every .cu file of the build once more, with the same command, and reads what ptxas says.
"""

import json
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ENTRY = re.compile(r"ptxas info\s*: Compiling entry function '(\S+)' for '(sm_\d+)'")
USE = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
ARCHITECTURE = re.compile(r"sm_\d+")


def commands(build):
    """(file, command as a list, folder to run it in) of every .cu file."""
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        words = shlex.split(entry["command"])
        if entry["file"].endswith(".cu"):
            nvcc = next(i for i, word in enumerate(words) if Path(word).name == "nvcc")
            yield Path(entry["file"]), words[nvcc:], entry["directory"]


def run(words, output, folder):
    words = list(words)
    words[words.index("-o") + 1] = str(output)
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def complaints_about(report):
    """What is wrong with ptxas's report; and the (function, architecture) pairs that it covers."""
    wrong, covered, current = [], set(), None
    for line in report.splitlines():
        if entry := ENTRY.search(line):
            current = entry.groups()
            covered.add(current)
        elif use := USE.search(line):
            if any(int(number) for number in use.groups()):
                wrong.append(f"{current}: {line.strip()}")
        elif "warning" in line.lower():
            wrong.append(line.strip())
    return wrong, covered


def inspect(source, words, folder):
    with tempfile.TemporaryDirectory() as scratch:
        keep = ["-Xptxas=-v", "--keep", f"--keep-dir={scratch}"]
        code, report = run(words + keep, Path(scratch) / "object.o", folder)
        if code != 0:
            return [f"{source.name} does not compile:\n{report}"]
        wrong, covered = complaints_about(report)
        wanted = {a for word in words for a in ARCHITECTURE.findall(word)}
        found = {architecture for _, architecture in covered}
        if not wanted or found != wanted:
            wrong.append(f"{source.name}: built for {sorted(wanted)}, ptxas spoke of {sorted(found)}")

        texts = [file.read_text(encoding="utf-8") for file in Path(scratch).glob("*.ptx")]
        if not texts or not all(".entry" in text for text in texts):
            wrong.append(f"{source.name}: no PTX to look at: {report}")
        if any("ld.global.nc" in text for text in texts):
            wrong.append(f"{source.name}: reads through the read-only cache (ld.global.nc)")
        functions = len({function for function, _ in covered})
        if not wrong:
            print(f"{source.name}: {functions} kernels for {', '.join(sorted(found))}, no spills")
        return wrong


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    spill = "8 bytes stack frame, 8 bytes spill stores, 0 bytes spill loads"
    example = f"ptxas info    : Compiling entry function 'f' for 'sm_90'\n    {spill}"
    assert complaints_about(example) == ([f"('f', 'sm_90'): {spill}"], {("f", "sm_90")})
    jobs = list(commands(Path(arguments[0])))
    if not jobs:
        print("skipped: this build has no CUDA")
        return 77
    with ThreadPoolExecutor(2) as pool:
        found = [text for texts in pool.map(lambda job: inspect(*job), jobs) for text in texts]
    for text in found:
        print(text, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
