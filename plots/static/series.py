# SPDX-License-Identifier: Apache-2.0
"""Which rows make one curve, what it is called, and which curve is the fastest where.  The rules are
those of the report: plots/report/groups.js, jobs.js and crossovers.js."""
import dataclasses
import json
import re

from static.reading import FigureError, name_of, rows_of
from static.units import count_text, rate_text, size_text, time_text, times_text

# What a row tells about itself besides what the sweep set.
ASPECTS = ("op", "algorithm", "size_bytes", "ranks", "chunks", "channels")
# Of these one takes the best; another value of anything else is another job.
CHOICES = ("aggregation", "algorithm", "channels", "chunk_size", "chunks", "dims", "nccl_algo", "nccl_proto",
           "nccl_tuner", "radix", "slots")


@dataclasses.dataclass
class Curves:
    all: list  # [(name, rows)]; rows by x
    along: str
    other_jobs: bool  # not all do the same, so none is better than another
    jobs: list  # the name of each by what it does alone
    choices: list  # and by how it does that

    def __iter__(self):
        return iter(self.all)

    def __len__(self):
        return len(self.all)

    def by_job(self):
        """{what is done: the curves that do it}, called by what tells them from each other"""
        found = {}
        for job, curve, how in zip(self.jobs, self.all, self.choices):
            found.setdefault(job, []).append((how or curve[0], curve[1]))
        return {job: Curves(curves, self.along, False, [job] * len(curves), []) for job, curves in found.items()}


@dataclasses.dataclass(frozen=True)
class Part:
    """Something in which rows may differ."""

    path: str  # "algorithm", "cluster.link.bandwidth"

    def of(self, row):
        value = row.get(self.path) if self.path in ASPECTS else (row.get("params") or {}).get(self.path)
        return json.dumps(value)

    def is_choice(self):
        place, _, key = self.path.rpartition(".")
        return key in CHOICES and place in ("", "collective") or self.path == "measure.protocol"

    def makes(self, along):
        """Whether it is another way to say x."""
        key = self.path.split(".")[-1]
        return key in (along, along.split("_")[0]) or (along == "chunks" and key == "chunk_size")

    def words(self, row):
        value = json.loads(self.of(row))
        name = self.path.split(".")[-1]
        late = re.search(r"(?:^|\.)late\.(\d+)$", self.path)
        if late:
            return f"rank {late[1]} on time" if re.match("[0.]*[a-z]*$", str(value)) else f"rank {late[1]} late by {spaced(value)}"
        if name == "size_bytes":
            return size_text(value)
        if name in ("op", "algorithm", "shape", "preset", "size"):
            return spaced(value)
        if name in ("chunks", "ranks", "nodes", "channels", "slots") and isinstance(value, (int, float)):
            return f"{count_text(value)} {name if value != 1 else name[:-1]}"
        return f"{name.replace('_', ' ')} {spaced(value)}"


def spaced(value):
    """8MB/s as "8 MB/s"."""
    return re.sub(r"^([\d.]+)([A-Za-z%])", r"\1 \2", str(value))


def distinct(rows, of):
    return len({of(row) for row in rows})


def follows(rows, first, second):
    """Whether the first value of a row tells the second."""
    return distinct(rows, lambda row: (first(row), second(row))) == distinct(rows, first)


def series_of(results, along, also=()):
    """Rows that differ in `along` alone, in what makes it and in what follows from it, are one curve;
    `also`: what each row must have besides."""
    rows = rows_of(results, also)
    paths = dict.fromkeys(path for row in rows for path in row.get("params") or {})
    chosen = {"algorithm", "chunks", "channels"} if all(row.get("nccl_algorithm") for row in rows) else ()
    parts = [part for part in map(Part, (*ASPECTS, *paths)) if not part.makes(along) and part.path not in chosen]
    varying = [part for part in parts if distinct(rows, part.of) > 1 and not follows(rows, lambda row: row[along], part.of)]
    telling = []
    for part in varying:  # of what always changes together the first
        if not any(follows(rows, other.of, part.of) and follows(rows, part.of, other.of) for other in telling):
            telling.append(part)
    groups = {}
    for row in rows:
        groups.setdefault(tuple(part.of(row) for part in telling), []).append(row)
    groups = [sorted(group, key=lambda row: row[along]) for group in groups.values()]
    if max(distinct(group, lambda row: row[along]) for group in groups) < 2:
        raise FigureError(f"no two rows of {name_of(results, 'results')} differ in {along.split('_')[0]} only; sweep over it")
    jobs = [part for part in varying if not part.is_choice()]
    of_job = [part for part in telling if part in jobs] or telling
    return Curves([(words(telling, group[0]), group) for group in groups], along,
                  distinct(rows, lambda row: tuple(part.of(row) for part in jobs)) > 1, [words(of_job, group[0]) for group in groups],
                  [words([part for part in telling if part.is_choice()], group[0]) for group in groups])


