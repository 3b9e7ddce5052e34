# SPDX-License-Identifier: Apache-2.0
"""What a trace (collsim trace FILE -o trace.json) says about messages, pauses and the critical path."""
import dataclasses
import itertools

from static.reading import FigureError, check, name_of, told

MOST_EVENTS = 200_000
MOST_PIECES = 10**9
ROUNDING = 2e-9  # traces hold whole nanoseconds
CAUSES = ("a message", "a signal", "a free slot")
SHARES = ("start", "startup", "wire", "serial hops", "sharing", "flight", "work", "queue")


@dataclasses.dataclass
class Crossing:
    link: str
    start: float  # seconds
    end: float
    piece: int  # of the message
    startup: float  # how much of it is before its data flow


@dataclasses.dataclass
class Message:
    crossings: list  # of the links of its route, in order: at least one
    source: int
    target: int
    piece: int
    added: int | None = None  # of how many ranks' data it is the sum; None: nothing is added

    # What its sender sees: the first link.
    @property
    def start(self):
        return self.crossings[0].start

    @property
    def end(self):
        return self.crossings[0].end

    @property
    def startup(self):
        return self.crossings[0].startup


@dataclasses.dataclass
class Pause:
    rank: int
    start: float
    end: float
    kind: str  # one of CAUSES, "the link", "work", "late"


@dataclasses.dataclass
class Run:
    title: str  # "broadcast (chain) 64 MiB"
    name: str  # what tells it apart from others in the same picture
    time: float
    messages: list
    links: list  # names of those that were used
    pauses: list
    ranks: list
    pieces: int
    shares: dict  # what the critical path is made of: name -> seconds


def run_of(trace):
    """The parsed trace as a Run."""
    name = name_of(trace, "trace")
    events = trace.get("traceEvents")
    if not isinstance(events, list):
        raise FigureError(f"this view needs a trace (collsim trace FILE -o trace.json), and {name} is none")
    if len(events) > MOST_EVENTS:
        raise FigureError(f"{name} has {len(events):,} events; a picture shows at most {MOST_EVENTS:,}")
    other = check(trace, name, "an object", "otherData")
    gathered = Gathered(name, check(other, f"{name}, otherData", "a whole number of at least 0", "pieces"))
    for number, event in enumerate(events):
        where = f"{name}, event {number}"
        if not isinstance(event, dict):
            raise FigureError(f"{where} should be an object, and {told(event)}")
        gathered.take(event, where)
    return gathered.run(check(other, f"{name}, otherData", "a number above 0", "time_us") * 1e-6)


def named_runs(traces, names=()):
    """Several traces; without names they are called by what they did."""
    runs = [run_of(trace) for trace in traces]
    for number, run in enumerate(runs):
        if number < len(names):
            run.name = names[number]
        elif len({(other.title, other.pieces) for other in runs}) > len({other.title for other in runs}):
            run.name = f"{run.title}, {run.pieces} piece{'s' if run.pieces != 1 else ''}"
    return runs


