#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pictures in README.md and docs/ are those that the commands beside them make, byte for byte.

usage: pictures_test.py ROOT PROGRAM PYTHON

Runs every ```sh block that has plots/figures.py in it.  With UPDATE_GOLDEN=1 the pictures are
written anew.  Exit code 77: PYTHON has no matplotlib, or another one than the pictures were made
with; a failure when COLLSIM_NO_SKIPS is set.
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

SHELL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"[\w./-]+\.svg")


def recipes(text):
    """The commands of each block that makes pictures."""
    for block in SHELL.findall(text):
        if "plots/figures.py" in block:
            yield [shlex.split(line) for line in block.replace("\\\n", " ").splitlines()]


def run(words, folder, program, python):
    output = None
    if ">" in words:
        words, output = words[: words.index(">")], folder / words[words.index(">") + 1]
    if words[:2] == ["mkdir", "-p"]:
        for name in words[2:]:
            (folder / name).mkdir(parents=True, exist_ok=True)
        return
    tools = {"collsim": [program], "plots/figures.py": [python, "-B", "plots/figures.py"]}
    if words[0] not in tools:
        sys.exit(f"only collsim, plots/figures.py and mkdir -p are known here, not: {words[0]}")
    done = subprocess.run(tools[words[0]] + words[1:], cwd=folder, capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"`{shlex.join(words)}` fails:\n{done.stderr.decode()}")
    if output:
        output.write_bytes(done.stdout)


def pictures_made(commands, root, program, python):
    """{name: bytes}"""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for source in ("scenarios", "plots"):
            (folder / source).symlink_to(root / source)
        wanted = {word for words in commands for word in words if PICTURE.fullmatch(word)}
        for picture in wanted:
            (folder / picture).parent.mkdir(parents=True, exist_ok=True)
        for words in commands:
            run(words, folder, program, python)
        litter = {path.name for path in folder.iterdir()} - {"build", "docs", "plots", "scenarios"}
        if litter:
            sys.exit(f"a recipe leaves {', '.join(sorted(litter))} in the top folder; build/ is the place for such files")
        return {picture: (folder / picture).read_bytes() for picture in wanted}


def skip(why):
    print(f"skipped: {why}")
    sys.exit(1 if os.environ.get("COLLSIM_NO_SKIPS") else 77)


def main():
    root, program, python = sys.argv[1:]
    root, program = pathlib.Path(root).resolve(), pathlib.Path(program).resolve()
    update = os.environ.get("UPDATE_GOLDEN") == "1"
    asked = subprocess.run([python, "-c", "import matplotlib; print(matplotlib.__version__)"], capture_output=True, text=True,
                           check=False)
    if asked.returncode:
        skip(f"{python} has no matplotlib: apt-get install python3-matplotlib")
    version = asked.stdout.strip()

    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    shown = {os.path.relpath(page.parent / name, root) for page in pages for name in PICTURE.findall(page.read_text())
             if (page.parent / name).exists()}
    here = {path.relative_to(root).as_posix() for path in (root / "docs").rglob("*.svg")}
    wrong = [f"no page shows {name}" for name in sorted(here - shown)]
    made = {}
    for page in pages:
        for commands in recipes(page.read_text()):
            made.update(pictures_made(commands, root, program, python))
    if len(made) < 2:
        sys.exit("hardly any picture is made: are the pages where they should be?")
    for name, picture in sorted(made.items()):
        if update:
            (root / name).write_bytes(picture)
        elif not (root / name).exists() or (root / name).read_bytes() != picture:
            wrong.append(f"{name} is not what its commands make")
    wrong += [f"no command makes {name}" for name in sorted(here - set(made))]
    if wrong:
        texts = [(root / name).read_text() for name in sorted(here)]
        if any("Matplotlib v" in text and f"Matplotlib v{version}," not in text for text in texts):
            skip(f"the pictures were made with another matplotlib than {version}")
        print("\n".join(wrong))
        sys.exit("with UPDATE_GOLDEN=1 in the environment this test writes them anew")


if __name__ == "__main__":
    main()
