# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers as people read them."""
import math

NONE = "–"


def plain(value):
    return f"{value:.4g}"


def steps(count):
    """"1500", "20k", "3M\""""
    if abs(count) >= 1e6:
        return f"{count / 1e6:.4g}M"
    return f"{count / 1e3:.4g}k" if abs(count) >= 1e4 else f"{count:.0f}"


def size(count):
    """Bytes; the limits are where rounding would make a thousand."""
    for limit, unit, digits, symbol in ((999.5, 1, 0, "B"), (999.95e3, 1e3, 1, "kB"), (999.995e6, 1e6, 2, "MB"),
                                        (999.995e9, 1e9, 2, "GB")):
        if count < limit:
            return f"{count / unit:.{digits}f} {symbol}"
    return f"{count / 1e12:.2f} TB"


def duration(seconds):
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes = math.floor(seconds / 60 + 0.5)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02} min"


def said(value, text):
    """text(value), or a dash if the value is not known."""
    return NONE if value is None else text(value)


def in_one_line(name):
    """Names go into pictures and lists: each is one line, and some characters at least."""
    return "".join(" " if c < " " or c == "\x7f" else c for c in name) or "?"


def plural(count, word):
    return f"{count} {word}" + ("" if count == 1 else "s")
