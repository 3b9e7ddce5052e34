# SPDX-License-Identifier: Apache-2.0
"""How all figures look, and how they are written: the same input gives the same bytes.

Colours are those of the pages, plots/common/theme.css.
"""
import collections
import contextvars
import difflib
import functools
import io
import math
import pathlib
import re
import textwrap

import matplotlib
import matplotlib.colors
import matplotlib.font_manager
import matplotlib.patheffects
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from static.both import merged
from static.reading import FigureError, trust
from static.units import TIMES, count_text, fixed, size_text, time_text, unit_of

LIGHT = {
    "paper": "#ffffff", "ink": "#1b1f24", "muted": "#59636e", "grid": "#e4e7eb", "edge": "#c4cad1",
    "mark": "#8a5200",
    "series": ("#0072b2", "#bc4900", "#039e72", "#b4568a", "#cb8601", "#2aa0ca", "#9e953f", "#444b53"),
}
DARK = {
    "paper": "#15181c", "ink": "#e8eaed", "muted": "#a3acb6", "grid": "#2b3138", "edge": "#47505a",
    "mark": "#f2b84b",
    "series": ("#56b4e9", "#ff8a49", "#30c99a", "#df93c0", "#e7a002", "#aae4fe", "#f1e543", "#dbd5d5"),
}
WIDTH = 7.4  # inches, where nothing else is asked for
TITLED = contextvars.ContextVar("titled", default=True)
FONT = contextvars.ContextVar("font", default=None)


def rules(theme):
    return {
        "font.family": [FONT.get(), "sans-serif"] if FONT.get() else "sans-serif",
        "font.sans-serif": ["DejaVu Sans", "Arial"],
        "font.size": 9,
        "axes.edgecolor": theme["edge"], "axes.facecolor": theme["paper"], "axes.labelcolor": theme["muted"],
        "axes.grid": True, "axes.axisbelow": True, "grid.color": theme["grid"], "grid.linewidth": 0.7,
        "axes.spines.top": False, "axes.spines.right": False,
        "axes.titlelocation": "left", "xaxis.labellocation": "right", "axes.titlesize": 10.5, "axes.titleweight": "bold",
        "axes.titlecolor": theme["ink"],
        "figure.facecolor": theme["paper"], "savefig.facecolor": theme["paper"],
        "text.color": theme["ink"], "xtick.color": theme["muted"], "ytick.color": theme["muted"],
        "xtick.labelsize": 8.5, "ytick.labelsize": 8.5,
        "lines.linewidth": 1.6, "lines.markersize": 5, "lines.scale_dashes": False,
        "legend.frameon": False,
        "text.parse_math": False,  # names come from files
        "svg.fonttype": "none", "svg.hashsalt": "collsim",
        "pdf.fonttype": 42,  # TrueType: publishers refuse matplotlib's Type 3
    }


def view(height):
    """Makes `draw(frame, theme, *data)` a view: (*data, dark=False, into=None) -> the figure.

    `into` is a figure or a part of one (Figure.subfigures) to draw in; else there is a new one of
    this height in inches (a number, or a function of the data).
    """

    def decorate(draw):
        def how_high(*data):
            return height(*data) if callable(height) else height

        @functools.wraps(draw)
        def drawn(*data, dark=False, into=None, **options):
            theme = DARK if dark else LIGHT
            with matplotlib.rc_context(rules(theme)), trust():
                frame = into or Figure(figsize=(WIDTH, how_high(*data)))
                draw(frame, theme, *data, **options)
            return frame

        drawn.height = how_high
        return drawn

    return decorate


def stack(parts, dark=False, width=WIDTH, titled=True, font=None):
    """One figure of several views, one above the other: [(view, data, options of the view)].

    width: in inches; letters keep their size.  titled: with the findings above the axes.  font: the name of one
    that is installed."""
    theme = DARK if dark else LIGHT
    before, font_before = TITLED.set(titled), FONT.set(known_font(font))
    try:
        return stacked(parts, dark, theme, width)
    finally:
        TITLED.reset(before)
        FONT.reset(font_before)


def known_font(name):
    """As it is called; None: the usual ones."""
    if name is None:
        return None
    known = {font.lower(): font for font in matplotlib.font_manager.get_font_names()}
    if name.lower() not in known:
        near = difflib.get_close_matches(name.lower(), known, n=1)
        hint = f'; did you mean "{known[near[0]]}"?' if near else f", known are {', '.join(sorted(known.values())[:12])} ..."
        raise FigureError(f'no font "{name}" is installed{hint}')
    return known[name.lower()]