def words(parts, row):
    return ", ".join(part.words(row) for part in parts)


def common_xs(curves):
    """The x that all curves have."""
    sets = [{row[curves.along] for row in group} for _, group in curves]
    return sorted(set.intersection(*sets))


def times_at(curves, x):
    """[(name, time)]"""
    return [(name, min(row["time_s"] for row in group if row[curves.along] == x)) for name, group in curves]


@dataclasses.dataclass
class Stretch:
    """Neighbouring x at which the same curves are the fastest: several when their times are equal."""

    names: list
    start: float
    end: float


def fastest_stretches(curves):
    stretches = []
    for x in common_xs(curves):
        times = times_at(curves, x)
        fastest = [name for name, time in times if time == min(time for _, time in times)]
        if stretches and stretches[-1].names == fastest:
            stretches[-1].end = x
        else:
            stretches.append(Stretch(fastest, x, x))
    return stretches


def jointly(names, of):
    """ring; ring and tree; 4 of 9 curves"""
    if len(names) == of > 2:
        return f"all {of}"
    if len(names) > 3:
        return f"{len(names)} of {of} curves"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def is_plural(name):
    """8 chunks"""
    return bool(re.match(r"(?!1 )[\d,]+ [a-z]+s$", name))


def fastest_words(names, of):
    who = jointly(names, of)
    if len(names) == 1:
        return f"{who} {'are' if is_plural(who) else 'is'} fastest"
    return f"{who} are equally fast" if len(names) == of else f"{who} share first place"


def fastest_text(curves, stretches, text, things):
    """tree is fastest up to 16 MiB, ring from 32 MiB on"""
    if not stretches:
        return f"The curves have no {things} in common, so none is the fastest"
    everywhere = len(common_xs(curves)) == len({row[curves.along] for _, group in curves for row in group})
    first = re.sub("^all ", "All ", fastest_words(stretches[0].names, len(curves)))
    if len(stretches) == 1:
        return f"{first} {'everywhere' if everywhere else f'at all common {things}'}"
    where = "" if everywhere else f", at the {things} that all have"
    if len(stretches) > 4:
        count = len({name for stretch in stretches for name in stretch.names})
        return (f"Which of {count} is fastest changes {len(stretches) - 1} times between {text(stretches[0].start)} and "
                f"{text(stretches[-1].end)}{where}")
    later = [f"{jointly(one.names, len(curves))} to {text(one.end)}" for one in stretches[1:-1]]
    last = f"{jointly(stretches[-1].names, len(curves))} from {text(stretches[-1].start)} on"
    return ", ".join([f"{first} up to {text(stretches[0].end)}", *later, last]) + where


def other_jobs_text(curves):
    """At 64 MiB busbw is 6.7 GB/s for all-gather and 3.4 GB/s for broadcast"""
    xs = common_xs(curves)
    if not xs:
        return f"{len(curves)} curves that have no sizes in common"
    rows = [next(row for row in group if row[curves.along] == xs[-1]) for _, group in curves]
    rates = all(row.get("busbw_bytes_per_s") for row in rows)
    key, text = ("busbw_bytes_per_s", rate_text) if rates else ("time_s", time_text)
    names = curves.jobs if len(set(curves.jobs)) == len(curves) else [name for name, _ in curves]
    sorted_rows = sorted(zip(names, rows), key=lambda one: -one[1][key])
    named = {}  # those of one value are said once
    for name, row in sorted_rows:
        named.setdefault(text(row[key]), []).append(name)
    said = [f"{value} for {jointly(alike, len(curves))}" for value, alike in named.items()]
    what = f"At {size_text(xs[-1])} {'busbw' if rates else 'the time'}"
    if len(said) > 4:
        return f"{what} lies between {said[-1]} and {said[0]}"
    *others, last = said
    return f"{what} is {', '.join(others)} and {last}" if others else f"{what} is {last}"


def takes_longer_text(times):
    """all-reduce takes 2 times as long as reduce-scatter and all-gather"""
    fast, slow = min(time for _, time in times), max(time for _, time in times)
    named = {wanted: [name for name, time in times if time == wanted] for wanted in (fast, slow)}
    if fast == slow:
        return f"{jointly(named[fast], len(times))} take the same time"
    who = jointly(named[slow], len(times))
    verb = "take" if len(named[slow]) > 1 or is_plural(who) else "takes"
    return f"{who} {verb} {times_text(slow / fast)} times as long as {jointly(named[fast], len(times))}"
