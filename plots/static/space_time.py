# SPDX-License-Identifier: Apache-2.0
"""Who sends what when: time to the right, one row per rank or link, one colour per piece of the data.
As the pages draw it: plots/common/space_time.js."""
import math

from matplotlib.collections import PolyCollection

from static import style
from static.halves import draw_halves, halves_of
from static.reading import FigureError
from static.trace import named_runs, run_of
from static.units import time_text, times_text

MOST_ROWS = 80
MOST_BARS = 20_000
BAR_TOP, BAR_HEIGHT = -0.44, 0.66  # in a row that is 1 high and has its middle at 0
LINE_TOP, LINE_HEIGHT = 0.28, 0.13
# What a thin line below the bars says, its colour, and in which order it is explained.
PAUSES = {
    "a message": ("waiting for a message, sending nothing", "edge"),
    "a signal": ("waiting for another of its lanes", "edge"),
    "a free slot": ("waiting for a free slot", 4),
    "the link": ("waiting for a busy link", 1),
    "late": ("not started yet", "ink"),
    "work": ("adding or copying", 2),
}


def rows_by_rank(run):
    return [f"rank {rank}" for rank in run.ranks]


def written(name):
    """gpu0 → gpu1"""
    return name.replace("->", " → ")


def busiest_links(run, most):
    """In the order of the run."""
    busy = dict.fromkeys(run.links, 0)
    for message in run.messages:
        for crossing in message.crossings:
            busy[crossing.link] += crossing.end - crossing.start
    shown = set(sorted(busy, key=busy.get, reverse=True)[:most])
    return [link for link in run.links if link in shown]


def rows_of(runs, links):
    """Names of rows of each run; of many links those that work longest."""
    if not links:
        return [rows_by_rank(run) for run in runs]
    most = MOST_ROWS // len(runs) if sum(len(run.links) for run in runs) > MOST_ROWS else MOST_ROWS
    return [busiest_links(run, most) for run in runs]


def how_high(*traces, links=False):
    runs = [run_of(trace) for trace in traces]
    rows = sum(map(len, rows_of(runs, links)))
    return 0.9 + below_axis(runs, links) - 0.45 + 0.42 * len(runs) + max(0.13, min(0.27, 5 / max(rows, 1))) * rows


def draw(frame, theme, traces, links, names):
    runs = named_runs(traces, names)
    if any(len(run.messages) > MOST_BARS for run in runs):
        raise FigureError(f"more than {MOST_BARS:,} messages; use fewer chunks or ranks")
    rows = rows_of(runs, links)
    heights = [len(names) for names in rows]
    if sum(heights) > MOST_ROWS:
        raise FigureError(f"{sum(heights)} rows; a picture has at most {MOST_ROWS}")
    panels = frame.subplots(len(runs), 1, sharex=True, gridspec_kw={"height_ratios": heights}, squeeze=False)[:, 0]
    halves = [None if links else halves_of(run) for run in runs]
    total = how_high(*traces, links=links)
    keyed = [] if links else pauses_shown(runs)
    columns, lines = key_layout(keyed, frame.figure.get_figwidth())
    style.title(frame, panels[0], finding(runs) + left_out(runs, rows, links), total,
                left=style.room_for_rows([written(name) for names in rows for name in names], 0.17 if links else 0.11),
                above=0.12 + 0.16 * (len(runs) > 1) + 0.16 * any(halves), below=0.45 + 0.17 * max(0, lines - 1))
    frame.subplots_adjust(hspace=(0.52 if any(halves) else 0.36) * len(runs) / max(0.36, total - 1))
    longest = max(run.time for run in runs)
    for axes, run, names, half in zip(panels, runs, rows, halves):
        draw_run(axes, theme, run, names, links, longest)
        if half:
            draw_halves(axes, theme, half, dict(enumerate(run.ranks)))
        if len(runs) > 1:
            axes.annotate(f"{run.name}: {time_text(run.time)}", (0, 1), xytext=(0, 14 if half else 3), va="bottom",
                          xycoords="axes fraction", textcoords="offset points", fontsize=8.5, color=theme["muted"])
    panels[-1].set_xlabel("time")
    style.linear_time(panels[-1].xaxis, longest)
    if keyed:
        handles = [panels[-1].plot([], [], color=pause_colour(theme, kind), linewidth=2.5, label=PAUSES[kind][0])[0]
                   for kind in keyed]
        frame.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.1, 0), borderaxespad=0.3, ncol=columns,
                     fontsize=8, handlelength=1.6, columnspacing=1.4, labelcolor=theme["muted"])


