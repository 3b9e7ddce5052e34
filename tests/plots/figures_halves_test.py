#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plots/figures.py on all-reduces: the border of the two halves, and of how many ranks a message holds the sum.

usage: figures_halves_test.py ROOT PROGRAM    (77: this Python has no matplotlib)
"""
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
    from static.halves import halves_of
    from static.trace import run_of


def trace(operation, algorithm, *words):
    scenario = ROOT / "scenarios/lecture/all-reduce-in-two-halves.json"
    sets = ("sweep=null", "expect=[]", "cluster.shape=fully-connected", "cluster.ranks=4", f"collective.op={operation}", f"collective.algorithm={algorithm}", *words)
    done = subprocess.run([PROGRAM, "trace", scenario, "--quiet", "-o", "-", *(word for one in sets for word in ("--set", one))],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


class Halves(unittest.TestCase):
    def test_a_ring_adds_up_in_three_steps_and_hands_out_in_three(self):
        ring = trace("all-reduce", "ring")
        turns, names = halves_of(run_of(ring))
        self.assertEqual(names, ("reduce-scatter", "all-gather"))
        for turn in turns.values():
            self.assertAlmostEqual(turn / run_of(ring).time, 1 / 2, places=4)
        axes = figures.space_time(ring).axes[0]
        words = [text.get_text() for text in axes.texts]
        self.assertIn("reduce-scatter ←", words)
        self.assertIn("→ all-gather", words)
        for part in range(4):  # 1, 2 and 3 of 4 ranks' data, then whole sums
            self.assertEqual([words.count(f"{part}: {added}/4") for added in (1, 2, 3)], [1, 1, 1])
            self.assertEqual(words.count(str(part)), 3)

    def test_a_name_without_room_is_left_out(self):
        ring, long = trace("all-reduce", "ring"), trace("all-reduce", "ring", 'cluster.late={"3":"1s"}')
        words = [text.get_text() for axes in figures.space_time(ring, long).axes for text in axes.texts]
        self.assertEqual([word for word in words if "←" in word or "→" in word], ["→ all-gather", "reduce-scatter ←"])

    def test_halves_are_named_by_what_they_are(self):
        self.assertEqual(halves_of(run_of(trace("all-reduce", "chain", "collective.chunks=1")))[1], ("reduce", "broadcast"))

    def test_what_is_not_done_in_halves_has_no_border(self):
        for operation, algorithm in (("all-gather", "ring"), ("reduce-scatter", "ring"), ("all-reduce", "one-shot")):
            self.assertIsNone(halves_of(run_of(trace(operation, algorithm))), f"{operation} {algorithm}")

    def test_a_trace_without_sums_is_drawn_without_a_border(self):
        ring = trace("all-reduce", "ring")
        for event in ring["traceEvents"]:
            event.get("args", {}).pop("sum of (ranks)", None)
        self.assertIsNone(halves_of(run_of(ring)))
        figures.space_time(ring)


if __name__ == "__main__":
    if not HAS_MATPLOTLIB:
        print("skipped: this Python has no matplotlib")
        sys.exit(1 if os.environ.get("COLLSIM_NO_SKIPS") else 77)
    unittest.main(argv=sys.argv[:1])
