#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes README.md and all that it leads to as a static site: lessons, documentation, scenarios, sources that
the documentation points at, the playground, and a gallery of the lessons' pictures and settings.

usage: build.py ROOT PROGRAM PLAYGROUND FOLDER

Needs cmark-gfm, which renders Markdown as forges do.  Links that lead nowhere are errors, each with its page.
"""
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
PLAYGROUND = "build/release/playground.html"  # where pages expect it
MOVED = {"README.md": "index.html", PLAYGROUND: "playground.html"}
PICTURES = {".svg", ".png"}
LINK = re.compile(r'\b(href|src|srcset)="([^"]*)"')
HEADING = re.compile(r"<h([1-6])>(.*?)</h\1>", re.DOTALL)
LESSON = re.compile(r"^\| \d+ \| \[([^\]]+)\]\(([^)]+)\) \| (.*?) \|$", re.MULTILINE)
TRY_IT = re.compile(r"\(\.\./\.\./build/release/playground\.html(#[^)\s]+)\)")
LIVE = re.compile(r"<!-- live: ([a-z_, -]+?) -->")  # below a link to the playground: its figures and knobs to show here
PLAYGROUND_LINK = re.compile(r'href="([^"#]*playground\.html#[^"]+)"')
# Live figures say how high they are.
FRAME_HEIGHTS = """
addEventListener("message", ({ data, source }) => {
  for (const frame of document.querySelectorAll("iframe.live"))
    if (frame.contentWindow === source && data?.collsimHeight) frame.style.height = `${data.collsimHeight + 2}px`;
});
"""
PICTURE = re.compile(r"!\[(.*?)\]\((pictures/[^)]+)\)", re.DOTALL)
# What the gallery shows as a page of figures.
REPORTS = [
    "scenarios/lecture/ring-broadcast.json",
    "scenarios/lecture/naive-master-ring.json",
    "scenarios/lecture/one-slow-link.json",
    "scenarios/training/buckets.json",
    "scenarios/training/pipelines.json",
]


class Broken(Exception):
    """A page that cannot be made as it is."""


def anchor(heading):
    """The name that forges give a heading."""
    words = html.unescape(re.sub(r"<[^>]*>", "", heading)).strip().lower()
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def with_anchors(body):
    """The body whose headings can be linked to."""
    return HEADING.sub(
        lambda match: f'<h{match[1]} id="{html.escape(anchor(match[2]))}">{match[2]}</h{match[1]}>', body
    )


def title_of(body, otherwise):
    heading = re.search(r"<h1[^>]*>(.*?)</h1>", body, re.DOTALL)
    return html.unescape(re.sub(r"<[^>]*>", "", heading[1])) if heading else otherwise


def is_outside(link):
    return re.match(r"[a-z]+:", link) is not None


class Site:
    def __init__(self, root, program, playground, folder):
        self.root, self.program, self.folder = root, program, folder
        self.template = (HERE / "page.html").read_text()
        self.to_do = ["README.md", "docs/README.md", "docs/lessons/README.md"]  # every page links to them
        self.seen = {*self.to_do, PLAYGROUND}
        self.links = []  # (page, target, fragment), to be looked at when all pages are there
        self.anchors = {}  # of each page
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(playground, folder / "playground.html")
        style = (root / "plots/common/theme.css").read_text() + (HERE / "site.css").read_text()
        (folder / "site.css").write_text(style)

    # --- addresses ---

    def address(self, source):
        """Where a file or folder of the repository is in the site."""
        path = self.root / source
        if source in MOVED:
            return MOVED[source]
        if path.is_dir():
            return f"{source}/index.html"
        if path.suffix in PICTURES:
            return source
        if path.name == "README.md":
            return f"{path.parent.relative_to(self.root)}/index.html"
        return (source[:-3] if path.suffix == ".md" else source) + ".html"

    def link(self, page, link):
        """A link of a page of the repository as the same page of the site has it."""
        if is_outside(link) or link.startswith("#"):
            if link.startswith("#"):
                self.links.append((page, page, link[1:]))
            return link
        path, _, fragment = link.partition("#")
        base = self.root / page
        base = base if base.is_dir() else base.parent
        target = os.path.relpath((base / path).resolve(), self.root)
        if target != PLAYGROUND and not (self.root / target).exists():
            raise Broken(f"{page}: there is no {target} to link to")
        if (self.root / target).is_dir() and (self.root / target / "README.md").exists():
            target = os.path.normpath(f"{target}/README.md")
        if target not in self.seen:
            self.seen.add(target)
            self.to_do.append(target)
        if fragment and target != PLAYGROUND:
            self.links.append((page, target, fragment))
        to = os.path.relpath(self.address(target), os.path.dirname(self.address(page)) or ".")
        return to + (f"#{fragment}" if fragment else "")

    # --- pages ---

    def write(self, address, title, body):
        up = "../" * address.count("/")
        path = self.folder / address
        path.parent.mkdir(parents=True, exist_ok=True)
        page = self.template.replace("{title}", html.escape(title)).replace("{up}", up)
        path.write_text(page.replace("{body}", body))

    def write_markdown(self, source):
        run = subprocess.run(
            ["cmark-gfm", "--unsafe", "-e", "table", "-e", "autolink", "-e", "strikethrough", str(self.root / source)],
            capture_output=True, text=True, check=True)
        body = with_anchors(run.stdout)
        self.anchors[source] = set(re.findall(r'\bid="([^"]+)"', body))
        body = LINK.sub(
            lambda match: f'{match[1]}="{html.escape(self.link(source, html.unescape(match[2])))}"', body)
        body = LIVE.sub(lambda match: self.frame(source, match[1], body[:match.start()]), body)
        body = body.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")
        if 'class="live"' in body:
            body += f"<script>{FRAME_HEIGHTS}</script>"
        self.write(self.address(source), title_of(body, source), body)

    @staticmethod
    def frame(source, parts, before):
        """The playground in the page, at the setting of the last link to it."""
        links = PLAYGROUND_LINK.findall(before)
        if not links:
            raise Broken(f"{source}: no link to the playground before the live figure {parts}")
        embed = "".join(parts.split())
        return (f'<iframe class="live" src="{links[-1]}&amp;embed={embed}" loading="lazy" '
                f'title="The playground at this setting"></iframe>')

    def write_folder(self, source):
        """Of a folder without a README: what is in it."""
        entries = sorted(entry.name for entry in (self.root / source).iterdir() if not entry.name.startswith("."))
        rows = "".join(f'<li><a href="{html.escape(self.link(source, name))}">{html.escape(name)}</a></li>'
                       for name in entries if name != "CMakeLists.txt")
        self.write(self.address(source), source, f"<h1>{html.escape(source)}</h1>\n<ul>{rows}</ul>")

    def write_text(self, source):
        text = (self.root / source).read_text()
        name = html.escape(source)
        file = html.escape(os.path.basename(source))
        shutil.copy(self.root / source, self.copied(source))
        self.write(self.address(source), source,
                   f'<h1>{name}</h1>\n<p><a href="{file}" download>Download</a></p>\n<pre><code>{html.escape(text)}</code></pre>')

    def copied(self, source):
        path = self.folder / source
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def write_page(self, source):
        path = self.root / source
        if path.is_dir():
            self.write_folder(source)
        elif path.suffix == ".md":
            self.write_markdown(source)
        elif path.suffix in PICTURES:
            shutil.copy(path, self.copied(source))
        else:
            self.write_text(source)

    # --- the gallery ---

    def write_gallery(self):
        lessons = (self.root / "docs/lessons/README.md").read_text()
        cards = [self.card(*found) for found in LESSON.findall(lessons)]
        if not cards:
            raise Broken("docs/lessons/README.md: no table of lessons to make a gallery of")
        reports = "".join(f'<li><a href="{address}">{html.escape(title)}</a></li>'
                          for address, title in map(self.write_report, REPORTS))
        body = (HERE / "gallery.html").read_text().replace("{cards}", "".join(cards)).replace("{reports}", reports)
        self.write("gallery.html", "Gallery", body)

    def card(self, title, page, idea):
        text = (self.root / "docs/lessons" / page).read_text()
        lesson = self.address(f"docs/lessons/{page}")
        picture = PICTURE.search(text)
        setting = TRY_IT.search(text)
        parts = [f'<h2><a href="{lesson}">{html.escape(title)}</a></h2>', f"<p>{html.escape(idea)}</p>"]
        if picture:
            about = html.escape(" ".join(picture[1].split()))
            parts.append(f'<a href="{lesson}"><img src="docs/lessons/{picture[2]}" alt="{about}"></a>')
        if setting:
            parts.append(f'<p><a href="playground.html{html.escape(setting[1])}">Open in the playground</a></p>')
        return f"<article>{''.join(parts)}</article>\n"

    def write_report(self, scenario):
        """The report of a run: its address, and the scenario's title."""
        address = f"reports/{pathlib.Path(scenario).stem}.html"
        (self.folder / "reports").mkdir(exist_ok=True)
        run = subprocess.run([self.program, "run", scenario, "--quiet", "-o", self.folder / address],
                             cwd=self.root, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise Broken(f"{scenario}: {run.stderr.strip() or run.stdout.strip()}")
        return address, json.loads((self.root / scenario).read_text()).get("title", scenario)

    # --- all of it ---

    def make(self):
        while self.to_do:
            self.write_page(self.to_do.pop())
        for page, target, fragment in self.links:
            if target.endswith(".md") and fragment not in self.anchors[target]:
                raise Broken(f"{page}: {target} has no heading #{fragment}")
        self.write_gallery()
        return len(self.seen)


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    root, program, playground, folder = map(lambda name: pathlib.Path(name).absolute(), sys.argv[1:])
    try:
        pages = Site(root, program, playground, folder).make()
    except Broken as broken:
        sys.exit(f"site: {broken}")
    print(f"{folder}/index.html: {pages} pages and pictures, to be copied to any web server")


if __name__ == "__main__":
    main()
