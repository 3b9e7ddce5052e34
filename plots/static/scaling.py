# SPDX-License-Identifier: Apache-2.0
"""Time against the number of ranks."""
from static import style
from static.reading import series_of
from static.units import count_text, time_text, times_text


HEIGHT = 3.2


@style.view(height=HEIGHT)
def scaling(frame, theme, results):
    """Results of a sweep over ranks, one line per algorithm (or whatever else was swept).

    Line: the closed form where there is one.  Dots: simulated.  Squares: measured."""
    series = series_of(results, "ranks")
    axes = frame.subplots()
    rows = [row for _, group in series for row in group]
    times = [row["time_s"] for row in rows]
    axes.set_xscale("log", base=2)
    style.plain(axes.xaxis, count_text, style.powers_of_two([row["ranks"] for row in rows]))
    axes.set_xlabel("ranks K")
    style.log_time(axes.yaxis, min(times), max(times))
    axes.set_ylim(min(times) * 0.75, max(times) * 1.35)
    axes.set_ylabel("time")
    ends = []
    for index, (label, group) in enumerate(series):
        colour = theme["series"][index % 8]
        known = [row for row in group if row.get("analytic_s")]
        axes.plot([row["ranks"] for row in known], [row["analytic_s"] for row in known], color=colour)
        axes.plot([row["ranks"] for row in group], [row["time_s"] for row in group], style.MARKERS[index % 8], color=colour)
        measured = [row for row in group if row.get("measured")]
        axes.plot([row["ranks"] for row in measured], [row["measured"]["time_s"] for row in measured], "s",
                  color=colour, markerfacecolor="none", markersize=8)
        ends.append((group[-1]["time_s"], label, colour))
    style.label_ends(axes, ends)
    style.title(frame, axes, finding(series), HEIGHT, right=0.79 if len(series) > 1 else 0.97)


def finding(series):
    if len(series) == 1:
        first, last = series[0][1][0], series[0][1][-1]
        return (f"{count_text(last['ranks'])} ranks take {times_text(last['time_s'] / first['time_s'])} times as long as "
                f"{count_text(first['ranks'])}")
    most = max(row["ranks"] for _, group in series for row in group)
    there = [(label, row["time_s"]) for label, group in series for row in group if row["ranks"] == most]
    there.sort(key=lambda one: one[1])
    if len(there) < 2 or not there[0][0]:
        return f"Time on up to {count_text(most)} ranks"
    (best, fast), (worst, slow) = there[0], there[-1]
    return (f"On {count_text(most)} ranks {best} takes {time_text(fast)}, {worst} {time_text(slow)}: "
            f"{times_text(slow / fast)} times as long")
