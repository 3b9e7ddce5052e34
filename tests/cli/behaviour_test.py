#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How the program behaves among other programs: exit codes, pipes, signals, disks, terminals."""
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import time
import unittest

import common
from common import LONG, Test, scenario, sweep

ESCAPE = "\x1b["

# One case of several seconds.
LONG_CASE = scenario(
    cluster={
        "shape": "ring",
        "ranks": 1500,
        "link": {"bandwidth": "25GB/s", "overhead": "5us"},
        "late": {"7": "1us"},
    },
    collective={"op": "all-reduce", "algorithm": "ring", "size": "1GiB", "chunks": 400},
)


def setUpModule():
    """Whoever starts the tests in the background has Ctrl-C ignored, and so would the programs here."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


class ExitCodes(Test):
    def test_fine(self):
        self.assertIn("chain", self.run_collsim("run", self.file(sweep([1, 2]))).stdout)

    def test_a_failed_expectation(self):
        content = scenario(expect=[{"id": "hopeless", "metric": "time", "at_most": "1us"}])
        done = self.run_collsim("run", self.file(content), code=1)
        self.assertIn("hopeless", done.stdout)
        done = self.run_collsim("run", self.file(content), "--format", "csv", code=1)
        self.assertIn("hopeless", done.stderr)

    def test_bad_input(self):
        done = self.run_collsim("run", self.file(scenario(clutser={})), code=2)
        self.assertEqual(done.stdout, "")
        self.assertIn('did you mean "cluster"?', done.stderr)
        self.assertIn("1 error; nothing was run", done.stderr)

    def test_bad_input_as_json(self):
        done = self.run_collsim("run", self.file(scenario(clutser={})), "--format", "json", code=2)
        (error,) = json.loads(done.stdout)["errors"]
        self.assertEqual(error["file"], "case.json")
        self.assertEqual(error["suggestion"], "cluster")

    def test_no_such_file(self):
        self.assertIn("nowhere.json", self.run_collsim("run", "nowhere.json", code=2).stderr)

    def test_a_refused_proof(self):
        content = scenario(collective={"op": "all-reduce", "algorithm": "ring", "size": "1MiB", "slots": 1})
        done = self.run_collsim("check", self.file(content), code=1)
        self.assertIn("refused: rank 0", done.stdout)

    def test_a_bug_says_what_was_run(self):
        process = subprocess.Popen(
            [common.PROGRAM, "run", self.file(LONG)], cwd=self.folder, stderr=subprocess.PIPE, text=True
        )
        time.sleep(0.5)
        process.send_signal(signal.SIGABRT)  # what a broken invariant does
        self.assertEqual(process.communicate(timeout=30 * common.SLOWER)[1], "what was run: collsim run case.json\n")
        self.assertEqual(process.returncode, 70)

    def test_too_little_memory(self):
        file = self.file(scenario(cluster={**common.CHAIN["cluster"], "ranks": 1000000}))
        if self.shell("ulimit -v 100000; collsim --version || echo no").stdout == "no\n":
            self.skipTest("this build (with sanitizers) needs more memory than that to start")
        done = self.shell(f"ulimit -v 100000; collsim run {file}", code=2)
        self.assertIn("not enough memory", done.stderr)

    def test_the_worst_of_several_files(self):
        good = self.file(scenario(), "good.json")
        failing = self.file(scenario(expect=[{"id": "x", "metric": "time", "at_most": "1us"}]), "failing.json")
        bad = self.file("{", "bad.json")
        self.run_collsim("run", good, failing, code=1)
        done = self.run_collsim("run", failing, bad, good, code=2)
        self.assertEqual(done.stdout.count("# good.json"), 1)


# Eight rows of about a second each.
SLOW_TO_MEASURE = scenario(
    cluster={**common.CHAIN["cluster"], "link": {"bandwidth": "1MB/s", "overhead": "1ms"}},
    collective={**common.CHAIN["collective"], "size": "64KiB"},
    sweep={"collective.chunks": [1, 2, 3, 4, 5, 6, 7, 8]},
    measure={"backend": "host", "paced": True, "iters": 10},
)


class Validating(Test):
    def test_fine(self):
        done = self.run_collsim("validate", self.file(scenario()), "--iters", "3")
        self.assertRegex(done.stdout, r"measured on host, protocol simple: median of 3 runs")
        self.assertIn("  right", done.stdout)

    def test_one_document(self):
        one, two = self.file(scenario(), "one.json"), self.file(scenario(), "two.json")
        done = self.run_collsim("validate", one, two, "--iters", "3", "--format", "json", "--backend", "host")
        self.assertEqual(done.stderr, "")
        for results in json.loads(done.stdout):
            self.assertEqual(results["rows"][0]["measured"]["data"], "right")

    def test_what_cannot_be_measured(self):
        tail = ["--backend", "nccl", "--iters", "1"]
        done = subprocess.run(
            [common.PROGRAM, "validate", self.file(scenario()), *tail],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120 * common.SLOWER,
            check=False,
        )
        if done.returncode == 0:
            self.skipTest("this machine has NCCL and four GPUs")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("not measured: ", done.stdout)

    def test_ctrl_c_between_rows(self):
        process = subprocess.Popen(
            [common.PROGRAM, "validate", self.file(SLOW_TO_MEASURE), "--format", "json", "-o", "a.json"],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60 * common.SLOWER)
        self.assertEqual(process.returncode, 130, err)
        results = json.loads(out)
        self.assertFalse(results["complete"])
        self.assertLess(len(results["rows"]), 8)
        self.assertTrue(all(row["measured"] for row in results["rows"]))
        self.assertEqual((self.folder / "a.json").read_text(), out)


class Formats(Test):
    def test_several_files_are_an_array(self):
        one = self.file(scenario(name="one"), "one.json")
        two = self.file(scenario(name="two"), "two.json")
        bad = self.file("{", "bad.json")
        done = self.run_collsim("run", one, two, "--format", "json")
        self.assertEqual([result["name"] for result in json.loads(done.stdout)], ["one", "two"])
        done = self.run_collsim("run", bad, two, "--format", "json", code=2)
        first, second = json.loads(done.stdout)
        self.assertIn("errors", first)
        self.assertEqual(second["name"], "two")

    def test_files_have_the_shape_of_standard_output(self):
        good = self.file(scenario(), "good.json")
        done = self.run_collsim("run", good, "nowhere.json", "--format", "json", "-o", "out.json", code=2)
        self.assertEqual((self.folder / "out.json").read_text(), done.stdout)
        again = self.run_collsim("run", good, "nowhere.json", "--format", "json", "-o", "-", code=2)
        self.assertEqual(again.stdout, done.stdout)
        self.assertIn("errors", json.loads(done.stdout)[1])

    def test_every_format(self):
        file = self.file(sweep([1, 2]))
        for name in ("table", "json", "jsonl", "csv", "markdown", "nccl-tests"):
            self.assertTrue(self.run_collsim("run", file, "--format", name).stdout.endswith("\n"), name)

    def test_files_by_suffix(self):
        file = self.file(sweep([1, 2]))
        done = self.run_collsim("run", file, "-o", "a.json", "-o", "a.csv")
        self.assertIn("chunks", done.stdout)
        self.assertTrue(json.loads((self.folder / "a.json").read_text())["complete"])
        self.assertEqual(len((self.folder / "a.csv").read_text().splitlines()), 3)
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.csv", "a.json", "case.json"])

    def test_quiet_with_a_file_prints_nothing(self):
        done = self.run_collsim("-q", "run", self.file(scenario()), "-o", "a.json")
        self.assertEqual(done.stdout + done.stderr, "")

    def test_the_scenario_is_not_overwritten(self):
        file = self.file(scenario())
        done = self.run_collsim("run", file, "-o", "./" + file, code=2)
        self.assertIn("would overwrite", done.stderr)

    def test_an_unknown_suffix(self):
        done = self.run_collsim("run", self.file(scenario()), "-o", "a.xlsx", code=2)
        self.assertIn('"a.xlsx" has no known format', done.stderr)
        self.run_collsim("run", self.file(scenario()), "-o", "a.xlsx", "--format", "csv")

    def test_resolved(self):
        done = self.run_collsim("run", self.file(scenario()), "--print-resolved")
        lines = {line.split(" = ")[0].strip(): line for line in done.stdout.splitlines()}
        self.assertRegex(lines["cluster.ranks"], r"= 4 +case.json:1:\d+$")
        self.assertRegex(lines["collective.chunks"], r"= 1 +default$")

    def test_resolved_as_json(self):
        done = self.run_collsim(
            "run", self.file(scenario()), "--print-resolved", "--format", "json", "--set", "collective.chunks=3"
        )
        document = json.loads(done.stdout)
        self.assertEqual(document["scenario"]["collective"]["chunks"], 3)
        self.assertIn("--set collective.chunks=3", document["origins"]["/collective/chunks"])
        self.assertEqual(document["origins"]["/collective/root"], "default")

    def test_what_was_resolved_runs_the_same(self):
        file = self.file(sweep([1, 2, 4]))
        resolved = self.run_collsim("run", file, "--print-resolved", "--format", "json").stdout
        again = self.file(json.loads(resolved)["scenario"], "again.json")
        rows = [json.loads(self.run_collsim("run", name, "--format", "json").stdout)["rows"] for name in (file, again)]
        self.assertEqual(*rows)

    def test_jobs_change_nothing(self):
        file = self.file(sweep(list(range(1, 200))))
        outputs = {self.run_collsim("run", file, "--format", "json", "--jobs", jobs).stdout for jobs in (1, 2, 7)}
        self.assertEqual(len(outputs), 1)


class Colour(Test):
    def colours(self, *arguments, **environment):
        return ESCAPE in self.run_collsim(*arguments, environment=environment).stdout

    def test_precedence(self):
        run = ("run", self.file(scenario(expect=[{"id": "x", "metric": "time", "at_least": "1us"}])))
        self.assertFalse(self.colours(*run))
        self.assertTrue(self.colours(*run, CLICOLOR_FORCE="1"))
        self.assertTrue(self.colours(*run, FORCE_COLOR="1"))
        self.assertFalse(self.colours(*run, CLICOLOR_FORCE="0"))
        self.assertFalse(self.colours(*run, CLICOLOR_FORCE="1", NO_COLOR="1"))
        self.assertTrue(self.colours(*run, CLICOLOR_FORCE="1", NO_COLOR=""))
        self.assertTrue(self.colours(*run, "--color", "always", NO_COLOR="1"))
        self.assertTrue(self.colours("--colour=always", *run))
        self.assertFalse(self.colours(*run, "--color", "never", CLICOLOR_FORCE="1"))

    def test_machine_formats_are_never_coloured(self):
        for name in ("json", "jsonl", "csv"):
            self.assertFalse(self.colours("run", self.file(scenario()), "--format", name, "--color", "always"))


class Terminals(Test):
    def on_a_terminal(self, *arguments, environment=None, interrupt_at=None):
        """What a person sees, and the exit code.  interrupt_at: press Ctrl-C when this is seen."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [common.PROGRAM, *arguments],
            cwd=self.folder,
            env=self.environment({"TERM": "xterm", **(environment or {})}),
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        seen = b""
        while True:
            ready, _, _ = select.select([ours], [], [], 60)
            self.assertTrue(ready)
            try:
                some = os.read(ours, 65536)
            except OSError:
                break
            if not some:
                break
            seen += some
            if interrupt_at is not None and interrupt_at in seen:
                process.send_signal(signal.SIGINT)
                interrupt_at = None
        os.close(ours)
        return seen.decode(), process.wait(timeout=60 * common.SLOWER)

    def test_colour_unless_the_terminal_is_dumb(self):
        file = self.file(scenario())
        self.assertIn(ESCAPE, self.on_a_terminal("run", file)[0])
        self.assertNotIn(ESCAPE, self.on_a_terminal("run", file, environment={"TERM": "dumb"})[0])
        self.assertNotIn(ESCAPE, self.on_a_terminal("run", file, environment={"NO_COLOR": "1"})[0])

    def test_explanations_fit_the_terminal(self):
        file = self.file(scenario(collective={**common.CHAIN["collective"], "chunks": 8}))
        seen = {}
        for columns in ("72", "20", "300"):
            text, _ = self.on_a_terminal("explain", file, environment={"COLUMNS": columns, "NO_COLOR": "1"})
            seen[columns] = max(len(line) for line in text.split("The critical path in words")[1].splitlines()[:6])
        self.assertLessEqual(seen["72"], 72)
        self.assertLessEqual(seen["20"], 72)
        self.assertGreater(seen["300"], 72)
        self.assertLessEqual(seen["300"], 100)

    def test_files_say_what_is_not_calibrated(self):
        for suffix in ("md", "txt"):
            file = self.folder / f"ring.{suffix}"
            self.run_collsim("predict", "all-reduce", "-b", "1M", "--preset", "dgx-h100", "--algorithm", "ring", "-q", "-o", file)
            self.assertIn("\nnot calibrated: latency and overhead of preset dgx-h100", file.read_text())

    def test_help_fits_the_terminal(self):
        for words in (("--help",), ("-h",), ("predict", "--help"), ("run", "--help"), ("compare", "--help"), ("topo", "show", "--help")):
            for columns, widest in (("60", 60), ("80", 80), ("300", 96)):
                text, _ = self.on_a_terminal(*words, environment={"COLUMNS": columns, "NO_COLOR": "1"})
                about = text.split("examples:")[0].split("exit codes:")[0]  # commands stay in one line, to be pasted
                lines = [line for line in about.splitlines() if not line.lstrip().startswith(("collsim ", "usage:"))]
                self.assertLessEqual(max(map(len, lines)), widest, (words, columns))

    def test_progress_comes_and_goes(self):
        file = self.file(LONG)
        seen, code = self.on_a_terminal("run", file, "--color", "never", "--format", "json", interrupt_at=b" left")
        self.assertEqual(code, 130)
        self.assertNotIn(ESCAPE, seen)
        before, progress, *_, last = re.split(r"\r(?!\n)", seen)
        self.assertEqual(before, "")
        self.assertRegex(progress, r"^\d+ of 50000 points, [0-9.e+]+/s, [\d a-z]+ left")
        self.assertIn("stopping, and keeping what is done; press Ctrl-C again to keep nothing", seen)
        self.assertIn("warning: interrupted", last)
        self.assertNotIn(" left", last)


