#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every command that the documentation tells people to type can be typed.

usage: commands_test.py SOURCE_FOLDER COLLSIM

Runs what begins with "collsim" in the shell blocks of docs/*.md and docs/lessons/*.md that show no output
(readme_test.py has those that do), page by page in one folder, so that a command may read what one before
it wrote.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# A name that stands for the reader's own file, and what measures this machine for minutes.
NOT_RUN = re.compile(r"\bFILE\b|\bmachine\.json|\brun\.log|^collsim calibrate -o")
MEASURED = re.compile(r"^collsim validate\b.*")
BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)


def commands(page):
    for block in BLOCK.findall(page):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("collsim ") and not NOT_RUN.search(line):
                yield MEASURED.sub(r"\g<0> --iters 1", line)


def main():
    source, program = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    wrong, ran = 0, 0
    for page in sorted([*(source / "docs").glob("*.md"), *(source / "docs/lessons").glob("*.md")]):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(source / "scenarios", pathlib.Path(folder, "scenarios"))
            pathlib.Path(folder, "build/pictures").mkdir(parents=True)
            for line in commands(page.read_text()):
                quiet = {"cwd": folder, "capture_output": True, "text": True, "check": False, "timeout": 120}
                environment = {"PATH": f"{program.parent}:/usr/bin:/bin"}
                done = subprocess.run(["bash", "-c", line], env=environment, **quiet)
                ran += 1
                if done.returncode not in (0, 1):  # what is to fail says so with 1
                    print(f"{page.relative_to(source)}: {line}\n  ends with {done.returncode}: {done.stderr[-500:]}")
                    wrong += 1
    if ran < 70:
        sys.exit(f"only {ran} commands were found: are they still written as before?")
    if wrong:
        sys.exit(f"{wrong} of {ran} commands do not work")


if __name__ == "__main__":
    main()
