# SPDX-License-Identifier: Apache-2.0
"""One SVG that is light on light pages and dark on dark ones: each colour is a variable with two values."""
import re

from static.reading import FigureError

COLOUR = re.compile(r"#[0-9a-f]{6}\b")


def merged(light, dark):
    """Two SVGs of the same figure as one."""
    light, dark = with_black(light), with_black(dark)
    pairs = list(zip(COLOUR.findall(light), COLOUR.findall(dark)))
    between = COLOUR.split(light)
    if len(COLOUR.findall(dark)) != len(pairs) or len(between) != len(pairs) + 1:
        raise FigureError("this picture cannot be light and dark at once: use --dark for a second file")
    names = {pair: f"var(--c{number})" for number, pair in enumerate(dict.fromkeys(pairs))}
    drawn = between[0] + "".join(names[pair] + rest for pair, rest in zip(pairs, between[1:]))

    def values(part):
        return "".join(f"{name[4:-1]}:{pair[part]};" for pair, name in names.items())

    style = f"svg{{{values(0)}}}\n@media(prefers-color-scheme:dark){{svg{{{values(1)}}}}}\n</style>"
    return drawn.replace("</style>", style, 1)


def with_black(svg):
    """Black text has its colour, too, which matplotlib leaves out."""
    return re.sub(r'(<text style="(?:(?!fill:)[^"])*)"', r'\1; fill: #000000"', svg)
