#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""collsim-mpi with a process for each GPU, on GPUs and an NCCL that only pretend: no time means anything.

usage: mpi_on_gpus_test.py COLLSIM ROOT COLLSIM_MPI MPIRUN FAKE_NCCL.so [arguments of unittest]
"""
import json
import os
import pathlib
import signal
import sys
import time

import common
from mpi_common import MPI_PROGRAM, ONCE, MpiTest, case

FAKE_NCCL = sys.argv.pop(3)

QUICK = ["--iters", "3", "--format", "jsonl"]
ALL_REDUCE = case(4, op="all-reduce", algorithm="ring", size="4000B")
TWO = case(2, op="all-reduce", algorithm="ring", size="4000B")


def of_each(environments, *command):
    """A part of the launcher's command line for each process, with variables of its own."""
    parts = []
    for environment in environments:
        variables = [f"{variable}={value}" for variable, value in environment.items()]
        parts += [":", "-np", "1", "env", *variables, MPI_PROGRAM, *map(str, command)]
    return parts[1:]


class OnGpus(MpiTest):
    gpus = {"FAKE_GPUS": "4", "COLLSIM_NCCL": FAKE_NCCL}
    backend = "nccl"

    def command(self, arguments):
        # Hosts that differ in name only do not know that they share cores.
        return ["validate", *arguments, "--backend", self.backend, "--waiting", "sleep"]

    def measure(self, processes, *arguments, environment=None, **more):
        environment = {**self.gpus, **(environment or {})}
        command = self.command(arguments)
        return self.run_mpi(processes, *command, environment=environment, **more)

    def rows(self, processes, *arguments, **more):
        out, _ = self.measure(processes, *arguments, **more)
        return [json.loads(line) for line in out.splitlines()]

    def start_each(self, environments, *arguments):
        command = self.command(arguments)
        return self.start_parts(of_each(environments, *command), self.gpus)

    def with_variables(self, variable, values, *arguments, code=0):
        """As measure(), each process with a value of its own."""
        launcher = self.start_each([{variable: value} for value in values], *arguments)
        return self.finish(launcher, code, limit_s=60)

    def fails(self, reason, processes, *arguments, **environment):
        """All processes end soon, and one has said why."""
        begin = time.monotonic()
        out, err = self.measure(processes, *arguments, environment=environment, code=None)
        self.assertIn(reason, out + err)
        self.assertLess(time.monotonic() - begin, 30)


class Nccl(OnGpus):
    def test_a_rank_on_the_gpu_of_each_process(self):
        (row,) = self.rows(4, self.file(ALL_REDUCE), *QUICK)
        measured = row["measured"]
        self.assertEqual((measured["backend"], measured["data"]), ("nccl", "right"))
        self.assertGreater(measured["time_s"], 0)
        self.assertIn("4 x Fake GPU, a process for each, on 1 host", measured["device"])
        self.assertIn("Ring with Simple", " ".join(measured["notes"]))

    def test_every_operation(self):
        files = []
        for op in ["broadcast", "reduce", "all-gather", "reduce-scatter", "all-to-all", "barrier"]:
            size = {} if op == "barrier" else {"size": "1000B"}
            files.append(self.file(case(3, op=op, **size), f"{op}.json"))
        rows = self.rows(3, *files, *ONCE)
        self.assertEqual([row["measured"]["data"] for row in rows], ["right"] * len(files))

    def test_several_hosts(self):
        out, _ = self.with_variables("FAKE_HOST", ["a", "a", "b", "b"], self.file(ALL_REDUCE), *QUICK)
        measured = json.loads(out)["measured"]
        self.assertEqual(measured["data"], "right")
        self.assertIn("on 2 hosts", measured["device"])

    def test_each_process_may_see_a_gpu_of_its_own(self):
        file = self.file(case(2, op="all-reduce", algorithm="ring", size="4000B"))
        out, _ = self.with_variables("CUDA_VISIBLE_DEVICES", [3, 1], file, *QUICK)
        self.assertEqual(json.loads(out)["measured"]["data"], "right")
        out, _ = self.with_variables("CUDA_VISIBLE_DEVICES", [3, 3], file, code=3)
        self.assertIn("processes 0 and 1 have the same GPU of", out)

    def test_slow_launches_are_not_what_is_measured(self):
        # On a busy machine a call may take so long that launches do not matter.
        for _ in range(5):
            (row,) = self.rows(2, self.file(TWO), *QUICK, environment={"FAKE_NCCL": "slow-launch"})
            notes = " ".join(row["measured"]["notes"])
            if "as CUDA graphs of 20" in notes:
                break
        self.assertIn("as CUDA graphs of 20", notes)

    def test_wrong_data_on_the_last_rank(self):
        wrong = {"FAKE_NCCL": "wrong-data", "FAKE_NCCL_RANK": "3"}
        out, _ = self.measure(4, self.file(ALL_REDUCE), environment=wrong, code=4)
        self.assertIn("WRONG DATA: rank 3 element 999", out)


