# SPDX-License-Identifier: Apache-2.0
"""Every rank's buffers before and after."""
from matplotlib.patches import Rectangle

from static import style
from static.reading import FigureError, check, is_number, name_of, told

MOST_RANKS, MOST_NUMBERS = 16, 24


def how_high(shown):
    return 0.7 + 0.34 * len(ranks_of(shown))


def ranks_of(shown):
    name = name_of(shown, "document")
    ranks = shown.get("ranks")
    if not isinstance(ranks, list) or not ranks or "rows" in shown or "traceEvents" in shown:
        raise FigureError(f"this view needs buffers (collsim show FILE --format json), and {name} has none")
    if len(ranks) > MOST_RANKS:
        raise FigureError(f"{name} has {len(ranks):,} ranks; this view shows at most {MOST_RANKS}")
    check(shown, name, "a text", "op")
    check(shown, name, "a text", "reduction", may_be_missing=True)
    for number, rank in enumerate(ranks):
        where = f"{name}, ranks, {number}"
        if not isinstance(rank, dict):
            raise FigureError(f"{where} should be an object, and {told(rank)}")
        check(rank, where, "a whole number of at least 0", "rank")
        for side in ("before", "after"):
            for value in flat(blocks_of(check(rank, where, "a list", side))):
                if value is not None and not is_number(value):
                    raise FigureError(f"{where}: {side} should hold numbers, and one {told(value)}")
    return ranks


@style.view(height=how_high)
def buffers(frame, theme, shown):
    """What `collsim show FILE --format json` prints: colour says from which rank a number comes; a sum
    has the colours of all."""
    ranks = ranks_of(shown)
    blocks = [(blocks_of(rank["before"]), blocks_of(rank["after"])) for rank in ranks]
    widths = [max(len(flat(pair[side])) + 0.4 * (len(pair[side]) - 1) for pair in blocks) for side in (0, 1)]
    if max(widths) > MOST_NUMBERS:
        raise FigureError(f"more than {MOST_NUMBERS} numbers in a buffer; use fewer --elements")
    axes = frame.subplots()
    second = max(widths[0], 1) + 2.2
    axes.set_xlim(-0.1, second + max(widths[1], 1) + 0.1)
    axes.set_ylim(len(ranks) - 0.4, -0.6)
    origin = {number: row for row, (before, _) in reversed(list(enumerate(blocks))) for number in flat(before) if number}
    for row, (before, after) in enumerate(blocks):
        draw_buffer(axes, theme, 0, row, before, lambda number, row=row: [row] if number else [])
        draw_buffer(axes, theme, second, row, after, lambda number: sources(number, origin, shown, len(ranks)))
        axes.annotate("", (second - 0.5, row), (second - 1.7, row), arrowprops={"arrowstyle": "->", "color": theme["muted"]})
    axes.set_yticks(range(len(ranks)), [f"rank {rank['rank']}" for rank in ranks])
    axes.tick_params(length=0)
    axes.set_xticks([])
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    for x, word in ((0, "before"), (second, "after")):
        axes.annotate(word, (x, -0.52), va="bottom", fontsize=8.5, color=theme["muted"])
    style.title(frame, axes, f"{shown['op']}: {finding(shown, ranks)}", how_high(shown), right=0.99, above=0.2, below=0.04)


def blocks_of(buffer):
    nested = any(isinstance(part, list) for part in buffer)
    return [part if isinstance(part, list) else [part] for part in buffer] if nested else [buffer]


def flat(blocks):
    return [number for block in blocks for number in block]


def sources(number, origin, shown, ranks):
    """The ranks from which a number comes."""
    if number in origin and not shown.get("reduction"):
        return [origin[number]]
    return list(range(ranks)) if number and shown.get("reduction") else []


def draw_buffer(axes, theme, left, row, blocks, ranks_of_number):
    x = left
    for block in blocks:
        for number in block:
            strips = ranks_of_number(number)
            for index, rank in enumerate(strips):
                axes.add_patch(Rectangle((x + index / len(strips), row - 0.32), 1 / len(strips), 0.64, linewidth=0,
                                         facecolor=theme["series"][rank % 8]))
            axes.add_patch(Rectangle((x, row - 0.32), 1, 0.64, facecolor="none", edgecolor=theme["muted"], linewidth=0.8))
            plate = {"boxstyle": "round,pad=0.15", "facecolor": theme["paper"], "edgecolor": "none"} if len(strips) > 1 else None
            ink = style.ink_on(theme["series"][strips[0] % 8]) if len(strips) == 1 else theme["ink"]
            axes.annotate("–" if number is None else f"{number:g}", (x + 0.5, row), ha="center", va="center", fontsize=8.5,
                          color=ink, bbox=plate)
            x += 1
        x += 0.4


def finding(shown, ranks):
    afters = [rank["after"] for rank in ranks if rank.get("taking_part", True)]
    changed = [rank["rank"] for rank in ranks if not rank.get("unchanged") and rank["after"] != rank["before"]]
    same = all(after == afters[0] for after in afters)
    what = f"the {shown['reduction']}" if shown.get("reduction") else None
    if not changed:
        return "nothing changes"
    if what and len(changed) == 1:
        return f"rank {changed[0]} ends with {what}"
    if what:
        return f"every rank ends with {what}" if same else f"every rank ends with its part of {what}"
    if same:
        return "every rank ends with the same numbers"
    if len(changed) == 1:
        return f"rank {changed[0]} ends with the numbers of all"
    return "every rank ends with its own part"
