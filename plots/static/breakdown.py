# SPDX-License-Identifier: Apache-2.0
"""Where the time goes: what the critical path of each run is made of."""
from static import style
from static.reading import FigureError
from static.units import time_text
from static.trace import named_runs

MEANING = {
    "start": "late start", "work": "copying and adding", "startup": "start-up of messages", "wire": "bytes on the wire",
    "sharing": "sharing a link", "flight": "flight", "queue": "waiting for a busy link",
}


def how_high(*traces):
    return 1.1 + 0.42 * len(traces)


@style.view(height=how_high)
def breakdown(frame, theme, *traces, names=()):
    """Traces, one bar each; `names` says what to call them."""
    runs = named_runs(traces, names)
    if not all(run.shares for run in runs):
        raise FigureError("a trace has no critical path; collsim trace writes one, collsim validate --trace does not")
    axes = frame.subplots()
    kinds = [kind for kind in MEANING if any(run.shares.get(kind) for run in runs)]
    for index, kind in enumerate(kinds):
        values = [run.shares.get(kind, 0) for run in runs]
        left = [sum(run.shares.get(before, 0) for before in kinds[:index]) for run in runs]
        axes.barh(range(len(runs)), values, left=left, height=0.6, color=theme["series"][list(MEANING).index(kind)],
                  edgecolor=theme["paper"], label=MEANING[kind])
    for row, run in enumerate(runs):
        axes.annotate(time_text(run.time), (run.time, row), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8.5)
    axes.set_yticks(range(len(runs)), [run.name for run in runs])
    axes.set_ylim(len(runs) - 0.5, -0.5)
    axes.set_xlim(0, max(run.time for run in runs) * 1.1)
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    style.plain(axes.xaxis, time_text)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncol=len(kinds), frameon=False, borderaxespad=0, fontsize=8.5)
    style.title(frame, axes, finding(runs), how_high(*traces), left=0.2, right=0.93, above=0.3, below=0.3)


def finding(runs):
    slow = max(runs, key=lambda run: run.time)
    kind = max(slow.shares, key=slow.shares.get)
    return f"{slow.shares[kind] / slow.time:.0%} of {time_text(slow.time)} is {MEANING.get(kind, kind)}"
