# SPDX-License-Identifier: Apache-2.0
"""Which algorithm is best at each size and number of ranks.  The rules are those of the report:
plots/report/best_map.js."""
import itertools
import math

from matplotlib.colors import to_rgb
from matplotlib.patches import Patch, Rectangle

from static import style
from static.reading import FigureError, name_of, rows_of
from static.series import Part, distinct, is_plural, words
from static.units import count_text, size_text

TIE = "tie"
ROW = 0.3  # inches


def fields_of(results):
    """{(ranks, size): [(name, its shortest time)], the fastest first}"""
    rows = [row for row in rows_of(results) if row["size_bytes"] > 0 and row["time_s"] > 0]
    name = name_of(results, "results")
    paths = dict.fromkeys(path for row in rows for path in row.get("params") or {})
    choices = [Part("algorithm")] if distinct(rows, Part("algorithm").of) > 1 else [part for part in map(Part, paths) if part.is_choice()]
    if min(distinct(rows, lambda row, key=key: row.get(key)) for key in ("size_bytes", "ranks")) < 2:
        raise FigureError(f"{name} has one size, or one number of ranks; sweep over both")
    if distinct(rows, lambda row: words(choices, row)) < 2:
        raise FigureError(f"{name} has one algorithm; sweep over several")
    if distinct(rows, lambda row: row.get("op")) > 1:
        raise FigureError(f"{name} has several operations, of which none is better than another")
    fields = {}
    for row in rows:
        times = fields.setdefault((row["ranks"], row["size_bytes"]), {})
        way = words(choices, row)
        times[way] = min(row["time_s"], times.get(way, math.inf))
    return {place: sorted(times.items(), key=lambda one: one[1]) for place, times in fields.items()}


def best_of(ways):
    """The name of the fastest, or that several are."""
    return TIE if len(ways) > 1 and ways[1][1] == ways[0][1] else ways[0][0]


def height(results):
    return 1.1 + ROW * len({ranks for ranks, _ in fields_of(results)})


@style.view(height=height)
def best_map(frame, theme, results):
    """Results of a sweep over algorithms, sizes and ranks.  A field has the colour of what is fastest there, the
    paler the less it is ahead: full where the next takes twice as long or more.  Grey: several are equally fast."""
    fields = fields_of(results)
    ranks, sizes = (sorted({place[part] for place in fields}) for part in (0, 1))
    won = [best_of(ways) for ways in fields.values()]
    names = sorted(dict.fromkeys(name for name in won if name != TIE), key=lambda name: -won.count(name))
    own = names[:7] if len(names) > 8 else names  # of very many the last colour is that of all others
    colours = dict.fromkeys(names, theme["series"][7]) | dict(zip(own, theme["series"])) | {TIE: theme["grid"]}
    key = {name: colours[name] for name in own} | ({f"{len(names) - 7} others": theme["series"][7]} if len(own) < len(names) else {})
    axes = frame.subplots()
    axes.grid(False)
    for (count, size), ways in fields.items():
        colour = colours[best_of(ways)]
        axes.add_patch(Rectangle((sizes.index(size), ranks.index(count)), 1, 1, edgecolor=theme["paper"], linewidth=0.8,
                                 facecolor=paled(colour, theme["paper"], strength(ways, best_of(ways) in names[7:]))))
    for y, count in enumerate(ranks):
        name_runs(axes, theme, [best_of(fields[count, size]) if (count, size) in fields else None for size in sizes], y + 0.5)
    label_axes(axes, ranks, sizes)
    columns = max(1, int(axes.figure.figure.get_figwidth() / (0.45 + 0.075 * max(map(len, key), default=1))))
    axes.legend(handles=[Patch(facecolor=colour, label=name) for name, colour in key.items()], ncols=columns, loc="lower left", bbox_to_anchor=(0, 1),
                borderaxespad=0.2, fontsize=8.5, handlelength=1, handleheight=0.8, columnspacing=1.2)
    above = 0.1 + 0.2 * math.ceil(len(key) / columns)
    style.title(frame, axes, finding(names, won), height(results), left=0.08, right=0.985, above=above)


def strength(ways, grey=False):
    """By how far the best is ahead; grey never as pale as a tie."""
    if len(ways) < 2 or best_of(ways) == TIE:
        return 1
    ahead = 0.25 + 0.75 * min(1, math.log2(ways[1][1] / ways[0][1]))
    return 0.6 + 0.4 * ahead if grey else ahead


def paled(colour, paper, strength):
    return tuple(strength * part + (1 - strength) * other for part, other in zip(to_rgb(colour), to_rgb(paper)))


def name_runs(axes, theme, line, y):
    """Names of neighbours with the same best, once, where there is room."""
    letter = 0.075 * len(line) / (0.9 * axes.figure.figure.get_figwidth())  # inches, in fields
    x = 0
    for name, run in itertools.groupby(line):
        count = len(list(run))
        if name and letter * (len(name) + 1) < count:
            colour = style.ink_on(theme["paper"])
            text = axes.text(x + count / 2, y, name, ha="center", va="center_baseline", fontsize=8, color=colour)
            text.set_path_effects([style.halo(theme["paper"])])
        x += count


def label_axes(axes, ranks, sizes):
    axes.set_xlim(0, len(sizes))
    axes.set_ylim(0, len(ranks))
    every = math.ceil(len(sizes) / 9)
    axes.set_xticks([i + 0.5 for i in range(0, len(sizes), every)], [size_text(size) for size in sizes[::every]])
    axes.set_yticks([i + 0.5 for i in range(len(ranks))], [count_text(count) for count in ranks])
    axes.tick_params(length=0)
    axes.set_xlabel("size")
    axes.set_ylabel("ranks K")


def finding(names, won):
    """ring is fastest at 61 of 88 pairs of size and ranks, tree at 20, several at 7"""
    pairs, ties = f"{count_text(len(won))} pairs of size and ranks", won.count(TIE)
    if not names:
        return f"At all {pairs} several are equally fast"
    first, *others = names
    verb = "are" if is_plural(first) else "is"
    if not others and not ties:
        return f"{first} {verb} fastest at all {pairs}"
    parts = [f"{name} at {count_text(won.count(name))}" for name in others[:3]]
    if len(others) > 3:
        parts.append(f"{len(others) - 3} more at {count_text(sum(map(won.count, others[3:])))}")
    if ties:
        parts.append(f"several at {count_text(ties)}")
    return f"{first} {verb} fastest at {count_text(won.count(first))} of {pairs}, {', '.join(parts)}"
