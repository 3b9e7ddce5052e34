# SPDX-License-Identifier: Apache-2.0
"""A line was calculated, a dot simulated, a square measured; what a measurement cannot be judged by
has another mark.  Curves differ in colour and dashes, as on the pages."""
import numpy
from matplotlib.colors import to_rgba

# Of the lines of one curve after the other, in points: plots/report/groups.js.
DASHES = tuple(tuple(0.75 * length for length in dashes) for dashes in (
    (), (8, 3), (2, 3), (8, 3, 2, 3), (14, 3), (4, 4), (8, 3, 2, 3, 2, 3), (1, 5)))
NOISY, WRONG = "too noisy to judge", "wrong data"
MEASURED = {None: "s", NOISY: "s", WRONG: "X"}  # noisy ones are not filled
PALE = 0.3


def curve_look(theme, number, of):
    """Keywords of a line."""
    dashes = DASHES[number % 8] if of > 1 else ()
    return {"color": theme["series"][number % 8], "linestyle": (0, dashes) if dashes else "-"}


def draw_curve(axes, theme, number, of, group, along, calculated, simulated):
    """The formula as a line where all rows have it, else a thin one that leads the eye; dots; squares."""
    x = [row[along] for row in group]
    look = curve_look(theme, number, of)
    lines = [calculated(row) for row in group]
    if all(lines):
        axes.plot(x, lines, linewidth=1.5, **look)
    else:
        axes.plot(x, [simulated(row) for row in group], linewidth=1, alpha=0.5, **look)
    axes.plot(x, [simulated(row) for row in group], "o", color=look["color"])


def why_not_judged(measured):
    """None where it is judged."""
    if measured.get("data") == "wrong":
        return WRONG
    return NOISY if measured.get("noisy") or measured.get("spread") is None else None


def draw_measured(axes, colour, points, filled=False, across=False):
    """points: [(x, y, low, high, why it is not judged)].  Bars: fastest to slowest run.  Returns what
    was drawn, by why.  What is judged is filled, or pale where what was predicted must show through."""
    inside = colour if filled else to_rgba(colour, PALE)
    drawn = {}
    for why, marker in MEASURED.items():
        some = numpy.array([point[:4] for point in points if point[4] == why], dtype=float)
        if not len(some):
            continue
        x, y, low, high = some.T
        middle = x if across else y
        away = [numpy.maximum(middle - low, 0), numpy.maximum(high - middle, 0)]
        drawn[why] = axes.errorbar(x, y, **{"xerr" if across else "yerr": away}, fmt=marker, color=colour, linewidth=1.1, capsize=2.5,
                                   markersize=6.5, markerfacecolor="none" if why else inside)
    return drawn


def name_measured(frame, theme, drawn, left):
    """What the marks of measurements are, below the axes, when some are not judged."""
    kinds = [why for why in MEASURED if any(why in one for one in drawn)]
    if kinds in ([], [None]):
        return
    handles = [frame.axes[0].plot([], [], MEASURED[why], color=theme["muted"], markerfacecolor="none" if why else to_rgba(theme["muted"], PALE),
                                  label=f"measured{', ' + why if why else ''}")[0] for why in kinds]
    frame.legend(handles=handles, loc="lower left", bbox_to_anchor=(left - 0.01, 0), borderaxespad=0.3, ncol=len(handles), fontsize=8,
                 handletextpad=0.2, columnspacing=1.4, labelcolor=theme["muted"])
