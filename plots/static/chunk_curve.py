# SPDX-License-Identifier: Apache-2.0
"""Time against the number of chunks: the U."""
import numpy

from static import style
from static.reading import series_of
from static.units import count_text, time_text, times_text


HEIGHT = 3.4


@style.view(height=HEIGHT)
def chunk_curve(frame, theme, results):
    """Results of a sweep over chunks: formula, simulation, measurement, optimum and floor.

    Line: the closed form.  Dots: simulated.  Squares with bars: median, fastest and slowest run.
    Dashed: the best number by the formula.  Dotted: no schedule is faster.
    """
    series = series_of(results, "chunks")
    axes = frame.subplots()
    rows = [row for _, group in series for row in group]
    times = [row["time_s"] for row in rows] + [row["bound_s"] for row in rows if row.get("bound_s")]
    times += [row["measured"][key] for row in rows if row.get("measured") for key in ("min_s", "max_s")]
    style.log_time(axes.yaxis, min(times), max(times))
    axes.set_ylim(min(times) * 0.8, max(times) * 1.35)
    axes.set_xscale("log", base=2)
    chunks = [row["chunks"] for row in rows]
    style.plain(axes.xaxis, count_text, style.powers_of_two(chunks))
    axes.set_xlim(min(chunks) / 1.25, max(chunks) * 1.25)
    axes.set_xlabel("chunks S (messages that the data are cut into)")
    axes.set_ylabel("time")

    ends = []
    for index, (label, group) in enumerate(series):
        colour = theme["series"][index % 8]
        draw_series(axes, theme, group, colour, style.MARKERS[index % 8], alone=len(series) == 1)
        ends.append((group[-1]["time_s"], label, colour))
    if len(series) > 1:
        style.label_ends(axes, ends)
    style.title(frame, axes, finding(series), HEIGHT, right=0.97 if len(series) == 1 else 0.8)


def draw_series(axes, theme, group, colour, marker, alone):
    x, y = line(group)
    if len(x):
        axes.plot(x, y, color=colour, linewidth=1.4)
    axes.plot([row["chunks"] for row in group], [row["time_s"] for row in group], marker, color=colour)
    for row in group:
        if row.get("measured"):
            draw_measured(axes, theme, row)
    best = next((row["best_chunks"] for row in group if row.get("best_chunks")), None)
    floor = min((row["bound_s"] for row in group if row.get("bound_s")), default=None)
    if best and group[0]["chunks"] < best < group[-1]["chunks"]:
        axes.axvline(best, color=theme["mark"] if alone else colour, linestyle="--", linewidth=1.1)
        if alone:
            axes.annotate(f"best by the formula: {best:.1f}", (best, 0.97), xytext=(5, 0), va="top", fontsize=8.5,
                          xycoords=("data", "axes fraction"), textcoords="offset points", color=theme["mark"])
    if floor and alone:
        axes.axhline(floor, color=theme["mark"], linestyle=":", linewidth=1.4)
        axes.annotate(f"no schedule is faster than {time_text(floor)}", (0.01, floor), xytext=(0, -3), va="top",
                      xycoords=("axes fraction", "data"), textcoords="offset points", fontsize=8.5, color=theme["mark"])


def draw_measured(axes, theme, row):
    measured = row["measured"]
    middle = measured["time_s"]
    away = [[middle - measured["min_s"]], [measured["max_s"] - middle]]
    axes.errorbar(row["chunks"], middle, yerr=away, fmt="s", color=theme["series"][1], markerfacecolor="none",
                  markersize=7, capsize=3, linewidth=1.2)


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
    bests = [min(group, key=lambda row: row["time_s"]) for _, group in series]
    if len(series) > 1:
        words = ", ".join(f"{label}: {count_text(best['chunks'])}" for (label, _), best in zip(series, bests))
        return f"The best number of chunks: {words}"
    group, best = series[0][1], bests[0]
    first = group[0]
    if best is first:
        return f"{count_text(best['chunks'])} chunk{'s' if best['chunks'] > 1 else ''} is best: cutting more only costs"
    ratio = times_text(first["time_s"] / best["time_s"])
    text = f"{count_text(best['chunks'])} chunks are {ratio} times faster than {count_text(first['chunks'])}"
    worse = next((row for row in group if row["chunks"] > best["chunks"] and row["time_s"] > first["time_s"]), None)
    if worse:
        return f"{text}; {count_text(worse['chunks'])} are slower than {count_text(first['chunks'])}"
    return text if best is not group[-1] else f"{text}, and more would be faster still"
