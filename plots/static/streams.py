# SPDX-License-Identifier: Apache-2.0
"""What the streams of a training step do and when; ranks that do the same share their rows.  As the
report draws it: plots/common/step_streams.js."""
import re

from matplotlib.collections import PolyCollection

from static import style
from static.reading import FigureError, check, name_of, told
from static.space_time import box
from static.units import time_text

MOST_ROWS = 64
RANKS = 1000  # processes of a trace from here on hold what ranks do, one for each node
HEIGHT = 0.74  # of a bar in a row that is 1 high
# What a box is, how the key calls it, its colour.
KINDS = {
    "forward": ("forward", 5),
    "backward": ("backward", 0),
    "weights": ("weight gradients", 2),
    "collective": ("collective", 1),
    "message": ("message, or waiting for it", 4),
    "work": ("other work", 3),
}


class Step:
    """A trace of a training step; `rows`: [(name, [(kind, number, start, end)])]."""

    def __init__(self, trace):
        self.name = name_of(trace, "trace")
        if not isinstance(trace.get("traceEvents"), list):
            raise FigureError(f"this view needs a trace (collsim trace FILE -o trace.json), and {self.name} is none")
        other = check(trace, self.name, "an object", "otherData")
        self.time = check(other, f"{self.name}, otherData", "a number above 0", "time_us") * 1e-6
        self.threads, self.boxes, communicators = {}, {}, set()
        for number, event in enumerate(trace["traceEvents"]):
            where = f"{self.name}, event {number}"
            if not isinstance(event, dict):
                raise FigureError(f"{where} should be an object, and {told(event)}")
            if check(event, where, "a whole number of at least 0", "pid") < RANKS or "tid" not in event:
                continue
            thread = event["pid"], check(event, where, "a whole number of at least 0", "tid")
            if event.get("name") == "thread_name":
                self.threads[thread] = rank_and_stream(event, where)
            elif event.get("cat") == "instruction":
                communicators.add(thread)
            elif event.get("cat") in ("compute", "kernel", "message"):
                self.take(thread, event, where)
        self.rows = rows_of_alike({rank: self.streams_of(rank, communicators) for rank, _ in self.threads.values()})
        if not self.rows:
            raise FigureError(f"{self.name} shows no training step: this view draws traces of workloads")

    def take(self, thread, event, where):
        check(event, where, "a text", "name")
        check(event, where, "a number of at least 0", "ts", "dur")
        if thread not in self.threads:
            raise FigureError(f"{where}: its thread has no name")
        if event["dur"] > 0:
            start = event["ts"] * 1e-6
            end = start + event["dur"] * 1e-6
            if end > self.time * (1 + 1e-6) + 1e-9:
                raise FigureError(f"{where} ends after time_us, the end of the step")
            box_of_event = (kind_of(event), number_in(event["name"]), start, end)
            self.boxes.setdefault(thread, []).append(box_of_event)

    def streams_of(self, rank, communicators):
        """[(stream, boxes)].  Collectives are those of communicators, not of the streams that wait for them; and what
        only receives for a stream that computes is left out."""
        streams = []
        for thread, (of, name) in self.threads.items():
            boxes = [one for one in self.boxes.get(thread, []) if thread in communicators or one[0] != "collective"]
            if of == rank and boxes:
                streams.append((name, boxes))
        more = [(name, boxes) for name, boxes in streams if any(kind != "message" for kind, *_ in boxes)]
        return more or streams


def rank_and_stream(event, where):
    name = check(check(event, where, "an object", "args"), where, "a text", "name")
    called = re.fullmatch(r"rank (\d{1,9}) (.+)", name)
    if not called:
        raise FigureError(f"{where}: its thread should be named after a rank and a stream")
    return int(called[1]), called[2]


def rows_of_alike(streams):
    """Ranks whose streams all do the same have one row for each stream."""
    alike = {}
    for rank in sorted(streams):
        alike.setdefault(repr(streams[rank]), []).append(rank)
    groups = [(ranks, streams[ranks[0]]) for ranks in alike.values()]
    single = all(len(rows) <= 1 for _, rows in groups)
    return [(ranks_text(ranks) + ("" if single else f", {stream}"), boxes) for ranks, rows in groups for stream, boxes in rows]


def ranks_text(ranks):
    """rank 5; ranks 0 to 4, 6, 7"""
    runs = []
    for rank in ranks:
        if runs and runs[-1][-1] == rank - 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    words = [f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs]
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(words)}"


