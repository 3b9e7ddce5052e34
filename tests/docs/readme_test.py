#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""README.md shows what is true: the program's output, and C++ that compiles.

usage: readme_test.py ROOT PROGRAM COMPILER
"""
import pathlib
import re
import subprocess
import sys
import tempfile

HEADERS = re.compile(r"^#include .*$|^using namespace .*$", re.MULTILINE)


def code_blocks(text, language):
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [block for its_language, block in fenced if its_language == language]


def check_output(readme, program):
    output = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    if output not in code_blocks(readme, ""):
        sys.exit(f"README.md does not show what {program} prints:\n{output}")


def check_cpp(readme, root, compiler):
    blocks = code_blocks(readme, "cpp")
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


def main():
    root, program, compiler = sys.argv[1:]
    readme = (pathlib.Path(root) / "README.md").read_text()
    check_output(readme, program)
    check_cpp(readme, root, compiler)


if __name__ == "__main__":
    main()
