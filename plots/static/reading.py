# SPDX-License-Identifier: Apache-2.0
"""Reads what collsim wrote, and says what is wrong with it in words.

results   collsim run/validate FILE -o results.json
trace     collsim trace FILE -o trace.json
buffers   collsim show FILE --format json
"""
import contextlib
import json
import pathlib

MOST_BYTES = 256 * 2**20
MOST_ROWS = 20_000
FORMAT = 1
LARGEST = 1e30  # with room to calculate; a picture needs no more


class FigureError(Exception):
    """What the person who wants the picture has to change."""


class Document(dict):
    """What a file holds, and its name."""

    def __init__(self, content, name):
        super().__init__(content)
        self.name = name


def name_of(document, kind):
    """Of the file, for messages; from Python there may be none."""
    return getattr(document, "name", f"the {kind}")


@contextlib.contextmanager
def trust(name="the data"):
    """What the checks of this file did not foresee is still a mistake of the data."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise FigureError(f"{name} cannot be drawn: collsim does not write such values") from error


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
    return Document(document, name)


# Kinds of values, by the words in which they are asked for.
KINDS = {
    "a number above 0": lambda value: is_number(value) and value > 0,
    "a number of at least 0": lambda value: is_number(value) and value >= 0,
    "a whole number of at least 0": lambda value: is_number(value) and isinstance(value, int) and value >= 0,
    "a text": lambda value: isinstance(value, str) and len(value) <= 1000,
    "true or false": lambda value: isinstance(value, bool),
    "an object": lambda value: isinstance(value, dict),
    "a list": lambda value: isinstance(value, list),
}


def is_number(value):
    """A number that a picture can show."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= LARGEST


def check(holder, where, kind, *keys, may_be_missing=False):
    """The value of the last key, when all have values of this kind; null is as good as missing.
    `where`: the file, and what of it."""
    value = None
    for key in keys:
        value = holder.get(key)
        if value is None and may_be_missing:
            continue
        if not KINDS[kind](value):
            raise FigureError(f"{where}: {key} should be {kind}, and {told(value) if key in holder else 'is missing'}")
    return value


def told(value):
    if is_number(value) or not isinstance(value, (int, float)):
        try:
            text = json.dumps(value, ensure_ascii=False)
        except ValueError:  # a number of thousands of digits
            text = "something else"
        return f"is {text}" if len(text) <= 40 else f"is {text[:40]}..."
    return "is true or false" if isinstance(value, bool) else "is too large a number"


def rows_of(results, also=()):
    """The rows of results, checked; `also`: what the view needs of each row besides."""
    name = name_of(results, "results")
    if "traceEvents" in results:
        raise FigureError(f"this view needs results (collsim run FILE -o results.json), and {name} is a trace")
    if isinstance(results.get("format"), int) and results["format"] != FORMAT:
        raise FigureError(f"{name} has format {told(results['format']).removeprefix('is ')}; this program reads {FORMAT}")
    rows = results.get("rows")
    if not isinstance(rows, list) or "format" not in results:
        raise FigureError(f"this view needs results (collsim run FILE -o results.json), and {name} has none")
    if not rows:
        raise FigureError(f"{name} holds no rows")
    if len(rows) > MOST_ROWS:
        raise FigureError(f"{name} holds {len(rows):,} rows; a picture shows at most {MOST_ROWS:,}")
    for number, row in enumerate(rows):
        check_row(row, f"{name}, row {number}", also)
    return [as_in_tables(row) for row in rows]


def as_in_tables(row):
    """Tables name what NCCL runs as NCCL does: Ring LL."""
    algorithm, protocol = row.get("nccl_algorithm"), row.get("nccl_protocol")
    return {**row, "algorithm": f"{algorithm} {protocol}"} if algorithm and protocol else row


def check_row(row, where, also):
    if not isinstance(row, dict):
        raise FigureError(f"{where} should be an object, and {told(row)}")
    check(row, where, "a number above 0", "ranks", "time_s", *also)
    check(row, where, "a number of at least 0", "size_bytes", "chunks")
    check(row, where, "a number of at least 0", "channels", "analytic_s", "best_chunks", "bound_s", "bound_bandwidth_s",
          "bound_latency_s", may_be_missing=True)
    check(row, where, "a text", "op", "algorithm")
    params = check(row, where, "an object", "params", may_be_missing=True) or {}
    for path, value in params.items():
        if not isinstance(value, (str, int, float)) or not (isinstance(value, (str, bool)) or is_number(value)):
            raise FigureError(f"{where}: params, {path} should be a text or a number, and {told(value)}")
    measured = check(row, where, "an object", "measured", may_be_missing=True)
    if measured:
        where += ", measured"
        check(measured, where, "a number above 0", "time_s", "min_s", "max_s", *also)
        check(measured, where, "true or false", "noisy", may_be_missing=True)
        check(measured, where, "a number of at least 0", "spread", may_be_missing=True)
        check(measured, where, "a text", "data", may_be_missing=True)
        if not measured["min_s"] <= measured["time_s"] <= measured["max_s"]:
            raise FigureError(f"{where}: time_s should be between min_s and max_s")
