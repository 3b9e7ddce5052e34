# SPDX-License-Identifier: Apache-2.0
"""Time against the number of chunks: the U."""
import itertools
import math
import textwrap

import numpy

from static import style
from static.marks import NOISY, curve_look, draw_measured, name_measured, why_not_judged
from static.reading import FigureError, name_of
from static.series import jointly, series_of
from static.units import count_text, fixed, time_text, times_text

HEIGHT = 3.4


@style.view(height=HEIGHT)
def chunk_curve(frame, theme, results, *parts, names=()):
    """Results of a sweep over chunks: formula, simulation, measurement, optimum and floor.

    Line: the closed form.  Dots: simulated.  Squares with bars: median, fastest and slowest run.
    Dashed: the best number by the formula.  Dotted: no algorithm is faster.  Faint: the closed form of each
    further sweep in `parts`, such as what the wire costs alone; `names` calls them, after a first for `results`."""
    series = series_of(results, "chunks")
    axes = frame.subplots()
    rows = [row for _, group in series for row in group]
    if min(row["chunks"] for row in rows) <= 0:
        raise FigureError(f"{name_of(results, 'results')} has rows of 0 chunks, which a logarithmic axis cannot show")
    times = [row["time_s"] for row in rows] + [row["bound_s"] for row in rows if row.get("bound_s")]
    times += [row["measured"][key] for row in rows if row.get("measured") for key in ("min_s", "max_s")]
    style.log_counts(axes, [row["chunks"] for row in rows], "chunks S (messages that the data is cut into)")
    style.log_time(axes.yaxis, min(times), max(times))
    axes.set_ylim(min(times) * 0.8, max(times) * 1.35)
    axes.set_ylabel("time")

    alone = len(series) == 1
    notes = [draw_part(axes, theme, part, name) for part, name in zip(parts, [*names[1:], *(["another sweep"] * len(parts))])]
    ends, drawn = [], []
    for index, (label, group) in enumerate(series):
        x, y = line(group)
        look = curve_look(theme, index, len(series))
        if len(x):
            axes.plot(x, y, linewidth=1.4, **look)
        else:
            axes.plot([row["chunks"] for row in group], [row["time_s"] for row in group], linewidth=1, alpha=0.5, **look)
        axes.plot([row["chunks"] for row in group], [row["time_s"] for row in group], "o", color=look["color"])
        drawn.append(draw_measured(axes, theme["series"][1] if alone else look["color"], [
            (row["chunks"], row["measured"]["time_s"], row["measured"]["min_s"], row["measured"]["max_s"], why_not_judged(row["measured"]))
            for row in group if row.get("measured")]))
        ends.append((group[-1]["time_s"], label, look["color"]))
    guides = draw_guides(axes, theme, series.all[0][1]) if alone else None
    if not alone:
        style.label_ends(axes, ends)
    name_measured(frame, theme, drawn, 0.11)
    style.name_machine(axes, theme, results)
    style.title(frame, axes, finding(series), HEIGHT, left=0.11, right=style.room_for(label for label, _ in series))
    for note in filter(None, notes):
        keep_inside(axes, note)
    keep_readable(axes, theme, guides)


def draw_guides(axes, theme, group):
    """The optimum and the floor: where the former is, and the name of the latter."""
    known = {row["best_chunks"] for row in group if row.get("best_chunks")}
    best = known.pop() if len(known) == 1 and len({row.get("algorithm") for row in group}) == 1 else None  # else of several forms
    floors = {row.get("bound_s") for row in group}
    optimum = None
    best = best if best and group[0]["chunks"] <= best <= group[-1]["chunks"] else None
    if best:
        axes.axvline(best, color=theme["mark"], linestyle="--", linewidth=1.1)
        optimum = axes.annotate(f"best by formula: {count_text(float(fixed(best, 1)))}", (best, 0.97), xytext=(5, 0), va="top", fontsize=8.5,
                      xycoords=("data", "axes fraction"), textcoords="offset points", color=theme["mark"])
    if len(floors) != 1 or not (floor := floors.pop()):
        return best, None, optimum
    axes.axhline(floor, color=theme["mark"], linestyle=":", linewidth=1.4)
    name = axes.annotate(f"lower bound: {time_text(floor)}", (0.01, floor), xytext=(0, -3), va="top",
                               xycoords=("axes fraction", "data"), textcoords="offset points", fontsize=8.5, color=theme["mark"])
    return best, name, optimum


def keep_readable(axes, theme, guides):
    """In a narrow picture the line of the optimum stops at the name of the floor."""
    best, name, optimum = guides or (None, None, None)
    if not best:
        return
    left, right = map(math.log, axes.get_xlim())
    wide, place = style.axes_width(axes), (math.log(best) - left) / (right - left)
    if style.text_width(optimum.get_text()) + 0.1 > (1 - place) * wide:
        optimum.set_text(optimum.get_text().replace(": ", ":\n"))
        if place > 0.5:
            optimum.set(ha="right", position=(-5, 0))
    if not name or style.text_width(name.get_text()) / wide + 0.02 <= place:
        return
    name.set_bbox({"facecolor": theme["paper"], "edgecolor": "none", "pad": 0.5})
    low, high = map(math.log, axes.get_ylim())
    room = 0.2 / (axes.get_position().height * axes.figure.bbox.height / axes.figure.dpi)  # for the name, below its line
    floor = math.log(name.xy[1])
    axes.set_ylim(math.exp(min(low, (floor - room * high) / (1 - room))), math.exp(high))


def keep_inside(axes, note):
    """In several lines where the name would be longer than the axes."""
    left, right = map(math.log, axes.get_xlim())
    place = (math.log(note.xy[0]) - left) / (right - left)
    room = (place if note.get_ha() == "right" else 1 - place) * style.axes_width(axes) - 0.1
    text = note.get_text()
    if style.text_width(text) > room:
        note.set_text("\n".join(textwrap.wrap(text, max(8, int(len(text) * room / style.text_width(text))))))


