#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plots/figures.py where there are measurements: what titles say of them.

usage: figures_measured_test.py ROOT PROGRAM    (77: this Python has no matplotlib)
"""
import copy
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import unittest

ROOT, PROGRAM = pathlib.Path(sys.argv[1]), sys.argv[2]
HAS_MATPLOTLIB = importlib.util.find_spec("matplotlib")
if HAS_MATPLOTLIB:
    sys.path.insert(0, str(ROOT / "plots"))
    import figures
    import matplotlib


def measured(time, **more):
    return {"time_s": time, "min_s": time * 0.98, "max_s": time * 1.05, "spread": 0.01, "noisy": False, **more}


class Curve(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scenario = ROOT / "scenarios/lecture/ring-broadcast.json"
        done = subprocess.run([PROGRAM, "run", scenario, "--quiet", "--format", "json"], capture_output=True, text=True, check=True)
        cls.results = json.loads(done.stdout)

    def title(self, times, **more):
        document = copy.deepcopy(self.results)
        for row in document["rows"]:
            if row["chunks"] in times:
                row["measured"] = measured(times[row["chunks"]], **more)
        return figures.chunk_curve(document).axes[0].get_title(loc="left").replace("\n", " ")

    def test_what_was_measured_best_is_named_beside_what_was_predicted(self):
        predicted = "57 chunks are best: 5.7 times faster than 1; 4,096 are slower than 1"
        self.assertEqual(self.title({57: 0.0034, 64: 0.0033}), f"{predicted}; measured, 64 are best")
        self.assertEqual(self.title({1: 0.019, 57: 0.0032}), f"{predicted}; measured, 57 are best, too")

    def test_a_title_that_no_measurement_supports_says_that_it_is_a_prediction(self):
        predicted = "Predicted: 57 chunks are best, 5.7 times faster than 1; 4,096 are slower than 1; "
        self.assertEqual(self.title({57: 0.0034, 64: 0.0033}, noisy=True), f"{predicted}2 measurements are too noisy to judge")
        self.assertEqual(self.title({57: 0.0034}, noisy=True), f"{predicted}1 measurement is too noisy to judge")
        self.assertEqual(self.title({57: 0.0034}, data="wrong"), f"{predicted}none of 1 measurement can be judged")


    def test_what_is_too_noisy_is_an_open_square_as_on_the_pages(self):
        document = copy.deepcopy(self.results)
        for number, row in enumerate(document["rows"]):
            row["measured"] = measured(row["time_s"] * 1.1, noisy=number % 2 == 0)
        for view, judged in ((figures.chunk_curve, 0.3), (figures.accuracy, 1)):
            squares = [line for line in view(document).axes[0].lines if line.get_marker() == "s" and len(line.get_xdata())]
            self.assertEqual([matplotlib.colors.to_rgba(line.get_markerfacecolor())[3] for line in squares], [judged, 0])
            self.assertEqual([len(line.get_xdata()) for line in squares], [len(document["rows"]) // 2] * 2)


if __name__ == "__main__":
    if not HAS_MATPLOTLIB:
        print("skipped: this Python has no matplotlib")
        sys.exit(1 if os.environ.get("COLLSIM_NO_SKIPS") else 77)
    unittest.main(argv=sys.argv[:1])
