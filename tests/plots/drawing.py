# SPDX-License-Identifier: Apache-2.0
"""Pictures by plots/figures.py, for tests that have put its folder among those of modules."""
import contextlib
import io
import subprocess
import sys


def draw(*words):
    """What figures.py does with these words, told as a process tells it, but sooner: none has to start."""
    import figures

    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        code = figures.main(list(map(str, words)))
    return subprocess.CompletedProcess(words, code, stderr=said.getvalue())


def draw_in_a_process(figures, words, python=(sys.executable, "-B")):
    return subprocess.run([*python, figures, *map(str, words)], capture_output=True, text=True, check=False)
