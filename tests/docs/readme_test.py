#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""README.md, CONTRIBUTING.md and docs/ show what is true: the program's output, and C++ that compiles.

usage: readme_test.py ROOT PROGRAM COMPILER

Every ```console block is a dialogue: lines that begin with "$ " are commands, what follows each is
its output, to the byte ("..." alone on a line stands for any lines).  With UPDATE_GOLDEN=1 the
outputs without "..." are written anew.
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

HEADERS = re.compile(r"^#include .*$|^using namespace .*$", re.MULTILINE)
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def cpp_blocks(text):
    return re.findall(r"^```cpp\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def dialogue(block):
    """[(command, expected output)]"""
    parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)
    if parts[0]:
        sys.exit(f"a console block begins with output instead of a command:\n{block}")
    return list(zip(parts[1::2], parts[2::2]))


def run(command, root, program):
    words = shlex.split(command)
    if words[:2] == ["./dev", "run"]:
        words = ["collsim", "run"] + words[2:]
    if words[0] != "collsim":
        sys.exit(f"only commands of collsim can be checked, not: {command}")
    done = subprocess.run([program] + words[1:], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout


def agree(expected, output):
    pattern = "".join(r"(.*\n)*?" if line == "...\n" else re.escape(line) for line in expected.splitlines(True))
    return re.fullmatch(pattern, output) is not None


def check_outputs(path, root, program):
    update = os.environ.get("UPDATE_GOLDEN") == "1"
    wrong = []

    def checked(match):
        new = ""
        for command, expected in dialogue(match.group(1)):
            output = run(command, root, program)
            if not agree(expected, output):
                wrong.append((command, output))
            new += f"$ {command}\n" + (expected if "...\n" in expected.splitlines(True) else output)
        return f"```console\n{new}```"

    text = path.read_text()
    renewed = CONSOLE.sub(checked, text)
    if update:
        path.write_text(renewed)
        return 0
    for command, output in wrong:
        print(f"{path.relative_to(root)} does not show what `{command}` prints:\n{output}")
    return len(wrong)


def check_cpp(readme, root, compiler):
    blocks = cpp_blocks(readme)
    if not blocks:
        sys.exit("README.md shows no C++")
    for block in blocks:
        top = "\n".join(HEADERS.findall(block))
        body = HEADERS.sub("", block)
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "readme.cpp"
            source.write_text(f"{top}\nint main() {{\n{body}\nreturn result.messages > 0 ? 0 : 1;\n}}\n")
            command = [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Werror", f"-I{root}", str(source)]
            subprocess.run(command, check=True)


def check_example(root):
    example = root / "tests/added_algorithm/in_turns.cpp"
    shown = cpp_blocks((root / "CONTRIBUTING.md").read_text())
    if len(shown) != 1 or not example.read_text().endswith("\n" + shown[0]):
        sys.exit(f"the C++ in CONTRIBUTING.md is not what {example.relative_to(root)} holds below its comment")


def shares(row):
    """The percentages of a row of a table, as written but for blanks."""
    return re.findall(r"(\d+(?:\.\d+)?) ?%", row)


def words_of(number):
    return {"1": "one", "2": "two", "3": "three", "4": "four"}.get(number, number)


def check_accuracy(root):
    """What README.md says of the records of ./dev accuracy is what they say."""
    readme = (root / "README.md").read_text()
    published = (root / "docs/measurements/published.md").read_text()
    training = (root / "docs/measurements/training.md").read_text()
    fitted = (root / "scenarios/presets/fitted.json").read_text()
    tables, points = re.search(r"fitted to (\d+) published nccl-tests tables and (\d+) published points", fitted).groups()
    both = re.search(r"predictions are from (\d+) tables", published).group(1)
    if int(tables) + int(points) != int(both):
        sys.exit(f"docs/measurements/published.md should say {int(tables) + int(points)} tables, as fitted.json does; it has {both}")
    owners = re.search(r"owners' medians is ([\d.]+)%", published).group(1)
    seen, unseen = re.findall(r"^\| all \| (\d+) \|.*$", published, re.MULTILINE)[:2]
    rows = re.findall(r"^\| all \|.*$", published, re.MULTILINE)
    steps = re.search(r"^\| all \| (\d+) \|.*$", training, re.MULTILINE)
    half, most = shares(rows[0])
    summary = f"Of {int(seen):,} rows in {tables} published tables of nccl-tests and {words_of(points)} published points of real clusters, half are predicted within {half} %, 95 % within {most} %"
    if summary not in re.sub(r"\s+", " ", readme):
        sys.exit(f"README.md should say what docs/measurements/published.md says: {summary}")
    wanted = [(f"[{tables} published tables]", seen, shares(rows[0])),
              (f"medians is {owners}%", unseen, shares(rows[1])),
              ("[published steps]", steps.group(1), shares(steps.group())[:2])]
    for words, count, errors in wanted:
        line = next((line for line in readme.splitlines() if words in line), None)
        cells = [cell.strip() for cell in line.split("|")[2:5]] if line else None
        said = [f"{int(count):,}", *(f"{error}%" for error in errors)]
        if cells != said:
            sys.exit(f"README.md should say of \"{words}\" what docs/measurements/ says: {' | '.join(said)}; it has {cells}")


def main():
    root, program, compiler = sys.argv[1:]
    root = pathlib.Path(root)
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    if not CONSOLE.search(pages[0].read_text()):
        sys.exit("README.md shows no output")
    if sum(check_outputs(page, root, program) for page in pages):
        sys.exit("with UPDATE_GOLDEN=1 in the environment this test writes them anew")
    check_cpp(pages[0].read_text(), root, compiler)
    check_example(root)
    check_accuracy(root)


if __name__ == "__main__":
    main()
