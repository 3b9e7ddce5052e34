#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Feeds a fuzzer its seeds: replay.py FUZZER SEEDS...

Seeds are files, folders of them, archives of them, and JSON lines with a "scenario" each.  It needs no
build that counts what is executed, which fuzzing does.
"""

import itertools
import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile


def contents(seeds):
    """Names and bytes of all the seeds there."""
    if seeds.is_dir():
        for each in sorted(seeds.rglob("*")):
            if each.is_file():
                yield from contents(each)
    elif seeds.name.endswith(".tar.xz"):
        with tarfile.open(seeds) as archive:
            for member in archive:
                if member.isfile():
                    yield pathlib.Path(member.name).name, archive.extractfile(member).read()
    elif seeds.suffix == ".jsonl":
        for number, line in enumerate(seeds.read_text().splitlines(), 1):
            yield f"{seeds.name}-line-{number}", json.dumps(json.loads(line)["scenario"]).encode()
    else:
        yield seeds.name, seeds.read_bytes()


def main():
    fuzzer, *seeds = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        files = []
        for seed, content in itertools.chain.from_iterable(contents(pathlib.Path(each)) for each in seeds):
            files.append(f"{name}/{len(files)}-{seed}")  # libFuzzer says which it runs
            pathlib.Path(files[-1]).write_bytes(content)
        print(f"{len(files)} inputs")
        options = ["-timeout=60", "-rss_limit_mb=2048", f"-artifact_prefix={name}/"]
        sys.exit(not files or subprocess.run([fuzzer, *options, *files]).returncode)


main()
