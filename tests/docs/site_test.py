#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`./dev site`: every page is there and every link of it leads somewhere, and a broken one is an error.

usage: site_test.py ROOT PROGRAM

Exit code 77: there is no cmark-gfm; a failure when COLLSIM_NO_SKIPS is set.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

LINK = re.compile(r'\b(?:href|src|srcset)="([^"]*)"')


def build(root, program, folder):
    playground = folder.parent / "playground.html"  # its contents do not matter here
    playground.write_text("<!doctype html><title>Playground</title>")
    return subprocess.run([sys.executable, "-B", root / "docs/site/build.py", root, program, playground, folder],
                          capture_output=True, text=True, check=False)


def broken_links(folder):
    """Each link of the site's pages to something that the folder does not hold."""
    for page in folder.rglob("*.html"):
        if page.parent.name == "reports":
            continue  # made by the program, which has tests of its own
        for link in LINK.findall(page.read_text()):
            path = urllib.parse.unquote(link.partition("#")[0])
            if path and not re.match(r"[a-z]+:", path) and not (page.parent / path).exists():
                yield f"{page.relative_to(folder)}: {link}"


def check_site(root, program, work):
    run = build(root, program, work / "site")
    assert run.returncode == 0, run.stderr
    assert not (broken := list(broken_links(work / "site"))), broken[:5]
    lesson = (work / "site/docs/lessons/04-the-best-number-of-messages.html").read_text()
    assert 'href="../../playground.html#op=broadcast' in lesson, "no link to the playground"
    assert re.search(r"<details><summary>Solution</summary>\s*<p>", lesson), "Markdown in <details> is not rendered"
    assert re.search(r'<iframe class="live" src="../../playground.html#op=broadcast[^"]*;embed=chunk-curve,', lesson), "no live figure"
    gallery = (work / "site/gallery.html").read_text()
    lessons = list((root / "docs/lessons").glob("[0-9]*.md"))
    assert gallery.count("<article>") == len(lessons), "a lesson is missing in the gallery"
    reports = dict(re.findall(r'<li><a href="(reports/[^"]*)">(.*?)</a></li>', gallery))
    assert len(reports) > 3 and len(set(reports.values())) == len(reports), f"links to reports that are called alike: {reports}"
    assert reports["reports/ring-broadcast.html"] == "Ring broadcast: into how many messages should the buffer be cut?", reports
    front = (work / "site/index.html").read_text()
    picture, what = front.find("<picture"), front.find("How long does an all-reduce take on your GPUs")
    assert 0 < what < 600 + front.find("<h1"), "the front page does not begin with what collsim is"
    assert what < picture < front.find("<h2"), "the front page's picture is not at its top"


def check_a_broken_link(root, program, work):
    copy = work / "copy"
    for part in ("docs/site", "plots/common"):
        shutil.copytree(root / part, copy / part)
    (copy / "docs/lessons").mkdir()
    for page in ("docs/README.md", "docs/lessons/README.md", "docs/tuning.md"):
        (copy / page).write_text("# A page\n\n[top](#a-page)\n")
    for change, complaint in (
        ("[x](docs/no-such-page.md)", "README.md: there is no docs/no-such-page.md to link to"),
        ("<!-- live: stepper -->", "README.md: no link to the playground before the live figure stepper"),
        ("[x](docs/tuning.md#no-such-heading)", "README.md: docs/tuning.md has no heading #no-such-heading"),
        ("[x](docs/tuning.md#a-page)", "docs/lessons/README.md: no table of lessons to make a gallery of"),
    ):
        (copy / "README.md").write_text(f"# A page\n\n{change}\n")
        run = build(copy, program, work / "broken")
        assert run.returncode == 1 and complaint in run.stderr, run.stderr


def main():
    root, program = (pathlib.Path(name).absolute() for name in sys.argv[1:3])
    if shutil.which("cmark-gfm") is None:
        print("skipped: there is no cmark-gfm")
        sys.exit(1 if os.environ.get("COLLSIM_NO_SKIPS") else 77)
    with tempfile.TemporaryDirectory() as folder:
        check_site(root, program, pathlib.Path(folder))
        check_a_broken_link(root, program, pathlib.Path(folder))


if __name__ == "__main__":
    main()
