# SPDX-License-Identifier: Apache-2.0
"""Each rule must report a tree that breaks it, and nothing else; a good tree must pass."""

import sys
import tempfile
import unittest
from pathlib import Path

import cpp_source
import lint

LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"
HEADER = LICENCE + "#pragma once\n"
SCRIPT = "# SPDX-License-Identifier: Apache-2.0\n"

GOOD_TREE = {
    "README.md": "# collsim\n\n```sh\n# not a heading\n```\n",
    "dev": "#!/usr/bin/env bash\n" + SCRIPT,
    "topo/README.md": "# topo\n",
    "topo/CMakeLists.txt": SCRIPT + "collsim_library(topo SOURCES error.cpp HEADERS error.hpp)\n",
    "topo/error.hpp": HEADER + "#include <string>\n",
    "topo/error.cpp": LICENCE + '#include "topo/error.hpp"\nvoid f() { throw 1; }\n',
    "sim/README.md": "# sim\n",
    "sim/CMakeLists.txt": SCRIPT + "collsim_library(sim SOURCES deep/a.cpp)\n",
    "sim/deep/a.cpp": LICENCE + '#include "topo/error.hpp"\n// try this, then catch it\n',
    "collectives/README.md": "# collectives\n",
    "collectives/CMakeLists.txt": SCRIPT + "algorithms/*.cpp algorithms/list.hpp\n",
    "collectives/algorithms/list.hpp": HEADER + "NAME(reduce_ring)\n",
    "collectives/algorithms/ring.cpp": LICENCE + "extern const Algorithm reduce_ring{};\n",
    "validate/README.md": "# validate\n",
    "validate/CMakeLists.txt": SCRIPT + "collsim_library(validate SOURCES cuda/run.cu)\n",
    "validate/cuda/run.cu": LICENCE + "#include <cuda_runtime.h>\n",
    "app/README.md": "# app\n",
    "app/CMakeLists.txt": SCRIPT + "embedded.hpp misc/app.hpp\n",
    "app/embedded.hpp": HEADER,
    "app/json/CMakeLists.txt": SCRIPT + "collsim_app_part(json SOURCES value.hpp)\n",
    "app/json/value.hpp": HEADER + '#include "app/embedded.hpp"\n',
    "app/results/CMakeLists.txt": SCRIPT + "collsim_app_part(results SOURCES row.hpp)\n",
    "app/results/row.hpp": HEADER + '#include "app/json/value.hpp"\n',
    "plots/README.md": "# plots\n",
    "plots/report/main.js": LICENCE + "function show() {}\n",
    "plots/report/table.js": LICENCE + "const rows = [];\n",
    "plots/playground/main.js": LICENCE + "function show() {}\n",
    "tests/README.md": "# tests\n",
    "tests/sim/a_test.cpp": LICENCE + '#include <gtest/gtest.h>\n#include "topo/error.hpp"\n',
    "build/release/generated.cpp": "#include <nonsense>\n",
}


def function_of(lines):
    return LICENCE + "int f(\n    int x) {\n" + "  ++x;\n" * (lines - 3) + "}\n"


# (rule, file, its content, part of the complaint)
VIOLATIONS = [
    ("layering", "topo/error.cpp", LICENCE + '#include "sim/simulate.hpp"\n', "must not include"),
    ("layering", "sim/deep/a.cpp", LICENCE + '#include "validate/run.hpp"\n', "must not include"),
    ("layering", "validate/cuda/run.cu", LICENCE + '#include "sim/a.hpp"\n', "must not include"),
    ("layering", "topo/error.cpp", LICENCE + '  #  include "tests/a.hpp"\n', "must not include"),
    ("layering", "topo/error.cpp", LICENCE + "#include <topo/error.hpp>\n", "with quotes"),
    ("layering", "topo/error.cpp", LICENCE + '#include "error.hpp"\n', "from the root"),
    ("layering", "topo/error.cpp", LICENCE + '#include "topo/gone.hpp"\n', "does not exist"),
    ("layering", "topo/error.cpp", LICENCE + "#include <fmt/core.h>\n", "standard library only"),
    ("layering", "topo/error.cpp", LICENCE + "#include <math.h>\n", "standard library only"),
    ("layering", "tests/sim/a_test.cpp", LICENCE + "#include <nccl.h>\n", "only validate/cuda/"),
    ("layering", "topo/error.cpp", LICENCE + "#include <cuda.h>\n", "only validate/cuda/"),
    ("app_layering", "app/json/value.hpp", HEADER + '#include "app/results/row.hpp"\n', "must not include"),
    ("app_layering", "app/misc/app.hpp", HEADER, "no place in the layers"),
    ("licence_line", "topo/error.hpp", "#pragma once\n", "must begin"),
    ("licence_line", "dev", "#!/usr/bin/env bash\n", "must begin"),
    ("licence_line", "topo/CMakeLists.txt", "# error.cpp error.hpp\n", "must begin"),
    ("pragma_once", "topo/error.hpp", LICENCE + "// #pragma once\n", "pragma once"),
    ("machine_paths", "README.md", "# collsim\nIn /" + "home/me/collsim\n", "one machine"),
    ("machine_paths", "dev", "#!/bin/sh\n" + SCRIPT + "cd '/" + "work/main'\n", "one machine"),
    ("function_length", "topo/error.cpp", function_of(71), "f has 71 lines"),
    ("file_length", "topo/error.cpp", LICENCE + "\n" * 599, "600 lines"),
    ("line_length", "topo/error.cpp", LICENCE + "// " + "x" * 98 + "\n", "101 columns"),
    ("line_length", "sim/deep/a.cpp", LICENCE + "int " + "\u00fc" * 99 + ";\n", "104 columns"),
    ("unfinished", "topo/error.cpp", LICENCE + "// TO" + "DO: more\n", "do it or leave it"),
    ("unfinished", "README.md", "# collsim\nXX" + "X\n", "do it or leave it"),
    ("one_heading", "README.md", "# One\n\n# Two\n", "2 headings"),
    ("one_heading", "topo/README.md", "```\n# in code\n```\n", "0 headings"),
    ("banned_calls", "sim/deep/a.cpp", LICENCE + "void f() { throw 1; }\n", "`throw`"),
    ("banned_calls", "topo/error.hpp", HEADER + "void f() { try { g(); } catch (...) {} }\n", "`try`"),
    ("banned_calls", "topo/error.cpp", LICENCE + "int x = rand();\n", "`rand`"),
    ("banned_calls", "topo/error.cpp", LICENCE + "std::random_device x;\n", "`random_device`"),
    ("banned_calls", "topo/error.cpp", LICENCE + "auto x = std::chrono::system_clock::now();\n", "`system_clock`"),
    ("readmes", "bench/x.json", "{}\n", "has no README.md"),
    ("build_lists", "topo/CMakeLists.txt", SCRIPT + "my_error.cpp error.hpp\n", "in no CMakeLists.txt"),
    ("build_lists", "sim/CMakeLists.txt", SCRIPT + "a.cpp\n", "in no CMakeLists.txt"),
    (
        "algorithm_list",
        "collectives/algorithms/gossip.cpp",
        LICENCE + "extern const Algorithm all_gather_gossip{};\n",
        "is not in algorithms/list.hpp",
    ),
    ("page_names", "plots/report/table.js", LICENCE + "function show() {}\n", "defined in plots/report/main.js"),
    ("page_names", "plots/common/axes.js", LICENCE + "const rows = [];\n", "defined in plots/"),
]


