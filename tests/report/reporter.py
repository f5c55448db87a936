# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs kadam-report and reads its pages."""
import html.parser
import re

from expect import expect
from program import Program


class Page(html.parser.HTMLParser):
    """Text, tables and pictures of a page whose tags are all closed."""

    def __init__(self, path):
        super().__init__()
        self.source = path.read_text(encoding="utf-8")
        self.open, self.words, self.tables, self.curves, self.ids = [], [], {}, {}, set()
        self.figure, self.pictures = None, []
        self.feed(self.source)
        self.close()
        expect(not self.open, "not closed:", self.open)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag not in ("meta", "br", "wbr"):
            self.open.append(tag)
        if "id" in values:
            expect(values["id"] not in self.ids, "twice:", values["id"])
            self.ids.add(values["id"])
        if tag == "figure":
            self.figure = values["id"]
        if tag == "svg" and values.get("role") == "img":
            self.pictures.append(self.figure)
        if tag == "table":
            self.rows = self.tables.setdefault(values["aria-label"], [])
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        expect(self.open and self.open.pop() == tag, "unexpected end of", tag)

    def handle_data(self, data):
        if "style" in self.open:
            return
        self.words.append(data)
        if self.open and self.open[-1] in ("th", "td"):
            self.rows[-1][-1] += data

    @property
    def text(self):
        return "".join(self.words)


class Reporter:
    def __init__(self, path):
        self.program = Program([path], timeout=60)

    def start(self, *options, **settings):
        return self.program.start(0, *options, **settings)

    def page(self, out, *options, **settings):
        done = self.start(*options, "--out", out, **settings)
        expect(done.returncode == 0 and not done.stderr, options, done)
        expect(done.stdout == f"Report:  {out}\n", done.stdout)
        page = Page(out)
        expect_self_contained(page.source)
        return page


def expect_self_contained(source):
    for pattern in (r"https?://", r"\bsrc\s*=", r"@import", r"\burl\(", r"<script", r"<link", r"xlink:href"):
        expect(not re.search(pattern, source), "not self-contained:", pattern)
