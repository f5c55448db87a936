# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mistakes end a program on all ranks with exit code 2 and one sentence."""
import concurrent.futures
import os
import pathlib
import sys
import tempfile

SESSIONS = "OMPI_MCA_orte_tmpdir_base"


def started(program, ranks, options):
    """The program, which has ended. Launchers of Open MPI that start at once need session folders of their own."""
    base = os.environ.get(SESSIONS)
    if base is None:
        return program.start(ranks, *options)
    pathlib.Path(base).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=base, prefix="", ignore_cleanup_errors=True) as sessions:
        return program.start(ranks, *options, environment={SESSIONS: sessions})


def failure(program, expected, options, ranks):
    """Empty if the program refuses as it should."""
    done = started(program, ranks, options)
    start = f"{pathlib.Path(program.path).name}: "
    sentences = [line for line in done.stderr.splitlines() if line.startswith(start)]
    print(done.returncode, *sentences)
    if done.returncode == 2 and len(sentences) == 1 and expected in sentences[0] and not done.stdout:
        return ""
    return f"expected exit code 2 and, once: {expected}\ngot {done.returncode}\n{done.stderr}{done.stdout}"


def refusals(program, cases):
    """Each case is a part of the sentence, options, and ranks; 0 ranks: without the launcher."""
    # Most of the time is the launcher waiting for processes that have ended.
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        failures = list(filter(None, pool.map(lambda case: failure(program, *case), cases)))
    if failures:
        sys.exit("\n".join(failures))
