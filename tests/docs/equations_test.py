# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The equations of pages become MathML as the site makes it, and read on GitHub and in an editor as well; no formula
stands bare, where Markdown would make italics of it: equations_test.py ROOT
Exit code 77 where docutils is missing or too old."""
import re
import sys
import xml.etree.ElementTree

from pages import blocks, end, pages, prose, root_of

root = root_of(sys.argv[1])
sys.path.insert(0, str(root / "docs" / "site"))
try:
    from equations import mathml
except ImportError as missing:
    print(f"skipped: {missing} (scripts/setup.sh installs docutils 0.22)")
    sys.exit(77)

# What MyST and GitHub both take for a formula: no blank inside the dollars, and no letter or digit beside them.
INLINE = re.compile(r"(?<![\\$\w])\$(?![\s$])((?:[^$\n]|\n(?!\n))*?)(?<![\s\\])\$(?![\w$])")
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.S)
# Pages whose formulas are all typeset.
STRICT = re.compile(r"docs/(algorithms/\w+|choosing|design|planning|two_levels|wire_format)\.md")
# In an equation: what one of the three readers does not take, though docutils does.
REFUSED = {
    r"\\\\\s*\[": "the height of a line",
    r"_\{?\w+\}?_": "two subscripts",
    r"\\operatorname": "a command that GitHub refuses",
    r"\\text\{[^}]*_": "an underscore in a text",
}
# Markdown reads a formula in a line first: it takes a backslash away before a sign, and a bar for the end of a cell.
REFUSED_IN_LINES = {r"\\[^A-Za-z]": "a backslash before a sign", r"\|": "a bar", r"\*": "a star", r"<(?! )": "a tag"}
BARE = {
    r"(?<!\w)_+(?=\S)|(?<=\S)_+(?!\w)": "an underscore that begins or ends italics",
    r"\b\w_\w_\w\b": "a bare subscript",
}
BARE_IN_STRICT = {
    r"\b[^\W\d_]_[\w({]": "a bare subscript",
    r"\w\^|\^[\w({-]": "a bare power",
    r"\\\||\|[^|\s][^|\n]*\||√|\bsqrt\(": "a bare norm or root",
    r"<-": "a bare assignment",
    r"\b(gamma|lambda|beta\d?|sigma|Gamma|Delta)\b": "a Greek letter in words",
}
mistakes, checked = [], 0


def refuse(what, text, patterns):
    for pattern, why in patterns.items():
        for found in re.finditer(pattern, text):
            mistakes.append(f"{what}: {why}: {' '.join(text[max(0, found.start() - 30):found.end() + 30].split())}")


def expect_equation(what, latex, block):
    global checked
    checked += 1
    refuse(what, latex, REFUSED if block else REFUSED | REFUSED_IN_LINES)
    braces = re.sub(r"\\[{}]", "", latex)
    if braces.count("{") != braces.count("}") or latex.count(r"\left") - latex.count(r"\leftarrow") != len(
            re.findall(r"\\right(?!arrow)", latex)):
        mistakes.append(f"{what}: braces that do not match: {latex}")
    try:
        xml.etree.ElementTree.fromstring(mathml(latex, block).replace("&ApplyFunction;", ""))
    except (ValueError, xml.etree.ElementTree.ParseError) as mistake:
        mistakes.append(f"{what}: {mistake}: {latex}")


for page in pages(root):
    name = str(page.relative_to(root))
    for language, text in blocks(page):
        if language == "math":
            expect_equation(name, text, True)
    text = re.sub(r"<!--.*?-->", "", CODE.sub("`code`", prose(page)), flags=re.S)
    for latex in INLINE.findall(text):
        expect_equation(name, latex, False)
    # A link's target is no text.
    text = re.sub(r"\]\([^)\s]*\)", "]", INLINE.sub("formula", text))
    if "$" in text:
        mistakes += [f"{name}: a lone dollar: {line.strip()}" for line in text.splitlines() if "$" in line]
    # Cells end at a bar.
    text = re.sub(r"^\|.*\|$", lambda row: re.sub(r"(?<!\\)\|", "\n\n", row[0]), text, flags=re.M)
    refuse(name, text, BARE | (BARE_IN_STRICT if STRICT.fullmatch(name) else {}))
end(mistakes, checked)
