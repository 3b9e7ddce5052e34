# SPDX-License-Identifier: Apache-2.0
"""Predicted against measured."""
import numpy

from static import style
from static.reading import FigureError, rows_of
from static.units import time_text


HEIGHT = 5.2
NOISY, WRONG = "too noisy to judge", "wrong data"


@style.view(height=HEIGHT)
def accuracy(frame, theme, results):
    """Results of `collsim validate`.  On the diagonal the prediction is right; the bands hold
    errors up to 10% and 25% of what was measured.  Bars: fastest to slowest run.  Hollow: not judged, because
    the runs scattered too far or the data were wrong."""
    rows = [row for row in rows_of(results) if row.get("measured") and row["measured"]["time_s"] > 0]
    if not rows:
        raise FigureError("the results hold no measurements: collsim validate FILE -o results.json")
    axes = frame.subplots()
    both = [row["time_s"] for row in rows] + [row["measured"]["time_s"] for row in rows]
    low, high = min(both) * 0.7, max(both) * 1.45
    for axis in (axes.xaxis, axes.yaxis):
        style.log_time(axis, low, high)
    axes.set_xlim(low, high)
    axes.set_ylim(low, high)
    ends = numpy.array([low, high])
    for width, strength in ((0.25, 0.10), (0.10, 0.16)):
        axes.fill_between(ends, ends * (1 - width), ends * (1 + width), color=theme["series"][5], alpha=strength, linewidth=0)
        axes.annotate(f"+{width:.0%}", (low * 1.3, low * 1.3 * (1 + width)), fontsize=8,
                      color=theme["muted"], va="bottom", ha="right")
    axes.plot(ends, ends, color=theme["muted"], linewidth=1)
    names = list(dict.fromkeys(row["algorithm"] for row in rows))
    for index, name in enumerate(names):
        draw_points(axes, [row for row in rows if row["algorithm"] == name], name,
                    theme["series"][index % 8], style.MARKERS[index % 8])
    axes.legend(loc="lower right", frameon=False, fontsize=8.5)
    axes.set_xlabel("measured")
    axes.set_ylabel("predicted")
    style.title(frame, axes, finding(rows), HEIGHT, left=0.12)


def draw_points(axes, rows, name, colour, marker):
    for why in (None, NOISY, WRONG):
        points = [row for row in rows if why_not_judged(row) == why]
        if not points:
            continue
        middle = numpy.array([row["measured"]["time_s"] for row in points])
        away = [middle - [row["measured"]["min_s"] for row in points], [row["measured"]["max_s"] for row in points] - middle]
        axes.errorbar(middle, [row["time_s"] for row in points], xerr=away, fmt=marker, color=colour, markersize=5.5,
                      markerfacecolor="none" if why else colour, linewidth=1, capsize=2, label=f"{name}, {why}" if why else name)


def why_not_judged(row):
    """None where the row is judged."""
    measured = row["measured"]
    if measured.get("data") == "wrong":
        return WRONG
    return NOISY if measured.get("noisy") or measured.get("spread") is None else None


def finding(rows):
    reasons = [why_not_judged(row) for row in rows]
    errors = [abs(row["time_s"] / row["measured"]["time_s"] - 1) for row, why in zip(rows, reasons) if not why]
    noisy, wrong = reasons.count(NOISY), reasons.count(WRONG)
    if not errors:
        rest = "the data were wrong" if not noisy else "the runs scattered too far" + (" or the data were wrong" if wrong else "")
        return f"None of {len(rows)} rows can be judged: {rest}"
    median, most = numpy.median(errors), numpy.percentile(errors, 95)
    rest = (f"; {noisy} more too noisy to judge" if noisy else "") + (f"; {wrong} more gave wrong data" if wrong else "")
    return f"{len(errors)} rows: half are off by less than {median:.1%}, 95% by less than {most:.1%}{rest}"
