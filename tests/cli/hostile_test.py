#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that mean harm: each is refused, or answered, within 4 GB of address space and ten seconds.

So is each of tests/data/scenarios, in corpus_test.py.
"""
import json
import os
import pathlib
import resource
import subprocess
import tarfile

import common
from common import SANITIZED, SLOWER, Test, scenario, sweep

ADDRESS_SPACE = 4_000_000 * 1024
SECONDS = 10 * SLOWER
EVERY = 16  # of the many inputs that fuzzing found


def limit_memory():
    if not SANITIZED:  # which reserve terabytes
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class HostileFiles(Test):
    def survives(self, name, *arguments, refused=False):
        """The last argument is the file."""
        done = subprocess.run(
            [common.PROGRAM, *map(str, arguments)],
            cwd=self.folder,
            env=self.environment({}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            preexec_fn=limit_memory,
            check=False,
        )
        # 1: an expectation or a proof failed; 4: a log counts wrong data.
        self.assertIn(done.returncode, (2,) if refused else (0, 1, 2, 4), f"{name}: {arguments}\n{done.stderr[-1000:]}")
        self.assertNotIn("not enough memory", done.stderr, name)
        self.assertLess(len(done.stderr), 100_000, name)
        return done.stderr

    def survive(self, *arguments, folder):
        files = sorted(path for path in pathlib.Path(common.ROOT, folder).iterdir() if path.is_file())
        self.assertGreater(len(files), 2, folder)
        for path in files:
            self.survives(path.name, *arguments, path)

    def test_what_fuzzing_found(self):
        with tarfile.open(pathlib.Path(common.ROOT, "tests/fuzz/corpus.tar.xz")) as archive:
            members = [member for member in archive if member.isfile()]
            self.assertGreater(len(members), 1000)
            for member in members[::EVERY]:
                (self.folder / "found.json").write_bytes(archive.extractfile(member).read())
                self.survives(member.name, "run", "--quiet", "found.json")

    def test_files_of_other_programs(self):
        self.survive("topo", "import", folder="tests/fuzz/machines")
        self.survive("import", folder="tests/fuzz/logs")
        self.survive("compare", "--preset", "dgx-h100", folder="tests/fuzz/logs")
        self.survive("import", "--ranks", "8", "--model-ranks", "2", folder="tests/fuzz/workloads")

    def test_files_that_are_too_deep_long_or_many(self):
        bomb = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 20))
        link = {"bandwidth": "25GB/s"}
        files = {
            "deep.json": "[" * 1_000_000,
            "deeper.json": '{"a":' * 300_000,
            "long.json": '{"scenario": "' + "x" * 20_000_000 + '"}',
            "number.json": '{"scenario": 1' + "0" * 3_000_000 + "}",
            "keys.json": "{" + ",".join(f'"k{i}":1' for i in range(100_000)) + "}",
            "ranges.json": json.dumps(sweep({"from": 1, "to": 1_000_000_000, "step": 1})),
            "links.json": json.dumps(scenario(cluster={"shape": "fully-connected", "ranks": 100_000, "link": link})),
            "ranks.json": json.dumps(scenario(cluster={"shape": "torus", "dims": [1000, 1000, 1000], "link": link})),
            "bomb.xml": f'<!DOCTYPE l [<!ENTITY e0 "x">{bomb}]><system version="1"><cpu numaid="&e19;"/></system>',
            "deep.xml": '<system version="1">' + "<pci>" * 200_000,
            "columns.csv": ",".join(f"c{i}" for i in range(300_000)) + "\n" + "1," * 300_000,
            "rows.csv": "size,time\n" + "1024,5us\n" * 200_000,
        }
        for name, text in files.items():
            (self.folder / name).write_text(text)
            commands = {".json": [["run"], ["explain"]], ".xml": [["topo", "import"]], ".csv": [["import"]]}
            for command in commands[pathlib.Path(name).suffix]:
                self.survives(name, *command, name, refused=True)

    def test_files_without_end(self):
        if not os.path.exists("/dev/zero"):
            self.skipTest("there is no /dev/zero")
        for command in (["run"], ["import"], ["topo", "import"]):
            self.assertIn("larger than", self.survives("/dev/zero", *command, "/dev/zero", refused=True))


if __name__ == "__main__":
    common.main()
