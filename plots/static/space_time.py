# SPDX-License-Identifier: Apache-2.0
"""Who sends what when: time to the right, one row per rank or link, one colour per piece of the data."""
from math import nan

import matplotlib.colors
from matplotlib.collections import PolyCollection

from static import style
from static.reading import FigureError, time_text, times_text
from static.trace import named_runs, run_of

MOST_ROWS = 80
MOST_BARS = 20_000


def rows_by_rank(run):
    return [f"rank {rank}" for rank in run.ranks]


def how_high(*traces, links=False):
    runs = [run_of(trace) for trace in traces]
    rows = sum(len(run.links if links else run.ranks) for run in runs)
    return 0.95 + 0.42 * len(runs) + max(0.13, min(0.24, 5 / max(rows, 1))) * rows


def draw(frame, theme, traces, links, names):
    runs = named_runs(traces, names)
    if any(len(run.messages) > MOST_BARS for run in runs):
        raise FigureError(f"more than {MOST_BARS:,} messages; take fewer chunks or ranks")
    heights = [len(run.links if links else run.ranks) for run in runs]
    if sum(heights) > MOST_ROWS:
        raise FigureError(f"{sum(heights)} rows; a picture has at most {MOST_ROWS}")
    panels = frame.subplots(len(runs), 1, sharex=True, gridspec_kw={"height_ratios": heights}, squeeze=False)[:, 0]
    total = how_high(*traces, links=links)
    style.title(frame, panels[0], finding(runs), total, left=0.17 if links else 0.1, above=0.28 if len(runs) > 1 else 0.12)
    frame.subplots_adjust(hspace=0.36 * len(runs) / max(0.36, total - 1))
    longest = max(run.time for run in runs)
    for axes, run in zip(panels, runs):
        draw_run(axes, theme, run, links, longest)
        if len(runs) > 1:
            axes.annotate(f"{run.name}: {time_text(run.time)}", (0, 1), xytext=(0, 3), va="bottom",
                          xycoords="axes fraction", textcoords="offset points", fontsize=8.5, color=theme["muted"])
    panels[-1].set_xlabel("time")
    style.plain(panels[-1].xaxis, time_text)


@style.view(height=how_high)
def space_time(frame, theme, *traces, names=()):
    """Traces, one above the other on one time axis; a row is a rank with what it sends.  `names` says
    what to call them.

    The pale beginning of a bar is the start-up of the message, where all messages have the same.
    A thin line: the rank waits for a message."""
    draw(frame, theme, traces, False, names)


@style.view(height=lambda *traces: how_high(*traces, links=True))
def links_time(frame, theme, *traces, names=()):
    """As space_time; a row is a link with what crosses it."""
    draw(frame, theme, traces, True, names)


def draw_run(axes, theme, run, links, longest):
    names = run.links if links else rows_by_rank(run)
    row_of = {name: row for row, name in enumerate(names)}
    bars = packed([(row_of[message.link if links else f"rank {message.source}"], message) for message in run.messages])
    axes.set_xlim(0, longest * 1.005)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), [name.replace("->", " → ") for name in names])
    axes.tick_params(axis="y", length=0)
    axes.grid(False, axis="y")
    if not links:
        # One line with gaps: much less to write than many lines.
        x = [value for _, start, end in run.pauses for value in (start, end, nan)]
        y = [row_of[f"rank {rank}"] for rank, _, _ in run.pauses for _ in range(3)]
        axes.plot(x, y, color=theme["edge"], linewidth=1, zorder=1)
        for rank, start in run.starts.items():
            if start > 0:
                axes.plot((0, start), [row_of[f"rank {rank}"]] * 2, color=theme["series"][1], linewidth=3, zorder=1)
                axes.annotate("late", (start / 2, row_of[f"rank {rank}"]), xytext=(0, 2), textcoords="offset points",
                              ha="center", fontsize=8, color=theme["series"][1])
    fill(axes, theme, run, bars, longest)
    if run.time < longest * 0.999:
        axes.axvline(run.time, color=theme["mark"], linewidth=1.1, linestyle="--")
        axes.annotate(f"done after {time_text(run.time)}", (run.time, 0.5), xycoords=("data", "axes fraction"), xytext=(5, 0),
                      textcoords="offset points", va="center", fontsize=8.5, color=theme["mark"])


def packed(bars):
    """[(row, track, tracks of the row, message)]: what overlaps in a row stands side by side."""
    placed, free = [], {}
    for row, message in sorted(bars, key=lambda bar: (bar[0], bar[1].start, bar[1].end)):
        tracks = free.setdefault(row, [])
        slack = (message.end - message.start) * 1e-5 + 2e-9  # traces are rounded to nanoseconds
        track = next((index for index, until in enumerate(tracks) if until <= message.start + slack), len(tracks))
        tracks[track:track + 1] = [message.end]
        placed.append((row, track, message))
    return [(row, track, len(free[row]), message) for row, track, message in placed]


def fill(axes, theme, run, bars, longest):
    boxes, colours, pale = [], [], []
    for row, track, tracks, message in bars:
        height = 0.74 / tracks
        top = row - 0.37 + track * height
        boxes.append(box(message.start, message.end, top, height))
        colours.append(piece_colour(theme, message.piece, run.pieces))
        if run.startup > longest * 0.0025:
            pale.append(box(message.start, min(message.end, message.start + run.startup), top, height))
    edges = 0.6 if len(bars) < 600 else 0.15
    axes.add_collection(PolyCollection(boxes, facecolors=colours, edgecolors=theme["paper"], linewidths=edges, zorder=2))
    if pale:
        axes.add_collection(PolyCollection(pale, facecolors=theme["paper"], alpha=0.55, linewidths=0, zorder=3))
    for row, track, tracks, message in bars:
        if tracks == 1 < run.pieces <= 99 and message.end - message.start > longest * 0.022:
            colour = piece_colour(theme, message.piece, run.pieces)
            axes.annotate(str(message.piece + 1), ((message.start + message.end) / 2, row - 0.37 + (track + 0.5) * 0.74 / tracks),
                          ha="center", va="center", fontsize=7.5, color=ink_on(colour), zorder=4)


def box(start, end, top, height):
    return [(start, top), (end, top), (end, top + height), (start, top + height)]


def piece_colour(theme, piece, pieces):
    """Few pieces get colours that differ as much as can be; many a ramp."""
    if pieces <= 7:
        return theme["series"][piece]
    stops = [theme["series"][index] for index in (0, 5, 2, 6, 4, 1, 3)]
    ramp = matplotlib.colors.LinearSegmentedColormap.from_list("pieces", stops)
    return matplotlib.colors.to_hex(ramp(piece / (pieces - 1)))


def ink_on(colour):
    red, green, blue = matplotlib.colors.to_rgb(colour)
    return "#15181c" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "#ffffff"


def finding(runs):
    if len(runs) == 1:
        run = runs[0]
        busy = {}
        for message in run.messages:
            busy[message.link] = busy.get(message.link, 0.0) + message.end - message.start
        share = min(1.0, sum(busy.values()) / len(busy) / run.time)
        return f"{run.name}: {time_text(run.time)}; its links are busy {share:.0%} of the time"
    fast, slow = min(runs, key=lambda run: run.time), max(runs, key=lambda run: run.time)
    ratio = slow.time / fast.time
    if ratio < 1.0005:
        return f"All take {time_text(fast.time)}"
    if ratio >= 1.1:
        return f"{fast.name}: {times_text(ratio)} times faster than {slow.name}"
    return f"{slow.name}: {ratio - 1:.1%} longer than {fast.name}"
