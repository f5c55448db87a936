# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The scripts of docs/slurm as they are, on a Slurm of their own: scripts_test.py SLURMLAB FOLDER_OF_SBATCH KADAM_TRAIN
LAUNCHER..."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
from unittest import mock

import slurm_lab
import small_data
from expect import expect
from program import Program

SKIPPED = 77
ENDLESS = 10**9
SLURMLAB, SCRIPTS, KADAM_TRAIN = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
program = Program([str(KADAM_TRAIN), *sys.argv[4:]])
LAB = f"scripts{os.getpid()}"
# One of n3 to n5 is lost, and n6: Slurm sends jobs there until it has noticed.
SAFE_NODES = "--exclude=n3,n4,n5,n6"

# What a rank is told of its place, then the program.
SAYS_WHERE = f"""#!/bin/sh
echo "$(hostname) $SLURM_LOCALID sees $CUDA_VISIBLE_DEVICES, $OMP_NUM_THREADS threads" >>"$KADAM_PLACES"
exec {program.path} "$@"
"""
# A job that was queued again waits for the word where its training is to end. Its second time is long enough: it says so
# itself, because on a busy machine the test may look only after another warning.
WAITS = f"""#!/bin/sh
[ -z "$SLURM_RESTART_COUNT" ] || scontrol update JobId="$SLURM_JOB_ID" TimeLimit=10
while [ -n "$SLURM_RESTART_COUNT" ] && [ ! -e "$KADAM_GO" ]; do sleep 0.1; done
exec {program.path} "$@"
"""
# Of Slurm's variables a rank keeps those that the program asks for. Open MPI's daemon of each has a folder of its own:
# those of one node would make and remove the same one at the same time.
FORGETS = """#!/bin/sh
for name in $(env | sed -n 's/^\\(\\(SLURM\\|PMI\\)[A-Za-z0-9_]*\\)=.*/\\1/p'); do
  case $name in SLURM_NTASKS | SLURM_PROCID | SLURM_STEP_ID) ;; *) unset "$name" ;; esac
done
export OMPI_MCA_orte_tmpdir_base="$OMPI_MCA_orte_tmpdir_base/$SLURM_PROCID"
mkdir -p "$OMPI_MCA_orte_tmpdir_base"
exec "$@"
"""


def lab(*words, **options):
    return slurm_lab.ask(SLURMLAB, LAB, *words, **options)


def slurm(*words, **options):
    done = lab("run", "--", *words, **options)
    expect(done.returncode == 0, words, done.stdout, done.stderr)
    return done.stdout


def wait_for(condition, what, job=None, seconds=120):
    """If nothing comes, also says how `job` is by then."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= end:
            expect(False, "waited in vain for", what, *([job.shown(), job.log()] if job else []))
        time.sleep(0.1)


def write_program(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


def parameters_of(folder):
    return (folder / "parameters.safetensors").read_bytes()


class Job:
    """A script with its variables and the options of sbatch that the lab's few cores ask for."""

    def __init__(self, folder, script, options=(), arguments=(), **variables):
        # The program is told elsewhere: from the checkout the default would do.
        environment = os.environ | {"KADAM_TRAIN": program.path} | {name: str(text) for name, text in variables.items()}
        script = script if isinstance(script, pathlib.Path) else SCRIPTS / script
        words = ["sbatch", "--parsable", SAFE_NODES, *options, script, *arguments]
        self.number = slurm(*words, env=environment, cwd=folder).strip()
        self.folder = folder

    def shown(self):
        """What Slurm knows of it; a list, for the jobs of an array."""
        lines = slurm("scontrol", "show", "job", "--oneliner", self.number).splitlines()
        return [dict(word.partition("=")[::2] for word in line.split()) for line in lines if line]

    def state(self):
        states = {one["JobState"] for one in self.shown()}
        return states.pop() if len(states) == 1 else "several"

    def restarts(self):
        return int(self.shown()[0]["Restarts"])

    def nodes(self):
        return slurm("scontrol", "show", "hostnames", self.shown()[0]["NodeList"]).split()

    def log(self):
        """Under the name that the script gives it."""
        return "".join(path.read_text() for path in sorted(self.folder.glob(f"kadam-*-{self.number}*.log")))

    def completes(self):
        wait_for(lambda: self.state() not in ("PENDING", "RUNNING", "COMPLETING", "REQUEUED", "several"),
                 "the end", self)
        expect(self.state() == "COMPLETED", self.state(), self.log())
        return self.log()

    def rank(self, number):
        """The process of a rank."""
        wanted = {f"SLURM_JOB_ID={self.number}".encode(), f"SLURM_PROCID={number}".encode()}
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if os.path.samefile(path / "exe", program.path) and \
                        wanted <= set((path / "environ").read_bytes().split(b"\0")):
                    return int(path.name)
            except OSError:
                pass  # another one's, or it has ended
        return sys.exit(f"rank {number} of job {self.number} is not to be found")


