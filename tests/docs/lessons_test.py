#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/lessons: every number is one that a run or a formula gives, every exercise fails until it is
solved, every link to the playground opens a setting that exists, everything to try runs.

usage: lessons_test.py ROOT PROGRAM

What collsim prints there is held by readme_test.py, the pictures by pictures_test.py.  With
UPDATE_GOLDEN=1 the outputs of solved exercises are written anew.
"""
import json
import math
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import urllib.parse

from prose_numbers import BLOCK, NUMBER, UNITS, changed_digits, numbers, table_cells, wrong_numbers

SOLUTION = re.compile(r"<summary>Solution</summary>\n(.*?)</details>", re.DOTALL)
EXERCISE = re.compile(r"^\$ collsim (run|check) (docs/lessons/exercises/[\w-]+\.json)$", re.MULTILINE)
TO_TRY = re.compile(r"^## Try it\n(.*?)^## ", re.MULTILINE | re.DOTALL)
FOLDED_ANSWER = "## Run it\n\n<details><summary>Written down your guess? Then open the answer</summary>\n"
PLAYGROUND = re.compile(r"\.\./\.\./build/release/playground\.html#([^)\s]+)")
HEADINGS = ["Before you run it", "Run it", "The picture", "Try it", "Exercise"]


# --- formulas -----------------------------------------------------------------------------------


def value_of(segment):
    """What a segment with nothing but numbers, units and functions comes to; None for others."""
    with_factors = NUMBER.sub(lambda match: f"({match.group(1).replace(',', '')}*{UNITS.get(match.group(2), 1.0)!r})", segment)
    names = set(re.findall(r"[A-Za-z_]\w*", re.sub(r"\d[\d.]*e[+-]?\d+", "", with_factors)))
    if names - {"sqrt", "log2"} or not re.fullmatch(r"[\w\s.*/+()-]+", with_factors):
        return None
    try:
        return eval(with_factors, {"__builtins__": {}}, {"sqrt": math.sqrt, "log2": math.log2})
    except SyntaxError:
        return None


def check_formula(line):
    """What is wrong with "name: a = b = c": all that can be calculated must agree, to the digits of the last."""
    segments = [segment.strip() for segment in re.sub(r"^[^=:]*:", "", line).split("=")]
    values = [value for value in map(value_of, segments) if value is not None]
    if not values:
        return None  # a definition
    last = [number for number in numbers(segments[-1])]
    if len(values) < 2 or len(last) != 1:
        return f"nothing to check in: {line}"
    _, result, half, _ = last[0]
    if any(abs(value - result) > half for value in values):
        return f"does not come to that: {line} ({', '.join(f'{value:.6g}' for value in values)})"
    return None


# --- pages --------------------------------------------------------------------------------------


def check_page(path, root, program):
    text = path.read_text()
    blocks = BLOCK.findall(text)
    if [line for line in re.findall(r"^## (.*)$", text, re.MULTILINE) if line in HEADINGS] != HEADINGS:
        yield f"has not the headings {HEADINGS}"
    _, _, answer = text.partition(FOLDED_ANSWER)
    run, _, picture = answer.partition("\n## The picture\n")
    folded = run + picture.partition("\n## ")[0]
    if folded.count("</details>") != folded.count("<details>") + 1 or not folded.endswith("</details>\n"):
        yield "does not fold what gives away the answer: the run and the picture"
    lines = [line for kind, block in blocks if kind == "formula" for line in block.splitlines()]
    yield from filter(None, map(check_formula, lines))
    yield from wrong_numbers(text, root)
    yield from check_links(text, root, program)
    yield from check_to_try(text, root, program)


# --- the playground -----------------------------------------------------------------------------


def playground_keys(root):
    """The keys of settingKeys() in setting.js."""
    body = re.search(r"function settingKeys\(.*?^}", (root / "plots/playground/setting.js").read_text(), re.DOTALL | re.MULTILINE)
    return set(re.findall(r"^    (\w+): ", body.group(), re.MULTILINE))


def training_keys(root):
    """The keys of trainingKeys() in training_setting.js."""
    text = (root / "plots/playground/training_setting.js").read_text()
    body = re.search(r"function trainingKeys\(.*?^}", text, re.DOTALL | re.MULTILINE).group()
    shared = re.search(r"\[(\"[^\]]*)\]\.map", body).group(1)
    return set(re.findall(r"^    (\w+): ", body, re.MULTILINE)) | set(re.findall(r'"(\w+)"', shared))


def check_links(text, root, program):
    for link in PLAYGROUND.findall(text):
        pairs = [part.partition("=")[::2] for part in link.split("&")]
        setting = {key: urllib.parse.unquote(value) for key, value in pairs}
        keys = training_keys(root) if "step" in setting else playground_keys(root) | {"rows", "a"}
        unknown = {key.removeprefix("a.") for key in setting} - keys
        if unknown:
            yield f"gives the playground {', '.join(sorted(unknown))}, which it does not know; it knows {', '.join(sorted(keys))}"
            continue
        for pinned in (False, True):
            own = {key: value for key, value in setting.items() if not key.startswith("a.")}
            if pinned:
                own |= {key[2:]: value for key, value in setting.items() if key.startswith("a.")}
            problem, output = trial(own, program)
            if problem:
                yield f"links to a setting that collsim refuses: {problem}"
            elif not shows_its_time(text, output):
                yield f"does not speak of the time that its link to the playground shows:\n{output}"


def check_to_try(text, root, program):
    """A link to the playground or commands, which must run as they are."""
    to_try = TO_TRY.search(text)
    lines = [line for kind, block in BLOCK.findall(to_try.group(1) if to_try else "") if kind == "sh"
             for line in block.replace("\\\n", " ").splitlines()]
    if not lines and not PLAYGROUND.search(text):
        yield "has neither a link to the playground nor a command to try"
    for line in lines:
        words = shlex.split(line)
        if words[0] != "collsim" or "-o" in words:
            yield f"has a command to try that cannot be tested: {line}"
            continue
        done = subprocess.run([program, *words[1:]], cwd=root, capture_output=True, text=True, check=False)
        if done.returncode:
            yield f"has a command to try that ends with {done.returncode}: {line}\n{done.stdout}{done.stderr}"


def trial(setting, program):
    """What is wrong with a setting of the playground, a value that it or collsim refuses; or what collsim prints."""
    setting = {key: value for key, value in setting.items() if value != "none"}
    if setting.get("rows", "ranks") not in ("ranks", "links"):
        return f"rows={setting['rows']}", ""
    if setting.get("a", "follows") != "follows":
        return f"a={setting['a']}", ""
    for key, needed in (("slow_factor", "slow_link"), ("late", "late_rank")):
        if key in setting and needed not in setting:
            return f"{key} without {needed}", ""
    try:
        scenario = step_of(setting) if "step" in setting else scenario_of(setting)
    except ValueError as error:
        return str(error), ""
    done = subprocess.run([program, "run", "-q", "-"], input=json.dumps(scenario), capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else None, done.stdout


def shows_its_time(page, output):
    cells = dict(table_cells(output))
    [(_, time, rounded, _)] = numbers(cells.get("time") or cells["step"])
    shown = "\n".join(block for _, block in BLOCK.findall(page))
    return any(kind == "time" and abs(value - time) <= max(half, rounded) for _, value, half, kind in numbers(shown))


def scenario_of(setting):
    """As scenarioOf() in setting.js."""
    link = {key: setting[key] for key in ("bandwidth", "overhead", "latency")}
    cluster = {"shape": setting["shape"], "ranks": int(setting["ranks"]), "link": link}
    if setting["shape"] == "nodes":
        gpus = int(setting["gpus_per_node"])
        cluster = {"shape": "nodes", "nodes": int(setting["ranks"]) // gpus, "gpus_per_node": gpus, "intra": {"shape": "switch", "link": link},
                   "inter": {"link": link | {"bandwidth": setting["network_bandwidth"]}}}
    if "slow_link" in setting:
        source, target = setting["slow_link"].split("-")
        factor = float(setting.get("slow_factor", 4))
        if not 1 <= factor <= 1000:
            raise ValueError(f"slow_factor={factor}")
        [(_, rate, _, _)] = numbers(setting["bandwidth"])
        cluster["links_override"] = [{"from": source, "to": target, "bandwidth": f"{round(rate / factor)}B/s"}]
    if "late_rank" in setting:
        cluster["late"] = {setting["late_rank"]: setting.get("late", "500us")}
    collective = {"op": setting["op"], "algorithm": setting["algorithm"], "size": setting["size"], "chunks": int(setting["chunks"])}
    if "slots" in setting:
        collective["slots"] = int(setting["slots"])
    return {"scenario": 1, "cluster": cluster, "collective": collective}


def step_of(setting):
    """As trainingScenario() in training_setting.js, for settings that say everything that matters."""
    layer = {"times": int(setting["layers"]), "forward": setting["forward"], "backward": setting["backward"]}
    model = {"layers": [layer]}
    if setting["step"] == "pipeline":
        workload = {"pipeline": {"microbatches": int(setting["microbatches"]), "schedule": setting["schedule"]}}
        layer["activations"] = setting["activations"]
    elif setting["step"] == "ddp":
        overlap = setting.get("overlap", "true") == "true"
        workload = {"ddp": {key: setting[key] for key in ("bucket", "first_bucket")} if overlap else {"overlap": False}}
        layer["gradients"] = setting["gradients"]
        model["optimizer"] = setting["optimizer"]
    else:
        raise ValueError(f"step={setting['step']}")
    link = {key: setting[key] for key in ("bandwidth", "overhead", "latency")}
    return {"scenario": 1, "cluster": {"shape": setting["shape"], "ranks": int(setting["ranks"]), "link": link},
            "workload": {**workload, "model": model}}


# --- what these checks must find ------------------------------------------------------------------

GOOD_LINK = ("op=all-reduce&algorithm=ring&shape=ring&ranks=8&size=64MiB&chunks=1&bandwidth=24GB%2Fs&overhead=2us&latency=0"
             "&slow_link=gpu2-gpu3&slow_factor=4&late_rank=7&late=5us&slots=2&rows=links&a=follows&a.chunks=1")
WRONG_IN_LINK = {"rows=links": "rows=lanes", "a=follows": "a=leads", "slow_factor=4": "slow_factor=0", "slow_link=gpu2-gpu3": "slow_link=none",
                 "late_rank=7": "late_rank=8", "late=5us": "late=5 parsecs", "slots=2": "slots=0", "gpu3": "gpu9", "size": "seize"}
GOOD_STEP = ("step=pipeline&shape=chain&ranks=4&bandwidth=25GB%2Fs&overhead=0&latency=0&layers=4&forward=10ms&backward=20ms"
             "&activations=0B&microbatches=8&schedule=gpipe")
WRONG_IN_STEP = {"step=pipeline": "step=stairs", "microbatches=8": "microbatches=0", "gpipe": "pipe", "layers": "layer", "forward=10ms": "forward=1ms"}
PAGE_OF_STEP = "```text\n330.0 ms\n```\n"
PAGE_OF_LINK = "```text\n19.60 ms\n```\n"
PAGE = """```formula
time = 2 * 3 ms = 6 ms
```
"""
WRONG_PROSE = ("It takes 7 ms.", "It takes 6 us.", "There are 7 steps.", "There are 6 ranks.", "It takes K-1 steps.", "See lesson 2.",
               "See [lesson 2](03-cut-it-into-messages.md).", "It says `6 of 7`.", "In the order 3, 2, 1, 0.", "Rank 6 waits.")


def check_the_checks(root, program):
    def link(setting, page=PAGE_OF_LINK):
        return list(check_links(f"(../../build/release/playground.html#{setting})\n{page}", root, program))

    yield from (f"refuses a good link: {problem}" for problem in link(GOOD_LINK))
    for right, wrong in WRONG_IN_LINK.items():
        if not link(GOOD_LINK.replace(right, wrong, 1)):
            yield f"takes a link with {wrong}"
    yield from (f"refuses a good link: {problem}" for problem in link(GOOD_STEP, PAGE_OF_STEP))
    for right, wrong in WRONG_IN_STEP.items():
        if not link(GOOD_STEP.replace(right, wrong, 1), PAGE_OF_STEP):
            yield f"takes a link with {wrong}"
    for commands in ("", "```sh\ncollsim run no-such-file.json\n```\n", "```sh\ncollsim show scenarios/tutorial/reduce.json --stepps\n```\n"):
        if not list(check_to_try(f"## Try it\n\n{commands}\n## Exercise\n", root, program)):
            yield f"takes a page that has this to try: {commands}"
    if not link(GOOD_LINK, PAGE):
        yield "takes a link that shows another time than the page"
    for words in WRONG_PROSE:
        if not wrong_numbers(PAGE + words, root):
            yield f"takes a page that says: {words}"


def check_that_changes_are_found(pages, root):
    """Most digits of the sentences cannot be changed without a complaint.  The others: names of
    ranks, and values that a table happens to have beside the right one."""
    found = [bool(wrong_numbers(changed, root)) for page in pages for changed in changed_digits(page.read_text())]
    if sum(found) < 0.85 * len(found):
        yield f"sees only {sum(found)} of {len(found)} changed digits"


# --- exercises ----------------------------------------------------------------------------------


def solved(exercise, diff):
    """The text of the exercise with the lines of a diff replaced."""
    old = "".join(line[1:] for line in diff.splitlines(True) if line[0] in "- ")
    new = "".join(line[1:] for line in diff.splitlines(True) if line[0] in "+ ")
    if exercise.count(old) != 1:
        return None
    return exercise.replace(old, new)


def run(program, command, path, root):
    return subprocess.run([program, command, path], cwd=root, capture_output=True, text=True, check=False)


def check_exercise(path, root, program):
    """(complaints, the page with the output of the solution)"""
    text = path.read_text()
    names, solution = EXERCISE.findall(text), SOLUTION.search(text)
    if len(names) != 1 or not solution:
        return ["has not exactly one exercise with a solution"], text
    [(command, name)] = names
    given = run(program, command, name, root)
    if given.returncode != 1:
        return [f"the exercise does not fail as handed out, it ends with {given.returncode}: {given.stderr}"], text
    parts = {kind: block for kind, block in BLOCK.findall(solution.group(1))}
    repaired = solved((root / name).read_text(), parts.get("diff", "-"))
    if repaired is None:
        return ["the lines that the solution replaces are not in the exercise"], text
    with tempfile.TemporaryDirectory() as folder:
        answer = pathlib.Path(folder) / "answer.json"
        answer.write_text(repaired)
        done = run(program, command, answer, root)
    if done.returncode:
        return [f"the solution does not solve the exercise: {done.stdout}{done.stderr}"], text
    complaints = [] if parts.get("text") == done.stdout else [f"the solved exercise prints something else:\n{done.stdout}"]
    renewed = re.sub(r"^```text\n.*?^```$", lambda _: f"```text\n{done.stdout}```", solution.group(1), flags=re.MULTILINE | re.DOTALL)
    return complaints, text.replace(solution.group(1), renewed)


def main():
    root, program = sys.argv[1:]
    root, program = pathlib.Path(root).resolve(), pathlib.Path(program).resolve()
    update = os.environ.get("UPDATE_GOLDEN") == "1"
    folder = root / "docs" / "lessons"
    pages = sorted(path for path in folder.glob("*.md") if path.name != "README.md")
    wrong = [f"this test {text}" for text in check_the_checks(root, program)]
    if not 10 <= len(pages) <= 30:
        wrong.append(f"{len(pages)} lessons: is {folder} the right folder?")
    index = (folder / "README.md").read_text()
    wrong += [f"README.md does not list {page.name}" for page in pages if f"({page.name})" not in index]
    used = {name for page in pages for _, name in EXERCISE.findall(page.read_text())}
    wrong += [f"no lesson hands out {path.name}" for path in folder.glob("exercises/*")
              if path.relative_to(root).as_posix() not in used]
    if not any(wrong_numbers(page.read_text(), root) for page in pages):  # else all changes are "found"
        wrong += [f"this test {text}" for text in check_that_changes_are_found(pages, root)]
    for page in pages:
        complaints, renewed = check_exercise(page, root, program)
        if update:
            page.write_text(renewed)
        else:
            wrong += [f"{page.name} {text}" for text in complaints]
        wrong += [f"{page.name} {text}" for text in check_page(page, root, program)]
    if wrong:
        print("\n".join(wrong))
        sys.exit(f"{len(wrong)} complaints; UPDATE_GOLDEN=1 in the environment writes outputs anew")


if __name__ == "__main__":
    main()
