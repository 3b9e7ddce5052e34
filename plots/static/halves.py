# SPDX-License-Identifier: Apache-2.0
"""The two halves of an all-reduce: first sums grow, then they are handed out.  As plots/common/halves.js has it."""
import math

from static import style


def halves_of(run):
    """({rank: when it begins to send whole sums}, names of both halves); None where nothing is added, where sums are
    not handed out, or where a rank does both at a time."""
    members = len(run.ranks)
    last_part, first_whole, owner = {}, {}, {}
    for message in run.messages:
        if message.added is None:
            return None
        if message.added < members:
            last_part[message.source] = max(last_part.get(message.source, 0), message.end)
            continue
        first_whole[message.source] = min(first_whole.get(message.source, math.inf), message.start)
        owner[message.piece] = min(owner.get(message.piece, (math.inf, 0)), (message.start, message.source))
    if not owner or not last_part or any(since < last_part.get(rank, 0) * (1 - 1e-9) for rank, since in first_whole.items()):
        return None
    owners = len({rank for _, rank in owner.values()})
    names = ("reduce-scatter", "all-gather") if owners == members else ("reduce", "broadcast") if owners == 1 else ("adding up", "handing out")
    return {rank: first_whole.get(rank, last_part.get(rank)) for rank in run.ranks}, names


def draw_halves(axes, theme, halves, rows):
    """A stair from row to row, with the names of both halves at its top where there is room."""
    turns, names = halves
    stair = [(turns[rank], row + side) for row, rank in rows.items() if turns.get(rank) is not None for side in (-0.5, 0.5)]
    x, y = zip(*stair)
    axes.plot(x, y, color=theme["mark"], linewidth=1.2, zorder=5)
    place, (low, high) = axes.get_position(), axes.get_xlim()
    figure = style.axes_width(axes) / place.width  # inches
    at = figure * (place.x0 + place.width * (x[0] - low) / (high - low))
    for name, side, aside, room in ((f"{names[0]} ←", "right", -3, at), (f"→ {names[1]}", "left", 3, figure - at)):
        if style.text_width(name, 8) + 0.05 > room:
            continue
        axes.annotate(name, (x[0], 1), xycoords=("data", "axes fraction"), xytext=(aside, 2), textcoords="offset points", ha=side,
                      va="bottom", fontsize=8, color=theme["mark"])
