# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mistakes end kadam-bench exchange on all ranks with exit code 2 and one sentence.

exchange_refusal_test.py KADAM_BENCH LAUNCHER...
"""
import sys

from program import Program
from refusals import refusals

WRONG = (("--latency needs --rate", ["--latency", "1ms"]),
         ("--rate 100: expected a rate, as in 100mbit", ["--rate", "100"]),
         ("--latency 5m: expected seconds, as in", ["--rate", "1gbit", "--latency", "5m"]),
         ("no exchange has 'gossip' in its name", ["--only", "gossip"]),
         ("--elements", ["--elements", "0"]),
         ("--repetitions", ["--repetitions", "none"]),
         ("--seconds", ["--seconds", "0"]),
         ("not expected: --frobnicate", ["--frobnicate"]))

cases = [(words, ["exchange", *options], 2) for words, options in WRONG]
refusals(Program(sys.argv[1:]), [*cases, ("2 ranks or more", ["exchange", "--elements", "100"], 1)])
