# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command line share: running the program, and small scenarios."""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = ""
ROOT = pathlib.Path()

# With sanitizers the program is some ten times slower: limits of time grow with it.
SANITIZED = "COLLSIM_SANITIZED" in os.environ
SLOWER = 10 if SANITIZED else 1

CHAIN = {
    "scenario": 1,
    "name": "chain",
    "cluster": {"shape": "chain", "ranks": 4, "link": {"bandwidth": "25GB/s", "overhead": "5us"}},
    "collective": {"op": "broadcast", "algorithm": "chain", "size": "1MiB"},
}


def scenario(**changes):
    return {**CHAIN, **changes}


def sweep(chunks):
    return scenario(sweep={"collective.chunks": chunks})


# 50,000 points of about a millisecond.
LONG = scenario(
    cluster={**CHAIN["cluster"], "ranks": 64},
    collective={**CHAIN["collective"], "chunks": 500},
    sweep={"collective.size": {"from": "1MiB", "to": "50000MiB", "step": "1MiB"}},
)


class Test(unittest.TestCase):
    """Each test works in an empty folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, content, name="case.json"):
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path.name

    def environment(self, changes):
        clean = {
            name: value
            for name, value in os.environ.items()
            if name not in ("NO_COLOR", "CLICOLOR_FORCE", "FORCE_COLOR")
        }
        folder = str(pathlib.Path(PROGRAM).parent)
        return {**clean, "PATH": folder + os.pathsep + os.environ.get("PATH", ""), **changes}

    def run_collsim(self, *arguments, code=0, environment=None, **more):
        done = subprocess.run(
            [PROGRAM, *map(str, arguments)],
            cwd=self.folder,
            env=self.environment(environment or {}),
            capture_output=True,
            text=True,
            timeout=60 * SLOWER,
            check=False,
            **more,
        )
        self.assertEqual(done.returncode, code, done.stdout[-2000:] + done.stderr[-2000:])
        return done

    def shell(self, line, code=0, environment=None):
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self.folder,
            env=self.environment(environment or {}),
            capture_output=True,
            text=True,
            timeout=60 * SLOWER,
            check=False,
        )
        self.assertEqual(done.returncode, code, f"{line}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done


def run_side_by_side(tests, at_once):
    """For tests that mostly sleep.  Whether all passed."""

    def run(test):
        result = unittest.TestResult()
        test.run(result)
        return result

    passed = True
    with concurrent.futures.ThreadPoolExecutor(at_once) as threads:
        for test, result in zip(tests, threads.map(run, tests)):
            print(test.id(), "ok" if result.wasSuccessful() else "FAILED", flush=True)
            for _, trace in result.failures + result.errors:
                print(trace, flush=True)
            passed = passed and result.wasSuccessful()
    return passed


def main(at_once=1):
    """usage: X_test.py PROGRAM ROOT [arguments of unittest; of tests that sleep, their names]"""
    this = sys.modules[__name__]
    this.PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())
    this.ROOT = pathlib.Path(sys.argv[2]).resolve()
    if at_once == 1:
        unittest.main("__main__", argv=[sys.argv[0], *sys.argv[3:]])
    module = sys.modules["__main__"]
    loader = unittest.defaultTestLoader
    names = sys.argv[3:]
    suite = loader.loadTestsFromNames(names, module) if names else loader.loadTestsFromModule(module)
    tests = list(all_of(suite))
    if not tests:
        sys.exit("no test has such a name")
    sys.exit(not run_side_by_side(tests, at_once))


def all_of(suite):
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from all_of(one)
        else:
            yield one
