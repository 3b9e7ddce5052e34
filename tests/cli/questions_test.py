#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Questions that strangers asked the program, and things that must not hang or eat the machine."""

import json
import resource
import signal
import subprocess
import time
import unittest

import common
from common import Test, scenario

RING = {"shape": "ring", "ranks": 4, "link": {"bandwidth": "25GB/s", "overhead": "1us"}}
BROADCAST = {"op": "broadcast", "algorithm": "chain", "size": "1MiB"}


class Diff(Test):
    def results(self, name, bandwidth):
        cluster = {**RING, "link": {**RING["link"], "bandwidth": bandwidth}}
        file = self.file(scenario(cluster=cluster, collective=BROADCAST, sweep={"collective.chunks": [1, 2, 4]}))
        self.run_collsim("run", "-q", file, "-o", name)
        return name

    def test_says_what_got_slower_and_fails(self):
        before, after = self.results("before.json", "25GB/s"), self.results("after.json", "24GB/s")
        done = self.run_collsim("diff", before, after, code=1)
        self.assertIn("0 faster, 3 slower, 0 the same", done.stdout)
        self.run_collsim("diff", before, after, "--max-slower", "10%")
        self.assertIn("3 faster, 0 slower", self.run_collsim("diff", after, before).stdout)
        self.assertIn("3 the same", self.run_collsim("diff", before, before).stdout)

    def test_in_json(self):
        before, after = self.results("before.json", "25GB/s"), self.results("after.json", "12.5GB/s")
        document = json.loads(self.run_collsim("diff", before, after, "--format", "json", code=1).stdout)
        self.assertFalse(document["ok"])
        self.assertEqual([row["params"]["collective.chunks"] for row in document["rows"]], [1, 2, 4])
        for row in document["rows"]:
            self.assertAlmostEqual(row["ratio"], row["after_s"] / row["before_s"])

    def test_rows_that_are_missing_fail(self):
        before = self.results("before.json", "25GB/s")
        document = json.loads((self.folder / before).read_text())
        document["rows"].pop()
        (self.folder / "cut.json").write_text(json.dumps(document))
        self.assertIn("only before", self.run_collsim("diff", before, "cut.json", code=1).stdout)


class Predict(Test):
    def test_the_largest_busbw_may_be_too_little(self):
        flags = ["predict", "all-reduce", "-b", "1M", "-e", "64M", "-f", "8", "--shape", "ring", "-g", "4", "--algorithm", "ring"]
        rate = ["--bandwidth", "25GB/s"]
        self.run_collsim(*flags, *rate, "--min-busbw", "20GB/s")
        done = self.run_collsim(*flags, *rate, "--min-busbw", "30GB/s", code=1)
        self.assertRegex(done.stderr, r"the largest busbw is [\d.]+ GB/s, less than 30GB/s")
        self.assertIn("write a rate", self.run_collsim(*flags, *rate, "--min-busbw", "30", code=2).stderr)

    def test_takes_any_shape(self):
        flags = ["predict", "all-reduce", "-b", "1M", "--shape", "torus", "--bandwidth", "25GB/s"]
        self.assertIn("torus of 4 x 4", self.run_collsim(*flags, "--set", "cluster.dims=[4,4]").stdout)
        self.assertIn("--shape torus needs its size: --set 'cluster.dims=[8, 8]'", self.run_collsim(*flags, code=2).stderr)
        self.assertIn("size it by --set", self.run_collsim(*flags, "-g", "16", code=2).stderr)


class Devices(Test):
    def fit(self, *options, code=0):
        runs = common.ROOT / "docs/measurements/2026-11-28-h100-steps.csv"
        return self.run_collsim("calibrate", "--from-training", str(runs), "--preset", "dgx-h100", *options, code=code)

    def test_are_fitted_to_steps_of_one_gpu(self):
        done = self.fit("--hold", "skew,sharding,slowdown", "-o", "machine.json")
        self.assertRegex(done.stdout, r"^5 constants fitted to 25 runs: half within [12]\.\d%, 95% within [3-6]\.\d% ")
        include = {"scenario": 1, "include": ["machine.json"], "cluster": {"preset": "dgx-h100"},
                   "workload": {"ranks": 1, "train": {"tp": 1, "pp": 1, "dp": 1},
                                "model": {"transformer": {"layers": 12, "hidden": 768, "heads": 12, "seq": 1024, "vocab": 50304,
                                                          "attention": "fused", "micro_batch": 8, "global_batch": 32}}}}
        (row,) = json.loads(self.run_collsim("run", self.file(include), "--format", "json").stdout)["rows"]
        self.assertAlmostEqual(row["step_s"], 0.110, delta=0.011)

    def test_names_of_constants_are_checked(self):
        self.assertIn('there is no constant "lateny"; there are: efficiency', self.fit("--hold", "lateny", code=2).stderr)
        every = "efficiency,attention,memory_bandwidth,latency,launch,skew,sharding,slowdown"
        self.assertIn("nothing is left to fit", self.fit("--hold", every, code=2).stderr)


