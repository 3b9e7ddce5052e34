# SPDX-License-Identifier: Apache-2.0
"""Numbers as people read them, by the rules of the pages (plots/common/units.js): four digits, sizes in
powers of 1024, times and rates in powers of 1000, "us" for microseconds as the program writes it."""
from decimal import ROUND_HALF_UP, Decimal
from math import floor, isinf

TIMES = ((1, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"), (1e-12, "ps"))
SIZES = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))
RATES = ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1, "B/s"))


def fixed(value, decimals=0):
    """So many decimals; a half goes up, as in JavaScript."""
    return f"{Decimal(value).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP):f}"


def four_digits(value):
    """Without zeros that say nothing."""
    if abs(value) >= 9999.5:
        return fixed(value)
    text = f"{Decimal(f'{value:.4g}'):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def unit_of(value, units):
    """(size, name) of the largest unit of which there is a whole one."""
    almost_one = 1 - 1e-9  # what seconds as a binary fraction lose of a whole picosecond
    return next((one for one in units if abs(value) >= one[0] * almost_one), units[-1])


def in_largest_unit(value, units):
    factor, unit = unit_of(value, units)
    return f"{four_digits(value / factor)} {unit}"


def time_text(seconds):
    return in_largest_unit(seconds, TIMES) if seconds else "0 s"


def size_text(size):
    return in_largest_unit(size, SIZES)


def rate_text(rate):
    return in_largest_unit(rate, RATES)


def count_text(number):
    return f"{number:,.0f}" if number == floor(number) else four_digits(number)


def percent_text(fraction):
    """-1.2%; of what is not zero never 0.0%."""
    if 0 < abs(fraction) < 0.0005:
        return "under 0.1%"
    if 0.995 < fraction < 1 - 1e-9:
        return f"{floor(fraction * 1000) / 10}%"  # not all of it
    return f"{fixed(fraction * 100, 1 if abs(fraction) < 0.0995 else 0)}%"


def times_text(ratio):
    """How many times more: 5.7, 12, 1.03."""
    if isinf(ratio):
        return "countless"
    if ratio == floor(ratio):
        return count_text(ratio)
    return fixed(ratio, 2 if ratio < 1.1 else 1) if ratio < 9.95 else count_text(floor(ratio + 0.5))
