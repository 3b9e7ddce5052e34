#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Help and mistakes on the command line; every example of every help runs."""
import json
import re

import common
from common import Test, scenario, sweep

COMMANDS = "run merge explain predict check show trace report diff validate calibrate export compare import algorithms presets topo schema completion".split()


class Help(Test):
    def test_without_arguments(self):
        done = self.run_collsim(code=2)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr, self.run_collsim("-h").stdout)

    def test_one_screen_names_every_command(self):
        text = self.run_collsim("-h").stdout
        self.assertLessEqual(text.count("\n"), 24)
        self.assertEqual(re.findall(r"^  (\w+)  ", text.split("commands:")[1], re.MULTILINE), COMMANDS)

    def test_lines_fit(self):
        for arguments in [["--help"], *[[command, "--help"] for command in COMMANDS]]:
            for line in self.run_collsim(*arguments).stdout.splitlines():
                self.assertLessEqual(len(line), 100, line)

    def test_all_help_names_the_exit_codes(self):
        text = self.run_collsim("--help").stdout
        for code in (0, 1, 2, 3, 4, 70, 77, 130):
            self.assertRegex(text, rf"(?m)^  {code} +\w")

    def test_version(self):
        self.assertRegex(self.run_collsim("--version").stdout, r"^collsim \d+\.\d+\.\d+\n$")

    def test_every_example_runs(self):
        for folder in ("scenarios", "examples"):
            if (common.ROOT / folder).is_dir():
                (self.folder / folder).symlink_to(common.ROOT / folder)
        for command in [None, *COMMANDS]:
            text = self.run_collsim(*filter(None, [command]), "--help").stdout
            examples = [line.strip() for line in text.splitlines() if line.startswith("  collsim ")]
            self.assertTrue(examples, command)
            for example in examples:
                if example == "collsim calibrate -o machine.json":
                    continue  # takes a minute; the other example asks for smaller sizes only
                if example.startswith("collsim calibrate") and common.SANITIZED:
                    continue  # they measure and fit for minutes there; other builds run them
                with self.subTest(example):
                    self.shell(example)


class Mistakes(Test):
    def mistake(self, *arguments):
        done = self.run_collsim(*arguments, code=2)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_unknown_command(self):
        text = self.mistake("rnu", "x.json")
        self.assertIn('collsim: there is no command "rnu"; did you mean "run"?', text)
        self.assertIn("collsim --help", text)

    def test_a_file_in_place_of_a_command(self):
        self.assertIn('did you mean "collsim run case.json"?', self.mistake("case.json"))

    def test_unknown_options(self):
        self.assertIn(
            'collsim run: there is no option "--fromat"; did you mean "--format"?',
            self.mistake("run", "x.json", "--fromat", "json"),
        )
        self.assertIn('did you mean "--print-resolved"?', self.mistake("run", "x.json", "--print-resolve"))
        self.assertIn('did you mean "--color"?', self.mistake("run", "x.json", "--colr=never"))
        self.assertIn('there is no option "-z"', self.mistake("run", "x.json", "-z"))

    def test_options_in_front_of_their_command(self):
        self.assertIn(
            '--format belongs to "collsim run"; put it after that', self.mistake("--format", "json", "run", "x.json")
        )

    def test_unknown_format(self):
        text = self.mistake("run", "x.json", "--format", "jsno")
        self.assertIn('--format cannot be "jsno"; did you mean "json"?', text)
        self.assertIn("known: table, json, jsonl, csv, markdown, nccl-tests", text)

    def test_missing_and_superfluous(self):
        self.assertIn("collsim run: FILE is missing", self.mistake("run"))
        self.assertIn("collsim run: --format needs a value", self.mistake("run", "x.json", "--format"))
        self.assertIn('--format= has nothing after the "="', self.mistake("run", "--format=", "x.json"))
        self.assertIn('"zsh" is an unexpected argument', self.mistake("completion", "bash", "zsh"))
        self.assertIn("no command given", self.mistake("--quiet"))
        self.assertIn(
            "--format takes one value, not 2",
            self.mistake("run", "x.json", "--format", "csv", "--format", "json"),
        )

    def test_numbers(self):
        self.assertIn("--jobs cannot be 0: it takes 1 to 1024", self.mistake("run", "x.json", "--jobs", "0"))
        self.assertIn('--chunks takes a whole number, not "many"', self.mistake("predict", "reduce", "--chunks", "many"))

    def test_set(self):
        file = self.file(scenario())
        self.assertIn('did you mean "chunks"?', self.mistake("run", file, "--set", "collective.chunsk=2"))
        self.assertIn("--set", self.mistake("run", file, "--set", "collective.chunks"))
        self.assertIn("--set", self.mistake("run", file, "--set", "collective.size=64M"))

    def test_at(self):
        file = self.file(sweep([1, 2, 4]))
        self.run_collsim("explain", file, "--at", "chunks=2")
        self.assertIn(
            'the sweep does not change "collective.chunsk"; did you mean "collective.chunks"?',
            self.mistake("explain", file, "--at", "collective.chunsk=2"),
        )
        self.assertIn(
            "no point of the sweep has collective.chunks = 3; it takes 1, 2, 4",
            self.mistake("explain", file, "--at", "chunks=3"),
        )


