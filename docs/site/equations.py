# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Equations of pages become MathML, which browsers show without a script. Docutils, which Sphinx is built on, converts
them; it refuses a command that it does not know. tests/docs/equations_test.py uses this without Sphinx."""
import re

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml


# Space around operators as in LaTeX: what docutils leaves out, browsers guess from the neighbours.
SPACE = [
    (r'<mo class="mathopen">', '<mo form="prefix" class="mathopen">'),
    (r"<mo>([|\u2016])</mo>", r'<mo form="postfix">\1</mo>'),
    (r"(<mtd>\s*)<mo>([=\u2190])", r'\1<mo form="infix">\2'),
    (r"<mo>(max|min)</mo>(?=\s*<mo[^>]*>\()", r'<mo lspace="0.17em" rspace="0">\1</mo>'),
    (r"<mo>(max|min)</mo>", r'<mo lspace="0.17em" rspace="0.17em">\1</mo>'),
]


def mathml(latex, block=False):
    """Errors: ValueError, which says what is wrong."""
    try:
        text = tex2mathml(latex.strip(), as_block=block)
    except MathError as mistake:
        raise ValueError(str(mistake)) from mistake
    except Exception as mistake:  # of what is no LaTeX at all, docutils makes exceptions of many kinds
        raise ValueError(f"cannot be read ({type(mistake).__name__})") from mistake
    for pattern, better in SPACE:
        text = re.sub(pattern, better, text)
    return text


def show(writer, node, block):
    from sphinx.util import logging

    try:
        writer.body.append(mathml(node.astext(), block))
    except ValueError as mistake:
        logging.getLogger(__name__).warning("%s: %s", node.astext(), mistake, location=node)
    raise nodes.SkipNode


def show_block(writer, node):
    # A long line scrolls by itself, not with the page.
    writer.body.append('<div class="equation">')
    try:
        show(writer, node, block=True)
    finally:
        writer.body.append("</div>\n")


def setup(app):
    app.add_html_math_renderer("mathml", inline_renderers=(lambda writer, node: show(writer, node, block=False), None),
                               block_renderers=(show_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
