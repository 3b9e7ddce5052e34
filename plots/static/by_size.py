# SPDX-License-Identifier: Apache-2.0
"""Time or bandwidth against the size, one line per algorithm, with the sizes where the best changes."""
import numpy

from static import style
from static.marks import draw_curve, draw_measured, name_measured, why_not_judged
from static.reading import FigureError, name_of
from static.series import fastest_stretches, fastest_text, other_jobs_text, series_of, times_at
from static.units import SIZES, rate_text, size_text, time_text, unit_of

METRICS = {
    "time": ("time_s", "time", time_text),
    "algbw": ("algbw_bytes_per_s", "algbw = size / time", rate_text),
    "busbw": ("busbw_bytes_per_s", "busbw", rate_text),
}
HEIGHT = 3.4


@style.view(height=HEIGHT)
def by_size(frame, theme, results, metric="busbw"):
    """Results of a sweep over sizes.  Line: the closed form, or where there is none a thin one from dot to
    dot.  Dots: simulated.  Squares: measured.  Dotted: the bounds, which no schedule beats.  Wide: the
    the fastest.  Dashed: where the lines of the fastest cross, or from which size on it is another one."""
    key, name, _ = METRICS[metric]
    series = series_of(results, "size_bytes", also=() if metric == "time" else ("algbw_bytes_per_s", "busbw_bytes_per_s"))
    rows = [row for _, group in series for row in group]
    if min(row["size_bytes"] for row in rows) <= 0:
        raise FigureError(f"{name_of(results, 'results')} has rows of 0 bytes, which a logarithmic axis cannot show")
    axes = frame.subplots()
    style.log_sizes(axes, [row["size_bytes"] for row in rows])
    value = value_of(key)
    limits_of_axis(axes, metric, rows, value)
    axes.set_ylabel(name)
    stretches = [] if len(series) == 1 or series.other_jobs else fastest_stretches(series)
    crossings = [crossing(series, *pair) for pair in zip(stretches, stretches[1:])]
    draw_fastest(axes, theme, series, stretches, crossings, value)
    ends, drawn = [], []
    for index, (label, group) in enumerate(series):
        draw_curve(axes, theme, index, len(series), group, "size_bytes", lambda row: value(row, row.get("analytic_s")), value)
        colour = theme["series"][index % 8]
        drawn.append(draw_measured(axes, theme["series"][1] if len(series) == 1 else colour, [
            (row["size_bytes"], *sides(row, value), why_not_judged(row["measured"])) for row in group if row.get("measured")]))
        ends.append((value(group[-1]), label, colour))
    if metric == "time":
        draw_bounds(axes, theme, rows)
    for stretch, cross in zip(stretches[1:], crossings):
        axes.axvline(cross or stretch.start, color=theme["mark"], linestyle="--", linewidth=1.1, zorder=1)
        axes.annotate(f"at {about(cross)}" if cross else f"from {size_text(stretch.start)}", (cross or stretch.start, 1), xytext=(0, 2),
                      va="bottom", ha="center", fontsize=8.5, color=theme["mark"], xycoords=("data", "axes fraction"),
                      textcoords="offset points")
    style.label_ends(axes, ends)
    if len(series) == 1:
        name_algorithms(axes, theme, rows, value)
    name_measured(frame, theme, drawn, 0.13)
    style.name_machine(axes, theme, results)
    style.title(frame, axes, finding(series, stretches, metric), HEIGHT, left=0.13, right=style.room_for(label for label, _ in series),
                above=0.24 if len(stretches) > 1 else 0.12)


def value_of(key):
    """Of a row, as simulated or if it took so long; algbw and busbw are a factor over the time."""

    def value(row, seconds=0):
        if seconds is None or key == "time_s":
            return row["time_s"] if seconds == 0 else seconds
        return row[key] * (row["time_s"] / seconds if seconds else 1)

    return value


def sides(row, value):
    """Middle, low and high of what was measured."""
    middle, low, high = (value(row, row["measured"][key]) for key in ("time_s", "min_s", "max_s"))
    return middle, min(low, high), max(low, high)


def limits_of_axis(axes, metric, rows, value):
    values = [value(row) for row in rows]
    values += [side for row in rows if row.get("measured") for side in sides(row, value)]
    if metric == "time":
        values += [row["bound_s"] for row in rows if row.get("bound_s")]
    style.log_axis(axes.yaxis, min(values), max(values), METRICS[metric][2])
    axes.set_ylim(min(values) * (0.35 if metric == "time" else 0.7), max(values) * 1.5)