class Predict(Test):
    def test_a_machine_is_needed(self):
        done = self.run_collsim("predict", "all-reduce", code=2)
        self.assertIn("no machine given", done.stderr)
        self.assertIn("dgx-h100", done.stderr)

    def test_unknown_words(self):
        preset = ("--preset", "dgx-h100")
        done = self.run_collsim("predict", "all-reduce", "--preset", "dgx-h10", code=2)
        self.assertIn('did you mean "dgx-h100"?', done.stderr)
        done = self.run_collsim("predict", "all-reduec", *preset, code=2)
        self.assertIn('did you mean "all-reduce"?', done.stderr)
        done = self.run_collsim("predict", "all-reduce", *preset, "--algorithm", "rign", code=2)
        self.assertIn('did you mean "ring"?', done.stderr)

    def test_sizes(self):
        def sizes(*arguments):
            shape = "--shape ring -g 4 --bandwidth 25GB/s --overhead 5us --format json".split()
            document = json.loads(self.run_collsim("predict", "all-reduce", *shape, *arguments).stdout)
            return [row["size_bytes"] for row in document["rows"]]

        self.assertEqual(sizes(), [32 << 20])
        self.assertEqual(sizes("-b", "1K", "-e", "8K", "-f", "2"), [1024, 2048, 4096, 8192])
        self.assertEqual(sizes("-b", "1K", "-e", "8k", "-f", "3"), [1024, 3072])
        self.assertEqual(sizes("-b", "1M", "-e", "3M"), [1 << 20, 2 << 20, 3 << 20])
        self.assertEqual(sizes("-b", "8", "-e", "16", "-i", "4"), [8, 12, 16])
        self.assertEqual(sizes("-b", "64MB"), [64000000])

    def test_bad_sizes(self):
        shape = "--shape ring -g 4 --bandwidth 25GB/s".split()
        for arguments, text in [
            (["-b", "8M", "-e", "1M"], "-e 1MiB is less than -b 8MiB"),
            (["-b", "x"], "-b x:"),
            (["-b", "8", "-e", "1T", "-i", "1"], "values"),
            (["-b", "8", "-e", "1M", "-f", "2", "-i", "4"], "do not go together"),
            (["-b", "8", "-e", "1M", "-f", "1"], "-f cannot be 1: it takes 2 to"),
        ]:
            self.assertIn(text, self.run_collsim("predict", "all-reduce", *shape, *arguments, code=2).stderr)

    def test_some_of_the_gpus(self):
        def ranks(*arguments, code=0):
            done = self.run_collsim(
                "predict", "all-reduce", "--preset", "dgx-h100", "--format", "json", *arguments, code=code
            )
            return json.loads(done.stdout)["rows"][0]["ranks"] if code == 0 else done.stderr

        self.assertEqual(ranks(), 8)
        self.assertEqual(ranks("-g", "4"), 4)
        self.assertEqual(ranks("-g", "4", "--nodes", "2"), 8)
        self.assertEqual(ranks("-g", "2", "-t", "3", "--nodes", "2"), 12)
        self.assertIn("a dgx-h100 has 8 GPUs", ranks("-g", "9", code=2))

    def test_the_scenario_does_the_same(self):
        arguments = "all-reduce -b 1M -e 4M -f 2 --preset dgx-h100 -g 4 --algorithm ring".split()
        printed = self.run_collsim("predict", *arguments, "--print-scenario").stdout
        predicted = json.loads(self.run_collsim("predict", *arguments, "--format", "json").stdout)
        ran = json.loads(self.run_collsim("run", self.file(printed), "--format", "json").stdout)
        self.assertEqual(predicted["rows"], ran["rows"])


if __name__ == "__main__":
    common.main()