class Locales(Test):
    def test_blocks_only_where_they_can_be_shown(self):
        file = self.file(scenario())
        for locale, is_ascii in (("C", True), ("de_DE.ISO-8859-1", True), ("C.UTF-8", False), ("en_US.utf8", False)):
            text = self.run_collsim("explain", file, environment={"LC_ALL": locale}).stdout
            self.assertEqual(text.isascii(), is_ascii, locale)
        self.assertIn(" ####", self.run_collsim("explain", file, environment={"LC_ALL": "C"}).stdout)


class Pipes(Test):
    def test_a_reader_that_leaves(self):
        file = self.file(sweep(list(range(1, 3000))))
        done = self.shell(f"collsim -q run {file} --format json | head -1; echo ${{PIPESTATUS[0]}}")
        self.assertEqual(done.stdout.splitlines(), ["{", "141"])
        self.assertEqual(done.stderr, "")

    def test_files_are_written_though_the_reader_left(self):
        file = self.file(sweep(list(range(1, 3000))))
        self.shell(f"collsim run {file} -o all.json | head -1")
        self.assertEqual(len(json.loads((self.folder / "all.json").read_text())["rows"]), 2999)

    def test_a_full_disk(self):
        file = self.file(scenario())
        done = self.shell(f"collsim run {file} > /dev/full", code=2)
        self.assertEqual(done.stderr, "collsim: cannot write the output: No space left on device\n")
        done = self.shell(f"collsim run -q {file} -o /dev/full --format json", code=2)
        self.assertEqual(done.stderr, 'cannot write "/dev/full": No space left on device\n')
        done = self.shell("collsim algorithms > /dev/full", code=2)
        self.assertIn("No space left", done.stderr)

    def test_a_closed_output(self):
        file = self.file(scenario())
        done = self.shell(f"collsim run {file} >&-", code=2)
        self.assertIn("cannot write the output", done.stderr)
        self.shell(f"collsim run -q {file} -o out.json >&-")
        json.loads((self.folder / "out.json").read_text())

    def test_folders_that_do_not_exist(self):
        done = self.run_collsim("run", "-q", self.file(scenario()), "-o", "no/out.json", code=2)
        self.assertEqual(done.stderr, 'cannot write "no/out.json": its folder does not exist\n')

    def test_folders_in_which_no_file_can_be_made(self):
        done = self.run_collsim("run", "-q", self.file(scenario()), "-o", "/proc/out.json", code=2)
        self.assertRegex(done.stderr, 'cannot write "/proc/out.json": (no files can be made in its folder|Perm.*)\n')

    def test_standard_input(self):
        done = self.run_collsim("run", "-", "--format", "json", input=json.dumps(scenario()))
        self.assertEqual(len(json.loads(done.stdout)["rows"]), 1)
        done = self.run_collsim("run", "-", code=2, input="{")
        self.assertIn("<stdin>:1:", done.stderr)

    def test_a_device_as_output(self):
        self.run_collsim("run", "-q", self.file(scenario()), "-o", "/dev/null", "--format", "json")
        done = self.shell(f"collsim run -q {self.file(scenario())} -o /dev/stdout --format json | cat")
        json.loads(done.stdout)

    def test_standard_output_by_name_when_it_is_a_file(self):
        self.shell(f"collsim run -q {self.file(scenario())} -o /dev/stdout --format json > all.json")
        json.loads((self.folder / "all.json").read_text())

    def test_an_imported_trace_is_a_scenario(self):
        trace = common.ROOT / "scenarios/training/traces/two-gpus.pt.trace.json"
        said = self.run_collsim("import", trace, "-o", "step.json")
        self.assertIn("1 collective of 1,000,000 bytes", said.stdout)
        self.run_collsim("check", "step.json")
        row = json.loads(self.run_collsim("run", "step.json", "--format", "json").stdout)["rows"][0]
        # 60 us, the all-reduce of 2 (5 us + 500 kB / 25 GB/s) beside 40 us, 21 us.
        self.assertAlmostEqual(row["step_s"], 131e-6, 12)
        self.run_collsim("import", trace, "-o", "step.csv", code=2)
        layers = self.file("DATA\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 64 0\n", "layers.txt")
        self.assertIn("--ranks N", self.run_collsim("import", layers, "-o", "x.json", code=2).stderr)
        both = self.run_collsim("import", trace, layers, "-o", "x.json", code=2)
        self.assertIn("import one file at a time", both.stderr)

    def test_predict_as_in_the_docs(self):
        line = "predict all-reduce -b 8 -e 8G -f 2 --preset dgx-h100 --algorithm ring --format json"
        begin = time.monotonic()
        done = self.run_collsim(*line.split())
        self.assertLess(time.monotonic() - begin, 20 * common.SLOWER)
        self.assertEqual(len(json.loads(done.stdout)["rows"]), 31)


