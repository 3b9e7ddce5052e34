# SPDX-License-Identifier: Apache-2.0
"""What a trace (collsim trace FILE -o trace.json) says about messages, pauses and the critical path."""
import dataclasses
import re

from static.reading import FigureError, is_number, trust

MOST_EVENTS = 200_000
# One buffer that all ranks share: the same element of all is the same piece of the data.
ONE_VECTOR = ("broadcast", "reduce", "all-reduce")


@dataclasses.dataclass
class Message:
    link: str
    start: float  # seconds
    end: float
    source: int
    target: int
    key: tuple  # (source, lane, step): which instruction sent it
    piece: int = 0


@dataclasses.dataclass
class Run:
    title: str  # "broadcast (chain) 64 MiB"
    name: str  # what tells it apart from others in the same picture
    time: float
    messages: list
    links: list  # names of those that were used
    pauses: list  # (rank, start, end)
    starts: dict  # rank -> when it began, in seconds
    ranks: list
    pieces: int
    shares: dict  # what the critical path is made of: name -> seconds
    startup: float  # of every message, 0 where they differ or that is not known


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
    messages, instructions, pauses, starts, shares, startups = [], {}, [], {}, {}, set()
    title = None
    for event in events:
        kind = event.get("cat")
        if event["ph"] not in "Xb" or "ts" not in event:
            continue
        start = event["ts"] * 1e-6
        end = (ends[event["id"]] if event["ph"] == "b" else event["ts"] + event["dur"]) * 1e-6
        if not (is_number(start) and is_number(end)):
            raise ValueError("a time that is no number")
        arguments = event.get("args", {})
        if kind == "message":
            key = (arguments["src"], arguments["lane"], arguments["step"])
            messages.append(Message(arguments["link"], start, end, *key[:1], arguments["dst"], key))
        elif kind == "collective":
            title = event["name"]
            shares = {re.sub(r"critical path: (.*) \(us\)", r"\1", name): value * 1e-6 for name, value in arguments.items()}
        elif kind == "kernel":
            starts[arguments["Rank"]] = start
        elif kind == "critical" and event["name"] == "startup":
            startups.add(round(event["dur"], 2))
        elif kind == "instruction":
            rank, lane = rank_and_lane(threads[event["pid"], event["tid"]])
            instructions[rank, lane, arguments["step"]] = {**arguments, "until": end}
            if arguments.get("waited (us)", 0) > 0:
                pauses.append((rank, start, start + arguments["waited (us)"] * 1e-6))
    if title is None or not messages:
        raise FigureError("the trace shows no messages")
    links = list(dict.fromkeys(message.link for message in messages))  # a route's links follow each other
    pieces = find_pieces(messages, instructions, title.split(" ")[0] in ONE_VECTOR)
    startup = startups.pop() * 1e-6 if len(startups) == 1 else 0.0
    return Run(title, title, other["time_us"] * 1e-6, messages, links, pauses, starts, sorted(starts), pieces, shares, startup)


def rank_and_lane(thread):
    words = thread.split()
    return int(words[1]), int(words[3]) if len(words) > 3 else 0


def find_pieces(messages, instructions, one_vector):
    """Numbers the pieces of the data, so that one piece has one colour wherever it goes; returns how
    many there are.  Where all ranks share one vector a piece is its place in there.  Else what is
    passed on is what was received, and the rest is a piece of the sender's own."""
    leaves = {message.key: message.start for message in messages}
    held = {}  # (rank, buffer, first element) -> piece
    coming = {}  # (source, target, lane) -> pieces on their way
    piece_of = {}

    def moment(key):
        return leaves.get(key, instructions[key].get("until", 0.0)), key

    for key in sorted(instructions, key=moment):
        rank, lane, _ = key
        arguments = instructions[key]
        if "first element" not in arguments:
            continue
        first = arguments["first element"]
        place = (rank, arguments["buffer"], first)
        received = coming.get((arguments.get("src"), rank, lane))
        if one_vector and arguments["buffer"] != "scratch":
            piece = (0, first)
        elif received:
            piece = received.pop(0)
        else:
            piece = held.get(place, (rank, first))
        held[place] = piece
        if key in leaves:
            piece_of[key] = piece
            coming.setdefault((rank, arguments["dst"], lane), []).append(piece)
    numbers = {piece: number for number, piece in enumerate(sorted(set(piece_of.values())))}
    for message in messages:
        message.piece = numbers[piece_of[message.key]]
    return len(numbers)