def kind_of(event):
    name = re.sub(r"^microbatch \d+: ", "", event["name"])
    if event["cat"] != "compute":
        return "collective" if event["cat"] == "kernel" else "message"
    return next((kind for kind in ("forward", "backward", "weights") if name.startswith(kind)), "work")


def number_in(name):
    """Of the microbatch, else of the layer or bucket, for the box; "" without one."""
    found = re.search(r"microbatch (\d+)", name) or re.search(r"(?:layer|bucket) (\d+)", name)
    return found[1] if found else ""


def how_high(*traces):
    rows = [len(Step(trace).rows) for trace in traces]
    return 1.15 + 0.34 * len(rows) + row_height(sum(rows)) * sum(rows)


def row_height(rows):
    return max(0.15, min(0.27, 5 / rows))


@style.view(height=how_high)
def streams(frame, theme, *traces, names=()):
    """Traces of training steps, one above the other on one time axis; a row is a stream of a rank, or of
    ranks that do the same.  `names` says what to call them."""
    steps = [Step(trace) for trace in traces]
    heights = [len(step.rows) for step in steps]
    if sum(heights) > MOST_ROWS:
        raise FigureError(f"{sum(heights)} streams; a picture has at most {MOST_ROWS}")
    panels = frame.subplots(len(steps), 1, sharex=True, gridspec_kw={"height_ratios": heights}, squeeze=False)[:, 0]
    left = 0.03 + 0.0105 * max(len(name) for step in steps for name, _ in step.rows)
    names = names or [step.name.removesuffix(".json") for step in steps]
    style.title(frame, panels[0], finding(steps, names), how_high(*traces), left=left, above=0.28 if len(steps) > 1 else 0.12, below=0.45)
    frame.subplots_adjust(hspace=0.34 * len(steps) / row_height(sum(heights)) / sum(heights))
    longest = max(step.time for step in steps)
    for axes, step, name in zip(panels, steps, names):
        draw_step(axes, theme, step, longest)
        if len(steps) > 1:
            axes.annotate(f"{name}: {time_text(step.time)}", (0, 1), xytext=(0, 3), va="bottom", xycoords="axes fraction",
                          textcoords="offset points", fontsize=8.5, color=theme["muted"])
    panels[-1].set_xlabel("time")
    style.linear_time(panels[-1].xaxis, longest)
    there = {kind for step in steps for _, boxes in step.rows for kind, *_ in boxes}
    handles = [panels[0].plot([], [], color=theme["series"][colour], linewidth=6, label=text)[0]
               for kind, (text, colour) in KINDS.items() if kind in there]
    frame.legend(handles=handles, loc="lower left", bbox_to_anchor=(left - 0.01, 0), borderaxespad=0.3, ncol=len(handles),
                 fontsize=8, handlelength=0.9, columnspacing=1.4, labelcolor=theme["muted"])


def finding(steps, names):
    first, last = steps[0], steps[-1]
    if len(steps) == 1:
        return f"The step takes {time_text(last.time)}"
    if time_text(first.time) == time_text(last.time):
        return f"{names[0]} and {names[-1]}: both take {time_text(last.time)}"
    return f"{names[-1]}: {time_text(last.time)} instead of {time_text(first.time)}"


def draw_step(axes, theme, step, longest):
    axes.set_xlim(0, longest * 1.005)
    axes.set_ylim(len(step.rows) - 0.5, -0.5)
    axes.set_yticks(range(len(step.rows)), [name for name, _ in step.rows])
    axes.tick_params(axis="y", length=0)
    axes.grid(False, axis="y")
    shapes, colours = [], []
    for row, (_, boxes) in enumerate(step.rows):
        narrow = {kind for kind, number, start, end in boxes if end - start < longest * 0.0125 * (0.4 + len(number))}
        for kind, number, start, end in boxes:
            colour = theme["series"][KINDS[kind][1]]
            shapes.append(box(start, end, row - HEIGHT / 2, HEIGHT))
            colours.append(colour)
            if number and kind not in narrow:
                axes.annotate(number, ((start + end) / 2, row), ha="center", va="center", fontsize=7, color=style.ink_on(colour),
                              zorder=4)
    axes.add_collection(PolyCollection(shapes, facecolors=colours, edgecolors=theme["paper"],
                                       linewidths=0.6 if len(shapes) < 600 else 0.15, zorder=2))
    if step.time < longest * 0.999:
        axes.axvline(step.time, color=theme["mark"], linewidth=1.1, linestyle="--")