class Interrupts(Test):
    def start(self, *arguments):
        process = subprocess.Popen(
            [common.PROGRAM, *arguments],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.kill)
        return process

    def wait_for_work(self, process):
        """Until it catches SIGINT, as the kernel tells, and some rows are done."""
        for _ in range(600):
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            if int(re.search(r"^SigCgt:\s*(\w+)", status, re.MULTILINE).group(1), 16) & 2:
                break
            time.sleep(0.1)
        time.sleep(1)

    def interrupted(self, *arguments):
        process = self.start("-q", *arguments)
        self.wait_for_work(process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30 * common.SLOWER)
        self.assertEqual(process.returncode, 130, out[-2000:] + err)
        self.assertEqual(err, "")
        return out

    def check_partial(self, text):
        document = json.loads(text)
        self.assertFalse(document["complete"])
        self.assertGreater(len(document["rows"]), 0)
        self.assertLess(len(document["rows"]), 50000)

    def test_what_is_done_is_written(self):
        file = self.file(LONG)
        self.check_partial(self.interrupted("run", file, "--format", "json"))

    def test_also_to_files(self):
        self.interrupted("run", self.file(LONG), "-o", "partial.json")
        self.check_partial((self.folder / "partial.json").read_text())

    def test_a_quiet_table_says_that_it_is_incomplete(self):
        process = self.start("-q", "run", self.file(LONG))
        self.wait_for_work(process)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=30 * common.SLOWER)
        self.assertEqual(process.returncode, 143)
        self.assertRegex(err, r"^case.json is incomplete: \d+ of 50000 points\n$")

    def test_two_terms_at_once_are_one(self):
        """timeout(1) sends its signal to the program and then to the group it is in."""
        process = self.start("-q", "run", self.file(LONG))
        self.wait_for_work(process)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=30 * common.SLOWER)
        self.assertEqual(process.returncode, 143)
        self.assertRegex(err, r"^case.json is incomplete: \d+ of 50000 points\n$")

    def test_a_long_proof_ends_at_once(self):
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            file = self.file({**LONG_CASE, "cluster": {**LONG_CASE["cluster"], "ranks": 16000}})
            process = self.start("check", file, "--set", "collective.chunks=1", "--format", "json")
            self.wait_for_work(process)
            process.send_signal(signal_number)
            out, err = process.communicate(timeout=5 * common.SLOWER)
            self.assertEqual(process.returncode, 128 + signal_number)
            self.assertFalse(json.loads(out)["complete"])
            self.assertEqual(err, "interrupted: 0 of 1 point was checked\n")

    def ends_by(self, signal_number, *arguments):
        process = self.start(*arguments)
        time.sleep(1)
        self.assertIsNone(process.poll(), "the case is too short for this test")
        process.send_signal(signal_number)
        process.communicate(timeout=5 * common.SLOWER)
        self.assertEqual(process.returncode, -signal_number)

    def test_commands_that_cannot_stop_early_end_at_the_first(self):
        self.ends_by(signal.SIGINT, "explain", self.file(LONG_CASE))


