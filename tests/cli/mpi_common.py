# SPDX-License-Identifier: Apache-2.0
"""What tests of collsim-mpi share: starting processes, and seeing to it that none is left behind.

Takes COLLSIM_MPI and MPIRUN from the command line, after COLLSIM and ROOT.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

from common import Test, scenario

MPI_PROGRAM, MPIRUN = sys.argv.pop(3), sys.argv.pop(3)

# As root, on few cores, in containers.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}
NETWORK = {"shape": "fully-connected", "link": {"bandwidth": "1GB/s", "overhead": "5us"}}
ONCE = ["--iters", "1", "--warmup", "0", "--format", "jsonl"]


def case(ranks, **collective):
    return scenario(name="case", cluster={**NETWORK, "ranks": ranks}, collective=collective)


class MpiTest(Test):
    def start(self, processes, *arguments, environment=None, launched=()):
        part = ["-np", str(processes), MPI_PROGRAM, *map(str, arguments)]
        return self.start_parts([*part, *launched], environment)

    def start_parts(self, parts, environment=None):
        return subprocess.Popen(
            [MPIRUN, *parts],
            cwd=self.folder,
            # Launchers that begin and end at once would take each other's folder in a common one away.
            env=self.environment({**ENVIRONMENT, "TMPDIR": str(self.folder), **(environment or {})}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self, launcher, code, limit_s):
        """What it printed.  `code` None: any but 0.  Nothing is left behind."""
        try:
            out, err = launcher.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            launcher.send_signal(signal.SIGCONT)
            launcher.kill()
            raise
        finally:
            self.addCleanup(self.nothing_is_left)
        if code is None:
            self.assertNotEqual(launcher.returncode, 0, out[-2000:] + err[-2000:])
        else:
            self.assertEqual(launcher.returncode, code, out[-2000:] + err[-2000:])
        return out, err

    def run_mpi(self, processes, *arguments, code=0, limit_s=60, **more):
        return self.finish(self.start(processes, *arguments, **more), code, limit_s)

    def every_algorithm(self, ranks, **choices):
        """A file for each, of odd sizes."""
        listed = json.loads(self.run_collsim("algorithms", "--format", "json").stdout)
        files = []
        for number, row in enumerate(listed["algorithms"]):
            if ranks == 3 and row["ranks"] != "any":
                continue
            one = case(ranks, op=row["op"], algorithm=row["algorithm"])
            if row["op"] != "barrier":
                one["collective"].update(choices)
                one["sweep"] = {"collective.size": ["4B", "1036B", "400004B"]}
            files.append(self.file(one, f"{number}.json"))
        return files

    def members(self):
        """The processes of the program that run in this test's folder."""
        pids = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if not entry.name.isdigit() or os.readlink(entry / "exe") != MPI_PROGRAM:
                    continue
                if os.readlink(entry / "cwd") == os.path.realpath(self.folder):
                    pids.append(int(entry.name))
            except OSError:
                pass
        return sorted(pids)

    def nothing_is_left(self):
        for _ in range(100):
            left = self.members()
            if not left:
                return
            time.sleep(0.1)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        self.fail(f"processes {left} were left behind")

    def wait_until(self, is_so, otherwise):
        for _ in range(600):
            if is_so():
                return
            time.sleep(0.1)
        self.fail(otherwise)

    def wait_for_members(self, count):
        self.wait_until(lambda: len(self.members()) == count, f"{count} processes never came")
        return self.members()