@style.view(height=how_high)
def space_time(frame, theme, *traces, names=()):
    """Traces, one above the other on one time axis; a row is a rank with what it sends.  `names` says
    what to call them.

    The pale beginning of a bar is the startup of the message.  Thin lines: why a rank stands still."""
    draw(frame, theme, traces, False, names)


@style.view(height=lambda *traces: how_high(*traces, links=True))
def links_time(frame, theme, *traces, names=()):
    """As space_time; a row is a link with what crosses it.  Of more links than a picture has room for the
    busiest are drawn, and the title says of how many."""
    draw(frame, theme, traces, True, names)


def left_out(runs, rows, links):
    """; the 80 busiest of 128 links"""
    run, shown = runs[-1], rows[-1]
    return f"; the {len(shown)} busiest of {len(run.links)} links" if links and len(shown) < len(run.links) else ""


def below_axis(runs, links):
    """Inches: pauses are explained beside the name of the axis, and below that."""
    kinds = 0 if links else len(pauses_shown(runs))
    return 0.45 + 0.17 * max(0, (kinds - 1) // 2)


def key_layout(kinds, wide):
    """(columns, lines) of what pauses are; the uppermost line is beside the name of the axis, or above it is nothing."""
    if not kinds:
        return 1, 0
    words = [PAUSES[kind][0] for kind in kinds]
    room = wide * 0.9 - 0.1
    columns, lines = style.legend_columns(words, room, 8)
    columns, lines = (columns, lines) if columns <= 2 else (2, math.ceil(len(words) / 2))
    first = words[::lines]
    used = sum(style.text_width(word, 8) + 8 * (1.6 + 0.8 + 1.4) / 72 for word in first)
    return columns, lines + (used + style.text_width("time", 9) + 0.05 * style.WIDTH > room)


def pauses_shown(runs):
    """Kinds of pauses, those alike once."""
    there = {pause.kind for run in runs for pause in run.pauses}
    return [kind for kind in PAUSES if kind in there and not (kind == "a signal" and "a message" in there)]


def pause_colour(theme, kind):
    colour = PAUSES[kind][1]
    return theme["series"][colour] if isinstance(colour, int) else theme[colour]


def draw_run(axes, theme, run, names, links, longest):
    row_of = {name: row for row, name in enumerate(names)}
    axes.set_xlim(0, longest * 1.005)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks([row + BAR_TOP + BAR_HEIGHT / 2 for row in range(len(names))], list(map(written, names)))
    axes.tick_params(axis="y", length=0)
    axes.grid(False, axis="y")
    if links:
        bars = [(row_of[crossing.link], crossing) for message in run.messages for crossing in message.crossings
                if crossing.link in row_of]
    else:
        bars = [(row_of[f"rank {message.source}"], message) for message in run.messages]
        draw_pauses(axes, theme, [(row_of[f"rank {pause.rank}"], pause) for pause in run.pauses])
    fill(axes, theme, run, packed(bars), longest)
    if run.time < longest * 0.999:
        axes.axvline(run.time, color=theme["mark"], linewidth=1.1, linestyle="--")
        axes.annotate(f"done after {time_text(run.time)}", (run.time, 0.5), xycoords=("data", "axes fraction"), xytext=(5, 0),
                      textcoords="offset points", va="center", fontsize=8.5, color=theme["mark"])


def packed(bars):
    """[(row, track, tracks of the row, what)]: what overlaps in a row stands side by side."""
    placed, free = [], {}
    for row, what in sorted(bars, key=lambda bar: (bar[0], bar[1].start, bar[1].end)):
        tracks = free.setdefault(row, [])
        slack = (what.end - what.start) * 1e-5 + 2e-9  # traces are rounded to nanoseconds
        track = next((index for index, until in enumerate(tracks) if until <= what.start + slack), len(tracks))
        tracks[track:track + 1] = [what.end]
        placed.append((row, track, what))
    return [(row, track, len(free[row]), what) for row, track, what in placed]


def draw_pauses(axes, theme, pauses):
    boxes, colours = [], []
    for row, track, tracks, pause in packed(pauses):
        height = LINE_HEIGHT / tracks
        boxes.append(box(pause.start, pause.end, row + LINE_TOP + track * height, height))
        colours.append(pause_colour(theme, pause.kind))
    if boxes:
        axes.add_collection(PolyCollection(boxes, facecolors=colours, linewidths=0, zorder=1))


def fill(axes, theme, run, bars, longest):
    boxes, colours, pale = [], [], []
    room = 0.008 * (1 + len(str(run.pieces - 1)))
    members = len(run.ranks)
    for row, track, tracks, message in bars:
        height = BAR_HEIGHT / tracks
        top = row + BAR_TOP + track * height
        colour = style.piece_colour(theme, message.piece, run.pieces)
        startup = min(message.startup, message.end - message.start)
        boxes.append(box(message.start, message.end, top, height))
        colours.append(colour)
        if startup > longest * 0.0025:
            pale.append(box(message.start, message.start + startup, top, height))
        width = message.end - message.start - startup
        if tracks == 1 < run.pieces <= 100 and width > longest * room:
            added = getattr(message, "added", None)  # a crossing of a link says it of its message
            part = f": {added}/{members}" if added and added < members and width > longest * (room + 0.05) else ""
            axes.annotate(f"{message.piece}{part}", ((message.start + startup + message.end) / 2, top + height / 2), ha="center",
                          va="center", fontsize=7.5, color=style.ink_on(colour), zorder=4)
    inches = style.axes_width(axes) / longest
    narrow = 72 * inches * min((message.end - message.start for _, _, _, message in bars), default=0)
    edges = min(0.6 if len(bars) < 600 else 0.15, 0.2 * narrow)  # else they would hide narrow bars
    axes.add_collection(PolyCollection(boxes, facecolors=colours, edgecolors=theme["paper"], linewidths=edges, zorder=2))
    if pale:
        axes.add_collection(PolyCollection(pale, facecolors=theme["paper"], alpha=0.5, linewidths=0, zorder=3))


def box(start, end, top, height):
    return [(start, top), (end, top), (end, top + height), (start, top + height)]


def messages_at_a_time(run):
    """How many messages are on their way, each until its last link is free, on average over the whole time."""
    busy = sum(max(crossing.end for crossing in message.crossings) - message.start for message in run.messages)
    many = busy / run.time if run.time else 0
    return round(many) if abs(many - round(many)) < 0.005 else many


def finding(runs):
    last = runs[-1]
    if len(runs) == 1:
        many = times_text(messages_at_a_time(last))
        return f"{last.name}: done after {time_text(last.time)}, with {many} message{'' if many == '1' else 's'} at a time on average"
    first = runs[0]
    if time_text(first.time) == time_text(last.time):
        return f"{first.name} and {last.name}: both done after {time_text(last.time)}"
    before, now = messages_at_a_time(first), messages_at_a_time(last)
    is_reason = now > 1.1 * before if last.time < first.time else before > 1.1 * now
    why = f", {times_text(now)} messages at a time instead of {times_text(before)}" if is_reason else ""
    return f"{last.name}: {time_text(last.time)} instead of {time_text(first.time)}{why}"