class Sweeps(Test):
    def test_sizes_between_two_sizes_are_whole_elements(self):
        sweep = {"collective.size": {"from": "1MiB", "to": "1GiB", "points": 300}}
        file = self.file(scenario(cluster=RING, collective=BROADCAST, sweep=sweep))
        rows = json.loads(self.run_collsim("run", file, "--format", "json").stdout)["rows"]
        self.assertEqual(len(rows), 300)
        self.assertEqual({row["size_bytes"] % 4 for row in rows}, {0})
        self.assertEqual([rows[0]["size_bytes"], rows[-1]["size_bytes"]], [2**20, 2**30])

    def test_without_a_sweep_set_is_the_way(self):
        file = self.file(scenario(cluster=RING, collective=BROADCAST))
        done = self.run_collsim("explain", file, "--at", "size=1GiB", code=2)
        self.assertIn("--set collective.size=1GiB", done.stderr)

    # The second point takes minutes.
    def start_long(self, *arguments):
        sweep = {"zip: cluster.ranks, collective.chunks": [[4, 1], [4, 2], [2000, 500000]]}
        file = self.file(scenario(cluster=RING, collective=BROADCAST, sweep=sweep))
        process = subprocess.Popen(
            [common.PROGRAM, "-q", "run", file, "--jobs", "1", *arguments],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        time.sleep(3)
        return process

    def ended(self, process, signal_number):
        began = time.monotonic()
        process.send_signal(signal_number)
        out, _ = process.communicate(timeout=20 * common.SLOWER)
        self.assertLess(time.monotonic() - began, 10 * common.SLOWER)
        self.assertEqual(process.returncode, 128 + signal_number)
        return out

    def test_a_long_case_ends_at_once_and_what_is_done_is_kept(self):
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            document = json.loads(self.ended(self.start_long("--format", "json"), signal_number))
            self.assertFalse(document["complete"])
            self.assertEqual([row["chunks"] for row in document["rows"]], [1, 2])

    def test_rows_come_as_they_are_done(self):
        process = self.start_long("--format", "jsonl")
        self.assertEqual([json.loads(process.stdout.readline())["chunks"] for _ in range(2)], [1, 2])
        self.assertEqual(json.loads(self.ended(process, signal.SIGTERM))["complete"], False)
        lines = self.ended(self.start_long("--format", "csv"), signal.SIGTERM).splitlines()
        self.assertEqual(len(lines), 4)
        self.assertEqual(lines[-1], "# interrupted: 2 of 3 points")


class Files(Test):
    def test_of_other_folders_are_not_read(self):
        (self.folder / "secret.txt").write_text("root:*:1")
        (self.folder / "inside").mkdir()
        for part in (
            {"model": {"calibration": "../secret.txt"}},
            {"measure": {"file": "../secret.txt"}},
            {"collective": {**BROADCAST, "algorithm": {"msccl": "../secret.txt"}}},
            {"cluster": {"nccl_topo": "../secret.txt"}},
        ):
            path = self.folder / "inside" / "case.json"
            path.write_text(json.dumps({"scenario": 1, "cluster": RING, "collective": BROADCAST, **part}))
            command = "validate" if "measure" in part else "run"
            done = self.run_collsim(command, str(path), code=2)
            self.assertNotIn("root:", done.stderr)
            self.assertIn("leaves the folder of the scenario", done.stderr)

    def test_that_the_user_names_are_read(self):
        (self.folder / "machine.json").write_text(
            '{"model": {"calibration": {"rates": [{"working_set": "1KiB", "copy_bandwidth": "7GB/s"}]}}}'
        )
        (self.folder / "inside").mkdir()
        path = self.folder / "inside" / "case.json"
        path.write_text(json.dumps({"scenario": 1, "cluster": RING, "collective": BROADCAST}))
        self.run_collsim("run", str(path), "--set", "model.calibration=machine.json")


@unittest.skipIf(common.SANITIZED, "other builds measure time and memory")
class Machine(Test):
    # What took minutes or ended in the killer of the operating system.
    def measured(self, *arguments, code=0):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = self.run_collsim(*arguments, code=code)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assertLess(after.ru_utime - before.ru_utime, 30)
        return done

    def test_every_rank_of_65536_may_be_late(self):
        late = {str(rank): f"{rank}ns" for rank in range(65536)}
        file = self.file(scenario(cluster={**RING, "ranks": 65536, "late": late}, collective=BROADCAST))
        self.measured("run", "-q", file)

    def test_two_hundred_thousand_unknown_keys(self):
        file = self.file({"scenario": 1, **{f"k{i}": 1 for i in range(200_000)}})
        self.assertIn("200002 errors", self.measured("run", file, code=2).stderr)

    def test_a_hundred_thousand_expectations(self):
        expect = [{"metric": "time", "at_least": "N/B"}] * 100_000
        self.measured("run", "-q", self.file(scenario(cluster=RING, collective=BROADCAST, expect=expect)))

    def test_one_rank_needs_no_link(self):
        layer = {"name": "a", "forward": "1ms", "backward": "2ms", "gradients": "1MiB"}
        workload = {"ddp": {"bucket": "25MiB"}, "model": {"layers": [layer]}}
        file = self.file({"scenario": 1, "cluster": {**RING, "ranks": 1}, "workload": workload})
        self.assertIn("3.000 ms", self.run_collsim("run", file).stdout)


if __name__ == "__main__":
    common.main()