def draw_part(axes, theme, part, name):
    """Faint; its name is on the side on which the sum of all parts is not."""
    x, y = line(series_of(part, "chunks").all[0][1])
    if not len(x):
        raise FigureError(f"{name_of(part, 'results')} has no closed form to draw")
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    seen = (x >= left) & (x <= right) & (y >= low) & (y <= high)
    axes.plot(x[seen], y[seen], color=theme["muted"], linewidth=1, linestyle=(0, (5, 2.5)), zorder=1)
    if not seen.any():
        return None
    rises = y[-1] > y[0]
    at = numpy.flatnonzero(seen)[seen.sum() // 3 if rises else -1]
    return axes.annotate(name, (x[at], y[at]), xytext=(5, -4) if rises else (0, 3), textcoords="offset points", fontsize=8.5,
                         color=theme["muted"], ha="left" if rises else "right", va="top" if rises else "bottom")


def line(group):
    """The closed form between the rows.  Of a pipeline it is a + b S + c/S; where that meets every
    row the line is smooth, else it goes from row to row."""
    known = [(row["chunks"], row["analytic_s"]) for row in group if row.get("analytic_s")]
    if not known:
        return [], []
    s, t = numpy.array(known, dtype=float).T
    if len(known) >= 4:
        terms = numpy.stack([numpy.ones_like(s), s, 1 / s], axis=1)
        weights = numpy.linalg.lstsq(terms / t[:, None], numpy.ones_like(t), rcond=None)[0]
        if numpy.all(abs(terms @ weights / t - 1) < 1e-6):
            s = numpy.geomspace(s[0], s[-1], 121)
            t = weights[0] + weights[1] * s + weights[2] / s
    return s, t


def finding(series):
    """In the words of the pages: plots/common/cutting.js."""
    if len(series) > 1:
        return several(series)
    group = series.all[0][1]
    if too_noisy(group):
        return f"Predicted: {lowered(predicted(group))}; {too_noisy(group)}"
    return predicted(group) + measured(group)


def lowered(text):
    """As the end of a sentence."""
    return (text[0].lower() + text[1:]).replace(": ", ", ")


def too_noisy(group):
    """7 measurements are too noisy to judge; empty where one can be judged."""
    whys = [why_not_judged(row["measured"]) for row in group if row.get("measured")]
    if not whys or None in whys:
        return ""
    count = f"{count_text(len(whys))} measurement{'s' * (len(whys) > 1)}"
    return f"{count} {'is' if len(whys) == 1 else 'are'} {NOISY}" if set(whys) == {NOISY} else f"none of {count} can be judged"


def measured(group):
    """; measured, 64 are best"""
    rows = [row for row in group if row.get("measured") and not why_not_judged(row["measured"])]
    if len(rows) < 2:
        return ""
    best = min(rows, key=lambda row: row["measured"]["time_s"])
    too = ", too" if best["time_s"] == min(row["time_s"] for row in group) else ""
    return f"; measured, {count_text(best['chunks'])} {'is' if best['chunks'] == 1 else 'are'} best{too}"


def predicted(group):
    first, last, least = group[0], group[-1], min(row["time_s"] for row in group)
    if max(row["time_s"] for row in group) <= least * 1.001:
        return "Cutting into chunks makes no difference here"
    few, bests = count_text(first["chunks"]), [row["chunks"] for row in group if row["time_s"] == least]
    ratio = times_text(first["time_s"] / least if least else math.inf)
    falls = all(after["time_s"] <= before["time_s"] * 1.001 for before, after in itertools.pairwise(group))
    if bests[0] == last["chunks"] and falls:
        return f"More chunks help up to the last, {count_text(last['chunks'])}: {ratio} times faster than {few}"
    best = are_best(bests, [row["chunks"] for row in group])
    if bests[0] == first["chunks"]:
        slowest = max(reversed(group), key=lambda row: row["time_s"])
        longer = slowest["time_s"] / least if least else math.inf
        return f"{best}; {count_text(slowest['chunks'])} take {times_text(longer)} times as long" if longer > 1.02 else best
    gain = f"{best}: {ratio} times faster than {few}"
    worse = next((row for row in group if row["chunks"] > bests[-1] and row["time_s"] > first["time_s"]), None)
    return f"{gain}; {count_text(worse['chunks'])} are slower than {few}" if worse else gain


def several(series):
    bests = [(name, min(group, key=lambda row: row["time_s"])["chunks"]) for name, group in series]
    low, high = min(count for _, count in bests), max(count for _, count in bests)
    if low == high:
        return f"{are_best([low], [low])} everywhere"
    if len(bests) > 3:
        return f"The best number of chunks lies between {count_text(low)} and {count_text(high)}"
    return f"The best number of chunks: {jointly([f'{count_text(count)} ({name})' for name, count in bests], 0)}"


def are_best(times, counts):
    """57 chunks are best, 57 to 64 chunks are best, 8 and 32 chunks are best."""
    bests, counts = sorted(set(times)), sorted(set(counts))
    neighbours = counts.index(bests[-1]) - counts.index(bests[0]) == len(bests) - 1
    if bests[-1] == 1:
        return "1 chunk is best"
    if len(bests) > 2 and not neighbours:
        return f"{len(bests)} of {len(counts)} chunk counts are equally good, the smallest is {count_text(bests[0])}"
    joint = "to" if neighbours else "and"
    who = count_text(bests[0]) if len(bests) == 1 else f"{count_text(bests[0])} {joint} {count_text(bests[-1])}"
    return f"{who} chunks are best"
