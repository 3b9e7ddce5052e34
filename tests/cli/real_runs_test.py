#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""collsim validate and collsim calibrate with real threads: small sizes, no judgement of times."""
import contextlib
import json
import os
import pathlib
import resource
import signal
import subprocess
import time

import common
from common import Test, scenario

RING = scenario(
    cluster={"shape": "ring", "ranks": 4, "link": {"bandwidth": "1GB/s", "overhead": "1us"}},
    collective={"op": "all-reduce", "algorithm": "ring", "size": "16KiB"},
)
QUICK = ["--ranks", "2", "--smallest", "4KiB", "--largest", "8KiB", "--iters", "3", "--rounds", "1"]


def setUpModule():
    """Whoever starts the tests in the background has Ctrl-C ignored, and so would the programs here."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Interrupted(Test):
    def interrupted(self, *arguments, after, measuring=False):
        """Ctrl-C goes to everybody: to the runs' own processes, too.  `measuring`: `after` counts from then."""
        program = subprocess.Popen(
            [common.PROGRAM, *arguments],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        if measuring:
            self.wait_for_a_run(program)
        time.sleep(after)
        os.killpg(program.pid, signal.SIGINT)
        out, err = program.communicate(timeout=30 * common.SLOWER)
        self.assertEqual(program.returncode, 130, out + err)
        return out

    @staticmethod
    def wait_for_a_run(program):
        """Until it has a child, which measures."""
        for _ in range(3000):
            for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
                with contextlib.suppress(OSError):
                    if int(stat.read_text().rpartition(")")[2].split()[1]) == program.pid:
                        return
            time.sleep(0.01)

    def test_calibrate_writes_nothing(self):
        out = self.interrupted("calibrate", "--ranks", "2", "-o", "machine.json", after=0.5)
        self.assertEqual(out, "")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_validate_keeps_what_was_measured(self):
        file = self.file({**RING, "sweep": {"collective.size": [f"{4 * n}KiB" for n in range(1, 1001)]}})
        out = self.interrupted("validate", file, "--format", "json", after=3, measuring=True)
        results = json.loads(out)
        self.assertFalse(results["complete"])
        self.assertGreater(len(results["rows"]), 0)
        self.assertLess(len(results["rows"]), results["points"])
        for row in results["rows"]:
            self.assertEqual((row["measured"] or {}).get("data"), "right", row)

    def test_validate_shows_lines_as_they_come(self):
        file = self.file({**RING, "sweep": {"collective.size": [f"{4 * n}KiB" for n in range(1, 101)]}})
        command = [common.PROGRAM, "validate", file, "--format", "jsonl"]
        with subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, text=True) as program:
            first = json.loads(program.stdout.readline())
            self.assertIsNone(program.poll())
            program.send_signal(signal.SIGTERM)
            others = program.stdout.read().splitlines()
        self.assertEqual(first["measured"]["data"], "right")
        self.assertEqual(json.loads(others[-1]), {"complete": False, "rows": len(others), "points": 100})

    def test_an_interrupt_in_the_last_row_loses_nothing(self):
        file = self.file(RING)
        program = subprocess.Popen(
            [common.PROGRAM, "validate", file, "--format", "json", "--iters", "20000"],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.wait_for_a_run(program)
        program.send_signal(signal.SIGTERM)
        out, err = program.communicate(timeout=30 * common.SLOWER)
        self.assertEqual(program.returncode, 143, err)
        self.assertTrue(json.loads(out)["complete"])
        self.assertIn("interrupted when the last row was done: none is missing", err)


    def test_who_forks_has_one_thread(self):
        """Whatever lock another thread holds at that moment, the child would wait for it for ever."""
        for command in (["validate", self.file(RING), "--iters", "20000"], ["calibrate", "--ranks", "2"]):
            with self.subTest(command[0]):
                program = subprocess.Popen(
                    [common.PROGRAM, *command],
                    cwd=self.folder,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
                self.wait_for_a_run(program)
                self.assertEqual(len(list(pathlib.Path(f"/proc/{program.pid}/task").iterdir())), 1)
                program.send_signal(signal.SIGTERM)
                program.wait(timeout=30 * common.SLOWER)


class Calibrate(Test):
    def test_the_file_is_a_machine(self):
        done = self.run_collsim("calibrate", *QUICK, "-o", "machine.json")
        self.assertIn("wrote machine.json", done.stderr)
        self.assertRegex(done.stdout, r"(?m)^ +12 KiB +\S")
        machine = json.loads((self.folder / "machine.json").read_text())
        file = self.file(RING)
        on_it = ["--machine", "machine.json", "--set", "cluster.ranks=2", "--format", "json"]
        results = json.loads(self.run_collsim("validate", file, *on_it, "--backend", "host").stdout)
        self.assertEqual(results["rows"][0]["measured"]["data"], "right")
        case = {"scenario": 1, "collective": RING["collective"]}
        case.update({key: machine[key] for key in ("cluster", "model")})
        ran = json.loads(self.run_collsim("run", self.file(case), "--format", "json").stdout)
        self.assertEqual(ran["rows"][0]["time_s"], results["rows"][0]["time_s"])
        self.assertGreater(ran["rows"][0]["time_s"], 0)

    def test_dash_writes_the_machine_alone(self):
        done = self.run_collsim("calibrate", *QUICK, "-o", "-")
        self.assertIn("cluster", json.loads(done.stdout))
        self.assertRegex(done.stderr, r"\A(\d+ of \d+ points, .* so far\n)*\Z")  # where it takes long

    def test_mistakes_end_at_once(self):
        for arguments, said in [
            (["--smallest", "1MiB", "--largest", "64KiB"], "--smallest must be smaller than --largest"),
            (["--smallest", "1B"], "--smallest must be from 4 KiB to 4 GiB, not 1B"),
            (["--largest", "many"], "--largest"),
            (["--ranks", "1"], "--ranks cannot be 1"),
            (["-n", "2"], "-n cannot be 2"),
            (["--backend", "nccl"], "--backend"),
            (["-o", "no/such/machine.json"], 'cannot write "no/such/machine.json": its folder does not exist'),
            (["-o", "."], 'cannot write ".": it is a folder'),
        ]:
            with self.subTest(arguments):
                begin = time.monotonic()
                done = self.run_collsim("calibrate", *arguments, code=2)
                self.assertLess(time.monotonic() - begin, 2 * common.SLOWER, "it measured first")
                self.assertIn(said, done.stderr)
                self.assertEqual(done.stdout, "")


class Validate(Test):
    def test_an_output_that_cannot_be_written_is_told_before_anything_runs(self):
        done = self.run_collsim("validate", self.file(RING), "-o", "no/such/results.json", code=2)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr, 'cannot write "no/such/results.json": its folder does not exist\n')

    def test_two_at_a_time(self):
        file = self.file(RING)
        both = self.shell(f"collsim validate {file} & collsim validate {file} && wait $!")
        self.assertEqual(both.stdout.count("right"), 2)

    def test_odd_cases_have_right_data(self):
        for changes in (["size=0B"], ["size=20B"], ["dtype=int8", "size=13B"]):
            sets = [word for change in changes for word in ("--set", "collective." + change)]
            for more in ([], ["--protocol", "ll"], ["--threads-per-lane", "3"], ["--set", "cluster.ranks=1"]):
                with self.subTest(changes + more):
                    done = self.run_collsim("validate", self.file(RING), *sets, *more, "--format", "json")
                    self.assertEqual(json.loads(done.stdout)["rows"][0]["measured"]["data"], "right")

    def test_little_memory_ends_in_a_reason(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (200 << 20, 200 << 20))

        if self.shell("ulimit -v 200000; collsim --version || echo no").stdout == "no\n":
            self.skipTest("this build (with sanitizers) needs more memory than that to start")
        file = self.file(RING)
        for arguments, said in [
            (["--threads-per-lane", "30"], "this run needs 120 threads, and the system created only "),
            (["--set", "collective.size=64MiB"], "not enough memory for this run"),
        ]:
            done = self.run_collsim("validate", file, *arguments, code=3, preexec_fn=limit)
            self.assertIn("not measured: " + said, done.stdout)


if __name__ == "__main__":
    common.main()
