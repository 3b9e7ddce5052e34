#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plots/figures.py: marks where the data are, the same bytes every time, mistakes told in words.

usage: figures_test.py ROOT PROGRAM    (77: this Python has no matplotlib)
"""
import copy
import importlib.util
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

from drawing import draw, draw_in_a_process

ROOT, PROGRAM = pathlib.Path(sys.argv[1]), sys.argv[2]
FIGURES = ROOT / "plots" / "figures.py"
LECTURE = ROOT / "scenarios" / "lecture"


def collsim(*words):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, check=True).stdout


def results(name, *words):
    return json.loads(collsim("run", LECTURE / f"{name}.json", "--quiet", "--format", "json", *words))


def trace(name, *words):
    return json.loads(collsim("trace", LECTURE / f"{name}.json", "--quiet", "-o", "-", *words))


def step(name, *words):
    """The trace of a training step."""
    return json.loads(collsim("trace", ROOT / "scenarios/training" / f"{name}.json", "--quiet", "-o", "-", *words))


class Marks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.curve = results("ring-broadcast")

    def test_the_curve_has_the_rows_the_optimum_and_the_floor(self):
        document = copy.deepcopy(self.curve)
        document["rows"][3]["measured"] = {"time_s": 0.005, "min_s": 0.0045, "max_s": 0.006, "spread": 0.01}
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

    def test_parts_of_the_cost_are_faint_lines_with_names(self):
        wire = results("ring-broadcast", "--set", "cluster.link.overhead=0us", "--set", "expect=[]")
        axes = figures.chunk_curve(self.curve, wire, names=("results", "wire alone")).axes[0]
        self.assertIn("wire alone", [text.get_text() for text in axes.texts])
        line = next(one for one in axes.lines if one.get_color() == LIGHT["muted"])
        for s, time in line.get_xydata():
            self.assertAlmostEqual(time / ((8 - 2 + s) * 64 * 2**20 / (s * 25e9)), 1, places=6)

    def test_titles_come_from_the_data(self):
        title = figures.chunk_curve(self.curve).axes[0].get_title(loc="left")
        self.assertEqual(title, "57 chunks are best: 5.7 times faster than 1; 4,096 are slower than 1")
        document = copy.deepcopy(self.curve)
        del document["rows"][6]
        self.assertIn("64 chunks are best: 5.7 times", figures.chunk_curve(document).axes[0].get_title(loc="left"))

    def test_what_takes_longest_is_named_where_it_takes_longer(self):
        document = copy.deepcopy(self.curve)
        document["rows"] = document["rows"][:3]

        def title(*times):
            for row, time in zip(document["rows"], times):
                row["time_s"] = time
            return figures.chunk_curve(document).axes[0].get_title(loc="left")

        self.assertEqual([row["chunks"] for row in document["rows"]], [1, 2, 4])
        self.assertEqual(title(1, 2, 4), "1 chunk is best; 4 take 4 times as long")
        self.assertEqual(title(1, 2, 1), "1 and 4 chunks are best; 2 take 2 times as long")
        self.assertEqual([title(1, 1.01, 1), title(4, 8, 1)], ["1 and 4 chunks are best", "4 chunks are best: 4 times faster than 1"])

    def test_rows_of_several_algorithms_have_no_common_optimum(self):
        document = copy.deepcopy(self.curve)
        document["rows"][0]["algorithm"] = "binomial"
        self.assertFalse([line for line in figures.chunk_curve(document).axes[0].lines if line.get_linestyle() == "--"])

    def by_size_of(self, **series):
        """The axes for {algorithm: {size: time}}."""
        rows = [{"params": {}, "algorithm": algorithm, "op": "all-reduce", "ranks": 8, "size_bytes": size, "chunks": 1,
                 "time_s": time, "algbw_bytes_per_s": size / time, "busbw_bytes_per_s": size / time}
                for algorithm, times in series.items() for size, time in times.items()]
        return figures.by_size({"format": 1, "rows": rows}, metric="time").axes[0]

    def crossings(self, axes):
        return [line.get_xdata()[0] for line in axes.lines if (line.get_linestyle(), line.get_color()) == ("--", LIGHT["mark"])]

    def test_crossovers_are_where_the_lines_of_the_fastest_cross(self):
        sizes = (1024, 4096, 16384)
        tree, ring = {size: 1e-5 + size * 4e-9 for size in sizes}, {size: 3e-5 + size * 1e-9 for size in sizes}
        axes = self.by_size_of(tree=tree, ring=ring)
        [cross] = self.crossings(axes)
        self.assertAlmostEqual(cross, 2e-5 / 3e-9)
        self.assertIn("at 6.5 KiB", [text.get_text() for text in axes.texts])
        self.assertEqual(axes.get_title(loc="left"), "tree is fastest up to 4 KiB, ring from 16 KiB on")

    def test_where_lines_of_the_fastest_do_not_cross_it_is_the_first_size_of_the_next(self):
        tree, ring = {1024: 1e-5, 16384: 9e-5}, {1024: 9e-5, 16384: 1e-5}
        for other in ({1024: 2e-5, 16384: 2e-5}, {1024: 9e-5, 4096: 9e-5, 16384: 9e-5}):
            axes = self.by_size_of(tree=tree, ring=ring, star=other)
            self.assertEqual(self.crossings(axes), [16384])
            self.assertIn("from 16 KiB", [text.get_text() for text in axes.texts])

    def test_who_is_fastest_is_said_of_sizes_that_all_have(self):
        def title(**series):
            return self.by_size_of(**series).get_title(loc="left").replace("\n", " ")

        fast, slow = {1024: 1e-5, 2048: 2e-5, 4096: 4e-5}, {1024: 2e-5, 2048: 3e-5, 4096: 5e-5}
        common = "at all common sizes"
        self.assertEqual(title(ring=slow, tree=fast), "tree is fastest everywhere")
        self.assertEqual(title(ring=slow, tree=fast, star=fast), "tree and star share first place everywhere")
        self.assertEqual(title(ring=fast, tree=fast), "ring and tree are equally fast everywhere")
        self.assertEqual(title(ring=fast, tree={8192: 6e-5, 16384: 9e-5}, star=fast),
                         "The curves have no sizes in common, so none is the fastest")
        self.assertEqual(title(ring=fast, tree=slow | {8192: 1e-6}), f"ring is fastest {common}")
        self.assertEqual(title(ring=fast, tree={4096: 5e-5, 8192: 1e-6}), f"ring is fastest {common}")
        self.assertEqual(title(ring=fast, tree=fast | {4096: 5e-5}), "ring and tree are equally fast up to 2 KiB, ring from 4 KiB on")

    def test_equal_times_do_not_hide_a_crossover(self):
        early, late = {1024: 1e-5, 2048: 3e-5, 4096: 9e-5}, {1024: 2e-5, 2048: 3e-5, 4096: 4e-5}
        axes = self.by_size_of(tree=early, ring=late)
        self.assertEqual(axes.get_title(loc="left"), "tree is fastest up to 1 KiB, tree and ring to 2 KiB, ring from 4 KiB on")
        self.assertEqual(self.crossings(axes), [2048, 4096])

    def test_nobody_is_the_fastest_among_those_who_do_something_else(self):
        document = {"format": 1, "rows": [
            {"algorithm": "ring", "op": op, "ranks": 8, "size_bytes": size, "chunks": 1, "time_s": time * size,
             "algbw_bytes_per_s": 1 / time, "busbw_bytes_per_s": 1 / time}
            for op, time in (("all-gather", 1e-9), ("broadcast", 2e-9)) for size in (1024, 2048)]}
        axes = figures.by_size(document).axes[0]
        self.assertEqual(axes.get_title(loc="left").replace("\n", " "), "At 2 KiB busbw is 1 GB/s for all-gather and 500 MB/s for broadcast")
        self.assertEqual(self.crossings(axes), [])
        for row in document["rows"]:
            row["ranks"] = row["size_bytes"] // 512
        self.assertEqual(figures.scaling(document).axes[0].get_title(loc="left"), "With 4 ranks broadcast takes 2 times as long as all-gather")

    def test_other_jobs_of_one_value_are_said_once(self):
        def title(**times):
            rows = [{"algorithm": "ring", "op": op, "ranks": 8, "size_bytes": size, "chunks": 1, "time_s": time * size,
                     "algbw_bytes_per_s": 1 / time, "busbw_bytes_per_s": 1 / time} for op, time in times.items() for size in (1024, 2048)]
            return figures.by_size({"format": 1, "rows": rows}).axes[0].get_title(loc="left").replace("\n", " ")

        self.assertEqual(title(gather=1e-9, scatter=1e-9, reduce=2e-9), "At 2 KiB busbw is 1 GB/s for gather and scatter and 500 MB/s for reduce")
        self.assertEqual(title(gather=1e-9, scatter=1e-9), "At 2 KiB busbw is 1 GB/s for gather and scatter")

    def test_a_protocol_is_a_choice(self):
        document = {"format": 1, "rows": [
            {"params": {"measure.protocol": protocol}, "algorithm": "ring", "op": "all-reduce", "ranks": 8, "size_bytes": size, "chunks": 1,
             "time_s": time * size, "algbw_bytes_per_s": 1 / time, "busbw_bytes_per_s": 1 / time}
            for protocol, time in (("simple", 2e-9), ("ll", 1e-9)) for size in (1024, 2048)]}
        self.assertEqual(figures.by_size(document).axes[0].get_title(loc="left"), "protocol ll is fastest everywhere")

    def breakdown_of(self, *runs):
        """Title and names of the bars of {kind: seconds}, called a, b, ..."""
        traced = json.dumps(trace("ring-broadcast", "--at", "chunks=1"))
        traces = []
        for shares in runs:
            document = json.loads(traced)
            run = next(event for event in document["traceEvents"] if event.get("cat") == "collective")
            for key in [key for key in run["args"] if key.startswith("critical path: ")]:
                del run["args"][key]
            run["args"].update({f"critical path: {kind} (us)": seconds * 1e6 for kind, seconds in shares.items()})
            document["otherData"]["time_us"] = sum(shares.values()) * 1e6
            traces.append(document)
        axes = figures.breakdown(*traces, names="abcdefg"[:len(runs)] if len(runs) > 1 else ()).axes[0]
        return axes.get_title(loc="left").replace("\n", " "), [text.get_text() for text in axes.get_yticklabels()]

    def test_where_the_time_goes_is_said_as_the_pages_do(self):
        def title(*runs):
            return self.breakdown_of(*({"startup": startup, "wire": wire} for startup, wire in runs))[0]

        self.assertEqual(title((1, 99), (6, 94), (2, 98)), "In all 3 runs at least 94% of the time goes to the wire")
        self.assertEqual(title((0, 1), (0, 3)), "In both runs all of the time goes to the wire")
        self.assertEqual(title((1, 3), (1, 1.5)), "In both runs most goes to the wire: 60% to 75% of the time")
        self.assertEqual(title((3, 1), (1, 1)), "In both runs the largest part goes to startup (alpha): 50% to 75% of the time")
        self.assertEqual(title((1, 999), (9, 1)), "a: over 99% wire; b: 90% startup (alpha)")
        self.assertEqual(title((1, 3), (9, 1), (1, 3)), "Most runs: mainly wire; but b: 90% startup (alpha)")
        self.assertEqual(title((1, 3), (9, 1), (8, 2), (7, 3), (1, 3)), "Most runs: mainly startup (alpha); but a: 75% wire")
        self.assertEqual(title((1, 3), (9, 1), (8, 2), (1, 3)), "a: 75% wire; c: 80% startup (alpha)")
        self.assertEqual(title((1, 3)), "75.0% of the time goes to the wire, 25.0% to startup (alpha)")
        self.assertEqual(title((0, 3)), "All of the time goes to the wire")
        self.assertEqual(title((1, 2999)), "Over 99.9% of the time goes to the wire")

    def test_bars_are_as_long_as_their_runs_up_to_ten_times_as_long(self):
        self.assertEqual(self.breakdown_of({"wire": 1}, {"wire": 10})[1], ["a", "b"])
        self.assertEqual(self.breakdown_of({"wire": 1}, {"wire": 11})[1], ["a: 1 s", "b: 11 s"])

    def test_numbers_are_written_as_on_the_pages(self):
        for text, value, expected in (
                (units.time_text, 0, "0 s"), (units.time_text, 18.8254e-3, "18.83 ms"), (units.time_text, 5e-6, "5 us"),
                (units.time_text, 1e-12, "1 ps"), (units.size_text, 1536, "1.5 KiB"), (units.size_text, 10, "10 B"),
                (units.rate_text, 25e9, "25 GB/s"), (units.rate_text, 12345e12, "12345 TB/s"), (units.count_text, 4096, "4,096"),
                (units.count_text, 56.7558, "56.76"), (units.percent_text, 0.0123, "1.2%"), (units.percent_text, 0.99, "99%"),
                (units.percent_text, 0.9993, "99.9%"), (units.percent_text, -0.0002, "under 0.1%"), (units.percent_text, 1, "100%"),
                (units.times_text, 1.034, "1.03"), (units.times_text, 5.74, "5.7"), (units.times_text, 12.5, "13"), (units.times_text, 4, "4")):
            self.assertEqual(text(value), expected)

    def test_few_and_many_pieces_have_the_colours_of_the_pages(self):
        page = (ROOT / "plots" / "common" / "theme.css").read_text()
        for theme, place in ((LIGHT, 0), (DARK, 1)):
            colours = [re.findall(rf"--c{i}: (#\w+)", page)[place] for i in range(1, 9)]
            self.assertEqual(list(theme["series"]), colours)
            self.assertEqual([style.piece_colour(theme, piece, 7) for piece in range(7)], colours[:7])
            for name in ("paper", "ink", "muted", "grid", "edge", "mark"):
                self.assertEqual(theme[name], re.findall(rf"--{name}: (#\w+)", page)[place])

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
        judged = "Half of the predictions are within 2.0% of the measurement, the worst within 2.0%; of 12 rows 1 scattered too much to judge"
        self.assertEqual(title(), judged)
        document["rows"][1]["measured"] |= {"time_s": 1.0, "max_s": 1.0, "data": "wrong"}
        self.assertEqual(title(), f"{judged} and 1 gave wrong data")
        named = [text.get_text() for text in figures.accuracy(document).axes[0].get_legend().get_texts()]
        self.assertEqual(sorted(named), ["chain", "too noisy to judge", "within 10% and 25%", "wrong data"])
        for row in document["rows"][2:]:
            row["measured"]["data"] = "wrong"
        self.assertEqual(title(), "None of 12 rows can be compared with its prediction: 1 scattered too much to judge and 11 gave wrong data")

    def test_the_bands_of_accuracy_are_those_of_the_error(self):
        axes = figures.accuracy(self.measured_curve()).axes[0]
        errors = [{round(x / y - 1, 6) for x, y in band.get_paths()[0].vertices} for band in axes.collections[:2]]
        self.assertEqual(errors, [{-0.25, 0.25}, {-0.1, 0.1}])
        self.assertEqual((axes.get_xlabel(), axes.get_ylabel()), ("predicted", "measured"))

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

    def test_ticks_of_a_time_axis_are_in_one_unit(self):
        figure = figures.space_time(trace("all-reduce-in-two-halves", "--at", "ranks=4", "--at", "op=all-reduce"))
        FigureCanvasAgg(figure).draw()
        ticks = [label.get_text() for label in figure.axes[0].get_xticklabels()]
        self.assertEqual(ticks[:4], ["0", "0.5 ms", "1.0 ms", "1.5 ms"])

    def test_a_message_through_a_switch_is_one_bar_of_its_rank(self):
        document = trace("double-tree-against-ring", "--at", "algorithm=ring", "--at", "size=64KiB", "--at", "ranks=8",
                         "--set", "cluster.link.sharing=exclusive", "--set", "expect=[]")
        crossings = sum(event.get("cat") == "message" for event in document["traceEvents"])
        run = run_of(document)
        messages = 8 * 14  # ranks, steps
        self.assertEqual((len(run.messages), crossings), (messages, 2 * messages))  # in and out of the switch
        for view, bars in ((figures.space_time, messages), (figures.links_time, 2 * messages)):
            axes = view(document).axes[0]
            drawn = next(one for one in axes.collections if one.get_zorder() == 2).get_paths()
            self.assertEqual(len(drawn), bars)
            self.assertEqual({round(path.get_extents().height, 6) for path in drawn}, {0.66})

    def test_a_bar_of_a_link_begins_when_its_message_gets_there(self):
        document = trace("ring-broadcast", "--at", "chunks=2", "--set", 'cluster.link={"bandwidth":"1GB/s","latency":"20ms"}',
                         "--set", "cluster.shape=switch")
        told = [event["ts"] * 1e-6 for event in document["traceEvents"] if event.get("cat") == "message" and event["ph"] in "Xb"]
        axes = figures.links_time(document).axes[0]
        drawn = next(one for one in axes.collections if one.get_zorder() == 2).get_paths()
        self.assertEqual(len(set(told)), 28)  # 7 hops of 2 messages over 2 links each, none at the same time
        for path, begins in zip(sorted(path.get_extents().x0 for path in drawn), sorted(told), strict=True):
            self.assertAlmostEqual(path, begins, places=8)

    def test_the_title_counts_messages_as_the_pages_do(self):
        title = figures.space_time(trace("ring-broadcast", "--at", "chunks=8")).axes[0].get_title(loc="left").replace("\n", " ")
        self.assertEqual(title, "broadcast (chain) 64 MiB: done after 4.768 ms, with 4 messages at a time on average")

    def test_lines_below_the_bars_say_why_a_rank_stands_still(self):
        run = run_of(trace("ring-broadcast", "--at", "chunks=1", "--set", 'cluster.late={"3":"20ms"}'))
        kinds = {(pause.rank, pause.kind) for pause in run.pauses}
        self.assertIn((3, "late"), kinds)
        self.assertIn((1, "a message"), kinds)
        legend = figures.space_time(trace("ring-broadcast", "--at", "chunks=2")).legends[0]
        self.assertEqual([text.get_text() for text in legend.get_texts()], ["waiting for a message, sending nothing"])

    def rows_of_streams(self, document):
        axes = figures.streams(document).axes[0]
        rows = [label.get_text() for label in axes.get_yticklabels()]
        boxes = next(one for one in axes.collections if one.get_zorder() == 2).get_paths()
        return rows, [path.get_extents() for path in boxes]

    def test_a_stream_is_a_row_and_ranks_that_do_the_same_share_it(self):
        rows, boxes = self.rows_of_streams(step("late-rank", "--at", "slow.5=17ms"))
        self.assertEqual(rows, ["ranks 0 to 4, 6, 7, compute", "ranks 0 to 4, 6, 7, world", "rank 5, compute", "rank 5, world"])
        self.assertEqual(len(boxes), 2 * (5 + 4) + 1)  # forward, layers, buckets; and what rank 5 does first
        self.assertAlmostEqual(max(box.x1 for box in boxes), 0.08653524, places=8)
        late = [box for box in boxes if box.x0 == 0 and round(box.y0 + box.y1) == 4]
        self.assertAlmostEqual(late[0].x1, 0.017, places=9)

    def test_a_pipeline_is_that_of_textbooks(self):
        rows, boxes = self.rows_of_streams(step("pipelines", "--at", "schedule=1f1b"))
        self.assertEqual(rows, [f"rank {rank}" for rank in range(4)])
        self.assertEqual(len(boxes), 4 * 8 * 2)
        self.assertAlmostEqual(sum(box.width for box in boxes), 4 * 0.24, places=9)

    def job(self):
        return json.loads(collsim("run", ROOT / "scenarios/training/checkpoints.json", "--quiet", "--format", "json", "--set", "expect=[]"))

    def test_the_useful_share_of_a_job_and_its_best_interval(self):
        axes = figures.useful(self.job()).axes[0]
        dots = next(line for line in axes.lines if line.get_marker() == "o")
        self.assertEqual([round(x) for x in dots.get_xdata()], [300, 1116, 3600])
        self.assertEqual([round(y, 3) for y in dots.get_ydata()], [0.777, 0.853, 0.787])
        self.assertEqual(axes.get_title(loc="left"), "From 78% to 85% of the time is useful; every 19 min is best")

    def test_a_sweep_of_other_jobs_has_no_best_interval(self):
        job = self.job()
        job["rows"][1]["best_interval_s"] *= 2
        with self.assertRaisesRegex(FigureError, "one job over several values of workload.failures.interval"):
            figures.useful(job)


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
        done = draw(*words, "-o", self.here / "refused.svg")
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
        training = self.put("training.json", step("buckets"))
        shown = self.put("shown.json", collsim("show", ROOT / "scenarios/tutorial/reduce-scatter.json", "--format", "json"))
        words = ["chunk-curve", curve, "scaling", ranks, "time-by-size", sizes, "busbw-by-size", sizes, "algbw-by-size", sizes,
                 "space-time", one, one, "links-time", one, "breakdown", one, "buffers", shown,
                 "streams", training, training]
        for name in ("a.svg", "a.png", "a.pdf"):
            pictures = []
            for way in (draw, lambda *words: draw_in_a_process(FIGURES, words)):
                done = way(*words, "-o", self.here / name)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                pictures.append((self.here / name).read_bytes())
            self.assertEqual(*pictures)
        title = ">57 chunks are best: 5.7 times faster than 1; 4,096 are slower than 1</text>"
        self.assertTrue(title in (self.here / "a.svg").read_text())

    def test_dark_is_dark(self):
        curve = self.put("curve.json", results("ring-broadcast"))
        draw("chunk-curve", curve, "--dark", "-o", self.here / "dark.svg")
        self.assertIn("#15181c", (self.here / "dark.svg").read_text())

    def test_names_from_a_file_are_text_in_the_picture(self):
        hostile = json.dumps(trace("ring-broadcast", "--at", "chunks=2")).replace("broadcast (chain)", "</text><img onerror=x> $x$")
        path = self.put("hostile.json", hostile)
        done = draw("space-time", path, "-o", self.here / "hostile.svg")
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
        self.refused(["space-time", self.put("a.json", {"traceEvents": [{"ph": "X", "ts": 0, "cat": "message"}]})], "otherData should be an object")
        self.refused(["space-time", self.put("a.json", {"traceEvents": [], "otherData": {"pieces": 1, "time_us": 1}})], "no messages")
        self.refused(["chunk-curve", self.put("a.json", trace("ring-broadcast"))], "is a trace")
        self.refused(["buffers", self.put("a.json", good)], "collsim show")
        self.refused(["buffers", self.put("a.json", {"op": "gather", "ranks": [{"rank": 0, "before": 1}]})], "before should be a list, and is 1")

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
        refused("algorithm should be a text, and is [1]", algorithm=[1])
        document = copy.deepcopy(good)
        document["rows"][3]["busbw_bytes_per_s"] = None
        self.refused(["busbw-by-size", self.put("changed.json", document)], "changed.json", "row 3", "busbw")
        self.refused(["time-by-size", self.put("a.json", '{"format": ' + "1" * 5000 + "}")], "a.json", "not JSON")

    def test_wrong_usage_is_told(self):
        self.refused(["chunk-curve", self.here / "nowhere.json"], "nowhere.json", "No such file")
        self.refused(["pie-chart", "a.json"], "pie-chart", "chunk-curve")
        self.refused(["chunk-curve"], "needs a file")
        self.refused(["scaling", "a.json", "b.json"], "one file")
        self.refused(["--lite", "chunk-curve", "a.json"], "--lite")
        curve = self.put("curve.json", results("ring-broadcast"))
        for output, part in (("a.gif", ".svg, .png or .pdf"), ("nowhere/a.svg", "No such file")):
            done = draw("chunk-curve", curve, "-o", self.here / output)
            self.assertEqual(done.returncode, 2)
            self.assertIn(part, done.stderr)
        self.assertEqual(draw("chunk-curve", curve).returncode, 2)

    def test_without_matplotlib_it_says_what_to_install(self):
        done = draw_in_a_process(FIGURES, ["chunk-curve", "a.json", "-o", "a.svg"], python=(sys.executable, "-B", "-S", "-I"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("apt-get install python3-matplotlib", done.stderr)
        line = f"{sys.executable} {FIGURES} --help | true"  # help that is cut short
        self.assertEqual(subprocess.run(line, shell=True, capture_output=True, check=False).stderr, b"")


class StrangeValues(unittest.TestCase):
    """Whatever one value of a file is, a picture comes of it or one sentence.  Views and values take turns."""

    STRANGE = ([1], {}, "x", -1, 0, 1e308, 10**400, None, True)

    def places(self, value, path=()):
        """Paths to all values of a document."""
        if path:
            yield path
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
            yield from self.places(inner, (*path, key))

    def try_all(self, document, views, is_tried=lambda path: True, of_each_place=4):
        turns, values, drawn, refused = itertools.cycle(views), itertools.cycle(self.STRANGE), 0, 0
        for path in filter(is_tried, list(self.places(document))):
            holder = document
            for key in path[:-1]:
                holder = holder[key]
            good = holder[path[-1]]
            for strange, (view, options) in zip(itertools.islice(values, of_each_place), turns):
                holder[path[-1]] = strange
                try:
                    figure = view(document, **options)
                    drawn += 1
                except FigureError as error:
                    self.assertRegex(str(error), r"\A[^\n]+\Z")
                    self.assertNotRegex(str(error), r"Error|object has no|not supported|collsim does not write", f"{path} = {str(strange)[:20]}")
                    refused += 1
                    continue
                if drawn % 25 == 0:
                    with trust():
                        FigureCanvasAgg(figure).draw()
            holder[path[-1]] = good
        self.assertGreater(drawn, 20)
        self.assertGreater(refused, 20)

    def measured(self, name, *words):
        document = results(name, *words)
        document = {key: document[key] for key in ("format", "rows")}
        for row in document["rows"]:
            row["measured"] = {"time_s": row["time_s"], "min_s": row["time_s"], "max_s": row["time_s"] * 1.1, "spread": 0.01, "noisy": False,
                               "data": "right", "algbw_bytes_per_s": 1e9, "busbw_bytes_per_s": 1e9}
        return document

    def is_of_first_row(self, path):
        return path[0] != "rows" or len(path) == 1 or path[1] == 0

    def test_results_over_chunks(self):
        document = self.measured("ring-broadcast", "--set", "sweep.collective.chunks=[1,4,57]", "--set", "expect=[]")
        self.try_all(document, [(figures.chunk_curve, {}), (figures.accuracy, {})], self.is_of_first_row)

    def test_results_over_sizes_and_ranks(self):
        swept = 'sweep={"cluster.ranks":[4,8],"collective.algorithm":["ring","one-shot"],"collective.size":["64KiB","4MiB"]}'
        document = self.measured("double-tree-against-ring", "--set", "expect=[]", "--set", swept)
        views = [(figures.by_size, {"metric": metric}) for metric in ("time", "busbw")] + [(figures.scaling, {}), (figures.best_map, {})]
        self.try_all(document, [*views, (lambda after, old=copy.deepcopy(document): figures.difference(old, after), {})], self.is_of_first_row)

    def test_traces(self):
        document = trace("ring-broadcast", "--at", "chunks=1", "--set", "cluster.ranks=3", "--set", "expect=[]")
        first = {}
        for number, event in enumerate(document["traceEvents"]):
            if event.get("cat") in ("message", "collective", "kernel", "instruction") or event["name"] == "thread_name":
                first.setdefault(event.get("cat"), number)
        read_of_kernels = ("ph", "cat", "ts", "dur", "args", "Rank")

        def is_tried(path):
            if path[0] != "traceEvents" or len(path) < 3:
                return path[0] in ("traceEvents", "otherData")
            return path[1] in first.values() and (path[1] != first["kernel"] or path[-1] in read_of_kernels)

        self.try_all(document, [(figures.space_time, {})], is_tried)
        self.try_all(document, [(figures.breakdown, {})], lambda path: is_tried(path) and (len(path) < 3 or path[1] == first["collective"]))

    def test_traces_of_steps(self):
        document = step("late-rank", "--set", "sweep=null", "--set", 'workload.slow={"1":"17ms"}', "--set", "cluster.ranks=2",
                        "--set", "workload.model.layers.0.times=1", "--set", "expect=[]")
        first = {}
        for number, event in enumerate(document["traceEvents"]):
            if event["pid"] == 1000:
                first.setdefault(event.get("cat", event["name"]), number)

        def is_tried(path):
            return len(path) < 2 or path[0] == "otherData" or path[1] in first.values()

        self.try_all(document, [(figures.streams, {})], is_tried)

    def test_jobs(self):
        document = json.loads(collsim("run", ROOT / "scenarios/training/checkpoints.json", "--quiet", "--format", "json", "--set", "expect=[]"))
        self.try_all(document, [(figures.useful, {})], lambda path: path[0] == "rows" and len(path) < 4 and self.is_of_first_row(path),
                     of_each_place=len(self.STRANGE))

    def test_buffers(self):
        shown = json.loads(collsim("show", ROOT / "scenarios/tutorial/reduce-scatter.json", "--format", "json"))
        self.try_all(shown, [(figures.buffers, {})], lambda path: path[0] != "ranks" or len(path) < 2 or path[1] == 0)


if __name__ == "__main__":
    if not importlib.util.find_spec("matplotlib"):
        print(f"skipped: {sys.executable} has no matplotlib: apt-get install python3-matplotlib")
        sys.exit(1 if os.environ.get("COLLSIM_NO_SKIPS") else 77)
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(ROOT / "plots"))
    import figures
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from static import style, units
    from static.reading import FigureError, trust
    from static.style import DARK, LIGHT
    from static.trace import run_of

    unittest.main(argv=sys.argv[:1], verbosity=1)