def with_other_launch(copy, script, words):
    """A copy of the script in which the commented line of these words counts."""
    text, changed = re.subn(rf"^# (launch\+?=\(.*{words}.*\))$", r"\1", (SCRIPTS / script).read_text(), flags=re.M)
    expect(changed == 1, f"no line for {words} in {script}")
    copy.write_text(text.replace("--bind-to core", "--bind-to none"))  # the lab has no cores to bind to
    return copy


def as_written_is_accepted():
    """Nodes, ranks, cores, GPUs and times of the scripts, unchanged."""
    for script in sorted(SCRIPTS.glob("*.sbatch")):
        said = lab("run", "sbatch", "--test-only", script)
        expect(said.returncode == 0 and "to start at" in said.stderr, script, said)


def trains_as_under_mpirun(folder, config):
    """On 2 nodes, 2 ranks of 2 threads each; with srun and, as the script says, with mpirun."""
    geometry = ["--nodes=2", "--ntasks-per-node=2", "--cpus-per-task=2"]
    options = ["--set", "optimizer.name=onebit_adam"]
    places = {name: folder / f"{name}.places" for name in ("srun", "mpirun")}
    where = write_program(folder / "where", SAYS_WHERE)
    scripts = {"srun": "cpu.sbatch", "mpirun": with_other_launch(folder / "cpu.sbatch", "cpu.sbatch", "mpirun")}
    jobs = {name: Job(folder, script, geometry, options, KADAM_TRAIN=where, KADAM_CONFIG=config,
                      KADAM_RUN=folder / name, KADAM_PLACES=places[name], KADAM_RANKS_PER_NODE="auto")
            for name, script in scripts.items()}
    # Threads that wait would keep the cores busy, with the lab's jobs on them as well.
    threads = {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}
    with mock.patch.dict(os.environ, {**threads, "KADAM_RANKS_PER_NODE": "2"}):
        program.run(4, "--config", config, *options, "--run", folder / "usual")
    for name, job in jobs.items():
        said = job.completes()
        expect("4 ranks in 2 nodes of 2" in said and "2 threads of OpenMP each" in said, name, said)
        hosts = sorted(line.split()[0] for line in places[name].read_text().splitlines())
        expect(len(hosts) == 4 and hosts[0] == hosts[1] != hosts[2] == hosts[3], name, hosts)
        expect(parameters_of(folder / name) == parameters_of(folder / "usual"), name, "has other parameters than usual")


def gives_each_rank_a_gpu(folder, config):
    """The GPUs are names, and the program is that for CPUs: what it would be told."""
    where = write_program(folder / "where", SAYS_WHERE)
    for script, seen in (("gpu.sbatch", ("0,1", "0,1")),
                         (with_other_launch(folder / "gpu.sbatch", "gpu.sbatch", "--gpus-per-task=1"), ("0", "1"))):
        places = folder / f"gpu-{len(seen[0])}.places"
        Job(folder, script, ["--gpus-per-node=2", "--ntasks-per-node=2", "--cpus-per-task=1"], KADAM_TRAIN=where,
            KADAM_CONFIG=config, KADAM_RUN=folder / places.stem, KADAM_PLACES=places).completes()
        found = sorted(line.partition(" ")[2] for line in places.read_text().splitlines())
        expect(found == [f"{rank} sees {seen[rank]}, 1 threads" for rank in (0, 0, 1, 1)], script, found)


def compares_in_an_array(folder, config):
    variables = {"KADAM_CONFIG": config, "KADAM_RUN": folder / "array", "KADAM_ALGORITHMS": "adam,onebit_adam"}
    geometry = ["--ntasks-per-node=2", "--cpus-per-task=1"]
    array = Job(folder, "array.sbatch", [*geometry, "--array=0-1"], **variables)
    table = Job(folder, "table.sbatch", [*geometry, f"--dependency=afterok:{array.number}"], **variables)
    array.completes()
    said = table.completes()
    expect(said.count("goes on after step 40 from") == 2 and "milliseconds per step" in said, said)
    lines = json.loads((folder / "array/comparison.json").read_text())
    expect([line["optimizer"] for line in lines] == ["adam", "onebit_adam"], lines)
    expect(all(line["steps"] == 40 and line["held_out_accuracy"] > 0.9 for line in lines), lines)
    expect(lines[0]["bytes_per_step"] > 10 * lines[1]["bytes_per_step"] > 0, lines)
    for name in "adam", "onebit_adam":
        program.run(2, "--config", config, "--set", f"optimizer.name={name}", "--run", folder / f"alone-{name}")
        expect(parameters_of(folder / "array" / name) == parameters_of(folder / f"alone-{name}"), name)
    # One job more than algorithms.
    extra = Job(folder, "array.sbatch", [*geometry, "--array=2"], **variables)
    wait_for(lambda: extra.state() == "FAILED", "the third of two algorithms")
    expect("more jobs than there are algorithms" in extra.log(), extra.log())


