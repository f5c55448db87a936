# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Labs of scripts/slurmlab.sh, for the tests that use one."""
import os
import pathlib
import subprocess
import sys


def folder_of(lab):
    return pathlib.Path("/tmp/kadam-slurmlab") / lab


def ask(script, lab, *words, env=None, **options):
    """What the script says to these words about a lab. A hang ends the test, and shows how the lab is."""
    try:
        return subprocess.run([script, *map(str, words)], capture_output=True, text=True, check=False, timeout=100,
                              env=(env or os.environ) | {"KADAM_SLURMLAB": lab}, **options)
    except subprocess.TimeoutExpired as hung:
        said = [text.decode() if isinstance(text, bytes) else text or "" for text in (hung.stdout, hung.stderr)]
        return sys.exit("\n".join([f"failed: {words} hangs", *said, *how_it_is(lab)]))


def how_it_is(lab):
    """Its jobs, nodes and processes, and the last lines of its daemons."""
    its = os.environ | {"SLURM_CONF": str(folder_of(lab) / "slurm.conf")}
    for words in (["squeue", "--long"], ["sinfo", "--Node", "--long"],
                  ["ps", "-eo", "pid,ppid,pgid,etimes,stat,wchan:24,args", "--forest"]):
        # A daemon that hangs must not hide the others.
        shown = subprocess.run(["timeout", "5", *words], capture_output=True, text=True, env=its, check=False)
        yield f"---- {words[0]}\n{shown.stdout}{shown.stderr}"
    for log in sorted(folder_of(lab).glob("*.log")):
        yield "\n".join([f"---- {log.name}", *log.read_text(errors="replace").splitlines()[-40:]])
