# SPDX-License-Identifier: Apache-2.0
"""Time or bandwidth against the size, one line per algorithm, with the sizes where the best changes."""
import numpy

from static import style
from static.reading import rate_text, series_of, size_text, time_text

METRICS = {
    "time": ("time_s", "time", time_text),
    "algbw": ("algbw_bytes_per_s", "algbw = size / time", rate_text),
    "busbw": ("busbw_bytes_per_s", "busbw", rate_text),
}


HEIGHT = 3.4


@style.view(height=HEIGHT)
def by_size(frame, theme, results, metric="busbw"):
    """Results of a sweep over sizes.  Dots: simulated; the lines between them are straight in time and
    size.  Squares: measured.  Dotted: the bounds, which no schedule passes.  Dashed: where another
    series becomes the fastest."""
    series = series_of(results, "size_bytes")
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
        axes.annotate(f"{size_text(at, 2)}", (at, 0.98), xytext=(3, 0), va="top", fontsize=8.5, color=theme["mark"],
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


def crossovers(series):
    """[(size, the fastest before, the fastest after)].  Between two sizes time grows in proportion."""
    tables = [(label, {row["size_bytes"]: row["time_s"] for row in group}) for label, group in series]
    sizes = sorted(set.intersection(*(set(times) for _, times in tables))) if tables else []
    found = []
    for low, high in zip(sizes, sizes[1:]):
        before = min(tables, key=lambda table: table[1][low])
        after = min(tables, key=lambda table: table[1][high])
        if before is after or before[1][high] == after[1][high]:
            continue
        lead_low, lead_high = after[1][low] - before[1][low], before[1][high] - after[1][high]
        found.append((low + (high - low) * lead_low / (lead_low + lead_high), before[0], after[0]))
    return found


def finding(series, changes):
    if len(series) == 1:
        top = max(series[0][1], key=lambda row: row["algbw_bytes_per_s"])
        return f"algbw reaches {rate_text(top['algbw_bytes_per_s'])} at {size_text(top['size_bytes'])}"
    if changes:
        parts = [f"{before} up to {size_text(at, 2)}" for at, before, _ in changes]
        return f"Fastest: {', '.join(parts)}, then {changes[-1][2]}"
    best = min(series, key=lambda one: one[1][-1]["time_s"])
    return f"{best[0]} is the fastest at every size"