def refuses_single_ranks(folder, config):
    """srun without PMI: Open MPI refuses by itself; of an MPI that knows nothing of Slurm, the program."""
    trains = [program.path, "--config", config, "--run", folder / "single"]
    srun = ["run", "srun", SAFE_NODES, "--mpi=none", "--nodes=2", "--ntasks=4"]
    said = lab(*srun, *trains)
    expect(said.returncode == 1 and 'direct launched using "srun"' in said.stderr, said)
    said = lab(*srun, write_program(folder / "forgets", FORGETS), *trains)
    expect(said.returncode == 2 and "the launcher started 4 tasks (SLURM_NTASKS), but MPI sees one rank" in said.stderr
           and "srun --mpi=pmix" in said.stderr, said)
    expect(not (folder / "single").exists(), "single ranks have trained")


def stops_at_mistakes(folder, config):
    """What is wrong is wrong the next time as well: the job is not queued again."""
    job = Job(folder, "requeue.sbatch", ["--ntasks-per-node=1", "--cpus-per-task=1"], ["--set", "training.stepz=1"],
              KADAM_CONFIG=config, KADAM_RUN=folder / "wrong")
    wait_for(lambda: job.state() == "FAILED", "a refusal", job)
    expect(job.restarts() == 0 and "training.stepz" in job.log(), job.shown(), job.log())


class Told:
    """Told to go on by the program (75), or warned before it could listen: even if no checkpoint is newer."""

    def __init__(self, folder, config):
        first = '#!/bin/sh\n[ -n "$SLURM_RESTART_COUNT" ] && exit 0\n'
        programs = {"code": "exit 75\n", "deaf": "touch $KADAM_RUN\nexec sleep 100\n"}
        self.deaf = folder / "deaf-runs"
        self.jobs = {name: Job(folder, "requeue.sbatch", ["--nodes=1", "--ntasks-per-node=1", "--cpus-per-task=1"],
                               KADAM_TRAIN=write_program(folder / name, first + text), KADAM_CONFIG=config,
                               KADAM_RUN=folder / f"{name}-runs") for name, text in programs.items()}

    def warn(self):
        wait_for(self.deaf.exists, "a program that does not listen")
        slurm("scancel", "--batch", "--signal=USR1", self.jobs["deaf"].number)

    def go_on(self):
        for name, job in self.jobs.items():
            job.completes()
            expect(job.restarts() == 1, name, "was queued again", job.restarts(), "times", job.log())


class Survivor:
    """A job of survive.sbatch that loses one of its three nodes, and another one that joins it."""

    LOST = "n6"

    def __init__(self, folder, data):
        self.folder, self.run, self.config = folder, folder / "survivor", folder / "survivor.toml"
        self.config.write_text(small_data.images_toml(data, 30000, log_every=100, evaluate_every=0))
        self.job = self.submit([f"--nodelist=n1,n2,{self.LOST}", "--exclude=n3,n4,n5", "--nodes=3"])

    def submit(self, nodes, *more):
        options = [*nodes, "--ntasks-per-node=1", "--cpus-per-task=1"]
        return Job(self.folder, "survive.sbatch", options, ["--set", "optimizer.name=onebit_adam", *more],
                   KADAM_CONFIG=self.config, KADAM_RUN=self.run, KADAM_TIMEOUT_SECONDS=20)

    def lose_a_node(self):
        metrics = self.run / "metrics.jsonl"
        wait_for(lambda: metrics.exists() and metrics.stat().st_size > 0, "steps of the survivor", self.job)
        done = lab("lose", self.LOST)
        expect(done.returncode == 0, done)
        wait_for(lambda: "2 of 3 ranks go on after step" in self.job.log(), "the others", self.job)
        self.newcomer = self.submit(["--nodelist=n2", "--nodes=1"], "--join")

    def goes_on(self):
        said = self.job.completes()
        expect(re.search(r"\b3 ranks go on after step \d+, there were 2 before", said) and "Results:" in said, said)
        joined = self.newcomer.completes()
        expect("joined as rank 2 of 3" in joined, joined)


