# SPDX-License-Identifier: Apache-2.0
"""Runs a test with Node's test runner.  usage: run_in_browser.py FILE.test.mjs

Skipped with exit code 77 where something is missing, which is named; failed then when COLLSIM_NO_SKIPS
is set.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path


def missing(test):
    """What the test needs and does not find."""
    browser = os.environ.get("COLLSIM_CHROMIUM", "/usr/bin/chromium-headless-shell")
    if not shutil.which("node"):
        yield "Node is not installed"
    if test.name.startswith(("report_titles", "sentences_agree", "colours")):  # need no browser
        return
    if test.name.startswith("vendor"):  # neither does this
        if not (test.parent.parent.parent / "plots" / "vendor" / "node_modules" / "esbuild").is_dir():
            yield "esbuild is not installed: npm ci in plots/vendor, or ./dev test"
        return
    if not (test.parent / "node_modules" / "playwright-core").is_dir():
        yield "playwright-core is not installed: npm ci in tests/plots, or ./dev test"
    if not os.access(browser, os.X_OK):
        yield f"no browser at {browser}: Debian's package chromium-headless-shell, or COLLSIM_CHROMIUM"
    if test.name.startswith("playground") and not Path(os.environ["COLLSIM_PLAYGROUND"]).is_file():
        yield "the playground was not built: ./dev playground installs what that needs"


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    test = Path(arguments[0])
    reasons = list(missing(test))
    if reasons:
        print(f"skipped: {'; '.join(reasons)}")
        return 1 if os.environ.get("COLLSIM_NO_SKIPS") else 77
    return subprocess.run(["node", "--test", str(test)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
