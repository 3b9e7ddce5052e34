# SPDX-License-Identifier: Apache-2.0
"""What a trace (collsim trace FILE -o trace.json) says about messages, pauses and the critical path."""
import dataclasses
import re

from static.reading import FigureError, is_number, trust

MOST_EVENTS = 200_000


@dataclasses.dataclass
class Message:
    links: list  # of its route
    start: float  # seconds
    end: float
    source: int
    target: int
    piece: int
    startup: float  # how much of it is before its data flow


@dataclasses.dataclass
class Pause:
    rank: int
    start: float
    end: float
    kind: str  # "a message", "a free slot", "a signal", "the link", "work", "late"


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
    events = trace.get("traceEvents")
    if not isinstance(events, list):
        raise FigureError("this view needs a trace: collsim trace FILE -o trace.json")
    if len(events) > MOST_EVENTS:
        raise FigureError(f"the trace has {len(events):,} events; a picture shows at most {MOST_EVENTS:,}")
    with trust():
        return gather(events, trace.get("otherData", {}))


def named_runs(traces, names=()):
    """Several traces; without names they are called by what they did."""
    runs = [run_of(trace) for trace in traces]
    for number, run in enumerate(runs):
        if number < len(names):
            run.name = names[number]
        elif len({(other.title, other.pieces) for other in runs}) > len({other.title for other in runs}):
            run.name = f"{run.title}, {run.pieces} piece{'s' if run.pieces != 1 else ''}"
    return runs


def gather(events, other):
    threads = {(event["pid"], event["tid"]): event["args"]["name"] for event in events
               if event["ph"] == "M" and event["name"] == "thread_name"}
    ends = {event["id"]: event["ts"] for event in events if event["ph"] == "e"}
    messages, links, pauses, ranks, shares, title = {}, {}, [], [], {}, None
    for event in events:
        if event["ph"] not in "Xb" or "ts" not in event:
            continue
        kind, arguments = event.get("cat"), event.get("args", {})
        start = event["ts"] * 1e-6
        end = (ends[event["id"]] if event["ph"] == "b" else event["ts"] + event["dur"]) * 1e-6
        if not (is_number(start) and is_number(end)):
            raise ValueError("a time that is no number")
        if kind == "message":
            links[arguments["link"]] = event["tid"]
            key = (arguments["src"], arguments["lane"], arguments["step"])
            message = messages.setdefault(key, message_of(arguments, start, end))
            message.links.append(arguments["link"])
        elif kind == "collective":
            title = event["name"]
            shares = {re.sub(r"critical path: (.*) \(us\)", r"\1", name): value * 1e-6 for name, value in arguments.items()}
        elif kind == "kernel":
            ranks.append(arguments["Rank"])
            if start > 0:
                pauses.append(Pause(arguments["Rank"], 0, start, "late"))
        elif kind == "instruction":
            pauses += pauses_of(int(threads[event["pid"], event["tid"]].split()[1]), arguments, start)
    if title is None or not messages:
        raise FigureError("the trace shows no messages")
    pauses += [pause for event in events if event.get("cat") == "message" for pause in queueing(event["args"], event["ts"])]
    return Run(title, title, other["time_us"] * 1e-6, list(messages.values()), sorted(links, key=links.get),
               list({(one.rank, one.start, one.end, one.kind): one for one in pauses}.values()), sorted(ranks), other["pieces"], shares)


def message_of(arguments, start, end):
    return Message([], start, end, arguments["src"], arguments["dst"], arguments["piece"], arguments["start-up (us)"] * 1e-6)


def pauses_of(rank, arguments, start):
    """A lane stood still, then it worked."""
    began = start + arguments.get("waited (us)", 0) * 1e-6
    if began > start:
        yield Pause(rank, start, began, arguments["waited for"])
    if "worked (us)" in arguments:
        yield Pause(rank, began, began + arguments["worked (us)"] * 1e-6, "work")


def queueing(arguments, departed):
    """A message was ready and stood behind one of another rank."""
    waited = arguments["from ready to start (us)"]
    if waited > 0 and arguments.get("behind a message of rank", arguments["src"]) != arguments["src"]:
        yield Pause(arguments["src"], (departed - waited) * 1e-6, departed * 1e-6, "the link")