class NcclReasons(OnGpus):
    def test_no_gpu(self):
        out, _ = self.measure(4, self.file(ALL_REDUCE), environment={"FAKE_GPUS": "0"}, code=3)
        self.assertIn("not measured: no GPU: the NVIDIA driver sees none", out)

    def test_fewer_gpus_than_processes(self):
        out, _ = self.measure(4, self.file(ALL_REDUCE), environment={"FAKE_GPUS": "2"}, code=3)
        self.assertIn("not measured: processes 0 and 2 have the same GPU of", out)

    def test_no_nccl(self):
        nowhere = {"COLLSIM_NCCL": "/nowhere/libnccl.so.2"}
        out, _ = self.measure(2, self.file(TWO), environment=nowhere, code=3)
        self.assertIn("no usable NCCL: /nowhere/libnccl.so.2 cannot be loaded", out)

    def test_fewer_processes_than_ranks(self):
        out, _ = self.measure(2, self.file(ALL_REDUCE), code=3)
        self.assertIn("4 ranks need 4 processes, and 2 processes were started: every rank has a GPU", out)

    def test_a_row_that_cannot_run_leaves_the_others(self):
        empty = case(2, op="all-reduce", algorithm="ring", size="0B")
        two = [self.file(empty, "empty.json"), self.file(TWO, "two.json")]
        rows = self.rows(2, *two, *ONCE, code=3)
        self.assertIn("without elements NCCL does nothing", rows[0]["not_measured"]["reason"])
        self.assertEqual(rows[1]["measured"]["data"], "right")


class NcclFailures(OnGpus):
    def test_a_rank_that_is_refused(self):
        self.fails(
            "ncclGroupEnd failed: fake error", 4, self.file(ALL_REDUCE),
            FAKE_NCCL="refuses", FAKE_NCCL_RANK="2")

    def test_a_rank_that_does_not_connect(self):
        self.fails(
            "ncclCommInitRank failed: fake error", 2, self.file(TWO),
            FAKE_NCCL="init-fails", FAKE_NCCL_RANK="1")

    def test_the_first_rank_does_not_connect(self):
        self.fails(
            "ncclCommInitRank failed: fake error", 2, self.file(TWO),
            FAKE_NCCL="init-fails", FAKE_NCCL_RANK="0")

    def test_a_rank_that_hangs(self):
        self.fails(
            "NCCL's all-reduce did not end within 5 s", 2, self.file(TWO),
            FAKE_NCCL="hangs", FAKE_NCCL_RANK="1")

    def test_a_rank_that_nccl_reports(self):
        self.fails(
            "rank 1 on GPU 1: remote process exited", 2, self.file(TWO),
            FAKE_NCCL="async-error", FAKE_NCCL_RANK="1")

    def test_a_process_that_dies(self):
        self.fails("", 4, self.file(ALL_REDUCE), FAKE_NCCL="dies", FAKE_NCCL_RANK="3")


