# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sphinx reads the Markdown pages where they lie. scripts/docs.sh calls it; the source folder is the repository."""
import pathlib
import posixpath
import re
import sys

repository = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(repository / "docs" / "site"))
release = re.search(r"project\(Kadam VERSION ([\d.]+)", (repository / "CMakeLists.txt").read_text())[1]
project = "Kadam"
html_title = f"Kadam {release}"

extensions = ["myst_parser", "breathe", "equations"]
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**.md"]
# Folders without pages are not looked into: build folders are large.
exclude_patterns = [entry.name for entry in repository.iterdir() if entry.is_dir() and entry.name != "docs"]
myst_heading_anchors = 4
# $...$ as GitHub reads it, and its blocks ```math.
myst_enable_extensions = ["dollarmath"]
myst_dmath_allow_space = False
myst_update_mathjax = False
myst_fence_as_directive = {"math"}
html_math_renderer = "mathml"
highlight_language = "text"
breathe_projects = {"kadam": str(repository / "build" / "docs-work" / "xml")}
breathe_default_project = "kadam"
breathe_default_members = ("members", "undoc-members")
breathe_show_include = False

html_theme = "furo"
html_extra_path = ["index.html"]
html_copy_source = False
html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["site.css"]
smartquotes = False


def toctree(entries, caption=""):
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join(["", "```{toctree}", *options, "", *entries, "```", ""])


def adapt(_app, page, source):
    """The menu follows the pages: the parts of docs/index.md, and below a README what it links to in its folder."""
    folder = posixpath.dirname(page)
    # In the repository a link may be named after its file; here it gets the title of its page.
    source[0] = re.sub(r"\[[\w./]+\.md\]\(", "[](", source[0])
    if page == root_doc:
        for part in source[0].split("\n## ")[1:]:
            found = re.findall(r"^- \[([^]]+)\]\(([^)]+)\.md\)", part, re.M)
            entries = [f"{title} </{posixpath.normpath(posixpath.join(folder, path))}>" for title, path in found]
            source[0] += toctree(entries, part.split("\n")[0])
    elif folder and posixpath.basename(page) == "README":
        children = dict.fromkeys(re.findall(r"\]\((\w+)\.md\)", source[0]))
        if children:
            source[0] += toctree(children)


def setup(app):
    app.connect("source-read", adapt)
