#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Questions that strangers asked the program, and things that must not hang or eat the machine."""

import json
import resource
import unittest

import common
from common import Test, scenario

RING = {"shape": "ring", "ranks": 4, "link": {"bandwidth": "25GB/s", "overhead": "1us"}}
BROADCAST = {"op": "broadcast", "algorithm": "chain", "size": "1MiB"}


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
