# SPDX-License-Identifier: Apache-2.0
"""The house rules that a compiler does not check.  usage: lint.py ROOT

Each rule is a function from a tree to complaints (path, line, text).  Exit code 1 when there is one.
"""

import os
import re
import sys
from pathlib import Path

import cpp_source

MAX_FUNCTION_LINES = 70
MAX_FILE_LINES = 600
MAX_COLUMNS = 100

CORE = ("topo", "collectives", "sim")
# Which folders the files of a folder may include.  No edge between sim and validate: a prediction
# must not be able to peek.
MAY_INCLUDE = {
    "topo": {"topo"},
    "collectives": {"topo", "collectives"},
    "sim": {"topo", "collectives", "sim"},
    "validate": {"topo", "collectives", "validate"},
    "app": {"topo", "collectives", "sim", "validate", "app"},
    "plots": {"topo", "collectives", "sim", "plots"},
    "bench": {"topo", "collectives", "sim", "validate", "app", "bench"},
    "tests": {"topo", "collectives", "sim", "validate", "plots", "app", "bench", "tests"},
}
# The same for the folders of app/, from the ground up.  Headers of app/ itself are for all of them.
APP_MAY_INCLUDE = {
    "json": {"json"},
    "import": {"json", "import"},
    "export": {"import", "export"},
    "scenario": {"json", "import", "scenario"},
    "results": {"json", "scenario", "results"},
    "measured": {"json", "scenario", "results", "measured"},
    "expression": {"json", "scenario", "results", "expression"},
    "study": {"json", "scenario", "results", "expression", "study"},
    "output": {"json", "import", "scenario", "results", "output"},
    "explain": {"json", "scenario", "results", "study", "explain"},
    "show": {"json", "scenario", "output", "show"},
    "calibrate": {"json", "scenario", "results", "measured", "study", "output", "calibrate"},
    "report": {"json", "scenario", "results", "study", "report"},
}
APP_MAY_INCLUDE["commands"] = {*APP_MAY_INCLUDE, "commands"}
GPU_FOLDER = "validate/cuda/"
MPI_FOLDERS = ("validate/mpi/", "tests/cli/mpi/")
GPU_HEADER = re.compile(r"^(cuda|nccl|nvml|nvtx|cooperative_groups|cub/|thrust/|mma\.h)")
STANDARD_HEADERS = set(
    """algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv
    chrono cinttypes climits clocale cmath codecvt compare complex concepts condition_variable
    coroutine csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar
    cwctype deque exception execution filesystem format forward_list fstream functional future
    initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale map
    memory memory_resource mutex new numbers numeric optional ostream queue random ranges ratio
    regex scoped_allocator semaphore set shared_mutex source_location span sstream stack stdexcept
    stop_token streambuf string string_view strstream syncstream system_error thread tuple
    type_traits typeindex typeinfo unordered_map unordered_set utility valarray variant vector
    version""".split()
)

EXCEPTIONS = re.compile(r"\b(try|catch|throw)\b")
MAY_THROW = {"topo/error.cpp"}
UNREPEATABLE = re.compile(
    r"\b(s?rand)\s*\(|\b(random_device|system_clock|steady_clock|high_resolution_clock)\b"
    r"|\b(time)\s*\(\s*(?:0|NULL|nullptr)\s*\)"
)

# Spelled in halves, or this file would complain about itself.
UNFINISHED = re.compile(r"\b(" + "|".join(a + b for a, b in (("TO", "DO"), ("FIX", "ME"), ("XX", "X"))) + r")\b")
MACHINE_PATH = re.compile(r"(?<![\w.~$}])/(?:" + "|".join(("work", "home", "root")) + r")/\w")

CPP = {".cpp", ".hpp", ".cu", ".cuh"}
CODE = CPP | {".py", ".sh", ".cmake", ".js", ".mjs", ".css"}
NO_README = {"build", "cmake"}
PAGE_NAME = re.compile(r"^(?:async )?(?:function\*?|const|let|class) (\w+)", re.MULTILINE)
OF_OTHERS = {"plots/vendor/d3-subset.min.js"}  # made of files that carry their own licences


