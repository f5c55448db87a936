# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the package of kadam-report lies; and broken files for its readers."""
import pathlib
import random
import sys

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools" / "report"))


def changed(text, count):
    """So many times the text with a few bytes changed, left out or put in, or cut off; the same ones every time."""
    chance = random.Random(7)
    for _ in range(count):
        content = bytearray(text.encode())
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(content))
            kind = chance.randrange(8)
            if kind == 0:
                del content[place + 1 :]
            elif kind < 3:
                del content[place]
            elif kind < 5:
                content.insert(place, chance.choice(b'0123456789-.eE"[]{},:\\ntf'))
            else:
                content[place] = chance.choice((chance.randrange(256), *b'0123456789-eE"[]{},:\\'))
            content = content or bytearray(b"x")
        yield bytes(content)
