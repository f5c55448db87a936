# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A picture with its texts, legend and table."""
from dataclasses import dataclass, field

WIDTH = 480  # narrow, so that letters can be read where it is scaled to the width of a phone


@dataclass
class Key:
    """A colour with its name."""

    text: str
    colour: str
    dashes: tuple = ()  # empty: a whole line
    is_area: bool = False


@dataclass
class Table:
    """The first cell of a row is its heading."""

    name: str  # for those who do not see what is above it
    header: list
    rows: list = field(default_factory=list)


@dataclass
class Figure:
    """name: of its place in the page, letters, digits and hyphens; description: for those who do not see it."""

    name: str
    title: str
    description: str
    caption: str
    legend: list
    table: Table
    svg: str
    height: int = 330  # at WIDTH
