#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plots/figures.py: marks where the data are, the same bytes every time, mistakes told in words.

usage: figures_test.py ROOT PROGRAM    (77: this Python has no matplotlib)
"""
import copy
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

ROOT, PROGRAM = pathlib.Path(sys.argv[1]), sys.argv[2]
FIGURES = ROOT / "plots" / "figures.py"
LECTURE = ROOT / "scenarios" / "lecture"


def collsim(*words):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, check=True).stdout


def results(name, *words):
    return json.loads(collsim("run", LECTURE / f"{name}.json", "--quiet", "--format", "json", *words))


def trace(name, *words):
    return json.loads(collsim("trace", LECTURE / f"{name}.json", "--quiet", "-o", "-", *words))


def draw(words, python=(sys.executable, "-B"), stdin=None):
    return subprocess.run([*python, FIGURES, *map(str, words)], capture_output=True, text=True, check=False, input=stdin)


class Marks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.curve = results("ring-broadcast")

    def test_the_curve_has_the_rows_the_optimum_and_the_floor(self):
        document = copy.deepcopy(self.curve)
        document["rows"][3]["measured"] = {"time_s": 0.005, "min_s": 0.0045, "max_s": 0.006}
        axes = figures.chunk_curve(document).axes[0]
        dots = next(line for line in axes.lines if line.get_marker() == "o")
        self.assertEqual([tuple(xy) for xy in dots.get_xydata()], [(row["chunks"], row["time_s"]) for row in document["rows"]])
        dashed = next(line for line in axes.lines if line.get_linestyle() == "--")
        self.assertAlmostEqual(dashed.get_xdata()[0], 56.7558, places=3)
        dotted = next(line for line in axes.lines if line.get_linestyle() == ":")
        self.assertEqual(dotted.get_ydata()[0], document["rows"][0]["bound_s"])
        square = next(line for line in axes.lines if line.get_marker() == "s")
        self.assertEqual(tuple(square.get_xydata()[0]), (8, 0.005))

    def test_the_line_between_the_rows_is_the_formula(self):
        axes = figures.chunk_curve(self.curve).axes[0]
        line = max(axes.lines, key=lambda one: len(one.get_xdata()))
        for s, time in line.get_xydata():
            formula = (8 - 2 + s) * (5e-6 + 64 * 2**20 / (s * 25e9))
            self.assertAlmostEqual(time / formula, 1, places=6)

    def test_a_formula_of_another_form_goes_from_row_to_row(self):
        document = copy.deepcopy(self.curve)
        document["rows"][4]["analytic_s"] *= 1.1
        axes = figures.chunk_curve(document).axes[0]
        line = next(line for line in axes.lines if line.get_linestyle() == "-" and line.get_marker() == "None")
        self.assertEqual(len(line.get_xdata()), len(document["rows"]))

    def test_titles_come_from_the_data(self):
        title = figures.chunk_curve(self.curve).axes[0].get_title(loc="left")
        self.assertEqual(title, "57 chunks are 5.7 times faster than 1; 4,096 are slower than 1")
        document = copy.deepcopy(self.curve)
        del document["rows"][6]
        self.assertIn("64 chunks are 5.7 times", figures.chunk_curve(document).axes[0].get_title(loc="left"))

    def by_size_of(self, **series):
        """The axes for {algorithm: {size: time}}."""
        rows = [{"params": {}, "algorithm": algorithm, "op": "all-reduce", "ranks": 8, "size_bytes": size, "chunks": 1,
                 "time_s": time, "algbw_bytes_per_s": size / time, "busbw_bytes_per_s": size / time}
                for algorithm, times in series.items() for size, time in times.items()]
        return figures.by_size({"format": 1, "rows": rows}, metric="time").axes[0]

    def test_crossovers_are_where_two_straight_lines_meet(self):
        sizes = (1024, 4096, 16384)
        axes = self.by_size_of(tree={size: 1e-5 + size * 4e-9 for size in sizes}, ring={size: 3e-5 + size * 1e-9 for size in sizes})
        at = next(line for line in axes.lines if line.get_linestyle() == "--").get_xdata()[0]
        self.assertAlmostEqual(at, 2e-5 / 3e-9, places=3)

    def test_who_is_fastest_is_said_of_sizes_that_all_have(self):
        def title(**series):
            return self.by_size_of(**series).get_title(loc="left").replace("\n", " ")

        fast, slow = {1024: 1e-5, 2048: 2e-5, 4096: 4e-5}, {1024: 2e-5, 2048: 3e-5, 4096: 5e-5}
        self.assertEqual(title(ring=slow, tree=fast), "tree is the fastest at every size")
        self.assertEqual(title(ring=slow, tree=fast, star=fast), "tree and star are the fastest at every size")
        self.assertEqual(title(ring=fast, tree=fast), "All take the same time at every size")
        self.assertEqual(title(ring=fast, tree={8192: 6e-5, 16384: 9e-5}),
                         "Which is the fastest cannot be said: no size is common to all")
        self.assertEqual(title(ring=fast, tree=slow | {8192: 1e-6}), "ring is the fastest at every size that all have")
        self.assertEqual(title(ring=fast, tree={4096: 5e-5, 8192: 1e-6}), "ring is the fastest at 4 KiB, which all have")
        self.assertEqual(title(ring=fast, tree=fast | {4096: 5e-5}), "ring is at least as fast as the others at every size")

    def test_equal_times_do_not_hide_a_crossover(self):
        early, late = {1024: 1e-5, 2048: 3e-5, 4096: 9e-5}, {1024: 2e-5, 2048: 3e-5, 4096: 4e-5}
        for series in ({"tree": early, "ring": late}, {"ring": late, "tree": early}):
            axes = self.by_size_of(**series)
            self.assertEqual(axes.get_title(loc="left"), "Fastest: tree up to 2 KiB, then ring")
            self.assertEqual([line.get_xdata()[0] for line in axes.lines if line.get_linestyle() == "--"], [2048])

    def measured_curve(self):
        """The curve with measured times that the prediction misses by 2%."""
        document = copy.deepcopy(self.curve)
        for row in document["rows"]:
            time = row["time_s"] / 1.02
            row["measured"] = {"time_s": time, "min_s": time, "max_s": time, "noisy": False, "spread": 0.01, "data": "right"}
        return document

    def test_accuracy_leaves_out_what_is_too_noisy_or_wrong(self):
        def title():
            return figures.accuracy(document).axes[0].get_title(loc="left").replace("\n", " ")

        document = self.measured_curve()
        document["rows"][0]["measured"] |= {"time_s": 1.0, "max_s": 1.0, "noisy": True}
        judged = "rows: half are off by less than 2.0%, 95% by less than 2.0%; 1 more too noisy to judge"
        self.assertEqual(title(), f"11 {judged}")
        document["rows"][1]["measured"] |= {"time_s": 1.0, "max_s": 1.0, "data": "wrong"}
        self.assertEqual(title(), f"10 {judged}; 1 more gave wrong data")
        named = [text.get_text() for text in figures.accuracy(document).axes[0].get_legend().get_texts()]
        self.assertEqual(sorted(named), ["chain", "chain, too noisy to judge", "chain, wrong data"])
        for row in document["rows"][2:]:
            row["measured"]["data"] = "wrong"
        self.assertEqual(title(), "None of 12 rows can be judged: the runs scattered too far or the data were wrong")

    def test_the_bands_of_accuracy_are_those_of_the_error(self):
        axes = figures.accuracy(self.measured_curve()).axes[0]
        edges = [{round(y / x, 6) for x, y in band.get_paths()[0].vertices} for band in axes.collections[:2]]
        self.assertEqual(edges, [{0.75, 1.25}, {0.9, 1.1}])
        self.assertEqual((axes.get_xlabel(), axes.get_ylabel()), ("measured", "predicted"))

    def test_messages_have_the_colour_of_their_piece(self):
        run = run_of(trace("ring-broadcast", "--at", "chunks=4"))
        self.assertEqual(run.pieces, 4)
        for rank in range(7):
            mine = sorted((message.start, message.piece) for message in run.messages if message.source == rank)
            self.assertEqual([piece for _, piece in mine], [0, 1, 2, 3])
        around = run_of(trace("all-reduce-in-two-halves", "--at", "ranks=4", "--at", "op=all-reduce"))
        self.assertEqual(around.pieces, 4)
        self.assertEqual({len([m for m in around.messages if m.piece == piece]) for piece in range(4)}, {6})
        gather = run_of(trace("all-reduce-in-two-halves", "--at", "ranks=4", "--at", "op=all-gather"))
        self.assertEqual({len([m for m in gather.messages if m.piece == piece]) for piece in range(4)}, {3})

    def test_bars_lie_where_the_messages_were(self):
        axes = figures.space_time(trace("ring-broadcast", "--at", "chunks=2")).axes[0]
        messages = next(one for one in axes.collections if one.get_zorder() == 2)
        boxes = [path.get_extents() for path in messages.get_paths()]
        hop = 5e-6 + 32 * 2**20 / 25e9
        self.assertEqual(len(boxes), 14)
        self.assertAlmostEqual(max(box.x1 for box in boxes), 8 * hop, places=8)
        self.assertAlmostEqual(boxes[0].width, hop, places=8)

    def test_a_message_through_a_switch_is_one_bar_of_its_rank(self):
        document = trace("double-tree-against-ring", "--at", "algorithm=ring", "--at", "size=64KiB", "--at", "ranks=8")
        crossings = sum(event.get("cat") == "message" for event in document["traceEvents"])
        run = run_of(document)
        messages = 8 * 14 * 4  # ranks, steps, chunks
        self.assertEqual((len(run.messages), crossings), (messages, 2 * messages))  # in and out of the switch
        for view, bars in ((figures.space_time, messages), (figures.links_time, 2 * messages)):
            axes = view(document).axes[0]
            drawn = next(one for one in axes.collections if one.get_zorder() == 2).get_paths()
            self.assertEqual(len(drawn), bars)
            self.assertEqual({round(path.get_extents().height, 6) for path in drawn}, {0.66})

    def test_the_title_counts_messages_as_the_pages_do(self):
        title = figures.space_time(trace("ring-broadcast", "--at", "chunks=8")).axes[0].get_title(loc="left").replace("\n", " ")
        self.assertEqual(title, "broadcast (chain) 64 MiB: done after 4.768 ms, with 4 messages at a time on average")

    def test_lines_below_the_bars_say_why_a_rank_stands_still(self):
        run = run_of(trace("ring-broadcast", "--at", "chunks=1", "--set", 'cluster.late={"3":"20ms"}'))
        kinds = {(pause.rank, pause.kind) for pause in run.pauses}
        self.assertIn((3, "late"), kinds)
        self.assertIn((1, "a message"), kinds)
        legend = figures.space_time(trace("ring-broadcast", "--at", "chunks=2")).legends[0]
        self.assertEqual([text.get_text() for text in legend.get_texts()], ["a rank waits for a message"])


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.here = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def put(self, name, document):
        path = self.here / name
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return path

    def refused(self, words, *parts):
        done = draw([*words, "-o", self.here / "refused.svg"])
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)
        self.assertFalse((self.here / "refused.svg").exists())

    def test_the_same_input_gives_the_same_bytes(self):
        curve = self.put("curve.json", results("ring-broadcast"))
        ranks = self.put("ranks.json", results("naive-master-ring"))
        sizes = self.put("sizes.json", results("double-tree-against-ring"))
        one = self.put("one.json", trace("ring-broadcast", "--at", "chunks=8"))
        shown = self.put("shown.json", collsim("show", ROOT / "scenarios/tutorial/reduce-scatter.json", "--format", "json"))
        words = ["chunk-curve", curve, "scaling", ranks, "time-by-size", sizes, "busbw-by-size", sizes, "algbw-by-size", sizes,
                 "space-time", one, one, "links-time", one, "breakdown", one, "buffers", shown]
        for name in ("a.svg", "a.png"):
            pictures = []
            for _ in range(2):
                done = draw([*words, "-o", self.here / name])
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                pictures.append((self.here / name).read_bytes())
            self.assertEqual(*pictures)
        self.assertIn(">57 chunks are 5.7 times faster than 1; 4,096 are slower than 1</text>", (self.here / "a.svg").read_text())

    def test_dark_is_dark(self):
        curve = self.put("curve.json", results("ring-broadcast"))
        draw(["chunk-curve", curve, "--dark", "-o", self.here / "dark.svg"])
        self.assertIn("#15181c", (self.here / "dark.svg").read_text())

    def test_names_from_a_file_are_text_in_the_picture(self):
        hostile = json.dumps(trace("ring-broadcast", "--at", "chunks=2")).replace("broadcast (chain)", "</text><img onerror=x> $x$")
        path = self.put("hostile.json", hostile)
        done = draw(["space-time", path, "-o", self.here / "hostile.svg"])
        self.assertEqual(done.returncode, 0, done.stderr)
        picture = xml.dom.minidom.parse(str(self.here / "hostile.svg"))
        self.assertEqual(picture.getElementsByTagName("img"), [])

    def test_hostile_results_are_refused_in_words(self):
        good = results("ring-broadcast")

        def changed(change):
            document = copy.deepcopy(good)
            change(document)
            return self.put("changed.json", document)

        self.refused(["chunk-curve", self.put("a.json", "{")], "not JSON")
        self.refused(["chunk-curve", self.put("a.json", "[1]")], "no object")
        self.refused(["chunk-curve", self.put("a.json", '{"format": 1, "rows": [{"time_s": NaN}]}')], "NaN")
        self.refused(["chunk-curve", self.put("a.json", "[" * 100_000)], "not JSON")
        self.refused(["chunk-curve", self.put("a.json", "{}")], "collsim run")
        self.refused(["chunk-curve", changed(lambda d: d.update(format=2))], "format 2")
        self.refused(["chunk-curve", changed(lambda d: d.update(rows=[]))], "no rows")
        self.refused(["chunk-curve", changed(lambda d: d["rows"][1].pop("time_s"))], "row 1", "time_s")
        self.refused(["chunk-curve", changed(lambda d: d["rows"][1].update(time_s="fast"))], "row 1", "time_s")
        self.refused(["chunk-curve", changed(lambda d: d["rows"][2].update(measured={"time_s": 1}))], "row 2", "measured")
        self.refused(["chunk-curve", changed(lambda d: d.update(rows=d["rows"][:1] * 20_001))], "20,001")
        self.refused(["scaling", self.put("a.json", good)], "ranks")
        self.refused(["accuracy", self.put("a.json", good)], "no measurements")
        self.refused(["space-time", self.put("a.json", good)], "collsim trace")
        self.refused(["space-time", self.put("a.json", {"traceEvents": [{"ph": "X", "ts": 0, "cat": "message"}]})], "not as collsim writes")
        self.refused(["space-time", self.put("a.json", {"traceEvents": []})], "no messages")
        self.refused(["chunk-curve", self.put("a.json", trace("ring-broadcast"))], "not a trace")
        self.refused(["buffers", self.put("a.json", good)], "collsim show")
        self.refused(["buffers", self.put("a.json", {"ranks": [{"before": 1}]})], "not as collsim writes")

    def test_a_row_that_cannot_be_drawn_is_named(self):
        good = results("double-tree-against-ring")

        def refused(part, **values):
            document = copy.deepcopy(good)
            document["rows"][3].update(values)
            self.refused(["time-by-size", self.put("changed.json", document)], "row 3", part)

        refused("chunks", chunks=10**400)
        refused("bound_s", bound_s="soon")
        refused("params", params=[1])
        refused("measured", measured=[1])
        refused("measured", measured={"time_s": 1, "min_s": 1, "max_s": 10**400})
        refused("busbw", busbw_bytes_per_s=None)
        self.refused(["time-by-size", self.put("a.json", '{"format": ' + "1" * 5000 + "}")], "a.json", "not JSON")

    def test_wrong_usage_is_told(self):
        self.refused(["chunk-curve", self.here / "nowhere.json"], "nowhere.json", "No such file")
        self.refused(["pie-chart", "a.json"], "pie-chart", "chunk-curve")
        self.refused(["chunk-curve"], "needs a file")
        self.refused(["chunk-curve", "a.json", "b.json"], "one file")
        self.refused(["--lite", "chunk-curve", "a.json"], "--lite")
        curve = self.put("curve.json", results("ring-broadcast"))
        for output, part in (("a.gif", ".svg or .png"), ("nowhere/a.svg", "No such file")):
            done = draw(["chunk-curve", curve, "-o", self.here / output])
            self.assertEqual(done.returncode, 2)
            self.assertIn(part, done.stderr)
        self.assertEqual(draw(["chunk-curve", curve]).returncode, 2)

    def test_without_matplotlib_it_says_what_to_install(self):
        done = draw(["chunk-curve", "a.json", "-o", "a.svg"], python=(sys.executable, "-B", "-S", "-I"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("apt-get install python3-matplotlib", done.stderr)


if __name__ == "__main__":
    if not importlib.util.find_spec("matplotlib"):
        print(f"skipped: {sys.executable} has no matplotlib: apt-get install python3-matplotlib")
        sys.exit(1 if os.environ.get("COLLSIM_NO_SKIPS") else 77)
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(ROOT / "plots"))
    import figures
    from static.trace import run_of

    unittest.main(argv=sys.argv[:1], verbosity=1)
