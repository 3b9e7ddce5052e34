# SPDX-License-Identifier: Apache-2.0
"""Time against the number of ranks."""
from static import style
from static.marks import draw_curve, draw_measured, name_measured, why_not_judged
from static.series import common_xs, fastest_words, series_of, takes_longer_text, times_at
from static.units import count_text, percent_text, times_text

HEIGHT = 3.2


@style.view(height=HEIGHT)
def scaling(frame, theme, results):
    """Results of a sweep over ranks, one line per algorithm (or whatever else was swept).

    Line: the closed form, or where there is none a thin one from dot to dot.  Dots: simulated.  Squares:
    measured.  Dotted: no schedule is faster."""
    series = series_of(results, "ranks")
    axes = frame.subplots()
    rows = [row for _, group in series for row in group]
    times = [row["time_s"] for row in rows] + [row["bound_s"] for row in rows if row.get("bound_s")]
    times += [row["measured"][key] for row in rows if row.get("measured") for key in ("min_s", "max_s")]
    style.log_counts(axes, [row["ranks"] for row in rows], "ranks K")
    style.log_time(axes.yaxis, min(times), max(times))
    axes.set_ylim(min(times) * 0.75, max(times) * 1.35)
    axes.set_ylabel("time")
    ends, drawn = draw_floors(axes, theme, series), []
    for index, (label, group) in enumerate(series):
        draw_curve(axes, theme, index, len(series), group, "ranks", lambda row: row.get("analytic_s"), lambda row: row["time_s"])
        colour = theme["series"][index % 8]
        drawn.append(draw_measured(axes, theme["series"][1] if len(series) == 1 else colour, [
            (row["ranks"], row["measured"]["time_s"], row["measured"]["min_s"], row["measured"]["max_s"], why_not_judged(row["measured"]))
            for row in group if row.get("measured")]))
        ends.append((group[-1]["time_s"], label, colour))
    style.label_ends(axes, ends)
    name_measured(frame, theme, drawn, 0.11)
    style.name_machine(axes, theme, results)
    style.title(frame, axes, finding(series), HEIGHT, left=0.11, right=style.room_for(label for _, label, _ in ends))


def draw_floors(axes, theme, series):
    """Lower bounds, where curves share them once; named at the end of the first."""
    floors = {tuple((row["ranks"], row["bound_s"]) for row in group if row.get("bound_s")) for _, group in series}
    ends = []
    for points in sorted(floors):
        if len(points) > 1:
            axes.plot(*zip(*points), color=theme["mark"], linestyle=":", linewidth=1.4)
            ends.append((points[-1][1], "lower bound", theme["mark"]))
    return ends[:1]


def finding(series):
    if len(series) == 1:
        return growth(series.all[0][1])
    xs = common_xs(series)
    if not xs:
        counts = [row["ranks"] for _, group in series for row in group]
        return f"From {count_text(min(counts))} to {count_text(max(counts))} ranks; the curves have no number of ranks in common"
    times = times_at(series, xs[-1])
    where = f"With {count_text(xs[-1])} ranks"
    if series.other_jobs:
        return f"{where} {takes_longer_text(times)}"
    best = min(time for _, time in times)
    fastest = [name for name, time in times if time == best]
    text = f"{where} {fastest_words(fastest, len(times))}"
    if len(fastest) == len(times):
        return text
    slowest, most = max(times, key=lambda one: one[1])
    return f"{text}; {slowest} takes {times_text(most / best)} times as long"


def growth(group):
    """64 ranks take 63 times as long as 2"""
    change = group[-1]["time_s"] / group[0]["time_s"]
    few, many = count_text(group[0]["ranks"]), f"{count_text(group[-1]['ranks'])} ranks"
    if abs(change - 1) < 0.02:
        return f"{many} take as long as {few}"
    if change < 1:
        return f"{many} take {percent_text(change)} of the time of {few}"
    return f"{many} take {times_text(change)} times as long as {few}"