class Disturbed:
    """Jobs of requeue.sbatch, of one configuration: one is warned of the end of its time, one is asked to stop by
    somebody (under mpirun), one loses a rank, one a node."""

    RUNS = ("warned", "asked", "bereft", "homeless")

    def __init__(self, folder, data):
        self.folder, self.data, self.config = folder, data, folder / "disturbed.toml"
        self.write_config(ENDLESS)
        self.waits = write_program(folder / "waits", WAITS)
        with_mpirun = with_other_launch(folder / "asked.sbatch", "requeue.sbatch", "mpirun")
        # A checkpoint after every step makes steps slow: there is more to do than half a minute of them.
        self.jobs = {"warned": self.submit("warned", 1, "--time=1", "--signal=B:USR1@45"),
                     "asked": self.submit("asked", "1h", script=with_mpirun),
                     "bereft": self.submit("bereft", 20),
                     "homeless": self.submit("homeless", 20, "--exclude=n1,n2,n6")}

    def write_config(self, steps):
        text = small_data.images_toml(self.data, steps).replace("evaluate_every = 20", "evaluate_every = 0")
        self.config.write_text(text.replace("log_every = 7", "log_every = 100"))

    def submit(self, run, every, *options, script="requeue.sbatch"):
        geometry = ["--nodes=2", "--ntasks-per-node=1", "--cpus-per-task=1"]
        return Job(self.folder, script, [*geometry, *options], ["--set", "optimizer.name=onebit_adam"],
                   KADAM_TRAIN=self.waits, KADAM_CONFIG=self.config, KADAM_RUN=self.folder / run,
                   KADAM_CHECKPOINT_EVERY=every, KADAM_GO=self.folder / "go")

    def newest_step(self, run):
        return max((int(path.name[5:]) for path in (self.folder / run / "checkpoints").glob("step-*")), default=0)

    def disturb(self):
        for run in "bereft", "homeless":
            wait_for(lambda: self.newest_step(run) > 0, f"a checkpoint of {run}")
        metrics = self.folder / "asked/metrics.jsonl"
        wait_for(lambda: metrics.exists() and metrics.stat().st_size > 0, "steps of asked")
        slurm("scancel", "--batch", "--signal=USR1", self.jobs["asked"].number)
        os.kill(self.jobs["bereft"].rank(1), signal.SIGKILL)
        homeless = self.jobs["homeless"]
        (self.lost,) = set(homeless.nodes()) - {homeless.shown()[0]["BatchHost"]}
        done = lab("lose", self.lost)
        expect(done.returncode == 0, done)

    def go_on_to_the_end(self):
        for run, job in self.jobs.items():
            wait_for(lambda: job.restarts() > 0, f"{run} to be queued again", job)
        expect(self.newest_step("asked") > 0, "nothing was saved on a signal", self.jobs["asked"].log())
        for run in "warned", "asked":
            # 128 + 15 or 9: a rank that was ended because others were quicker to end with 75. 128 + 10 would be the
            # script that did not wait for them.
            expect(re.search("ended with (75|137|143), is queued", self.jobs[run].log()), run, self.jobs[run].log())
        self.write_config(200 + max(map(self.newest_step, self.RUNS)))
        (self.folder / "go").touch()

    def end_as_if_undisturbed(self):
        program.run(2, "--config", self.config, "--set", "optimizer.name=onebit_adam", "--run", self.folder / "alone")
        for run, job in self.jobs.items():
            said = job.completes()
            # The log of both times.
            expect(said.count("examples, seed 1") == 2 and said.count("goes on after step") == 1, run, said)
            expect("TIME LIMIT" not in said, run, said)
            expect(parameters_of(self.folder / run) == parameters_of(self.folder / "alone"), run, "other parameters")
            expect(job.restarts() == 1, run, "was queued again", job.restarts(), "times", said)
        expect(self.lost not in self.jobs["homeless"].nodes(), "it went on where a node was lost")


def main():
    up = lab("up", "--nodes", 6, "--cpus", 64, "--gpus", 4)
    if up.returncode == SKIPPED:
        print(up.stderr.strip())
        sys.exit(SKIPPED)
    expect(up.returncode == 0, up.stderr)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        data = small_data.write_images(folder / "images")
        config = folder / "short.toml"
        config.write_text(small_data.images_toml(data))
        try:
            as_written_is_accepted()
            disturbed = Disturbed(folder, data)
            survivor = Survivor(folder, data)
            disturbed.disturb()
            survivor.lose_a_node()
            told = Told(folder, config)
            refuses_single_ranks(folder, config)
            told.warn()
            stops_at_mistakes(folder, config)
            compares_in_an_array(folder, config)
            trains_as_under_mpirun(folder, config)
            gives_each_rank_a_gpu(folder, config)
            told.go_on()
            survivor.goes_on()
            disturbed.go_on_to_the_end()
            disturbed.end_as_if_undisturbed()
        finally:
            lab("down")


main()
