# SPDX-License-Identifier: Apache-2.0
"""Numbers in the sentences of a lesson, held to what the page shows: outputs, formulas, the scenarios.

A number must be given by something of its own kind.  A time, size, rate or share: by a number with
such a unit.  A count before "ranks", "messages" or "times": by a table's column or a text that
speaks of the same thing.  Any other count: by a formula or a scenario.  A formula in a sentence, a
list of ranks, `code` with digits: by the same characters somewhere on the page.  A lesson: by a
link to it.  That a rank's name is the right one cannot be seen, only that there is such a rank.
"""
import re

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SCENARIO = re.compile(r"(?:scenarios|docs/lessons/exercises)/[\w/-]+\.json")

UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20,
         "GiB": 2.0**30, "MB/s": 1e6, "GB/s": 1e9, "%": 0.01}
KINDS = {**dict.fromkeys(("ns", "us", "ms", "s"), "time"), **dict.fromkeys(("B", "kB", "MB", "GB", "KiB", "MiB", "GiB"), "size"),
         **dict.fromkeys(("MB/s", "GB/s"), "rate"), "%": "share"}
UNIT = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
NUMBER = re.compile(rf"(?<![\w.])(\d+(?:,\d{{3}})+|\d+(?:\.\d+)?)(?:\s?({UNIT})(?![\w/]))?")

# What a word behind a count (or a column above it) speaks of; other words speak of anything.
NOUNS = {"rank": "ranks", "ranks": "ranks", "GPUs": "ranks", "message": "messages", "messages": "messages", "chunks": "messages",
         "times": "times", "x bound": "times", "buckets": "buckets", "microbatches": "microbatches", "servers": "servers",
         "step": "steps", "steps": "steps", "hop": "steps", "hops": "steps"}
NOUN = re.compile(r"[-\s]+(?:more )?(\w+)")
AND = r"(?:,|,? and|,? or|,? to| ->)"
LIST = re.compile(rf"(?<![\w.])\d+(?:, \d+){{3,}}")
NAME = re.compile(rf"\b(ranks?|GPUs?|parts?|steps?) (\d+(?:{AND} \d+)*)(?![\w.]| ranks| GPUs)", re.IGNORECASE)
SYMBOL = re.compile(r"\b([KS]) (?:=|≥) (\d+)")
LESSON = re.compile(rf"\blessons?\s+\d+", re.IGNORECASE)
LESSON_LINK = re.compile(r"\[(?:lesson\s+)?(\d+)\]\((\d\d)-[\w-]+\.md\)", re.IGNORECASE)
EXPRESSION = re.compile(r"(?:\d+ ?)?\(K ?[-+] ?\d[^)]*\)(?: ?/ ?\w+)?|(?:\d+ ?)?K-\d(?:\+S)?|log\d+\(K\)|\(\d+ - \d+/K\)"
                        r"|\([mp][-+\w]*\)(?: ?/ ?\([mp][-+\w]*\))?|P-\d \+ \d+W|r\+\d")


def numbers(text):
    """[(as written, value, half a unit of its last digit, kind)]"""
    for match in NUMBER.finditer(text):
        yield number_of(match)


def number_of(match):
    digits, unit = match.group(1).replace(",", ""), match.group(2)
    factor = UNITS[unit] if unit else 1.0
    decimals = len(digits.partition(".")[2])
    return match.group().strip(), float(digits) * factor, 0.5000001 * 10**-decimals * factor, KINDS.get(unit, "count")


def squeezed(text):
    return re.sub(r"[\s*]", "", text)


