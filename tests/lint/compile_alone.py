# SPDX-License-Identifier: Apache-2.0
"""Whether files compile, each by itself.  usage: compile_alone.py BUILD_FOLDER JOBS

Standard input names the files, one a line; they are read with the commands of the build's
compile_commands.json, and nothing is written.  Prints what the compiler says; exit code 1 where it finds
fault with one.
"""

import json
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def check_only(command):
    """The command, but without an output."""
    words = shlex.split(command)
    at = words.index("-o")
    return [*words[:at], *words[at + 2 :], "-fsyntax-only"]


def main(arguments):
    build, jobs = Path(arguments[0]), int(arguments[1])
    root = Path.cwd()
    commands = {}  # of a file that several programs compile only the first
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        commands.setdefault(entry["file"], (check_only(entry["command"]), entry["directory"]))
    files = sorted({str(root / line.strip()) for line in sys.stdin if line.strip()})

    def compile_alone(file):
        words, folder = commands[file]
        return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)

    failed = False
    with ThreadPoolExecutor(jobs) as pool:
        for done in pool.map(compile_alone, files):
            print(done.stdout + done.stderr, end="", flush=True)
            failed = failed or done.returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
