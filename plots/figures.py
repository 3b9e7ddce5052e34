#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pictures of what collsim wrote, as SVG, PNG or PDF: the same input gives the same file, byte for byte.

usage: figures.py VIEW FILE... [VIEW FILE...] -o PICTURE [--dark | --both] [--width INCHES]
                                                          [--font NAME] [--no-title] [--dpi NUMBER]

Several views stand one above the other in one picture.  Several files of one view are called by
their names, or as you say: space-time 1-message.json "8 messages=fast.json".  --width 3.3 suits a
column of a paper; a caption says what --no-title leaves out.  --font: of those installed, such as
"Liberation Serif" or STIXGeneral.  --dpi: pixels of a PNG in an inch, 160 if nothing is said.
--both: an SVG that is dark where the reader's page is.

  chunk-curve RESULTS...   time against chunks: formula, simulation, measurement, optimum, floor; of further
                           sweeps the formula as a faint line, such as what the wire costs alone
  time-by-size RESULTS     time against size, with the bounds
  algbw-by-size RESULTS    bandwidth against size, and the sizes where another algorithm becomes best
  busbw-by-size RESULTS    the same with busbw
  scaling RESULTS          time against ranks
  best-map RESULTS         which algorithm is best at which size and number of ranks
  difference BEFORE AFTER  two results of the same sweep: the time after, divided by that before
  useful RESULTS           the useful share of a job with failures, against the time between checkpoints
  accuracy RESULTS         predicted against measured
  space-time TRACE...      who sends what when, one row per rank; several above each other
  links-time TRACE...      the same, one row per link
  streams TRACE...         what the streams of a training step do when
  breakdown TRACE...       what the critical path is made of
  buffers BUFFERS          every rank's numbers before and after

RESULTS: collsim run FILE -o results.json, or collsim validate.  TRACE: collsim trace FILE -o trace.json.
BUFFERS: collsim show FILE --format json.

From Python each view is a function of the parsed JSON that returns a matplotlib Figure:

  import json, sys
  sys.path.insert(0, "plots")
  from figures import chunk_curve
  chunk_curve(json.load(open("results.json")), dark=True).savefig("curve.png")

