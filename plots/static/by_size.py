# SPDX-License-Identifier: Apache-2.0
"""Time or bandwidth against the size, one line per algorithm, with the sizes where the best changes."""
import numpy

from static import style
from static.reading import series_of
from static.units import rate_text, size_text, time_text

METRICS = {
    "time": ("time_s", "time", time_text),
    "algbw": ("algbw_bytes_per_s", "algbw = size / time", rate_text),
    "busbw": ("busbw_bytes_per_s", "busbw", rate_text),
}
BANDWIDTHS = ("algbw_bytes_per_s", "busbw_bytes_per_s")


HEIGHT = 3.4


@style.view(height=HEIGHT)
def by_size(frame, theme, results, metric="busbw"):
    """Results of a sweep over sizes.  Dots: simulated; the lines between them are straight in time and
    size.  Squares: measured.  Dotted: the bounds, which no schedule passes.  Dashed: where another
    series becomes the fastest."""
    series = series_of(results, "size_bytes", also=BANDWIDTHS)
    key, name, text = METRICS[metric]
    axes = frame.subplots()
    rows = [row for _, group in series for row in group]
    style.log_sizes(axes, [row["size_bytes"] for row in rows])
    values = [row[key] for row in rows] + ([row["bound_s"] for row in rows if row.get("bound_s")] if metric == "time" else [])
    if metric == "time":
        style.log_time(axes.yaxis, min(values), max(values))
        axes.set_ylim(min(values) * 0.45, max(values) * 1.4)
    else:
        style.plain(axes.yaxis, text)
        axes.set_ylim(0, max(values) * 1.12)
    axes.set_ylabel(name)
    ends = []
    for index, (label, group) in enumerate(series):
        colour = theme["series"][index % 8]
        sizes = [row["size_bytes"] for row in group]
        x = between(sizes)
        time = numpy.interp(x, sizes, [row["time_s"] for row in group])
        values_of_time = {"time_s": time, "algbw_bytes_per_s": x / time}
        axes.plot(x, values_of_time.get(key, x / time * ratio(group)), color=colour)
        axes.plot(sizes, [row[key] for row in group], style.MARKERS[index % 8], color=colour)
        measured = [row for row in group if row.get("measured")]
        axes.plot([row["size_bytes"] for row in measured], [row["measured"][key] for row in measured], "s",
                  color=colour, markerfacecolor="none", markersize=8)
        ends.append((group[-1][key], label, colour))
    if metric == "time":
        draw_bounds(axes, theme, rows)
    changes = crossovers(series)
    for at, _, _ in changes:
        axes.axvline(at, color=theme["mark"], linestyle="--", linewidth=1.1)
        axes.annotate(f"{size_text(at)}", (at, 0.98), xytext=(3, 0), va="top", fontsize=8.5, color=theme["mark"],
                      xycoords=("data", "axes fraction"), textcoords="offset points")
    style.label_ends(axes, ends)
    style.title(frame, axes, finding(series, changes), HEIGHT, left=0.11, right=0.79)


def between(sizes):
    """Many sizes, evenly spread on a logarithmic axis."""
    return numpy.geomspace(max(sizes[0], 1), sizes[-1], 81)


def ratio(group):
    """busbw / algbw, which depends on the ranks only."""
    return group[-1]["busbw_bytes_per_s"] / group[-1]["algbw_bytes_per_s"]


def draw_bounds(axes, theme, rows):
    """The bound by bandwidth and the bound by latency, where all series have the same."""
    for key, name in (("bound_bandwidth_s", "bandwidth bound"), ("bound_latency_s", "latency bound")):
        points = sorted({(row["size_bytes"], row[key]) for row in rows if row.get(key)})
        if len(points) < 2 or len(points) != len({size for size, _ in points}):
            continue
        sizes, bounds = zip(*points)
        x = between(sizes)
        y = numpy.interp(x, sizes, bounds)
        axes.plot(x, y, color=theme["mark"], linestyle=":", linewidth=1.4)
        flat = bounds[-1] < bounds[0] * 1.5
        at = -1 if flat else 62
        axes.annotate(name, (x[at], y[at]), xytext=(0, -4) if flat else (8, -4), textcoords="offset points", fontsize=8.5,
                      color=theme["mark"], va="top", ha="right" if flat else "left")


def times_in_common(series):
    """({size: {label: time}} of the sizes that all series have, whether that is every size)"""
    tables = [(label, {row["size_bytes"]: row["time_s"] for row in group}) for label, group in series]
    every = set().union(*(times for _, times in tables))
    common = sorted(every.intersection(*(times for _, times in tables)))
    return {size: {label: times[size] for label, times in tables} for size in common}, len(common) == len(every)


def stretches(times):
    """[(labels that are the fastest all the way, sizes)]: as few stretches as can be.  Series that take
    the same time are the fastest together."""
    found = []
    for size, of in times.items():
        fastest = [label for label, time in of.items() if time == min(of.values())]
        still = [label for label in found[-1][0] if label in fastest] if found else []
        if still:
            found[-1] = (still, found[-1][1] + [size])
        else:
            found.append((fastest, [size]))
    return found


def crossovers(series):
    """[(size, the fastest before, the fastest after)].  Between two sizes time grows in proportion."""
    times, _ = times_in_common(series)
    parts, found = stretches(times), []
    for (before, sizes), (after, more) in zip(parts, parts[1:]):
        low, high = sizes[-1], more[0]
        lead_low = times[low][after[0]] - times[low][before[0]]
        lead_high = times[high][before[0]] - times[high][after[0]]
        found.append((low + (high - low) * lead_low / (lead_low + lead_high), " and ".join(before), " and ".join(after)))
    return found


def finding(series, changes):
    if len(series) == 1:
        top = max(series[0][1], key=lambda row: row["algbw_bytes_per_s"])
        return f"algbw reaches {rate_text(top['algbw_bytes_per_s'])} at {size_text(top['size_bytes'])}"
    times, at_all = times_in_common(series)
    if not times:
        return "Which is the fastest cannot be said: no size is common to all"
    if changes:
        parts = [f"{before} up to {size_text(at)}" for at, before, _ in changes]
        return f"Fastest{'' if at_all else ' at sizes that all have'}: {', '.join(parts)}, then {changes[-1][2]}"
    where = "every size" if at_all else "every size that all have" if len(times) > 1 else f"{size_text(*times)}, which all have"
    [(best, _)] = stretches(times)
    if len(best) == len(series):
        return f"All take the same time at {where}"
    if len(best) > 1:
        return f"{' and '.join(best)} are the fastest at {where}"
    shared = any(list(of.values()).count(of[best[0]]) > 1 for of in times.values())
    return f"{best[0]} is {'at least as fast as the others' if shared else 'the fastest'} at {where}"
