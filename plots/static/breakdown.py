# SPDX-License-Identifier: Apache-2.0
"""Where the time goes: what the critical path of each run is made of.  Names and colours are those of
the pages: plots/common/breakdown.js."""
from static import style
from static.reading import FigureError, name_of
from static.trace import named_runs
from static.units import fixed, percent_text, time_text

# By the names in traces: what it is called, which colour it has, what time goes to.
KINDS = {
    "start": ("not started", 7, "ranks that start late"), "startup": ("startup (alpha)", 1, "startup (alpha)"),
    "wire": ("wire", 0, "the wire"), "serial hops": ("serial hops", 6, "serial hops"), "sharing": ("sharing", 5, "sharing links"), "flight": ("latency", 2, "latency"),
    "work": ("adding and copying", 3, "adding and copying"), "queue": ("queue", 4, "queues for links"),
}


def how_high(*traces):
    return 1.1 + 0.42 * len(traces)


@style.view(height=how_high)
def breakdown(frame, theme, *traces, names=()):
    """Traces, one bar each; `names` says what to call them.  Where the times differ too much each bar is
    all of the time of its run."""
    runs = named_runs(traces, names)
    for run, trace in zip(runs, traces):
        if not sum(run.shares.values()):
            raise FigureError(f"{name_of(trace, 'trace')} has no critical path; collsim trace writes one, collsim validate --trace does not")
    axes = frame.subplots()
    times = [run.time for run in runs]
    relative = max(times) > 10 * min(times)  # else the short ones could not be seen
    whole = [sum(run.shares.values()) if relative else 1 for run in runs]
    rows = [f"{run.name}: {time_text(run.time)}" if relative else run.name for run in runs]
    kinds = [kind for kind in KINDS if any(run.shares.get(kind) for run in runs)]
    wide, left_edge = frame.figure.get_figwidth(), 0.03 + 0.0118 * max(map(len, rows))
    columns, lines = style.legend_columns([KINDS[kind][0] for kind in kinds], wide - left_edge * style.WIDTH)
    style.title(frame, axes, finding(runs), how_high(*traces), left=left_edge, right=0.95, above=0.3 + 0.18 * (lines - 1), below=0.3)
    inches = style.axes_width(axes)
    beside = (style.text_width(time_text(max(times))) + 0.16) / (inches + 0.05 * style.WIDTH)
    end = 1 if relative else max(times) * max(1.1, inches / (inches + 0.05 * style.WIDTH) / (1 - beside))
    left = [0] * len(runs)
    for kind in kinds:
        word, number, _ = KINDS[kind]
        colour = theme["series"][number]
        seconds = [run.shares.get(kind, 0) for run in runs]
        parts = [one / of for one, of in zip(seconds, whole)]
        axes.barh(range(len(runs)), parts, left=left, height=0.6, color=colour, edgecolor=theme["paper"], label=word)
        for row, part in enumerate(parts):
            text = time_text(seconds[row])
            if part / end * inches > style.text_width(text) + 0.08:
                axes.annotate(text, (left[row] + part / 2, row), ha="center", va="center", fontsize=8.5, color=style.ink_on(colour))
        left = [one + part for one, part in zip(left, parts)]
    if not relative:
        for row, run in enumerate(runs):
            axes.annotate(time_text(run.time), (run.time, row), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8.5)
    axes.set_yticks(range(len(runs)), rows)
    axes.set_ylim(len(runs) - 0.5, -0.5)
    axes.set_xlim(0, end)
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    if relative:
        style.plain(axes.xaxis, percent_of_all)
    else:
        style.linear_time(axes.xaxis, end)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncol=columns, borderaxespad=0, fontsize=8.5, handlelength=1.2,
                columnspacing=1.4)


def percent_of_all(share):
    return f"{share:.0%}"


def finding(runs):
    """In the words of the pages: breakdownTitle() of plots/common/breakdown.js, breakdownsTitle() of
    plots/report/run_pictures.js."""
    if len(runs) > 1:
        return finding_of_several(runs)
    total = sum(runs[0].shares.values())
    shares = sorted(((seconds / total, goes_to(kind)) for kind, seconds in runs[0].shares.items()), key=lambda one: -one[0])
    shares = [one for one in shares if one[0] > 0.0005]
    if len(shares) == 1:
        return f"{'All' if shares[0][0] > 1 - 1e-9 else 'Over 99.9%'} of the time goes to {shares[0][1]}"
    words = [f"{fixed(share * 100, 1)}%{' of the time goes' if not i else ''} to {name}"
             for i, (share, name) in enumerate(shares)]
    return ", ".join(words[:3])


def goes_to(kind):
    return KINDS[kind][2]


def main_share(run):
    """Of what the path of a run mostly is: its kind, its part."""
    kind = max(KINDS, key=lambda one: run.shares.get(one, 0))
    return kind, run.shares[kind] / sum(run.shares.values())


def part_text(share):
    """Never 100% of what is less."""
    return "over 99%" if 0.995 < share < 1 - 1e-9 else percent_text(share)


def finding_of_several(runs):
    """1 chunk: 100% wire; 57 chunks: 76% wire"""
    mains = [main_share(run) for run in runs]
    kinds = [kind for kind, _ in mains]
    said = [f"{run.name}: {part_text(share)} {KINDS[kind][0]}" for run, (kind, share) in zip(runs, mains)]
    if len(set(kinds)) > 1:
        most = max(KINDS, key=kinds.count)
        if kinds[0] != kinds[-1] or kinds.count(most) * 2 <= len(runs):
            other = next(i for i in reversed(range(len(runs))) if kinds[i] != kinds[0])
            return f"{said[0]}; {said[other]}"
        other = max((i for i in range(len(runs)) if kinds[i] != most), key=lambda i: mains[i][1])
        return f"Most runs: mainly {KINDS[most][0]}; but {said[other]}"
    who = "both runs" if len(runs) == 2 else f"all {len(runs)} runs"
    low, high = min(share for _, share in mains), max(share for _, share in mains)
    if low > 1 - 1e-9:
        return f"In {who} all of the time goes to {goes_to(kinds[0])}"
    if low >= 0.9:
        return f"In {who} at least {int(low * 100 + 1e-9)}% of the time goes to {goes_to(kinds[0])}"
    span = percent_text(low) if percent_text(low) == percent_text(high) else f"{percent_text(low)} to {part_text(high)}"
    much = "most" if all(round(share * 100) > 50 for _, share in mains) else "the largest part"  # as they are printed
    return f"In {who} {much} goes to {goes_to(kinds[0])}: {span} of the time"