def crossing(series, before, after):
    """The size at which the fastest of one stretch and that of the next are equally fast, if times grow evenly
    between these two sizes.  None where they share the first place, and where a third is faster there."""
    if len(before.names) > 1 or len(after.names) > 1:
        return None
    if any(before.end < row["size_bytes"] < after.start for _, group in series for row in group):
        return None  # a curve bends there
    left, right = dict(times_at(series, before.end)), dict(times_at(series, after.start))
    old, new = before.names[0], after.names[0]
    lead, lag = left[new] - left[old], right[old] - right[new]
    part = lead / (lead + lag)
    times = {name: left[name] + part * (right[name] - left[name]) for name in left}
    if min(times.values()) < times[old] * (1 - 1e-9):
        return None
    return before.end + part * (after.start - before.end)


def about(size):
    """With two digits: 2.2 MiB."""
    factor, _ = unit_of(size, SIZES)
    return size_text(float(f"{size / factor:.2g}") * factor)


def draw_fastest(axes, theme, series, stretches, crossings, value):
    """A wide pale line along the fastest curve."""
    points = {name: {row["size_bytes"]: value(row) for row in group} for name, group in series}
    number = {name: index for index, (name, _) in enumerate(series)}

    def at_crossing(name, cross):
        """On the line that is drawn from dot to dot."""
        x, y = (numpy.log(list(part)) for part in zip(*points[name].items()))
        return cross, float(numpy.exp(numpy.interp(numpy.log(cross), x, y)))

    for stretch, after, came, goes in zip(stretches, [*stretches[1:], None], [None, *crossings], [*crossings, None]):
        name = stretch.names[0]
        line = [at_crossing(name, came)] if came else []
        line += [(x, y) for x, y in points[name].items() if stretch.start <= x <= stretch.end]
        if goes:
            line.append(at_crossing(name, goes))
        elif after:
            line.append((after.start, points[after.names[0]][after.start]))
        x, y = zip(*line)
        axes.plot(x, y, color=theme["series"][number[name] % 8], linewidth=7, alpha=0.25, solid_capstyle="round", zorder=1)


def name_algorithms(axes, theme, rows, value):
    """Of one curve of the fastest: at the first dot of each."""
    names = [row.get("algorithm") for row in rows]
    if len(set(names)) == 1:
        return
    for before, name, row in zip([None, *names], names, rows):
        if name and name != before:
            axes.annotate(name, (row["size_bytes"], value(row)), xytext=(4, -6), textcoords="offset points",
                          fontsize=8.5, color=theme["muted"], va="top")


def draw_bounds(axes, theme, rows):
    """The bound by bandwidth and the bound by latency, where all series have the same."""
    for key, name in (("bound_bandwidth_s", "bandwidth bound"), ("bound_latency_s", "latency bound")):
        points = sorted({(row["size_bytes"], row[key]) for row in rows if row.get(key)})
        if len(points) < 2 or len(points) != len({size for size, _ in points}):
            continue
        x, y = zip(*points)
        axes.plot(x, y, color=theme["mark"], linestyle=":", linewidth=1.4)
        flat = y[-1] < y[0] * 1.5
        at = len(x) - 1 if flat else min(len(x) * 7 // 10, len(x) - 2)
        axes.annotate(name, (x[at], y[at]), xytext=(0, -4) if flat else (8, -6), textcoords="offset points", fontsize=8.5,
                      color=theme["mark"], va="top", ha="right" if flat else "left")


def finding(series, stretches, metric):
    if len(series) == 1:
        return growth(series.all[0][1]) if metric == "time" else saturation(series.all[0][1], metric)
    if series.other_jobs:
        jobs = series.by_job()
        if max(len(job) for job in jobs.values()) == 1 or len(jobs) > 3:
            return other_jobs_text(series)
        return "; ".join(f"{name}: {finding(job, fastest_stretches(job), metric)}" for name, job in jobs.items())
    return fastest_text(series, stretches, size_text, "sizes")


def growth(group):
    """1 KiB take 15 us, 1 GiB 3.9 ms; up to 512 KiB the time does not double"""
    first, last = group[0], group[-1]
    text = f"{size_text(first['size_bytes'])} take {time_text(first['time_s'])}"
    if first is last:
        return text
    text += f", {size_text(last['size_bytes'])} {time_text(last['time_s'])}"
    doubled = next((number for number, row in enumerate(group) if row["time_s"] >= 2 * first["time_s"]), 0)
    return f"{text}; up to {size_text(group[doubled - 1]['size_bytes'])} the time does not double" if doubled > 1 else text


def saturation(group, metric):
    """busbw reaches 312 GB/s at 1 GiB, and half of it at 4 MiB"""
    key = METRICS[metric][0]
    best = max(group, key=lambda row: row.get(key) or 0)
    if not best.get(key):
        return growth(group)
    half = next(row for row in group if (row.get(key) or 0) >= best[key] / 2)
    text = f"{metric} reaches {rate_text(best[key])} at {size_text(best['size_bytes'])}"
    return f"{text}, and half of it at {size_text(half['size_bytes'])}" if half["size_bytes"] < best["size_bytes"] else text
