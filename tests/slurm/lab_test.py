# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/slurmlab.sh: jobs run, nodes are lost and mended, mistakes are said, nothing is left: lab_test.py SLURMLAB"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import slurm_lab
from expect import expect

SLURMLAB = sys.argv[1]
LAB = f"lab{os.getpid()}"


def slurmlab(*words, lab=LAB):
    return slurm_lab.ask(SLURMLAB, lab, *words)


def done(*words):
    """What it says; it must not fail."""
    ended = slurmlab(*words)
    expect(ended.returncode == 0, words, ended)
    return ended.stdout


def processes_of(lab):
    """Daemons, jobs and what these have started: all of them know where the lab's configuration is."""
    conf = f"SLURM_CONF={slurm_lab.folder_of(lab)}/slurm.conf".encode()
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if conf in path.read_bytes().split(b"\0"):
                found.append((path.parent / "cmdline").read_bytes())
        except OSError:
            pass  # it has ended
    return found


def left_behind(lab):
    folder = slurm_lab.folder_of(lab)
    return processes_of(lab) + [folder] * folder.exists()


def node_states():
    return done("run", "sinfo", "--noheader", "--Node", "--format=%N %T").split("\n")[:-1]


def wait_for(condition, what):
    end = time.monotonic() + 60
    while not condition():
        expect(time.monotonic() < end, "waited in vain for", what)
        time.sleep(0.2)


def runs_jobs():
    hosts = done("run", "srun", "--nodes=2", "--ntasks-per-node=2", "sh", "-c", "echo $(hostname) $SLURM_LOCALID")
    expect(sorted(hosts.split("\n")[:-1]) == ["n1 0", "n1 1", "n2 0", "n2 1"], hosts)
    seen = done("run", "--", "srun", "--gpus=3", "--nodes=1", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES")
    expect(seen == "0,1,2\n", seen)
    listed = slurmlab("run", "srun", "--mpi=list")
    expect("pmix" in listed.stdout + listed.stderr, listed)
    ended = slurmlab("run", "srun", "sh", "-c", "exit 7")
    expect(ended.returncode == 7, ended)
    # With the environment of another cluster's job.
    foreign = {"SLURM_JOB_ID": "77", "SLURM_CONF": "/nowhere", "SBATCH_PARTITION": "elsewhere"}
    ended = subprocess.run([SLURMLAB, "run", "--name", LAB, "srun", "true"], env=os.environ | foreign, timeout=30,
                           capture_output=True, text=True, check=False)
    expect(ended.returncode == 0, ended)


def loses_a_node():
    """With all that runs on it."""
    with tempfile.TemporaryDirectory() as folder:
        started = pathlib.Path(folder) / "started"
        done("run", "sbatch", "--nodelist=n2", "--output=/dev/null", "--wrap", f"touch {started}; exec sleep 600")
        wait_for(started.exists, "a job")
    running = processes_of(LAB)
    expect(any(b"sleep" in one for one in running), running)
    done("lose", "n2")
    wait_for(lambda: not any(b"sleep" in one or b"-N\0n2" in one for one in processes_of(LAB)), "an end of n2")


def gets_it_back():
    wait_for(lambda: "n2 down*" in node_states(), "Slurm to notice that n2 is lost")
    expect("n1 idle" in node_states(), node_states())
    done("run", "scancel", "--user=root")
    done("mend", "n2")
    wait_for(lambda: node_states() == ["n1 idle", "n2 idle"], "n2")


def refuses_in_words():
    for wrong, word in ((("up",), "already"), (("run",), "a command"), (("lose", "n3"), "n1 to n2"),
                        (("lose", "../n1"), "no node"), (("mend", "n1"), "not lost"), (("turn",), "turn"),
                        (("run", "--nodes", "2", "true"), "no option of run"), (("up", "--nodes", "0"), "from 1"),
                        (("up", "--nodes"), "a value"), (("down", "--name", "A/b"), "A/b")):
        refused = slurmlab(*wrong)
        expect(refused.returncode == 1 and refused.stderr.count("\n") == 1 and word in refused.stderr, wrong, refused)
    expect(slurmlab("run", "true", lab="nowhere").returncode == 1, "a command in no lab")


def leaves_nothing_when_its_command_ends():
    other = f"{LAB}b"
    for command, code in (("exit 5", 5), ("srun --nodes=1 true", 0)):
        ended = slurmlab("with", "--nodes", "1", "--", "sh", "-c", command, lab=other)
        expect(ended.returncode == code, command, ended)
        wait_for(lambda: not left_behind(other), f"an end of {left_behind(other)}")
    # A job that runs, and a signal from outside.
    command = [SLURMLAB, "with", "--nodes", "1", "--", "srun", "--unbuffered", "sh", "-c", "echo runs; sleep 600"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                          env=os.environ | {"KADAM_SLURMLAB": other}) as running:
        expect(running.stdout.readline() == "runs\n", "no word from the job")
        start = time.monotonic()
        running.send_signal(signal.SIGTERM)
        expect(running.wait() == 143 and time.monotonic() - start < 10, "it went on after a signal", running.returncode)
    wait_for(lambda: not left_behind(other), f"an end of {left_behind(other)}")


def main():
    made = slurmlab("up", "--nodes", "2", "--gpus", "4")
    if made.returncode == 77:
        expect(made.stderr.splitlines()[-1].startswith("skipped: "), made)
        print(made.stderr, end="")
        sys.exit(77)
    try:
        expect(made.returncode == 0 and "2 nodes of 8 CPUs and 4 GPUs" in made.stdout, made)
        runs_jobs()
        loses_a_node()
        refuses_in_words()
        leaves_nothing_when_its_command_ends()
        gets_it_back()
    finally:
        ended = slurmlab("down")
    expect(ended.returncode == 0, ended)
    wait_for(lambda: not left_behind(LAB), f"an end of {left_behind(LAB)}")


main()