class Tree:
    """The files of a working copy, without what is hidden, built or not text; read once."""

    def __init__(self, root):
        self.root = Path(root)
        self.texts = {}
        for folder, folders, files in os.walk(self.root):
            here = Path(folder)
            folders[:] = sorted(name for name in folders if self._wanted_folder(here, name))
            for name in sorted(files):
                if name == ".git":  # a file in a work tree of its own
                    continue
                try:
                    text = (here / name).read_text(encoding="utf-8")
                except UnicodeDecodeError:
                    continue
                self.texts[(here / name).relative_to(self.root).as_posix()] = text

    def _wanted_folder(self, here, name):
        if name == "node_modules" or here == self.root and name == "build":
            return False
        return name in (".ci", ".github") or (not name.startswith(".") and name != "__pycache__")

    def files(self, suffixes=None, folders=None):
        for path, text in self.texts.items():
            if suffixes and Path(path).suffix not in suffixes:
                continue
            if folders and path.split("/")[0] not in folders:
                continue
            yield path, text

    def code_files(self):
        for path, text in self.texts.items():
            name = Path(path).name
            if path in OF_OTHERS:
                continue
            if Path(path).suffix in CODE or name == "CMakeLists.txt" or text.startswith("#!"):
                yield path, text


def matches(pattern, text):
    for number, line in enumerate(text.splitlines(), 1):
        for match in pattern.finditer(line):
            yield number, match


def includes(text):
    """(line, path, quoted) of every include directive."""
    for number, match in matches(re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]'), text):
        yield number, match.group(2), match.group(1) == '"'


def check_layering(tree):
    for path, text in tree.files(CPP):
        folder = path.split("/")[0]
        if path.startswith("tests/package/"):
            continue  # a project of its own, outside the layers
        if folder not in MAY_INCLUDE:
            yield path, 1, f"folder {folder}/ has no place in the layers, see MAY_INCLUDE in lint.py"
            continue
        for line, header, quoted in includes(text):
            target = header.split("/")[0]
            if target in MAY_INCLUDE:
                if target not in MAY_INCLUDE[folder]:
                    yield path, line, f"{folder}/ must not include {header}"
                elif not quoted:
                    yield path, line, f'our own headers are included with quotes: "{header}"'
                elif header not in tree.texts:
                    yield path, line, f"{header} does not exist"
            elif quoted:
                yield path, line, f'"{header}" is not spelled from the root of the tree'
            elif header == "mpi.h":
                if not path.startswith(MPI_FOLDERS):
                    yield path, line, f"only {MPI_FOLDERS[0]} may include <mpi.h>"
            elif GPU_HEADER.match(header):
                if not path.startswith(GPU_FOLDER):
                    yield path, line, f"only {GPU_FOLDER} may include <{header}>"
            elif folder in CORE and header not in STANDARD_HEADERS:
                yield path, line, f"the core depends on the standard library only, not on <{header}>"


def check_app_layering(tree):
    for path, text in tree.files(CPP, ("app",)):
        folder = path.split("/")[1]
        if folder == path.split("/")[-1]:
            continue  # lies in app/ itself
        if folder not in APP_MAY_INCLUDE:
            yield path, 1, f"folder app/{folder}/ has no place in the layers, see APP_MAY_INCLUDE in lint.py"
            continue
        for line, header, _ in includes(text):
            parts = header.split("/")
            if parts[0] == "app" and len(parts) > 2 and parts[1] not in APP_MAY_INCLUDE[folder]:
                yield path, line, f"app/{folder}/ must not include {header}"


def check_licence_line(tree):
    for path, text in tree.code_files():
        lines = text.splitlines()
        first = lines[1:2] if text.startswith("#!") else lines[:1]
        if not first or "SPDX-License-Identifier: Apache-2.0" not in first[0]:
            yield path, 1, "must begin with the line `SPDX-License-Identifier: Apache-2.0`"


def check_pragma_once(tree):
    for path, text in tree.files({".hpp", ".cuh"}):
        if not re.search(r"^#pragma once$", text, re.M):
            yield path, 1, "has no `#pragma once`"


def check_machine_paths(tree):
    for path, text in tree.files():
        for line, match in matches(MACHINE_PATH, text):
            yield path, line, f"names a path of one machine: {match.group()}..."