def halo(paper):
    """Around letters that stand on colours."""
    return matplotlib.patheffects.withStroke(linewidth=2, foreground=paper)


def stacked(parts, dark, theme, width):
    with trust():
        heights = [view_function.height(*data) for view_function, data, _ in parts]
    with matplotlib.rc_context(rules(theme)):
        figure = Figure(figsize=(width, sum(heights)))
        frames = figure.subfigures(len(parts), 1, height_ratios=heights, squeeze=False)[:, 0]
        for frame, (view_function, data, options) in zip(frames, parts):
            frame.set_facecolor(theme["paper"])
            view_function(*data, dark=dark, into=frame, **options)
    align(frames)
    return figure


def align(frames):
    """Axes of views above each other begin and end at the same places."""
    places = [(axes, axes.get_position()) for frame in frames for axes in frame.axes]
    left, right = max(place.x0 for _, place in places), min(place.x1 for _, place in places)
    for axes, place in places:
        axes.set_position((left, place.y0, right - left, place.height))
        thin_ticks(axes)


def save(figure, path, dpi=160, dark=None):
    """Writes .svg, .png or .pdf; without the date, so that the same figure is the same file.  dpi: of .png.  dark: the
    same figure for dark pages, so that an SVG is both."""
    path = pathlib.Path(path)
    kind = path.suffix[1:].lower()
    canvases = {"svg": FigureCanvasSVG, "png": FigureCanvasAgg, "pdf": FigureCanvasPdf}
    if kind not in canvases:
        raise FigureError(f"{path.name}: pictures are .svg, .png or .pdf")
    if dark is not None and kind != "svg":
        raise FigureError(f"{path.name}: only an SVG can be light and dark at once")
    canvas = canvases[kind](figure)
    try:
        with matplotlib.rc_context(rules(LIGHT)), trust():  # colours are in the figure
            if kind == "svg":
                text = svg_of(canvas)
                if dark is not None:
                    text = merged(text, svg_of(FigureCanvasSVG(dark)))
                path.write_text(smaller(text), encoding="utf-8")
            elif kind == "pdf":
                canvas.print_pdf(path, metadata={"CreationDate": None})
            else:
                figure.set_dpi(dpi)
                canvas.print_png(path)
    except OSError as error:
        raise FigureError(f"{path}: {error.strerror}") from None


def svg_of(canvas):
    text = io.StringIO()
    canvas.print_svg(text, metadata={"Date": None})
    return text.getvalue()


def smaller(svg):
    """The same drawing without redundant names and spaces, in hundredths of a point."""

    def short(number):
        text = f"{float(number.group()):.2f}".rstrip("0").rstrip(".")
        return "0" if text == "-0" else text

    svg = re.sub(r"-?\d+\.\d{5,}", short, svg)
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)
    svg = re.sub(r"<!--.*?-->", "", svg)
    svg = re.sub(r'(<path[^>]* d=")([^"]*)"', lambda path: path[1] + path[2].replace("\n", "").strip() + '"', svg)
    svg = re.sub(r"^\s+", "", svg, flags=re.MULTILINE)
    styles = collections.Counter(re.findall(r' style="([^"]*)"', svg))
    classes = {style: f"c{number}" for number, (style, times) in enumerate(styles.items()) if times > 2}
    svg = re.sub(r' style="([^"]*)"', lambda old: f' class="{classes[old[1]]}"' if old[1] in classes else old[0], svg)
    svg = svg.replace("</style>", "".join(f"\n.{name}{{{style}}}" for style, name in classes.items()) + "</style>", 1)
    svg = re.sub(r' transform="rotate\(-0 [^"]*"', "", svg)
    while (flatter := re.sub(r"<g>\n((?:(?!</?g[ >]).)*?)</g>\n", r"\1", svg, flags=re.DOTALL)) != svg:
        svg = flatter
    return svg


