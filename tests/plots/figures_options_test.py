#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plots/figures.py for papers: width, titles, names, fonts, views above each other, and what has no room.

usage: figures_options_test.py ROOT PROGRAM    (77: this Python has no matplotlib)
"""
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from drawing import draw

ROOT, PROGRAM = pathlib.Path(sys.argv[1]), sys.argv[2]
HAS_MATPLOTLIB = importlib.util.find_spec("matplotlib")


if HAS_MATPLOTLIB:
    sys.path.insert(0, str(ROOT / "plots"))
    import figures
    from matplotlib.backends.backend_agg import FigureCanvasAgg


def boxes_of(figure, labels):
    """Where words are, in pixels, from left to right."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    return sorted((label.get_window_extent(renderer) for label in labels if label.get_text()), key=lambda box: box.x0)


class Options(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.here = pathlib.Path(self.folder.name)
        self.trace = self.here / "a.json"
        scenario = ROOT / "scenarios/lecture/ring-broadcast.json"
        subprocess.run([PROGRAM, "trace", scenario, "--quiet", "--at", "chunks=8", "-o", self.trace], check=True)

    def read(self):
        return json.loads(self.trace.read_text())

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

    def test_axes_of_views_above_each_other_are_aligned(self):
        long_name = f"a run with a long name={self.trace}"
        figure = figures.stack([(figures.space_time, [self.read()], {}), (figures.breakdown, [self.read()] * 2, {"names": ("a run with a long name", "b")})])
        edges = {tuple(round(edge, 6) for edge in (axes.get_position().x0, axes.get_position().x1)) for axes in figure.axes}
        self.assertEqual(len(edges), 1, edges)
        alone = figures.space_time(self.read()).axes[0].get_position()
        self.assertAlmostEqual(figure.axes[0].get_position().height, alone.height)
        self.assertEqual(draw("space-time", self.trace, "breakdown", long_name, self.trace, "-o", self.here / "both.svg").returncode, 0)

    def test_of_too_many_links_the_busiest_are_drawn_and_counted(self):
        sets = ["--set", "cluster.shape=switch", "--set", "cluster.ranks=64", "--set", "collective.algorithm=binomial", "--set", "expect=[]"]
        scenario, trace = ROOT / "scenarios/lecture/ring-broadcast.json", self.here / "many.json"
        subprocess.run([PROGRAM, "trace", scenario, "--quiet", "--at", "chunks=1", *sets, "-o", trace], check=True)
        picture = self.here / "links.svg"
        done = draw("links-time", trace, "-o", picture)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("; the 80 busiest of 95 links", " ".join(re.findall(r">([^<]*)</text>", picture.read_text())))

    def test_names_below_a_narrow_axis_do_not_touch(self):
        scenario = ROOT / "scenarios/lecture/ring-broadcast.json"
        done = subprocess.run([PROGRAM, "run", scenario, "--quiet", "--format", "json"], capture_output=True, text=True, check=True)
        for width, least in ((3.3, 3), (7.4, 10)):
            figure = figures.stack([(figures.chunk_curve, [json.loads(done.stdout)], {})], width=width)
            boxes = boxes_of(figure, figure.axes[0].get_xticklabels())
            self.assertGreaterEqual(len(boxes), least)
            for left, right in zip(boxes, boxes[1:]):
                self.assertLess(left.x1 + 2, right.x0)
            crossed = [text.get_bbox_patch() is not None for text in figure.axes[0].texts if text.get_text().startswith("lower bound")]
            self.assertEqual(crossed, [width < 4])  # there the line of the optimum would go through the name

    def test_long_names_of_links_are_in_the_picture(self):
        trace = self.read()
        for event in trace["traceEvents"]:
            if "link" in event.get("args", {}):
                event["args"]["link"] = f"node0.{event['args']['link']}.nvswitch"
        figure = figures.stack([(figures.links_time, [trace], {})])
        boxes = boxes_of(figure, figure.axes[0].get_yticklabels())
        self.assertGreater(len(boxes), 4)
        self.assertGreater(min(box.x0 for box in boxes), 0)

    def test_a_png_is_as_fine_as_asked_for(self):
        def width(*options):
            picture = self.here / "a.png"
            self.assertEqual(draw("space-time", self.trace, "-o", picture, "--width", "4", *options).returncode, 0)
            return int.from_bytes(picture.read_bytes()[16:20], "big")

        self.assertEqual([width(), width("--dpi", "300")], [640, 1200])
        self.assertIn("--dpi is in pixels in an inch", draw("space-time", self.trace, "-o", self.here / "b.png", "--dpi", "fine").stderr)

    def test_a_font_is_one_that_is_installed(self):
        picture = self.here / "serif.svg"
        done = draw("space-time", self.trace, "-o", picture, "--font", "stixgeneral")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(picture.read_text(), "font: [^;]*'STIXGeneral'")
        done = draw("space-time", self.trace, "-o", self.here / "wrong.svg", "--font", "STIX General")
        self.assertEqual(done.returncode, 2)
        self.assertIn('no font "STIX General" is installed; did you mean "STIXGeneral"?', done.stderr)

    def test_one_svg_is_light_and_dark(self):
        files = {name: self.here / f"{name}.svg" for name in ("light", "dark", "both")}
        for name, flags in (("light", ()), ("dark", ("--dark",)), ("both", ("--both",))):
            self.assertEqual(draw("space-time", self.trace, "-o", files[name], *flags).returncode, 0)
        texts = {name: file.read_text() for name, file in files.items()}
        light, dark = re.search(r"svg{(--c0:.*?)}\n@media\(prefers-color-scheme:dark\){svg{(.*?)}}", texts["both"]).groups()
        for name, values in (("light", light), ("dark", dark)):
            black = {"#000000"}  # which matplotlib leaves out where it is the colour of text
            self.assertEqual(set(re.findall("#[0-9a-f]{6}", values)) - black, set(re.findall("#[0-9a-f]{6}", texts[name])) - black)
        drawn = texts["both"].replace(light, "").replace(dark, "")
        self.assertEqual(re.findall("#[0-9a-f]{6}", drawn), [])
        known = dict(part.split(":") for part in light.rstrip(";").split(";"))
        self.assertEqual(set(re.findall(r"var\((--c\d+)\)", drawn)), set(known))
        done = draw("space-time", self.trace, "-o", self.here / "a.png", "--both")
        self.assertEqual((done.returncode, done.stderr), (2, "figures.py: a.png: only an SVG can be light and dark at once\n"))
        done = draw("space-time", self.trace, "-o", self.here / "a.svg", "--both", "--dark")
        self.assertEqual((done.returncode, done.stderr), (2, "figures.py: --both is light and dark in one file, --dark is dark alone: use one of them\n"))

    def told(self, *words):
        return subprocess.run([PROGRAM, *map(str, words), "--quiet"], capture_output=True, text=True, check=True).stdout

    def test_a_message_is_counted_until_it_has_crossed_its_last_link(self):
        file = self.here / "gather.json"
        file.write_text(json.dumps({
            "scenario": 1, "collective": {"op": "gather", "algorithm": "flat", "size": "720MB", "chunks": 1},
            "cluster": {"shape": "chain", "ranks": 3, "link": {"bandwidth": "24GB/s", "overhead": "0s", "latency": "0s"}}}))
        document = json.loads(self.told("trace", file, "-o", "-"))
        title = figures.links_time(document).axes[0].get_title(loc="left").replace("\n", " ")
        self.assertIn("done after 20 ms, with 1.5 messages at a time on average", title)

    def test_a_narrow_picture_holds_all_that_it_says(self):
        scenario = ROOT / "scenarios/lecture/ring-broadcast.json"
        one, best = (json.loads(self.told("trace", scenario, "-o", "-", "--at", f"chunks={chunks}")) for chunks in (1, 57))
        sweep = json.loads(self.told("run", scenario, "--format", "json"))
        names = {"names": ("one", "best")}
        for view, data, options in ((figures.breakdown, (one, best), names), (figures.space_time, (one, best), names), (figures.chunk_curve, (sweep,), {})):
            figure = figures.stack([(view, data, options)], width=3.3)
            FigureCanvasAgg(figure).draw()
            texts = [text for axes in figure.subfigs[0].axes for text in [*axes.texts, *(axes.get_legend().get_texts() if axes.get_legend() else [])]]
            self.assertTrue(texts)
            for text in texts:
                place = text.get_window_extent()
                self.assertGreater(place.x0, 0, text.get_text())
                self.assertLess(place.x1, figure.bbox.width, text.get_text())

    def test_a_narrow_picture_holds_long_names_of_curves(self):
        algorithms = ["two-shot", "recursive-doubling", "halving-doubling", "bidirectional-ring"]
        scenario = {"scenario": 1, "cluster": {"shape": "switch", "ranks": 16, "link": {"bandwidth": "25GB/s", "overhead": "2us"}},
                    "collective": {"op": "all-reduce"}, "sweep": {"collective.algorithm": algorithms, "collective.size": ["1KiB", "1MiB", "16MiB"]}}
        file = self.here / "long.json"
        names = ("", "what " + "the wire alone would cost " * 2)
        few = self.told("run", ROOT / "scenarios/lecture/ring-broadcast.json", "--format", "json", "--set", "cluster.link.overhead=0ns", "--set", "expect=[]")
        chunks = self.told("run", ROOT / "scenarios/lecture/ring-broadcast.json", "--format", "json")
        views = [(figures.chunk_curve, [json.loads(chunks), json.loads(few)], {"names": names})]
        for swept in ({}, {"cluster.link.bandwidth": ["25GB/s", "12.5GB/s"]}):
            file.write_text(json.dumps({**scenario, "sweep": {**scenario["sweep"], **swept}}))
            views.append((figures.VIEWS["time-by-size"], [json.loads(self.told("run", file, "--format", "json"))], {"metric": "time"}))
        for number, (view, data, options) in enumerate(views):
            figure = figures.stack([(view, data, options)], width=3.3)
            FigureCanvasAgg(figure).draw()
            axes = figure.subfigs[0].axes[0]
            self.assertGreater(axes.get_window_extent().width, 0.25 * figure.bbox.width)
            for text in axes.texts:
                place = text.get_window_extent()
                self.assertGreater(place.x0, 0, text.get_text())
                self.assertLess(place.x1, figure.bbox.width, text.get_text())
            said = [text.get_text() for text in axes.texts]
            if number == 1:
                self.assertIn("recursive-\ndoubling", said)
            if number == 2:
                self.assertIn("rec…12.5 GB/s", said)

    def test_a_width_is_a_number_of_inches(self):
        for wrong in ("3cm", "0", "99"):
            done = draw("space-time", self.trace, "-o", self.here / "wrong.svg", "--width", wrong)
            self.assertEqual(done.returncode, 2)
            self.assertIn("--width is in inches", done.stderr)


if __name__ == "__main__":
    if not HAS_MATPLOTLIB:
        print("skipped: this Python has no matplotlib")
        sys.exit(1 if os.environ.get("COLLSIM_NO_SKIPS") else 77)
    unittest.main(argv=sys.argv[:1])