def complaints_about(files):
    with tempfile.TemporaryDirectory() as folder:
        for path, content in files.items():
            file = Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8")
        return list(lint.complaints(folder))


class Lint(unittest.TestCase):
    def test_good_tree_passes(self):
        self.assertEqual(complaints_about(GOOD_TREE), [])

    def test_each_violation_is_reported_and_nothing_else(self):
        for rule, path, content, text in VIOLATIONS:
            with self.subTest(rule=rule, path=path, content=content[-60:]):
                found = complaints_about({**GOOD_TREE, path: content})
                self.assertTrue(found, "not reported")
                self.assertEqual({complaint[0] for complaint in found}, {rule})
                self.assertTrue(any(text in complaint[3] for complaint in found), found)

    def test_every_rule_has_a_violation(self):
        self.assertEqual({violation[0] for violation in VIOLATIONS}, set(lint.CHECKS))

    def test_limits_are_reachable(self):
        long_line = "// " + "\u00fc" * 97 + "\nauto x = R\"(\n" + "x" * 101 + ")\";\n"
        files = {"topo/error.cpp": function_of(70) + long_line, "topo/error.hpp": HEADER + "\n" * 597}
        self.assertEqual(complaints_about({**GOOD_TREE, **files}), [])


class Functions(unittest.TestCase):
    def names(self, text):
        return [(name, last - first + 1) for name, first, last in cpp_source.functions(text)]

    def test_kinds_of_functions(self):
        self.assertEqual(self.names("int f() {\n}\n"), [("f", 2)])
        self.assertEqual(self.names("A::A(int x)\n    : a_{x}, b_{x} {\n  g();\n}\n"), [("A::A", 4)])
        self.assertEqual(self.names("auto f() -> std::vector<int> {\n return {1};\n}"), [("f", 3)])
        self.assertEqual(self.names("bool operator==(A a) const {\n}\n")[0][1], 2)
        self.assertEqual(self.names("A& operator=(A&& a) noexcept {\n}\n")[0][1], 2)
        self.assertEqual(self.names("template <class T = int>\nvoid f(int a = 1) {\n}"), [("f", 3)])
        self.assertEqual(self.names("TEST(A, B) {\n  if (x) {\n  }\n}\n"), [("TEST", 4)])

    def test_functions_inside_scopes(self):
        text = "namespace a {\nstruct [[x]] B {\n public:\n  void f() {\n  }\n  int g() { return 1; }\n};\n}\n"
        self.assertEqual(self.names(text), [("f", 2), ("g", 1)])

    def test_tables_are_not_functions(self):
        self.assertEqual(self.names("const int table[] = {\n1,\n2};\nint x{3};\nenum E { a };\n"), [])
        self.assertEqual(self.names("const auto t = make(\n{1, 2});\nvoid f() {\n}\n"), [("f", 2)])

    def test_braces_in_text_do_not_count(self):
        text = 'void f() {\n  g("}", \'}\', R"(}\n})", 1\'000); // }\n /* } */\n#define X {\n}\nint h() {}\n'
        self.assertEqual(self.names(text), [("f", 6), ("h", 1)])


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