class Shown:
    """What a page shows besides its sentences."""

    def __init__(self, page, root):
        blocks = BLOCK.findall(page)
        self.outputs = "\n".join(block for kind, block in blocks if kind in ("console", "text"))
        self.formulas = "\n".join(block for kind, block in blocks if kind == "formula")
        self.files = "\n".join((root / name).read_text() for name in SCENARIO.findall(page))
        self.verbatim = squeezed("\n".join([*(block for _, block in blocks), self.files]))
        self.links = " ".join(re.findall(r"#(\S+?)\)", page)).replace("%2F", "/").replace("=", " ").replace("&", " ")
        self.values = {}
        self.collect()

    def add(self, kind, value):
        self.values.setdefault(kind, set()).add(value)

    def collect(self):
        for text in (self.outputs, self.formulas, self.files.replace('"', " "), self.links):
            for match in NUMBER.finditer(text):
                _, value, _, kind = number_of(match)
                noun = NOUN.match(text, match.end())
                if kind != "count":
                    self.add(kind, value)
                elif noun and noun.group(1) in NOUNS:
                    self.add(NOUNS[noun.group(1)], value)
        for heading, cell in table_cells(self.outputs):
            if heading in NOUNS and re.fullmatch(r"[\d.]+", cell):
                self.add(NOUNS[heading], float(cell))
        for key, value in re.findall(r'\b(ranks|chunks)(?:": | )(\d+)', self.files + self.links):
            self.add(NOUNS[key], float(value))
        for line in self.formulas.splitlines():  # what a formula comes to is any noun's
            for _, value, _, kind in list(numbers(line))[-1:]:
                for noun in ("steps", "times", "count") if kind == "count" else (kind,):
                    self.add(noun, value)
        for text in (self.formulas, self.files):
            for _, value, _, kind in numbers(text):
                if kind == "count":
                    self.add("count", value)

    def has(self, kind, value, half):
        return any(abs(value - known) <= half for known in self.values.get(kind, ()))


def table_cells(outputs):
    """(heading, cell) of every table that `collsim run` printed."""
    headings = []
    for line in outputs.splitlines():
        cells = re.split(r"\s{2,}", line.strip())
        if not line.startswith("  "):
            headings = []
        elif {"time", "step"} & set(cells):
            headings = cells
        else:
            yield from zip(headings, cells)


def sentences_of(page):
    """The page with blanks in the place of all that is no sentence: every letter stays where it is."""
    blank = lambda match: " " * len(match.group())
    return re.sub(r"^# .*$|^Next: .*$|^\d+\. |<summary>.*?</summary>", blank, BLOCK.sub(blank, page), flags=re.MULTILINE)


def changed_digits(page):
    """The page again and again, each time with one digit of a sentence changed."""
    sentences = re.sub(r"\]\([^)]*\)", lambda match: " " * len(match.group()), sentences_of(page))
    for match in re.finditer(r"\d", sentences):
        other = str((int(match.group()) + 3) % 10)
        yield page[: match.start()] + other + page[match.end() :]


def wrong_numbers(page, root):
    """What is wrong with the numbers in the sentences of a page."""
    shown = Shown(page, root)
    prose = sentences_of(page)
    wrong = []

    def take(pattern, problem):
        """Removes what the pattern finds, and notes where `problem` has something to say of it."""
        nonlocal prose

        def judge(match):
            said = problem(match)
            if said:
                wrong.append(f"says {' '.join(match.group().split())}, {said}")
            return " ; "

        prose = re.sub(pattern, judge, prose)

    def is_shown(match):
        return None if squeezed(match.group().strip("`")) in shown.verbatim else "which stands nowhere else on the page"

    take(re.compile(r"`[^`]*`"), lambda match: is_shown(match) if re.search(r"\d", match.group()) else None)
    take(LESSON_LINK, lambda match: None if int(match.group(1)) == int(match.group(2)) else "and links to another lesson")
    prose = re.sub(r"\]\([^)]*\)", "]", prose)
    take(LESSON, lambda match: "without a link to it")
    take(LIST, is_shown)
    take(EXPRESSION, is_shown)
    take(SYMBOL, lambda match: None if shown.has("ranks" if match.group(1) == "K" else "messages", int(match.group(2)), 0)
         else "which no output, formula or scenario of the page gives")
    take(NAME, lambda match: wrong_name(match, shown))
    for match in NUMBER.finditer(prose):
        written, value, half, kind = number_of(match)
        noun = NOUN.match(prose, match.end())
        kind = NOUNS.get(noun.group(1) if noun else "", "count") if kind == "count" else kind
        if kind == "times" and written in "123456789":
            half = 0.05  # 4.0 and not 3.6
        if not shown.has(kind, value, half):
            what = "number" if kind == "count" else f"number of {kind}" if kind in NOUNS.values() else kind
            wrong.append(f"says {written}, a {what} that no output, formula or scenario of the page gives")
    return wrong


def wrong_name(match, shown):
    numbered = [int(number) for number in re.findall(r"\d+", match.group(2))]
    if match.group(1).lower().startswith("step"):
        steps = {int(number) for number in re.findall(r"\bstep (\d+)", shown.outputs)}
        return None if steps.issuperset(numbered) else "which no output shows"
    most = max(shown.values.get("ranks", {0}))
    return None if all(number < most for number in numbered) else f"but there are at most {most:.0f} ranks"