class Cuda(OnGpus):
    backend = "cuda"

    def measure(self, *arguments, **more):
        out, err = super().measure(*arguments, **more)
        self.assertNotIn("real GPUs would not forgive", err)
        return out, err

    def test_a_rank_on_the_gpu_of_each_process(self):
        for protocol in "simple", "ll":
            (row,) = self.rows(4, self.file(ALL_REDUCE), *QUICK, "--protocol", protocol)
            measured = row["measured"]
            self.assertEqual((measured["backend"], measured["data"]), ("cuda", "right"))
            self.assertGreater(measured["time_s"], 0)
            self.assertIn("4 x Fake GPU, a process for each, on 1 host", measured["device"])
            notes = " ".join(measured["notes"])
            self.assertIn("clocks were aligned to within", notes)
            self.assertNotIn("host memory", notes)

    def test_channels_chunks_and_slots(self):
        files = []
        for op in ["reduce-scatter", "all-to-all"]:
            one = case(3, op=op, size="1000B", channels=2, chunks=3, slots=4)
            files.append(self.file(one, f"{op}.json"))
        rows = self.rows(3, *files, *ONCE)
        self.assertEqual([row["measured"]["data"] for row in rows], ["right"] * len(files))

    def test_through_the_host_where_gpus_do_not_reach_each_other(self):
        (row,) = self.rows(2, self.file(TWO), *QUICK, environment={"FAKE_GPUS": "2 no-peers"})
        self.assertEqual(row["measured"]["data"], "right")
        notes = " ".join(row["measured"]["notes"])
        self.assertIn("2 of 2 connections go through host memory", notes)
        self.assertIn("the GPU of process 0 does not reach the memory of process 1", notes)

    def test_a_trace_has_the_steps_of_all_ranks(self):
        self.measure(3, self.file(case(3, op="broadcast", algorithm="chain", size="4000B")), "--trace", "trace.json")
        named = (self.folder / "trace.json").read_text()
        for rank in range(3):
            self.assertIn(f"rank {rank}", named)

    def test_processes_without_a_rank_wait(self):
        (row,) = self.rows(3, self.file(TWO), *QUICK)
        self.assertEqual(row["measured"]["data"], "right")
        self.assertIn("1 of the processes had no rank", " ".join(row["measured"]["notes"]))


class CudaReasons(OnGpus):
    backend = "cuda"

    def test_no_gpu(self):
        out, _ = self.measure(2, self.file(TWO), environment={"FAKE_GPUS": "0"}, code=3)
        self.assertIn("not measured: no GPU: the NVIDIA driver sees none", out)

    def test_paced_runs_need_one_clock(self):
        out, _ = self.measure(2, self.file(TWO), "--paced", code=3)
        self.assertIn("paced runs need one clock", out)


class CudaFailures(OnGpus):
    backend = "cuda"

    def gpus_fail(self, reason, *gpus):
        begin = time.monotonic()
        out, err = self.with_variables("FAKE_GPUS", gpus, self.file(TWO), code=None)
        self.assertIn(reason, out + err)
        self.assertLess(time.monotonic() - begin, 30)

    def test_a_gpu_that_starts_no_lanes(self):
        self.gpus_fail("starting the lanes on GPU 1 failed: fake CUDA error", "2", "2 refuses-launches")

    def test_the_first_gpu_starts_no_lanes(self):
        self.gpus_fail("starting the lanes on GPU 0 failed: fake CUDA error", "2 refuses-launches", "2")

    def test_a_gpu_that_never_ends(self):
        self.gpus_fail("waited 5 s", "2", "2 deaf")


class OnHosts(OnGpus):
    """Processes on hosts that differ in name: messages over MPI between the memories of their GPUs."""

    backend = "cuda"
    hosts = ["a", "a", "b", "b"]

    def measure_on(self, hosts, *arguments, gpus=None, code=0):
        environments = [{"FAKE_HOST": host} for host in hosts]
        for environment, said in zip(environments, gpus or []):
            environment["FAKE_GPUS"] = said
        out, err = self.finish(self.start_each(environments, *arguments), code, limit_s=240)
        self.assertNotIn("real GPUs would not forgive", err)
        return out + err if code is None else out

    def measured(self, hosts, *arguments, **more):
        rows = [json.loads(line) for line in self.measure_on(hosts, *arguments, **more).splitlines()]
        return [row["measured"] for row in rows if "measured" in row]


class CudaHosts(OnHosts):
    told = "messages over MPI staged through memory of the host"

    def test_a_rank_on_the_gpu_of_each_process(self):
        (measured,) = self.measured(self.hosts, self.file(ALL_REDUCE), *QUICK)
        self.assertEqual((measured["backend"], measured["data"]), ("cuda", "right"))
        self.assertGreater(measured["time_s"], 0)
        self.assertIn("4 x Fake GPU, a process for each, on 2 hosts", measured["device"])
        self.assertIn(self.told, " ".join(measured["notes"]))
        self.assertNotIn("mpi", measured)

    def test_every_algorithm(self):
        for hosts in self.hosts, ["a", "b"]:
            files = self.every_algorithm(len(hosts), channels=2, slots=2)
            measured = self.measured(hosts, *files, *ONCE)
            self.assertGreater(len(measured), 2 * len(files))
            self.assertEqual({row["data"] for row in measured}, {"right"})

    def test_every_type_and_reduction(self):
        one = case(4, op="all-reduce", algorithm="ring", size="1000B", chunks=3)
        types = ["int8", "uint8", "int32", "uint32", "int64", "uint64"]
        types += ["float16", "bfloat16", "float32", "float64"]
        one["sweep"] = {"collective.dtype": types, "collective.reduction": ["sum", "prod", "min", "max", "avg"]}
        measured = self.measured(self.hosts, self.file(one), *ONCE)
        self.assertEqual([row["data"] for row in measured], ["right"] * 50)

    def test_a_trace_has_the_steps_of_all_ranks(self):
        file = self.file(case(3, op="broadcast", algorithm="chain", size="4000B"))
        self.measure_on(["a", "b", "b"], file, "--trace", "trace.json")
        named = (self.folder / "trace.json").read_text()
        for rank in range(3):
            self.assertIn(f"rank {rank}", named)

    def test_rows_of_one_host_and_of_two(self):
        files = [self.file(TWO, "two.json"), self.file(ALL_REDUCE, "four.json")]
        one, two = self.measured(self.hosts, *files, *QUICK)
        self.assertEqual((one["data"], two["data"]), ("right", "right"))
        self.assertIn("clocks were aligned", " ".join(one["notes"]))
        self.assertIn(self.told, " ".join(two["notes"]))


