# SPDX-License-Identifier: Apache-2.0
"""Reads what collsim wrote, and says what is wrong with it in words.

results   collsim run/validate FILE -o results.json
trace     collsim trace FILE -o trace.json
buffers   collsim show FILE --format json
"""
import contextlib
import json
import pathlib
import sys

from static.units import count_text, size_text

MOST_BYTES = 256 * 2**20
MOST_ROWS = 20_000
FORMAT = 1


class FigureError(Exception):
    """What the person who wants the picture has to change."""


@contextlib.contextmanager
def trust():
    """Files of other programs, or changed by hand, can break anything: that is told as their mistake."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise FigureError(f"these data are not as collsim writes them: {type(error).__name__}: {error}") from error


def read(path):
    """The parsed document; NaN and infinity are refused, because JSON has neither."""
    name = str(path)
    try:
        if pathlib.Path(path).stat().st_size > MOST_BYTES:
            raise FigureError(f"{name} is larger than {MOST_BYTES >> 20} MiB")
        text = pathlib.Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise FigureError(f"{name}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise FigureError(f"{name} is not a text file") from None

    def refuse(word):
        raise FigureError(f"{name} holds {word}, which is no number in JSON")

    try:
        document = json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:  # ValueError: numbers of thousands of digits too
        raise FigureError(f"{name} is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise FigureError(f"{name} holds no object, so collsim did not write it")
    return document


def rows_of(results, also=()):
    """The rows of results; each has at least ranks, size_bytes, chunks and a time above zero, and what
    the view needs also."""
    if "traceEvents" in results:
        raise FigureError("this view needs results (collsim run FILE -o results.json), not a trace")
    if isinstance(results.get("format"), int) and results["format"] != FORMAT:
        raise FigureError(f"the results have format {results['format']}; this program reads {FORMAT}")
    rows = results.get("rows")
    if not isinstance(rows, list) or "format" not in results:
        raise FigureError("this view needs results: collsim run FILE -o results.json")
    if not rows:
        raise FigureError("the results hold no rows")
    if len(rows) > MOST_ROWS:
        raise FigureError(f"the results hold {len(rows):,} rows; a picture shows at most {MOST_ROWS:,}")
    for number, row in enumerate(rows):
        check_row(row, number, also)
    return rows


MAY_BE_NULL = ("analytic_s", "best_chunks", "bound_s", "bound_bandwidth_s", "bound_latency_s")


def check_row(row, number, also):
    if not isinstance(row, dict):
        raise FigureError(f"row {number} of the results is no object")
    for key in ("ranks", "size_bytes", "chunks", "time_s", *also, *MAY_BE_NULL):
        value = row.get(key)
        if value is None and key in MAY_BE_NULL:
            continue
        if not is_number(value) or value < 0:
            raise FigureError(f"row {number} of the results has no usable {key}")
    if not isinstance(row.get("params"), (dict, type(None))):
        raise FigureError(f"row {number} of the results has no usable params")
    if row["time_s"] <= 0:
        raise FigureError(f"row {number} takes no time, which a logarithmic axis cannot show")
    measured = row.get("measured")
    times = ("time_s", "min_s", "max_s", *also)
    if measured is not None and not (isinstance(measured, dict) and all(is_number(measured.get(key)) for key in times)):
        raise FigureError(f"row {number} of the results has no usable measured time")


def is_number(value):
    """A number that a picture can show: as large as a double at most."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


# What tells series apart, and how it is said.
ASPECTS = ("op", "algorithm", "size_bytes", "ranks", "chunks", "channels")


def series_of(results, along, also=()):
    """[(label, rows)]: rows that differ in `along` only, in the order in which they came; `also`: what
    each must have besides."""
    groups = {}
    rows = rows_of(results, also)
    for row in rows:
        others = {path: value for path, value in (row.get("params") or {}).items() if not names(path, along)}
        aspects = tuple(row.get(key) for key in ASPECTS if key != along)
        groups.setdefault((aspects, json.dumps(others, sort_keys=True)), []).append(row)
    series = [sorted(group, key=lambda row: row[along]) for group in groups.values()]
    if max(len({row[along] for row in group}) for group in series) < 2:
        raise FigureError(f"no two rows differ in {along.split('_')[0]} only; sweep over it")
    return list(zip(labels(series, along), series))


def names(path, along):
    """Whether a path of the sweep is what the axis shows."""
    return path.split(".")[-1] in (along, along.split("_")[0]) or (along == "chunks" and path.endswith("chunk_size"))


def labels(series, along):
    firsts = [group[0] for group in series]
    keys = [key for key in ASPECTS if key != along and len({first.get(key) for first in firsts}) > 1]
    if not keys and len(firsts) > 1:  # something else was swept, such as one link
        return [", ".join(f"{path.split('.')[-1]} {value}" for path, value in first["params"].items()
                          if not names(path, along)) for first in firsts]
    return [", ".join(aspect_text(key, first[key]) for key in keys) for first in firsts]


def aspect_text(key, value):
    if key == "size_bytes":
        return size_text(value)
    if key in ("op", "algorithm"):
        return str(value)
    return f"{count_text(value)} {key if value != 1 else key[:-1]}"
