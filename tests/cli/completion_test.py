#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The completion scripts in the shells they are for."""
import os
import pty
import re
import select
import shlex
import shutil
import signal
import subprocess
import time

import common
from common import Test, scenario, sweep

OPERATIONS = "broadcast reduce all-reduce all-gather reduce-scatter gather scatter all-to-all barrier send-recv".split()


class Cases:
    """What every shell must offer: complete(words) gives what may stand for the last, begun one."""

    def setUp(self):
        super().setUp()
        if shutil.which(self.shell_name) is None:
            self.skipTest(f"{self.shell_name} is not installed")
        self.script = self.folder / f"completion.{self.shell_name}"
        self.script.write_text(self.run_collsim("completion", self.shell_name).stdout)

    def test_commands(self):
        self.assertEqual(self.complete("collsim", "pre"), {"predict", "presets"})
        self.assertLessEqual({"run", "explain", "topo", "completion"}, self.complete("collsim", ""))

    def test_commands_of_commands(self):
        self.assertIn("show", self.complete("collsim", "topo", "sh"))

    def test_options(self):
        self.assertEqual(self.complete("collsim", "run", "--fo"), {"--format"})
        self.assertEqual(self.complete("collsim", "run", "--pri"), {"--print-resolved"})
        self.assertIn("--color", self.complete("collsim", "run", "--col"))
        self.assertEqual(self.complete("collsim", "--qu"), {"--quiet"})
        self.assertEqual(self.complete("collsim", "check", "--print"), set())

    def test_values(self):
        self.assertEqual(self.complete("collsim", "run", "--format", "js"), {"json", "jsonl"})
        self.assertEqual(self.complete("collsim", "run", "--color", "a"), {"auto", "always"})
        self.assertEqual(self.complete("collsim", "completion", ""), {"bash", "zsh", "fish"})
        self.assertEqual(self.complete("collsim", "predict", "all-r"), {"all-reduce"})
        self.assertEqual(self.complete("collsim", "algorithms", ""), set(OPERATIONS))
        self.assertEqual(self.complete("collsim", "predict", "reduce", "--preset", "dgx-h"), {"dgx-h100"})
        self.assertIn("double-tree", self.complete("collsim", "predict", "reduce", "--algorithm", "double"))

    def test_algorithms_of_the_operation(self):
        offered = self.complete("collsim", "predict", "all-to-all", "--algorithm", "")
        self.assertEqual(offered, {"auto", "nccl", "pairwise", "direct", "bruck", "hierarchical"})
        offered = self.complete("collsim", "predict", "./build/alltoall_perf", "--algorithm", "")
        self.assertIn("pairwise", offered)
        self.assertNotIn("ring", offered)
        self.assertIn("ring", self.complete("collsim", "predict", "--algorithm", ""))

    def test_paths_of_the_scenario(self):
        self.file(sweep([1, 2]), "one.json")
        self.assertEqual(self.complete("collsim", "run", "one.json", "--set", "cluster.link.o"), {"cluster.link.overhead="})
        self.assertEqual(self.complete("collsim", "explain", "one.json", "--at", ""), {"collective.chunks="})
        self.assertEqual(self.complete("collsim", "predict", "--set", ""), set())

    def test_every_path_of_a_preset_can_be_set(self):
        cluster = {"preset": "dgx-h100", "nodes": 2}
        file = self.file({"scenario": 1, "cluster": cluster, "collective": {"op": "all-reduce", "size": "8B"}}, "preset.json")
        offered = {path.rstrip("=") for path in self.complete("collsim", "run", "preset.json", "--set", "")}
        self.assertIn("cluster.override.nic.protocols.LL.hop", offered)
        resolved = self.run_collsim("run", file, "--print-resolved").stdout
        values = dict(re.findall(r"^(\S+) += (\S+)", resolved, re.MULTILINE))
        self.assertLessEqual(offered, set(values))
        sets = [word for path in sorted(offered) for word in ("--set", f"{path}={values[path]}")]
        done = self.run_collsim("run", file, *sets, "--print-resolved")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        slow = self.run_collsim("run", file, "--set", "cluster.override.nic.protocols.LL.hop=50us", "--print-resolved").stdout
        self.assertEqual(dict(re.findall(r"^(\S+) += (\S+)", slow, re.MULTILINE)),
                         {**values, "cluster.override.nic.protocols.LL.hop": "50us"})

    def test_files(self):
        self.file(scenario(), "one.json")
        self.file(scenario(), "other file.json")
        self.file("", "one.txt")
        (self.folder / "onward").mkdir()
        offered = {name.rstrip("/") for name in self.complete("collsim", "run", "on")}
        # Fish puts what fits first and does not leave the rest out.
        self.assertEqual(offered - ({"one.txt"} if self.shell_name == "fish" else set()), {"one.json", "onward"})
        self.assertEqual(self.complete("collsim", "run", "one.json", "oth"), {"other file.json"})
        self.assertIn("one.txt", self.complete("collsim", "run", "one.json", "-o", "one.t"))


