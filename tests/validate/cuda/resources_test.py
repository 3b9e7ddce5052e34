# SPDX-License-Identifier: Apache-2.0
"""Device code neither spills registers nor uses a stack, on every architecture it is built for, and never
reads messages through the read-only cache.  usage: resources_test.py BUILD_FOLDER

ptxas itself says the former when the build compiles, as errors: here are only the options that make it, and
a kernel that it must refuse.  A build without them compiles once more.  The latter is in the PTX, which is
the same for all architectures as far as loads are concerned.
"""

import json
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

JUDGED = ["-Xptxas=--warn-on-spills,--warn-on-local-memory-usage", "-Werror", "all-warnings"]
CODE = re.compile(r"--generate-code=arch=(compute_\d+),.*")
USES_A_STACK = """__global__ void uses_a_stack(double* out, int n) {
  double all[64];
  for (int i = 0; i < 64; ++i) all[i] = out[i];
  out[n] = all[n % 64] + all[out[0] > 0 ? 3 : n % 7];
}
"""


def commands(build):
    """(file, command as a list, folder to run it in) of every .cu file."""
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        words = shlex.split(entry["command"])
        if entry["file"].endswith(".cu"):
            nvcc = next(i for i, word in enumerate(words) if Path(word).name == "nvcc")
            yield Path(entry["file"]), words[nvcc:], entry["directory"]


def run(words, output, folder):
    words = list(words)
    words[words.index("-o") + 1] = str(output)
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def is_judged(words):
    """Whether the build that has this command refuses kernels that spill or use a stack."""
    text = " ".join(words)
    return JUDGED[0] in words and " ".join(JUDGED[1:]) in text


def complaints_about_ptx(name, text):
    if ".entry" not in text:
        yield f"{name}: no PTX to look at"
    if "ld.global.nc" in text:
        yield f"{name}: reads through the read-only cache (ld.global.nc)"


def inspect(source, words, folder):
    with tempfile.TemporaryDirectory() as scratch:
        wrong = []
        if not is_judged(words):
            code, report = run([*words, *JUDGED], Path(scratch) / "object.o", folder)
            if code != 0:
                wrong.append(f"{source.name}:\n{report}")
        architecture = [found[1] for word in words if (found := CODE.fullmatch(word))][-1]
        alone = [word for word in words if not CODE.fullmatch(word)]
        alone[alone.index("-c")] = "--ptx"
        ptx = Path(scratch) / "code.ptx"
        code, report = run([*alone, f"-arch={architecture}"], ptx, folder)
        if code != 0:
            return [*wrong, f"{source.name} does not compile:\n{report}"]
        wrong.extend(complaints_about_ptx(source.name, ptx.read_text(encoding="utf-8")))
        return wrong


def refuses_a_stack(source, words, folder):
    """What is wrong with how these options judge a kernel that needs a stack."""
    with tempfile.TemporaryDirectory() as scratch:
        kernel = Path(scratch) / "kernel.cu"
        kernel.write_text(USES_A_STACK, encoding="utf-8")
        words = [str(kernel) if word == str(source) else word for word in words]
        code, report = run(words if is_judged(words) else [*words, *JUDGED], Path(scratch) / "kernel.o", folder)
        if code == 0 or "size of stack frame" not in report:
            return [f"the options of {source.name} let a kernel use a stack: {report}"]
        return []


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    assert list(complaints_about_ptx("f", ".entry f { ld.global.nc.b32 }")) and not list(complaints_about_ptx("f", ".entry f"))
    jobs = list(commands(Path(arguments[0])))
    if not jobs:
        print("skipped: this build has no CUDA")
        return 77
    with ThreadPoolExecutor(2) as pool:
        found = [text for texts in pool.map(lambda job: inspect(*job), jobs) for text in texts]
    found.extend(refuses_a_stack(*jobs[0]))
    for text in found:
        print(text, file=sys.stderr)
    print(f"looked at {len(jobs)} files; {sum(is_judged(words) for _, words, _ in jobs)} of them ptxas judged in the build")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
