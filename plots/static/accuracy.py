# SPDX-License-Identifier: Apache-2.0
"""Predicted against measured."""
import numpy

from static import style
from static.marks import MEASURED, NOISY, WRONG, draw_measured, why_not_judged
from static.reading import FigureError, name_of, rows_of
from static.units import percent_text

HEIGHT = 5.2
# As in the pages.
LEAST_FOR_PERCENTILES = 20
LEAST_FOR_HALVES = 8


@style.view(height=HEIGHT)
def accuracy(frame, theme, results):
    """Results of `collsim validate`.  On the diagonal the prediction is right; the bands hold errors, (predicted
    - measured) / measured, up to 10% and 25%.  Bars: fastest to slowest run.  Filled: judged; open: the runs
    scattered too far; crosses: the data were wrong."""
    rows = [row for row in rows_of(results) if row.get("measured")]
    if not rows:
        raise FigureError(f"{name_of(results, 'results')} has no measurements: run collsim validate FILE -o results.json")
    axes = frame.subplots()
    times = [row["time_s"] for row in rows] + [row["measured"][key] for row in rows for key in ("min_s", "max_s")]
    low, high = min(times) * 0.7, max(times) * 1.45
    for axis in (axes.xaxis, axes.yaxis):
        style.log_time(axis, low, high)
    axes.set_xlim(low, high)
    axes.set_ylim(low, high)
    ends = numpy.array([low, high])
    for error in (0.25, 0.10):
        axes.fill_between(ends, ends / (1 + error), ends / (1 - error), color=theme["muted"], alpha=0.13, linewidth=0)
    axes.plot(ends, ends, color=theme["muted"], linewidth=1, linestyle="--")
    several = len({row["op"] for row in rows}) > 1
    names = list(dict.fromkeys(name_of_row(row, several) for row in rows))
    for index, name in enumerate(names):
        points = [(row["time_s"], row["measured"]["time_s"], row["measured"]["min_s"], row["measured"]["max_s"],
                   why_not_judged(row["measured"])) for row in rows if name_of_row(row, several) == name]
        draw_measured(axes, theme["series"][index % 7], points, filled=True)
        axes.plot([], [], "s", color=theme["series"][index % 7], label=name)
    for why in (NOISY, WRONG):
        if any(why_not_judged(row["measured"]) == why for row in rows):
            axes.plot([], [], MEASURED[why], color=theme["muted"], markerfacecolor="none", label=why)
    axes.fill_between([], [], color=theme["muted"], alpha=0.25, linewidth=0, label="within 10% and 25%")
    axes.legend(loc="lower right", fontsize=8.5)
    axes.set_xlabel("predicted")
    axes.set_ylabel("measured")
    style.title(frame, axes, finding(rows), HEIGHT, left=0.12)


def name_of_row(row, several):
    return f"{row['op']}, {row['algorithm']}" if several else row["algorithm"]


def finding(rows):
    reasons = [why_not_judged(row["measured"]) for row in rows]
    errors = [abs(row["time_s"] / row["measured"]["time_s"] - 1) for row, why in zip(rows, reasons) if not why]
    noisy, wrong = reasons.count(NOISY), reasons.count(WRONG)
    rest = [f"{noisy} scattered too much to judge"] * (noisy > 0) + [f"{wrong} gave wrong data"] * (wrong > 0)
    if not errors:
        return f"None of {len(rows)} rows can be compared with its prediction: {' and '.join(rest)}"
    if len(errors) < LEAST_FOR_HALVES:
        all_of_them = "The prediction is" if len(errors) == 1 else f"All {len(errors)} predictions are"
        return f"{all_of_them} within {within(max(errors))} of the measurement{of_rows(rows, rest)}"
    median, few = numpy.median(errors), len(errors) < LEAST_FOR_PERCENTILES
    most = f"the worst within {within(max(errors))}" if few else f"95% within {within(numpy.percentile(errors, 95))}"
    return f"Half of the predictions are within {within(median)} of the measurement, {most}{of_rows(rows, rest)}"


def of_rows(rows, rest):
    return f"; of {len(rows)} rows {' and '.join(rest)}" if rest else ""


def within(error):
    return percent_text(max(error, 0.001))