class CudaHostsReaching(CudaHosts):
    gpus = {**OnGpus.gpus, "FAKE_MPI": "reaches-gpus"}
    told = "messages over MPI from GPU memory"


class CudaHostsReasons(OnHosts):
    def test_there_is_one_way_of_announcing_messages(self):
        out = self.measure_on(["a", "b"], self.file(TWO), "--protocol", "ll", code=3)
        self.assertIn("leave out --protocol ll", out)

    def test_a_host_without_a_gpu(self):
        out = self.measure_on(["a", "b"], self.file(TWO), gpus=["4", "0"], code=3)
        self.assertRegex(out, r"not measured: process 1 \(pid \d+ on b\): no GPU: the NVIDIA driver sees none")

    def test_too_little_memory_leaves_rows_that_fit(self):
        small = case(2, op="all-reduce", algorithm="ring", size="400B")
        files = [self.file(TWO, "two.json"), self.file(small, "small.json")]
        out = self.measure_on(["a", "b"], *files, "--iters", "1", gpus=["4", "4 small"], code=3)
        self.assertRegex(out, r"not measured: process 1 \(pid \d+ on b\): this run needs .* on GPU 0, of whose")
        self.assertRegex(out, r"10\.40 us .* right ")


class CudaHostsFailures(OnHosts):
    def gpus_fail(self, reason, *gpus):
        begin = time.monotonic()
        self.assertIn(reason, self.measure_on(["a", "b"], self.file(TWO), gpus=gpus, code=None))
        self.assertLess(time.monotonic() - begin, 30)

    def test_a_gpu_that_starts_nothing(self):
        self.gpus_fail("starting a step on GPU 0 failed: fake CUDA error", "2", "2 refuses-launches")

    def test_a_gpu_that_never_ends(self):
        self.gpus_fail("rank 1 lane 0 step 0 (send) waited 5 s for its GPU", "2", "2 deaf")

    def test_wrong_sums(self):
        out = self.measure_on(["a", "b"], self.file(TWO), gpus=["2", "2 adds-wrong"], code=4)
        self.assertRegex(out, r"WRONG DATA: rank \d element \d+ is")

    def happens_to(self, which, what):
        file = self.file(ALL_REDUCE)
        # In the runs of one row, because GPUs that are being started are waited for longer.  Who still
        # needs data of the one that is gone gives up after 5 s; once all have theirs, only its report
        # is missing, which comes within 60 s or never.
        long = ["--iters", "1000000", "--quiet"]
        begun = [self.folder / f"begun-{process}" for process in range(4)]
        environments = [
            {"FAKE_HOST": host, "FAKE_GPUS_BEGUN": str(made)} for host, made in zip(self.hosts, begun)]
        launcher = self.start_each(environments, file, *long)
        members = self.wait_for_members(4)
        self.wait_until(lambda: all(map(pathlib.Path.exists, begun)), "runs never began")
        time.sleep(2)
        os.kill(members[which], what)
        begin = time.monotonic()
        self.finish(launcher, None, limit_s=120)
        self.assertLess(time.monotonic() - begin, 90)

    def test_a_process_that_is_killed_ends_all(self):
        self.happens_to(2, signal.SIGKILL)

    def test_a_process_that_hangs_ends_all(self):
        self.happens_to(3, signal.SIGSTOP)


if __name__ == "__main__":
    common.main(at_once=4)
