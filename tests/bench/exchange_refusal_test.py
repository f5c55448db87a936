# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mistakes end kadam-bench exchange on all ranks with exit code 2 and one sentence.

exchange_refusal_test.py KADAM_BENCH LAUNCHER...
"""
import concurrent.futures
import subprocess
import sys

PROGRAM, LAUNCHER = sys.argv[1], sys.argv[2:]
# Part of the sentence, ranks, options.
CASES = (("--latency needs --rate", 2, ["--latency", "1ms"]),
         ("--rate 100: expected a rate, as in 100mbit", 2, ["--rate", "100"]),
         ("--latency 5m: expected seconds, as in", 2, ["--rate", "1gbit", "--latency", "5m"]),
         ("no exchange's name holds 'gossip'", 2, ["--only", "gossip"]),
         ("--elements", 2, ["--elements", "0"]),
         ("--repetitions", 2, ["--repetitions", "none"]),
         ("--seconds", 2, ["--seconds", "0"]),
         ("not expected: --frobnicate", 2, ["--frobnicate"]),
         ("2 ranks or more", 1, ["--elements", "100"]))


def failure(words, ranks, wrong):
    refused = subprocess.run([*LAUNCHER, str(ranks), PROGRAM, "exchange", *wrong], capture_output=True, text=True,
                             check=False, timeout=50)
    sentences = [line for line in refused.stderr.splitlines() if line.startswith("kadam-bench: ")]
    said = len(sentences) == 1 and words in sentences[0]
    return "" if refused.returncode == 2 and said and refused.stdout == "" else f"{wrong}: {refused}"


# Most of the time is the launcher waiting for processes that have ended.
with concurrent.futures.ThreadPoolExecutor(3) as pool:
    failures = list(filter(None, pool.map(lambda case: failure(*case), CASES)))
if failures:
    sys.exit("\n".join(failures))
