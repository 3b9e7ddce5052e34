# SPDX-License-Identifier: Apache-2.0
"""How much of a long job's time is useful, against the time between checkpoints."""
from static import style
from static.reading import FigureError, check, is_number, name_of
from static.units import TIMES, in_largest_unit, percent_text

HEIGHT = 3.0
INTERVAL = "workload.failures.interval"
TICKS = [1, 2, 5, 10, 20, 30] + [60 * minutes for minutes in (1, 2, 5, 10, 20, 30)] + [3600 * 2**doublings for doublings in range(12)]


def rounded(seconds):
    """19 min as people say it, not 1116 s."""
    for unit, name in ((3600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{seconds / unit:.{1 if seconds < 10 * unit and seconds % unit else 0}f} {name}"
    return in_largest_unit(seconds, TIMES)


def points_of(results):
    """[(seconds between checkpoints, useful share)], and the best of all intervals."""
    name = name_of(results, "results")
    rows = results.get("rows")
    if not isinstance(rows, list) or not rows:
        raise FigureError(f"this view needs results (collsim run FILE -o results.json), and {name} has none")
    points = []
    for number, row in enumerate(rows):
        where = f"{name}, row {number}"
        if not isinstance(row, dict) or not is_number(row.get("useful")):
            raise FigureError(f"{where}: this view draws jobs, with failures in their workload")
        check(row, where, "a number above 0", "checkpoint_interval_s", "best_interval_s")
        points.append((row["checkpoint_interval_s"], row["useful"]))
    if len({row["best_interval_s"] for row in rows}) > 1 or len({x for x, _ in points}) < 2:
        raise FigureError(f"{name}: this view draws one job over several values of {INTERVAL}")
    return sorted(points), rows[0]["best_interval_s"]


@style.view(height=HEIGHT)
def useful(frame, theme, results):
    """Results of a sweep over the interval between checkpoints.  Dots: simulated.  Dashed: the best interval."""
    points, best = points_of(results)
    axes = frame.subplots()
    xs, shares = zip(*points)
    axes.plot(xs, shares, color=theme["series"][0], linewidth=1, alpha=0.5)
    axes.plot(xs, shares, "o", color=theme["series"][0])
    axes.axvline(best, color=theme["mark"], linewidth=1.1, linestyle="--")
    axes.annotate(f"best: {rounded(best)}", (best, 0), xycoords=("data", "axes fraction"), xytext=(5, 5), textcoords="offset points",
                  fontsize=8.5, color=theme["mark"])
    axes.set_xscale("log")
    style.plain(axes.xaxis, rounded, [tick for tick in TICKS if min(xs) * 0.99 <= tick <= max(xs) * 1.01])
    style.plain(axes.yaxis, percent_text)
    axes.set_xlabel("time between checkpoints")
    axes.set_ylabel("useful")
    high, low = max(shares), min(shares)
    style.title(frame, axes, f"From {percent_text(low)} to {percent_text(high)} of the time is useful; every {rounded(best)} is best",
                HEIGHT, left=0.11)
