#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""collsim-mpi: every algorithm over real messages, and what happens when something goes wrong.

usage: mpi_test.py COLLSIM ROOT COLLSIM_MPI MPIRUN WRONG_BIT.so [arguments of unittest]
"""
import json
import os
import signal
import sys
import time

import common
from mpi_common import MPI_PROGRAM, ONCE, MpiTest, case

WRONG_BIT = sys.argv.pop(3)

ALL_REDUCE = case(4, op="all-reduce", algorithm="ring", size="4000B")
# Rows that take seconds, in MPI and in making and checking data.
LONG_ROWS = {**ALL_REDUCE, "sweep": {"collective.size": ["4000B", "48MB", "64MB", "96MB"]}}


class EveryAlgorithm(MpiTest):
    def all_right(self, processes, ranks, *options, **choices):
        files = self.every_algorithm(ranks, channels=2, **choices)
        out, err = self.run_mpi(processes, "validate", *files, *ONCE, *options, limit_s=240)
        rows = [json.loads(line) for line in out.splitlines()]
        measured = [row for row in rows if "measured" in row]
        self.assertGreater(len(measured), 2 * len(files), err[-2000:])
        for row in measured:
            self.assertIsNotNone(row["measured"], row)
            self.assertEqual(row["measured"]["data"], "right", row)

    def test_on_four_processes(self):
        self.all_right(4, 4, slots=2)

    def test_on_two_processes(self):
        self.all_right(2, 2, slots=2)

    def test_several_ranks_on_a_process(self):
        self.all_right(2, 3, "--ranks-per-process", "2", chunks=5)


class Results(MpiTest):
    def test_the_library_s_own_collective_stands_beside(self):
        file = self.file(ALL_REDUCE)
        out, _ = self.run_mpi(4, "validate", file, *ONCE)
        row = json.loads(out)["measured"]
        self.assertEqual((row["backend"], row["mpi"]["function"]), ("mpi", "MPI_Allreduce"))
        self.assertGreater(row["mpi"]["time_s"], 0)
        out, _ = self.run_mpi(4, "validate", file)
        self.assertIn("MPI's own", out)
        self.assertIn("MPI_Allreduce", out)

    def test_a_trace_has_the_steps_of_all_ranks(self):
        file = self.file(ALL_REDUCE)
        self.run_mpi(4, "validate", file, *ONCE, "--trace", "trace.json")
        trace = json.loads((self.folder / "trace.json").read_text())
        named = json.dumps(trace)
        for rank in range(4):
            self.assertIn(f"rank {rank}", named)

    def test_what_mpi_cannot_do_is_a_reason(self):
        file = self.file(ALL_REDUCE)
        for option, reason in [("--paced", "cannot be paced"), ("--protocol=ll", "leave out --protocol ll")]:
            out, _ = self.run_mpi(4, "validate", file, option, code=3)
            self.assertIn(reason, out)

    def test_without_gpus_there_is_a_reason(self):
        file = self.file(ALL_REDUCE)
        for backend in "cuda", "nccl":
            out, _ = self.run_mpi(
                4, "validate", file, "--backend", backend, code=3, environment={"CUDA_VISIBLE_DEVICES": ""})
            self.assertRegex(out, "not measured: (no GPU: .*|this program was built without CUDA.*)\n")

    def test_mistakes_are_told_once(self):
        _, err = self.run_mpi(4, "validate", "missing.json", code=2)
        self.assertEqual(err.count("missing.json"), 1, err)
        _, err = self.run_mpi(2, "validat", code=2)
        self.assertEqual(err.count("there is no command"), 1, err)


class Calibrate(MpiTest):
    def test_the_file_is_a_machine(self):
        few = ["--smallest", "256B", "--largest", "16KiB", "--iters", "3", "-o", "machine.json"]
        out, _ = self.run_mpi(3, "calibrate", *few)
        self.assertIn("on one host", out)
        machine = json.loads((self.folder / "machine.json").read_text())
        self.assertEqual(machine["cluster"]["ranks"], 3)
        probes = {probe["probe"] for probe in machine["measured"]["raw"]}
        self.assertLessEqual({"ping-pong on one host", "window on one host", "fan-out"}, probes)
        file = self.file(case(3, op="broadcast", algorithm="chain", size="4000B"))
        out, _ = self.run_mpi(3, "validate", file, *ONCE, "--machine", "machine.json")
        row = json.loads(out)
        self.assertEqual(row["measured"]["data"], "right")
        self.assertGreater(row["time_s"], 0)

    def test_one_process_has_nobody_to_talk_to(self):
        _, err = self.run_mpi(1, "calibrate", code=3)
        self.assertIn("one process has nobody to talk to: start two or more", err)


class Failures(MpiTest):
    def test_too_few_processes(self):
        out, _ = self.run_mpi(2, "validate", self.file(ALL_REDUCE), code=3)
        self.assertIn("4 ranks need 4 processes, and 2 processes were started", out)
        self.assertIn("--ranks-per-process 2", out)

    def test_different_files(self):
        one, other = self.file(ALL_REDUCE, "one.json"), self.file(ALL_REDUCE, "other.json")
        more = [":", "-np", "1", MPI_PROGRAM, "validate", other]
        _, err = self.run_mpi(1, "validate", one, launched=more, code=2)
        self.assertIn("other.json", err)
        self.assertIn("start all of them alike", err)

    def test_wrong_data(self):
        file = self.file(case(4, op="broadcast", algorithm="chain", size="1000B"))
        damaged = {"LD_PRELOAD": WRONG_BIT, "COLLSIM_TEST_WRONG_BYTES": "1000"}
        out, _ = self.run_mpi(4, "validate", file, code=4, environment=damaged)
        self.assertIn("WRONG DATA", out)
        self.assertIn("rank 2 element 125 is", out)

    def test_a_process_that_never_comes_is_not_waited_for(self):
        more = [":", "-np", "1", "sleep", "100"]
        soon = {"COLLSIM_MPI_START_S": "2"}
        launcher = self.start(1, "validate", self.file(ALL_REDUCE), launched=more, environment=soon)
        _, err = self.finish(launcher, None, limit_s=60)
        self.assertIn("waiting for all processes in MPI_Init took longer than 2 s", err)

    def test_an_interrupt_of_the_launcher_keeps_the_rows_that_are_done(self):
        for what in (signal.SIGINT, signal.SIGTERM):
            launcher = self.start(4, "validate", self.file(LONG_ROWS), "--format", "jsonl")
            first = json.loads(launcher.stdout.readline())
            time.sleep(1)
            launcher.send_signal(what)
            begin = time.monotonic()
            out, err = self.finish(launcher, None, limit_s=90)
            self.assertLess(time.monotonic() - begin, 20)
            self.assertEqual(first["measured"]["data"], "right")
            # Hydra writes below it what it thinks of the exit code.
            last = json.loads(next(line for line in out.splitlines() if line.startswith('{"complete"')))
            self.assertEqual((last["complete"], last["points"]), (False, 4))
            self.assertGreater(last["rows"], 0)
            self.assertRegex(err, r"interrupted: \d+ of 4 points w\w+ measured")

    def happens_to(self, which, what):
        # In one row, because data that are being laid out are waited for longer than runs.  Who still
        # needs data of the one that is gone gives up after 5 s; once all have theirs, only its report
        # is missing, which comes within 60 s or never.  On a busy machine some may still be in MPI_Init.
        long = ["--iters", "1000000", "--quiet"]
        started = {"COLLSIM_MPI_START_S": "60"}
        launcher = self.start(4, "validate", self.file(ALL_REDUCE), *long, environment=started)
        members = self.wait_for_members(4)
        time.sleep(2)
        os.kill(members[which], what)
        begin = time.monotonic()
        out, err = self.finish(launcher, None, limit_s=120)
        self.assertLess(time.monotonic() - begin, 90)
        return out + err

    def test_a_process_that_is_killed_ends_all(self):
        self.happens_to(2, signal.SIGKILL)

    def test_a_process_that_is_told_to_end_ends_all(self):
        self.happens_to(2, signal.SIGTERM)

    def test_the_first_process_that_is_killed_ends_all(self):
        self.happens_to(0, signal.SIGKILL)

    def test_a_process_that_hangs_ends_all(self):
        said = self.happens_to(3, signal.SIGSTOP)
        # Inside MPI others may wait for the one that hangs.
        named = r"process \d \(pid \d+ on .*\) has (not answered|taken nothing) for \d+ s: it hangs, or waits"
        waited = r"rank \d .* waited \d+ s for message"
        in_mpi = r"the collective of MPI itself took longer than \d+ s, so a process has died or hangs"
        in_init = "waiting for all processes in MPI_Init took longer than 60 s"
        self.assertRegex(said, "|".join([named, waited, in_mpi, in_init]))


if __name__ == "__main__":
    common.main()