def piece_colour(theme, piece, pieces):
    """Few pieces get colours that differ as much as can be; many a ramp, so that neighbours look alike:
    plots/common/piece_colours.js."""
    if pieces <= 8:
        return theme["series"][piece]
    stops = [theme["series"][index] for index in (0, 5, 2, 6, 4, 1, 3)]
    steps = min(pieces, 256)
    ramp = matplotlib.colors.LinearSegmentedColormap.from_list("pieces", stops, N=steps)
    return matplotlib.colors.to_hex(ramp(piece * steps // pieces))


def ink_on(colour):
    """Black or white, whichever differs more from a colour: plots/common/piece_colours.js."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in matplotlib.colors.to_rgb(colour)]
    luminance = sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear))
    return "#000000" if (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) else "#ffffff"


def plain(axis, text, at=None):
    """Ticks that are numbers with units, on a logarithmic axis too."""
    if at is not None:
        axis.set_ticks(at)
        axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))
    axis.set_minor_formatter(NullFormatter())


def linear_time(axis, end):
    """Ticks in one unit, with as many decimals as each other."""
    factor, unit = unit_of(end, TIMES)

    def text(value, _):
        ticks = [tick / factor for tick in axis.get_majorticklocs()]
        decimals = next((count for count in range(6) if all(abs(tick - round(tick, count)) < 1e-6 * end / factor for tick in ticks)), 6)
        return f"{fixed(value / factor, decimals)} {unit}" if value else "0"

    axis.set_major_formatter(FuncFormatter(text))


def log_axis(axis, low, high, text):
    """With one tick per power of ten, or more where that would be few."""
    axis.axes.set_yscale("log") if axis.axis_name == "y" else axis.axes.set_xscale("log")
    ratio = high / low
    axis.set_major_locator(LogLocator(subs=(1,) if ratio > 1000 else (1, 2, 5) if ratio > 6 else (1, 1.5, 2, 3, 4, 6, 8), numticks=12))
    axis.set_minor_locator(NullLocator())
    plain(axis, text)


def log_time(axis, low, high):
    log_axis(axis, low, high, time_text)


def ticks_of(values, most):
    """The values themselves where there is room for them, else powers of two from the smallest to the largest,
    not too many."""
    low, high = min(values), max(values)
    own = sorted(set(values))
    if len(own) <= most and all(math.log(b / a) > math.log(high / low) * 0.6 / most for a, b in zip(own, own[1:])):
        return own
    first, last = math.floor(math.log2(low)), math.ceil(math.log2(high))
    return [2.0**power for power in range(first, last + 1, 1 + (last - first) // most)]


def text_width(text, size=8.5):
    """In inches, in the font of the figure."""
    return text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)[0] / 72


def legend_columns(words, room, size=8.5):
    """As many as fit into so many inches, at least one: (columns, lines).  Marks are 1.2 letters wide, gaps 1.4."""
    widths = [text_width(word, size) + size * (1.2 + 0.8) / 72 for word in words]
    for columns in range(len(words), 1, -1):
        lines = math.ceil(len(words) / columns)
        wide = sum(max(widths[first:first + lines]) for first in range(0, len(words), lines))
        if wide + size * (1.4 * (columns - 1) + 1) / 72 <= room:
            return columns, lines
    return 1, len(words)


def room_for_rows(names, least):
    """Where axes begin so that names of rows fit beside them, as a part of WIDTH; at least `least`."""
    return max(least, (max(map(text_width, names), default=0) + 0.2) / WIDTH)


def axes_width(axes):
    """In inches."""
    return axes.get_position().width * axes.figure.bbox.width / axes.figure.dpi


def thin_ticks(axes, between=0.06):
    """Of given ticks of the lower axis every second, third ... where their names would touch."""
    if not isinstance(axes.xaxis.get_major_locator(), FixedLocator) or axes.get_xscale() != "log":
        return
    low, high = map(math.log, axes.get_xlim())
    name, wide = axes.xaxis.get_major_formatter(), axes_width(axes)
    ticks = [(tick, (math.log(tick) - low) / (high - low) * wide, text_width(name(tick))) for tick in axes.get_xticks()
             if low <= math.log(tick) <= high]
    for step in range(1, len(ticks)):
        kept = ticks[::step]
        if all(b[1] - a[1] > (a[2] + b[2]) / 2 + between for a, b in zip(kept, kept[1:])):
            break
    if step > 1:
        axes.set_xticks([tick for tick, _, _ in kept])


def log_counts(axes, counts, name, text=count_text, most=14):
    axes.set_xscale("log", base=2)
    plain(axes.xaxis, text, ticks_of(counts, most))
    reach = max(1.02, (max(counts) / min(counts)) ** 0.03)
    axes.set_xlim(min(counts) / reach, max(counts) * reach)
    axes.set_xlabel(name)


def log_sizes(axes, sizes):
    log_counts(axes, sizes, "size", size_text, most=9)


LETTER, BESIDE = 0.0125, 0.035  # parts of WIDTH: a letter beside axes, and what is around a name
MOST_BESIDE = 0.45  # of the width of a picture


def room_for(names):
    """Where axes end so that names of curves fit beside them, as a part of the width."""
    return min(0.97, 1 - BESIDE - LETTER * max(map(len, names), default=0))


def lines_beside(axes, names):
    """Names of curves in as many lines as there is room for beside axes; what does not fit then is cut in the middle."""
    most = int((MOST_BESIDE * axes.figure.bbox.width / axes.figure.dpi / WIDTH - BESIDE) / LETTER)
    if max(map(len, names), default=0) <= most:
        return [[name] for name in names]
    all_lines = [textwrap.wrap(name, most) for name in names]
    if sum(map(len, all_lines)) * LINE <= 1.1:
        return all_lines
    return [[name if len(name) <= most else cut_in_the_middle(name, most)] for name in names]


def cut_in_the_middle(name, most):
    """Its last words stay, which often tell it from others: "rec…12.5 GB/s"."""
    ends = [at for at in range(len(name)) if name[at - 1] == " " and len(name) - at <= most - 4]
    end = name[ends[0] if ends else len(name) - most // 2:]
    return f"{name[:most - 1 - len(end)]}…{end}"


LINE = 0.07  # of the height of axes
MOST_TITLE_LINES = 6


def title(frame, axes, text, height, left=0.1, right=0.97, above=0.12, below=0.5):
    """A finding over the axes, broken where it would not fit, and the margins around them.

    left, right: where the axes begin and end, as parts of the width.  above: inches between axes and
    title.  below: inches for the lower axis.  height: of the view, in inches.
    """
    narrower = WIDTH / frame.figure.get_figwidth()
    room = min(1, (0.99 - left * narrower) / 0.8)  # of the width
    lines = title_lines(text, round(72 / narrower * room)) if TITLED.get() else []
    if len(lines) > MOST_TITLE_LINES:  # more leave the axes no height
        lines = [*lines[:MOST_TITLE_LINES - 1], f"{lines[MOST_TITLE_LINES - 1]} …"]
    axes.set_title("\n".join(lines), pad=72 * above)
    frame.subplots_adjust(left=left * narrower, right=max(1 - MOST_BESIDE, 1 - (1 - right) * narrower), bottom=below / height,
                          top=1 - (above + 0.12 + 0.17 * len(lines)) / height)
    thin_ticks(axes)


def name_machine(axes, theme, results):
    """Below the axes: what was run on the preset that all rows are of, and whether that is more than data sheets say."""
    cluster = (results.get("scenario") or {}).get("cluster") or {}
    preset = cluster.get("preset")
    swept = set(results.get("axes") or ())
    if not isinstance(preset, str) or swept & {"cluster", "cluster.preset"}:
        return
    nodes = cluster.get("nodes", 1)
    text = preset if nodes == 1 or "cluster.nodes" in swept else f"{preset} x {nodes}"
    operations = {row.get("op") for row in results["rows"]}
    if len(operations) == 1:
        text = f"{operations.pop()} on {text}"
    if any(row.get("calibrated") is False for row in results["rows"]):
        text += ", not calibrated"
    axes.annotate(text, (0, 0), xycoords="axes fraction", xytext=(0, -26), textcoords="offset points", va="center",
                  fontsize=8.5, color=theme["muted"])


def title_lines(text, most):
    """As even as can be in the fewest lines of at most so many letters."""
    text = re.sub(r"(?<=\d) (?=\S)", "\N{NO-BREAK SPACE}", text)  # a number stays with what it counts
    count = len(textwrap.wrap(text, most))
    lines = next(even for even in (textwrap.wrap(text, width) for width in range(min(24, most), most + 1)) if len(even) <= count)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def label_ends(axes, ends):
    """Names of lines at their right ends: [(y, name, colour)], moved apart where they would meet."""
    low, high = axes.get_ylim()
    scale = math.log if axes.get_yscale() == "log" else float
    ends = sorted(ends)
    places, last, before, room = [], -1.0, 1, 0.98
    for (y, _, colour), lines in zip(ends, lines_beside(axes, [name for _, name, _ in ends])):
        last = max((scale(y) - scale(low)) / (scale(high) - scale(low)), last + LINE * (len(lines) + before) / 2)
        before = len(lines)
        places.append((last, lines, colour))
    above = 1
    for place, lines, colour in reversed(places):
        room = min(place, room - LINE * (len(lines) - above) / 2)
        above = len(lines)
        axes.annotate("\n".join(lines), (1.01, room), xycoords="axes fraction", color=colour, va="center", fontsize=8.5)
        room -= LINE * len(lines)