def check_function_length(tree):
    for path, text in tree.files(CPP):
        for name, first, last in cpp_source.functions(text):
            if last - first + 1 > MAX_FUNCTION_LINES:
                yield path, first, f"{name} has {last - first + 1} lines, {MAX_FUNCTION_LINES} are allowed"


def check_file_length(tree):
    for path, text in tree.code_files():
        lines = text.count("\n")
        if lines >= MAX_FILE_LINES:
            yield path, lines, f"has {lines} lines, fewer than {MAX_FILE_LINES} are allowed"


def check_line_length(tree):
    """clang-format leaves comments alone."""
    for path, text in tree.files(CPP):
        for number, line in enumerate(cpp_source.without_raw_strings(text).splitlines(), 1):
            if len(line) > MAX_COLUMNS:
                yield path, number, f"has {len(line)} columns, {MAX_COLUMNS} are allowed"


def check_unfinished(tree):
    for path, text in tree.files():
        for line, match in matches(UNFINISHED, text):
            yield path, line, f"{match.group()} in the tree: do it or leave it"


def check_one_heading(tree):
    for path, text in tree.files({".md"}):
        outside_code = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.M | re.S)
        headings = len(re.findall(r"^# ", outside_code, re.M))
        if headings != 1:
            yield path, 1, f"has {headings} headings of the first level instead of one"


def check_banned_calls(tree):
    for path, text in tree.files(CPP, CORE):
        code = cpp_source.without_comments_and_strings(text)
        for line, match in matches(EXCEPTIONS, code):
            if path not in MAY_THROW:
                yield path, line, f"`{match.group()}` in the core: only topo/error.cpp may"
        for line, match in matches(UNREPEATABLE, code):
            yield path, line, f"`{match.group().strip('( ')}` in the core: results must be repeatable"


def check_readmes(tree):
    for folder in sorted({path.split("/")[0] for path in tree.texts if "/" in path}):
        if folder in NO_README or folder.startswith("."):
            continue
        if f"{folder}/README.md" not in tree.texts:
            yield folder, 1, "has no README.md"


def check_build_lists(tree):
    """A library's files are listed by name, so a forgotten one would not be noticed."""
    for path, _ in tree.files(CPP, (*CORE, "validate", "app", "plots", "bench")):
        owner = Path(path).parent
        while owner.name and f"{owner.as_posix()}/CMakeLists.txt" not in tree.texts:
            owner = owner.parent
        lists = tree.texts.get(f"{owner.as_posix()}/CMakeLists.txt", "")
        entry = Path(path).relative_to(owner).as_posix()
        if f"{Path(entry).parent.as_posix()}/*{Path(entry).suffix}" in lists:
            continue
        if not re.search(rf"(?<![\w./-]){re.escape(entry)}(?![\w./-])", lists):
            yield path, 1, "is in no CMakeLists.txt"


def check_algorithm_list(tree):
    """An algorithm that the list does not name would compile, and be nowhere."""
    names = tree.texts.get("collectives/algorithms/list.hpp", "")
    for path, text in tree.texts.items():
        if path.startswith("collectives/algorithms/") and path.endswith(".cpp"):
            for found in re.finditer(r"^extern const Algorithm (\w+)", text, re.MULTILINE):
                if f"NAME({found[1]})" not in names:
                    line = text.count("\n", 0, found.start()) + 1
                    yield path, line, f"{found[1]} is not in algorithms/list.hpp"


def check_page_names(tree):
    """A page's scripts are put into one: of two functions of a name the later would be called."""
    for page in ("report", "playground"):
        seen = {}
        for path, text in tree.files({".js"}, ("plots",)):
            if path.split("/")[1] not in ("common", page):
                continue
            for found in PAGE_NAME.finditer(text):
                first = seen.setdefault(found[1], path)
                if first != path:
                    line = text.count("\n", 0, found.start()) + 1
                    yield path, line, f"{found[1]} is defined in {first}, too"


CHECKS = {name[len("check_") :]: check for name, check in list(globals().items()) if name.startswith("check_")}


def complaints(root):
    tree = Tree(root)
    for rule, check in CHECKS.items():
        for path, line, text in check(tree):
            yield rule, path, line, text


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    found = list(complaints(arguments[0]))
    for rule, path, line, text in found:
        print(f"{path}:{line}: {text} [{rule}]")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
