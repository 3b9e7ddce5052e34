#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plots/figures.py on sweeps that are compared: which algorithm is best where, and what a change has changed.

usage: figures_sweeps_test.py ROOT PROGRAM    (77: this Python has no matplotlib)
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
    from static import best_map
    from static.reading import FigureError


def results(name, *words):
    scenario = ROOT / "scenarios/lecture" / f"{name}.json"
    done = subprocess.run([PROGRAM, "run", scenario, "--quiet", "--format", "json", *words], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def texts(axes):
    return [text.get_text() for text in axes.texts if text.get_text()]


class Presets(unittest.TestCase):
    """A picture says what it is of, and which algorithm was the fastest where."""

    def test_the_fastest_of_all_algorithms_is_named_at_its_first_dot(self):
        words = [PROGRAM, "predict", "all-reduce", "-b", "1K", "-e", "1M", "-f", "1024", "--preset", "dgx-h100", "--nodes", "2"]
        done = subprocess.run([*words, "--algorithm", "auto", "--quiet", "--format", "json"], capture_output=True, text=True, check=True)
        document = json.loads(done.stdout)
        names = [row["algorithm"] for row in document["rows"]]
        self.assertNotEqual(*names)
        self.assertEqual(texts(figures.by_size(document).axes[0]), [*names, "all-reduce on dgx-h100 x 2, not calibrated"])
        document["rows"][1]["algorithm"] = names[0]
        self.assertEqual(texts(figures.by_size(document).axes[0]), ["all-reduce on dgx-h100 x 2, not calibrated"])
        for row, protocol in zip(document["rows"], ("LL", "Simple")):
            row.update(nccl_algorithm="Ring", nccl_protocol=protocol)
        self.assertEqual(texts(figures.by_size(document).axes[0])[:2], ["Ring LL", "Ring Simple"])
        for row in document["rows"]:
            del row["nccl_algorithm"]
        document["axes"] += ["cluster.preset"]
        self.assertEqual(texts(figures.by_size(document).axes[0]), [])

    def test_a_title_speaks_of_what_the_axis_shows(self):
        words = [PROGRAM, "predict", "all-reduce", "-b", "1K", "-e", "1G", "-f", "32", "--preset", "dgx-h100", "--quiet", "--format", "json"]
        document = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
        titles = {metric: " ".join(figures.by_size(document, metric=metric).axes[0].get_title(loc="left").split()) for metric in ("time", "algbw", "busbw")}
        self.assertRegex(titles["time"], r"^1 KiB take [\d.]+ us, 1 GiB [\d.]+ ms; up to 1 MiB the time does not double$")
        self.assertRegex(titles["algbw"], r"^algbw reaches [\d.]+ GB/s at 1 GiB")
        self.assertRegex(titles["busbw"], r"^busbw reaches [\d.]+ GB/s at 1 GiB")


class Sweeps(unittest.TestCase):
    def sweep(self, *words):
        sweep = 'sweep={"cluster.ranks":[2,4,8],"collective.algorithm":["ring","one-shot"],"collective.size":["1KiB","1MiB","64MiB"]}'
        sets = ("cluster.link.sharing=exclusive", sweep, "expect=[]", *words)
        return results("double-tree-against-ring", *(word for one in sets for word in ("--set", one)))

    def test_a_map_has_the_colour_of_the_fastest_and_is_pale_where_it_hardly_matters(self):
        axes = figures.best_map(self.sweep()).axes[0]
        times = {}
        for row in self.sweep()["rows"]:
            times.setdefault((row["ranks"], row["size_bytes"]), {})[row["algorithm"]] = row["time_s"]
        won = [min(ways, key=ways.get) for ways in times.values() if ways["ring"] != ways["one-shot"]]
        ties = len(times) - len(won)
        title = " ".join(axes.get_title(loc="left").split())
        self.assertIn(f"{won.count('ring')} of 9 pairs of size and ranks" if won.count("ring") >= won.count("one-shot") else f"one-shot is fastest at {won.count('one-shot')} of 9", title)
        self.assertEqual(f", several at {ties}" in title, ties > 0)
        self.assertEqual(len(axes.patches), 9)
        strengths = {place: best_map.strength(ways) for place, ways in best_map.fields_of(self.sweep()).items()}
        lead = {place: max(ways.values()) / min(ways.values()) for place, ways in times.items()}
        pale, full = (pick((place for place in lead if lead[place] > 1), key=lead.get) for pick in (min, max))
        self.assertLess(strengths[pale], strengths[full])

    def test_a_difference_is_the_time_after_divided_by_that_before(self):
        before, after = self.sweep(), self.sweep("cluster.link.bandwidth=100GB/s", "cluster.link.overhead=3us")
        axes = figures.difference(before, after).axes[0]
        drawn = sorted(round(y, 9) for line in axes.lines if line.get_marker() == "o" for y in line.get_ydata())
        self.assertEqual(drawn, sorted(round(b["time_s"] / a["time_s"], 9) for a, b in zip(before["rows"], after["rows"])))
        self.assertRegex(" ".join(axes.get_title(loc="left").split()), r"^Of 18 rows \d+ are faster, at most [\d.]+ times .*; \d+ are slower")
        self.assertEqual(figures.difference(before, before).axes[0].get_title(loc="left"), "All 18 rows take as long as before")
        bars = figures.difference(results("ring-broadcast", "--set", "sweep.collective.chunks=[1,2]", "--set", "expect=[]"),
                                  results("ring-broadcast", "--set", "sweep.collective.chunks=[1,2]", "--set", "cluster.link.bandwidth=50GB/s", "--set", "expect=[]"))
        self.assertEqual([bar.get_width() < 0 for bar in bars.axes[0].patches], [True, True])
        with self.assertRaisesRegex(FigureError, "no row with the same swept values"):
            figures.difference(before, results("ring-broadcast"))

    def test_a_map_needs_a_sweep_over_sizes_and_ranks(self):
        with self.assertRaisesRegex(FigureError, "sweep over both"):
            figures.best_map(results("ring-broadcast"))

    def test_a_difference_needs_two_files(self):
        done = subprocess.run([sys.executable, "-B", ROOT / "plots/figures.py", "difference", "a.json", "-o", "a.svg"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (2, "figures.py: difference takes two files, before and after\n"))


if __name__ == "__main__":
    if not HAS_MATPLOTLIB:
        print("skipped: this Python has no matplotlib")
        sys.exit(1 if os.environ.get("COLLSIM_NO_SKIPS") else 77)
    unittest.main(argv=sys.argv[:1])