class Gathered:
    """What was found in the events of a trace."""

    def __init__(self, name, pieces):
        self.name, self.pieces = name, min(pieces, MOST_PIECES)
        self.title, self.shares = None, {}
        self.messages, self.links = {}, {}
        self.waits, self.pauses, self.ranks = [], [], []
        self.threads, self.open = {}, {}

    def take(self, event, where):
        phase, kind = check(event, where, "a text", "ph"), event.get("cat")
        if phase == "M" and event.get("name") == "thread_name":
            arguments = check(event, where, "an object", "args")
            self.threads[str(event.get("pid")), str(event.get("tid"))] = check(arguments, f"{where}, args", "a text", "name")
        elif phase == "e" and kind == "message":
            crossing = self.open.pop(str(event.get("id")), None)
            if crossing is None:
                raise FigureError(f"{where} ends a message that did not begin")
            crossing.end = check(event, where, "a number of at least 0", "ts") * 1e-6
        elif kind in ("message", "collective", "kernel", "instruction") and phase in ("X", "b"):
            start = check(event, where, "a number of at least 0", "ts") * 1e-6
            end = start if phase == "b" else start + check(event, where, "a number of at least 0", "dur") * 1e-6
            arguments = check(event, where, "an object", "args")
            getattr(self, kind)(event, arguments, f"{where}, args", start, end)

    def collective(self, event, arguments, where, start, end):
        self.title = check(event, where, "a text", "name")
        for share in SHARES:
            key = f"critical path: {share} (us)"
            self.shares[share] = (check(arguments, where, "a number of at least 0", key, may_be_missing=True) or 0) * 1e-6

    def kernel(self, event, arguments, where, start, end):
        rank = check(arguments, where, "a whole number of at least 0", "Rank")
        self.ranks.append(rank)
        if start > 0:
            self.pauses.append(Pause(rank, 0, start, "late"))

    def message(self, event, arguments, where, start, end):
        check(arguments, where, "a whole number of at least 0", "src", "dst", "lane", "step", "piece")
        check(arguments, where, "a number of at least 0", "startup (us)", "from ready to start (us)")
        if arguments["piece"] >= self.pieces:
            raise FigureError(f"{where}: piece should be below the number of pieces, {self.pieces}, and {told(arguments['piece'])}")
        link = check(arguments, where, "a text", "link")
        self.links[link] = check(event, where, "a whole number of at least 0", "tid")
        key = (arguments["src"], arguments["lane"], arguments["step"])
        crossing = Crossing(link, start, end, arguments["piece"], arguments["startup (us)"] * 1e-6)
        message = self.messages.get(key)
        if message is None:
            added = check(arguments, where, "a whole number of at least 0", "sum of (ranks)", may_be_missing=True)
            message = self.messages[key] = Message([], arguments["src"], arguments["dst"], arguments["piece"], added)
            waited = arguments["from ready to start (us)"] * 1e-6
            behind = check(arguments, where, "a whole number of at least 0", "behind a message of rank", may_be_missing=True)
            if waited > 0 and behind not in (None, message.source):
                self.pauses.append(Pause(message.source, max(0, start - waited), start, "the link"))
        message.crossings.append(crossing)
        if event["ph"] == "b":
            self.open[str(event.get("id"))] = crossing

    def instruction(self, event, arguments, where, start, end):
        thread = self.threads.get((str(event.get("pid")), str(event.get("tid"))), "")
        words = thread.split()
        if len(words) < 2 or not words[1].isdecimal() or len(words[1]) > 18:
            raise FigureError(f"{where}: its thread should be named after a rank")
        rank = int(words[1])
        waited = (check(arguments, where, "a number of at least 0", "waited (us)", may_be_missing=True) or 0) * 1e-6
        worked = (check(arguments, where, "a number of at least 0", "worked (us)", may_be_missing=True) or 0) * 1e-6
        if waited > 0:
            cause = check(arguments, where, "a text", "waited for")
            if cause not in CAUSES:
                raise FigureError(f"{where}: waited for should be one of {', '.join(CAUSES)}, and {told(cause)}")
            (self.pauses if cause == "a free slot" else self.waits).append(Pause(rank, start, start + waited, cause))
        if worked > 0:
            self.pauses.append(Pause(rank, start + waited, start + waited + worked, "work"))

    def run(self, time):
        if self.title is None or not self.messages:
            raise FigureError(f"{self.name} shows no messages")
        if self.open:
            raise FigureError(f"{self.name} has messages that do not end")
        messages = list(self.messages.values())
        strange = {rank for message in messages for rank in (message.source, message.target)} | {wait.rank for wait in self.waits}
        strange = (strange | {pause.rank for pause in self.pauses}) - set(self.ranks)
        if strange:
            raise FigureError(f"{self.name}: rank {min(strange)} is active but takes no part")
        if max(crossing.end for message in messages for crossing in message.crossings) > time * (1 + 1e-6) + 1e-9:
            raise FigureError(f"{self.name}: a message ends after time_us, the end of the run")
        pauses = self.pauses + idle_waits(self.waits, messages, self.pauses)
        return Run(self.title, self.title, time, messages, sorted(self.links, key=lambda link: (self.links[link], link)), pauses,
                   sorted(set(self.ranks)), self.pieces, self.shares)


def idle_waits(waits, messages, pauses):
    """Waiting for a message costs nothing while the rank sends or works: only the rest of it is shown, and
    once where several lanes wait.  As plots/common/spans.js does."""
    busy = {}
    for message in messages:
        busy.setdefault(message.source, []).append((message.start, message.end))
    for pause in pauses:
        if pause.kind == "work":
            busy.setdefault(pause.rank, []).append((pause.start, pause.end))
    shown = []
    in_order = sorted(waits, key=lambda wait: (wait.rank, wait.start, wait.end))
    for rank, of_rank in itertools.groupby(in_order, key=lambda wait: wait.rank):
        spans, following, shown_until = sorted(busy.get(rank, [])), 0, 0.0
        for wait in of_rank:
            start = max(wait.start, shown_until)
            while following < len(spans) and spans[following][0] < wait.end:
                shown.append(Pause(rank, start, spans[following][0], wait.kind))
                start = max(start, spans[following][1])
                following += 1
            shown.append(Pause(rank, start, wait.end, wait.kind))
            shown_until = max(start, wait.end, shown_until)
    return joined([pause for pause in shown if pause.end - pause.start > ROUNDING])


def joined(pauses):
    """What goes on without a break is one pause."""
    whole = pauses[:1]
    for pause in pauses[1:]:
        last = whole[-1]
        if (last.rank, last.kind) == (pause.rank, pause.kind) and abs(pause.start - last.end) <= ROUNDING:
            whole[-1] = dataclasses.replace(last, end=pause.end)
        else:
            whole.append(pause)
    return whole
