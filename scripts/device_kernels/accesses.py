# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How often, and how wide, a kernel reads and writes the GPU's memory: counted in its machine code (SASS).

A loop that is unrolled has each access several times, and rare accesses stand beside frequent ones. So the count is of
one round of one loop, without the loops inside it, and of the heaviest way through it: the one with most of the widest
accesses (where there is a way for aligned memory, that way; where there is a mask, the way that reads it). Of the loops
of a kernel, the one with the heaviest round counts; the code outside of all loops is one of them.
"""
import re
import sys
from collections import Counter
from dataclasses import dataclass, field

LINE = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)\s*([^;]*);")
ENDS = ("EXIT", "RET", "BRX", "JMX", "KILL")


@dataclass
class Block:
    """Instructions that are executed one after the other."""
    accesses: dict = field(default_factory=lambda: {"load": Counter(), "store": Counter()})
    follows: list = field(default_factory=list)  # numbers of the blocks that may come next


def access_of(opcode):
    """("load" or "store", bits) of an instruction that accesses global memory, or may; None for others."""
    first, *rest = opcode.split(".")
    kind = {"LDG": "load", "LD": "load", "STG": "store", "ST": "store"}.get(first)
    if kind is None:
        return None
    narrow = {"U8": 8, "S8": 8, "U16": 16, "S16": 16, "64": 64, "128": 128}
    return kind, next((narrow[word] for word in rest if word in narrow), 32)


def blocks_of(text):
    """The blocks of a function; it begins in block 0."""
    lines = [(int(m.group(1), 16), bool(m.group(2)), m.group(3), m.group(4)) for m in LINE.finditer(text)]
    target = {at: int(m.group(1), 16) for at, _, op, rest in lines
              if op.split(".")[0] in ("BRA", "JMP") and (m := re.search(r"0x([0-9a-f]+)\s*$", rest.strip()))}
    starts = {lines[0][0], *target.values()}
    for (at, _, op, _), following in zip(lines, lines[1:]):
        if at in target or op.split(".")[0] in ENDS:
            starts.add(following[0])
    number = {at: k for k, at in enumerate(sorted(starts))}
    blocks = [Block() for _ in number]
    current = 0
    for k, (at, is_predicated, op, rest) in enumerate(lines):
        current = number.get(at, current)
        if access := access_of(op):
            blocks[current].accesses[access[0]][access[1]] += 1
        is_last = k + 1 == len(lines) or lines[k + 1][0] in number
        if not is_last:
            continue
        if at in target and target[at] in number:
            blocks[current].follows.append(number[target[at]])
        always = not is_predicated and (op.split(".")[0] in ENDS or op in ("BRA", "JMP") and "," not in rest)
        if not always and k + 1 < len(lines):
            blocks[current].follows.append(number[lines[k + 1][0]])
    return blocks


def dominators_of(blocks):
    """(for each block the blocks on every way to it, as bits of a number; for each block the blocks before it)."""
    everything = (1 << len(blocks)) - 1
    dominators = [1] + [everything] * (len(blocks) - 1)
    before = [[] for _ in blocks]
    for k, block in enumerate(blocks):
        for follows in block.follows:
            before[follows].append(k)
    changed = True
    while changed:
        changed = False
        for k in range(1, len(blocks)):
            common = everything
            for b in before[k]:
                common &= dominators[b]
            common |= 1 << k
            if common != dominators[k]:
                dominators[k] = common
                changed = True
    return dominators, before


def loops_of(blocks):
    """[(first block, blocks)]: the whole function, then its loops, the largest first."""
    dominators, before = dominators_of(blocks)
    loops = {}
    for last, block in enumerate(blocks):
        for first in block.follows:
            if not dominators[last] >> first & 1:
                continue
            body, ahead = loops.setdefault(first, {first}), [last]
            while ahead:
                k = ahead.pop()
                if k not in body:
                    body.add(k)
                    ahead += before[k]
    return [(0, set(range(len(blocks))))] + sorted(loops.items(), key=lambda loop: -len(loop[1]))


def weight(widths):
    """Sort key of {bits: count}: more of the widest accesses are heavier."""
    return tuple(widths[bits] for bits in (128, 64, 32, 16, 8))


def accesses_of(text, nth=0):
    """{"load": {bits: count}, "store": {bits: count}} of one round of a loop. For each of the two it is the loop with
    the heaviest round, or the nth one after it; loops with the same counts are one."""
    blocks = blocks_of(text)
    loops = loops_of(blocks)
    innermost = {}
    for n, (_, body) in enumerate(loops):  # the largest first
        innermost.update(dict.fromkeys(body, n))
    sys.setrecursionlimit(20 * len(blocks) + 1000)
    found = {}
    for kind in ("load", "store"):
        ways = []
        for n in range(len(loops)):
            way = heaviest_way(blocks, loops, innermost, n, kind)
            if way not in ways:
                ways.append(way)
        ways.sort(key=weight, reverse=True)
        found[kind] = ways[min(nth, len(ways) - 1)]
    return found


def heaviest_way(blocks, loops, innermost, n, kind):
    """{bits: count} on the heaviest way through loop n."""
    known = {}

    def from_here(k):
        if k not in known:
            known[k] = Counter()  # a way ends at a block of its own, as a round does at its first
            rest = max((from_here(b) for b in blocks[k].follows), key=weight, default=Counter())
            own = blocks[k].accesses[kind] if innermost[k] == n else Counter()
            known[k] = own + rest
        return known[k]

    return from_here(loops[n][0])