class Bash(Cases, Test):
    shell_name = "bash"

    def complete(self, *words):
        line = f"""
            source {shlex.quote(str(self.script))}
            COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}
            _collsim; printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        return set(self.shell(line).stdout.splitlines()) - {""}

    def test_is_loaded_and_registered(self):
        done = self.shell(f"set -eu; source {shlex.quote(str(self.script))}; complete -p collsim")
        self.assertEqual(done.stdout, "complete -F _collsim collsim\n")
        self.assertEqual(done.stderr, "")

    def test_values_behind_an_equals_sign(self):
        self.assertEqual(self.complete("collsim", "run", "--format", "=", "js"), {"json", "jsonl"})
        self.assertIn("table", self.complete("collsim", "run", "--format", "="))


class Fish(Cases, Test):
    shell_name = "fish"

    def complete(self, *words):
        line = f"source {self.script}; complete -C {shlex.quote(shlex.join(words[:-1]) + ' ' + words[-1])}"
        done = subprocess.run(
            ["fish", "--no-config", "-c", line],
            cwd=self.folder,
            env=self.environment({"HOME": str(self.folder)}),
            capture_output=True,
            text=True,
            timeout=60 * common.SLOWER,
            check=True,
        )
        self.assertEqual(done.stderr, "")
        return {offer.split("\t")[0].replace("\\ ", " ") for offer in done.stdout.splitlines()}


# Zsh completes only in its line editor: a terminal of its own, and its own way to list.
ZSH_LISTING = r"""
autoload -Uz compinit && compinit -u -D
source {script}
PROMPT= ; unsetopt beep
zstyle ':completion:*' list-prompt ''
collect() {{
  compadd() {{
    local -a found
    if [[ ${{@[1,(i)(-|--)]}} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
    builtin compadd -O found "$@"
    print -rl -- $found >> {listing}
    builtin compadd "$@"
  }}
  _main_complete
  print -- "" > {done}
}}
zle -C collect complete-word collect
bindkey '^X' collect
print -- "" > {ready}
"""


class Zsh(Cases, Test):
    shell_name = "zsh"

    def complete(self, *words):
        files = {name: self.folder / f".{name}" for name in ("listing", "done", "ready")}
        for file in files.values():
            file.unlink(missing_ok=True)
        files["listing"].touch()
        setup = self.folder / ".setup"
        setup.write_text(ZSH_LISTING.format(script=self.script, **files))
        process, terminal = pty.fork()
        if process == 0:
            os.chdir(self.folder)
            os.environ.update(self.environment({"TERM": "dumb", "HOME": str(self.folder)}))
            os.execvp("zsh", ["zsh", "-f", "-i"])
        try:
            os.write(terminal, f"source {setup}\n".encode())
            self.wait_for(files["ready"], terminal)
            os.write(terminal, (shlex.join(words[:-1]) + " " + words[-1] + "\x18").encode())
            self.wait_for(files["done"], terminal)
        finally:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            os.close(terminal)
        return {offer.replace("\\ ", " ") for offer in files["listing"].read_text().splitlines()} - {""}

    def wait_for(self, file, terminal):
        end = time.monotonic() + 20
        while not file.exists():
            self.assertLess(time.monotonic(), end, f"zsh did not come to {file.name}")
            if select.select([terminal], [], [], 0.02)[0]:
                os.read(terminal, 65536)


if __name__ == "__main__":
    common.main()