class Memory(Test):
    @unittest.skipIf(common.SANITIZED, "sanitizers keep what was freed")
    def test_a_row_of_a_sweep_takes_little(self):
        def most_memory(points):
            sizes = {"from": "1MiB", "to": f"{points}MiB", "step": "1MiB"}
            file = self.file(scenario(sweep={"collective.size": sizes}))
            arguments = [common.PROGRAM, "run", file, "--quiet", "--format", "csv"]
            with subprocess.Popen(arguments, cwd=self.folder, stdout=subprocess.DEVNULL) as running:
                _, status, usage = os.wait4(running.pid, 0)
                running.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(running.returncode, 0)
            return usage.ru_maxrss * 1024

        self.assertLess((most_memory(22_000) - most_memory(2_000)) / 20_000, 2_700)  # bytes

    def test_the_user_sets_the_limit(self):
        file = self.file(scenario())
        self.run_collsim("run", file, "--memory", "100MB")
        error = self.run_collsim("--memory", "1kB", "run", file, code=2).stderr
        self.assertIn("(limit: 1e-06 GB; --memory sets it)", error)
        error = self.run_collsim("run", file, "--memory", "64M", code=2).stderr
        self.assertIn('--memory: "64M" could mean two sizes', error)

    def test_rows_must_fit_into_it(self):
        sizes = {"from": "1MiB", "to": "900000MiB", "step": "1MiB"}
        file = self.file(scenario(sweep={"collective.size": sizes}))
        error = self.run_collsim("run", file, "--yes", "--memory", "1GB", code=2).stderr
        self.assertIn("at most 400,000 are run", error)
        self.assertIn("more rows do not fit in the memory that --memory allows", error)
        error = self.run_collsim("run", file, "--memory", "1MB", code=2).stderr
        self.assertIn("at most 400 are run", error)


if __name__ == "__main__":
    common.main()
