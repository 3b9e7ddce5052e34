#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plots/figures.py for papers: width, titles, names and fonts.

usage: figures_options_test.py ROOT PROGRAM    (77: this Python has no matplotlib)
"""
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT, PROGRAM = pathlib.Path(sys.argv[1]), sys.argv[2]


def draw(*words):
    return subprocess.run([sys.executable, "-B", ROOT / "plots/figures.py", *map(str, words)], capture_output=True, text=True, check=False)


class Options(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.here = pathlib.Path(self.folder.name)
        self.trace = self.here / "a.json"
        scenario = ROOT / "scenarios/lecture/ring-broadcast.json"
        subprocess.run([PROGRAM, "trace", scenario, "--quiet", "--at", "chunks=8", "-o", self.trace], check=True)

    def tearDown(self):
        self.folder.cleanup()

    def test_a_column_of_a_paper_has_its_width_own_names_and_no_title(self):
        column = self.here / "column.svg"
        done = draw("space-time", f"one message={self.trace}", self.trace, "-o", column, "--width", "3.3", "--no-title")
        self.assertEqual(done.returncode, 0, done.stderr)
        text = column.read_text()
        self.assertRegex(text, r'<svg [^>]*width="237\.6')
        self.assertIn("one message: ", text)
        self.assertNotIn("both done after", text)

    def test_pdf_has_fonts_that_publishers_accept(self):
        page = self.here / "page.pdf"
        self.assertEqual(draw("space-time", self.trace, "-o", page).returncode, 0)
        self.assertNotIn(b"/Type3", page.read_bytes())
        self.assertIn(b"/CIDFontType2", page.read_bytes())

    def test_a_width_is_a_number_of_inches(self):
        for wrong in ("3cm", "0", "99"):
            done = draw("space-time", self.trace, "-o", self.here / "wrong.svg", "--width", wrong)
            self.assertEqual(done.returncode, 2)
            self.assertIn("--width is in inches", done.stderr)


if __name__ == "__main__":
    if not importlib.util.find_spec("matplotlib"):
        print("skipped: this Python has no matplotlib")
        sys.exit(1 if os.environ.get("COLLSIM_NO_SKIPS") else 77)
    unittest.main(argv=sys.argv[:1])