A line was calculated, a dot simulated, a square measured.  Needs Debian's python3-matplotlib.
Exit code 2: wrong usage or input, or matplotlib is missing.
"""
import pathlib
import signal
import sys

if __name__ == "__main__" and hasattr(signal, "SIGPIPE"):
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # figures.py --help | head

try:
    import matplotlib  # noqa: F401
    import numpy  # noqa: F401
except ImportError as error:
    if __name__ != "__main__":
        raise
    if {"-h", "--help"} & set(sys.argv[1:]):
        sys.exit(print(__doc__))
    sys.exit(print(f"figures.py needs {error.name}: apt-get install python3-matplotlib, and run it with "
                   "/usr/bin/python3", file=sys.stderr) or 2)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from static.accuracy import accuracy  # noqa: E402
from static.best_map import best_map  # noqa: E402
from static.breakdown import breakdown  # noqa: E402
from static.buffers import buffers  # noqa: E402
from static.by_size import by_size  # noqa: E402
from static.chunk_curve import chunk_curve  # noqa: E402
from static.difference import difference  # noqa: E402
from static.reading import FigureError, read  # noqa: E402
from static.scaling import scaling  # noqa: E402
from static.space_time import links_time, space_time  # noqa: E402
from static.streams import streams  # noqa: E402
from static.style import save, stack  # noqa: E402
from static.useful import useful  # noqa: E402

VIEWS = {
    "chunk-curve": chunk_curve,
    "time-by-size": by_size,
    "algbw-by-size": by_size,
    "busbw-by-size": by_size,
    "scaling": scaling,
    "best-map": best_map,
    "difference": difference,
    "useful": useful,
    "accuracy": accuracy,
    "space-time": space_time,
    "links-time": links_time,
    "streams": streams,
    "breakdown": breakdown,
    "buffers": buffers,
}
LEAST_WIDTH, MOST_WIDTH = 2.5, 20  # inches
LEAST_DPI, MOST_DPI = 50, 1200
MANY_FILES = ("chunk-curve", "space-time", "links-time", "streams", "breakdown")


def parts_of(words):
    """[(view's name, files)]"""
    parts = []
    for word in words:
        if word in VIEWS:
            parts.append((word, []))
        elif not parts:
            raise FigureError(f'there is no view "{word}"; views: {", ".join(VIEWS)}')
        else:
            parts[-1][1].append(word)
    for name, files in parts:
        if not files:
            raise FigureError(f"{name} needs a file")
        if name == "difference":
            if len(files) != 2:
                raise FigureError("difference takes two files, before and after")
        elif len(files) > 1 and name not in MANY_FILES:
            raise FigureError(f"{name} takes one file")
    return parts


def value_of(words, option, what):
    """Takes an option with its value out of the words; None where it is not there."""
    if option not in words:
        return None
    at = words.index(option)
    if at + 1 == len(words):
        raise FigureError(f"{option} needs {what}")
    value = words[at + 1]
    del words[at:at + 2]
    return value


def number_of(words, option, what, least, most):
    """The value of an option, a number within limits; None where it is not there."""
    text = value_of(words, option, "a number")
    if text is None:
        return None
    try:
        number = float(text)
    except ValueError:
        number = least - 1
    if not least <= number <= most:
        raise FigureError(f'{option} is in {what}, {least} to {most}, not "{text}"')
    return number


def options_of(words):
    """What to draw, where to write it, and how it looks, as stack() and save() take it."""
    words, look, fineness = list(words), {}, {}
    for flag, option in (("--dark", {"dark": True}), ("--both", {"both": True}), ("--no-title", {"titled": False})):
        if flag in words:
            words.remove(flag)
            look |= option
    if look.keys() >= {"dark", "both"}:
        raise FigureError("--both is light and dark in one file, --dark is dark alone: use one of them")
    output = value_of(words, "-o", "a file name")
    if (font := value_of(words, "--font", "the name of a font")) is not None:
        look["font"] = font
    if (width := number_of(words, "--width", "inches", LEAST_WIDTH, MOST_WIDTH)) is not None:
        look["width"] = width
    if (dpi := number_of(words, "--dpi", "pixels in an inch", LEAST_DPI, MOST_DPI)) is not None:
        fineness["dpi"] = dpi
    unknown = [word for word in words if word.startswith("-")]
    if unknown:
        raise FigureError(f"there is no option {unknown[0]}; figures.py --help")
    if not words:
        raise FigureError("name a view and a file; see figures.py --help")
    if output is None:
        raise FigureError("no output file: use -o picture.svg")
    return parts_of(words), output, look, fineness


def named_file(word):
    """(name, file) of "8 messages=fast.json"; a file that is there is no name."""
    name, is_named, file = word.partition("=")
    if is_named and name and file and not pathlib.Path(word).exists():
        return name, file
    return pathlib.Path(word).stem.replace("-", " "), word


def part_of_picture(name, files):
    """What stack() takes.  Several files of one view are called by their names."""
    options = {}
    if name in MANY_FILES and len(files) > 1:
        options["names"] = [named_file(file)[0] for file in files]
    if name.endswith("-by-size"):
        options["metric"] = name.split("-")[0]
    return VIEWS[name], [read(named_file(file)[1]) for file in files], options


def main(words):
    if not words or words[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if words else 2
    try:
        parts, output, look, fineness = options_of(words)
        both = look.pop("both", False)
        views = [part_of_picture(name, files) for name, files in parts]
        save(stack(views, **look), output, **fineness, dark=stack(views, **look | {"dark": True}) if both else None)
    except FigureError as error:
        print(f"figures.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
