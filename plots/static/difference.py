# SPDX-License-Identifier: Apache-2.0
"""What a change has changed: two results of the same sweep, row by row.  The rules are those of the report:
plots/report/difference.js."""
import json
import math

from static import style
from static.reading import FigureError, name_of, rows_of
from static.series import Part, distinct, series_of, words
from static.units import count_text, four_digits, size_text, times_text

LEAST = 1e-9  # smaller changes are none: what times are rounded to
MOST_ROWS = 40
MOST_CURVES = 8
ROW = 0.22  # inches
ALONG = {"size_bytes": ("size", size_text), "chunks": ("chunks", count_text), "ranks": ("ranks K", count_text)}


def changes_of(before, after):
    """[(row after, after / before)] of the rows with the same swept values"""

    def key(row):
        return json.dumps(row.get("params") or {}, sort_keys=True)

    known = {key(row): row for row in rows_of(before)}
    pairs = [(row, known[key(row)]) for row in rows_of(after) if key(row) in known]
    changes = [(row, row["time_s"] / old["time_s"]) for row, old in pairs if row["time_s"] > 0 and old["time_s"] > 0]
    if not changes:
        raise FigureError(f"{name_of(before, 'results')} and {name_of(after, 'results')} have no row with the same swept values")
    return changes


def curve_key(changes):
    """Over what there is a curve; None: nothing."""
    rows = [row for row, _ in changes]
    return next((key for key in ALONG if distinct(rows, lambda row, key=key: row.get(key)) >= 3 and all((row.get(key) or 0) > 0 for row in rows)), None)


def height(before, after):
    changes = changes_of(before, after)
    return 3.2 if curve_key(changes) else 1.1 + ROW * min(len(changes), MOST_ROWS)


@style.view(height=height)
def difference(frame, theme, before, after):
    """Two results of the same sweep: the time after divided by that before, over sizes, chunks or ranks, else a bar
    for each row.  Below 1 it became faster."""
    changes = changes_of(before, after)
    name = namer(changes)
    axes = frame.subplots()
    ratios = [ratio for _, ratio in changes]
    along = curve_key(changes)
    right = draw_curves(axes, theme, after, changes, along) if along else draw_bars(axes, theme, changes, name)
    axis = axes.yaxis if along else axes.xaxis
    style.log_axis(axis, min(1, *ratios) * 0.97, max(1, *ratios) * 1.03, lambda ratio: f"{four_digits(ratio)} ×")
    (axes.axhline if along else axes.axvline)(1, color=theme["mark"], linewidth=1.1, linestyle="--", zorder=1)
    reach = max(1.02, (max(1, *ratios) / min(1, *ratios)) ** 0.06)
    (axes.set_ylim if along else axes.set_xlim)(min(1, *ratios) / reach, max(1, *ratios) * reach)
    (axes.set_ylabel if along else axes.set_xlabel)("time after / before")
    left = 0.13 if along else min(0.45, 0.03 + 0.0125 * max(len(name(row)) for row, _ in changes))
    style.title(frame, axes, finding(changes, name), height(before, after), left=left, right=right)


def namer(changes):
    """What tells the rows from each other."""
    rows = [row for row, _ in changes]
    paths = dict.fromkeys(path for row in rows for path in row.get("params") or {})
    telling = [part for part in map(Part, paths) if distinct(rows, part.of) > 1]
    return lambda row: words(telling, row) or row.get("algorithm", "")


def draw_curves(axes, theme, after, changes, along):
    """A line for each way to do it; where the axes end."""
    axis_name, text = ALONG[along]
    curves = series_of(after | {"rows": [row | {"ratio": ratio} for row, ratio in changes]}, along)
    style.log_counts(axes, [row[along] for row, _ in changes], axis_name, text, most=9)
    named = shown_curves(curves)
    colours = dict(zip(named, theme["series"]))
    for name, group in sorted(curves, key=lambda curve: curve[0] in named):
        axes.plot([row[along] for row in group], [row["ratio"] for row in group], marker="o", linewidth=0.8, color=colours.get(name, theme["edge"]))
    style.label_ends(axes, [(group[-1]["ratio"], name, colours[name]) for name, group in curves if name in named])
    return style.room_for(named)


def shown_curves(curves):
    """The names of all, or of those with the largest changes where they are too many."""
    ratios = {name: [row["ratio"] for row in group] for name, group in curves}
    if len(curves) <= MOST_CURVES:
        return list(ratios)
    return list(dict.fromkeys((min(ratios, key=lambda name: min(ratios[name])), max(ratios, key=lambda name: max(ratios[name])))))


def draw_bars(axes, theme, changes, name):
    """The largest changes; where the axes end."""
    shown = sorted(changes, key=lambda one: abs(math.log(one[1])))[-MOST_ROWS:]
    colours = [theme["series"][1 if ratio > 1 + LEAST else 2 if ratio < 1 - LEAST else 7] for _, ratio in shown]
    axes.barh(range(len(shown)), [ratio - 1 for _, ratio in shown], left=1, color=colours, height=0.7)
    axes.set_yticks(range(len(shown)), [name(row) for row, _ in shown])
    axes.grid(False, axis="y")
    return 0.97


def finding(changes, name):
    """Of 12 rows 8 are faster, at most 1.7 times (4 MiB); 2 are slower, at most 1.1 times (1 KiB)"""
    count = len(changes)
    parts = []
    for kind, times in (("faster", lambda ratio: 1 / ratio), ("slower", lambda ratio: ratio)):
        some = [(times(ratio), row) for row, ratio in changes if times(ratio) > 1 + LEAST]
        if not some:
            continue
        most, row = max(some, key=lambda one: one[0])
        who = f"{'all ' if len(some) == count > 1 else ''}{count_text(len(some))} {'is' if len(some) == 1 else 'are'} {kind}"
        parts.append(f"{who}, {'at most ' if len(some) > 1 else ''}{times_text(most)} times{f' ({name(row)})' if count > 1 else ''}")
    if not parts:
        return f"{'The row takes' if count == 1 else f'All {count_text(count)} rows take'} as long as before"
    return f"Of {count_text(count)} row{'' if count == 1 else 's'} {'; '.join(parts)}"
