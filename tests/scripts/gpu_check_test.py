# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/gpu_check.sh without a GPU: with stand-ins for one, for programs and for MPI: gpu_check_test.py SCRIPTS"""
import contextlib
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from expect import expect

SCRIPTS = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(SCRIPTS / "gpu_check"))
import main  # noqa: E402
import report  # noqa: E402

PROGRAMS = ("kadam-bench", "kernels_test", "collectives_test", "optimizers_test", "checkpoint_test",
            "golden_replay_test")
STAGES = ("kernels", "sizes", "steps", "kernel-tests", "ranks", "state", "memcheck", "racecheck", "torch", "exchange")

# A program notes its name and words; where a file BEHAVIOUR/NAME is, it does as that says.
STAND_IN = """#!/bin/sh
name=${0##*/}
case "$*" in
  *filter=none*) [ ! -e "@FOLDER@/no-device" ] || { echo 'what(): no CUDA-capable device' >&2; exit 134; }; exit 0 ;;
esac
echo "$name $* ${KADAM_TEST_RANKS:-0} ${GTEST_SHARD_INDEX:-}" >>"@FOLDER@/calls"
if [ -e "@FOLDER@/$name" ]; then . "@FOLDER@/$name"; fi
case $name in
  kadam-bench) echo '{"kernel": "copy", "milliseconds": 2.0, "elements": 4, "bytes_per_element": 8, "ratio_to_limit": 1}' ;;
  *) echo "[       OK ] Suite.Test (1 ms)" ;;
esac
"""


def tool(path, text):
    path.write_text(text)
    path.chmod(0o755)


class Machine:
    """Tools that say what they say on a machine with a GPU, or without one; a cache of its own."""

    def __init__(self, folder, tools):
        self.folder = pathlib.Path(folder)
        for name in ("nvidia-smi", "rocminfo", "rocm-smi"):
            lines = "\n".join(tools.get(name, ()))
            tool(self.folder / name, "#!/bin/sh\n" + (f"cat <<'END'\n{lines}\nEND\n" if lines else
                                                     "echo no GPU >&2\nexit 9\n"))

    def check(self, *arguments):
        environment = os.environ | {"PATH": f"{self.folder}:{os.environ['PATH']}",
                                    "XDG_CACHE_HOME": str(self.folder / "cache")}
        environment.pop("CXX", None)
        return subprocess.run([SCRIPTS / "gpu_check.sh", *arguments], capture_output=True, text=True, check=False,
                              env=environment, timeout=50)


class Bundle:
    """The script that runs elsewhere, beside programs that are not what their names say."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.out = self.folder / "out"
        self.behaviour = self.folder / "behaviour"
        for part in (self.behaviour, self.folder / "bin"):
            part.mkdir()
        for name in PROGRAMS:
            tool(self.folder / "bin" / name, STAND_IN.replace("@FOLDER@", str(self.behaviour)))
        tool(self.folder / "mpi", '#!/bin/sh\nshift 2\nexec "$@"\n')
        self.script = self.folder / "gpu_check.sh"
        tool(self.script, (SCRIPTS / "gpu_check" / "run.sh").read_text())
        (self.folder / "mpi_environment.sh").write_text((SCRIPTS / "mpi_environment.sh").read_text())
        (self.folder / "settings").write_text(
            "backend='host'\narchitecture=''\ncommit='commit abc'\nelements='4096'\naware='true'\n"
            f"mpirun='{self.folder}/mpi'\n")

    def behaves(self, program, text):
        (self.behaviour / program).write_text(text)

    def command(self, *arguments):
        return ["sh", self.script, "--run", "--out", self.out, *arguments]

    def run(self, *arguments):
        return subprocess.run(self.command(*arguments), capture_output=True, text=True, check=False, timeout=50)

    def calls(self):
        """Since the last time."""
        path = self.behaviour / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return lines

    def table(self):
        """The counts of each stage, without its seconds."""
        rows = [line.split() for line in (self.out / "stages.txt").read_text().splitlines()]
        return {row[0]: tuple(map(int, row[1:5])) for row in rows[1:] if len(row) == 6 and row[1].isdigit()}


def tells_that_there_is_no_gpu(folder):
    machine = Machine(folder, {})
    for arguments in ((), ("--write",), ("--backend", "cuda")):
        done = machine.check(*arguments)
        expect(done.returncode == 77 and done.stdout.count("\n") == 1 and "No GPU" in done.stdout, arguments, done)
    expect(not (machine.folder / "cache").exists(), "something was done without a GPU")
    # A machine whose tools list a processor, not a GPU.
    done = Machine(folder, {"rocminfo": ["Name: gfx000", "Name: EPYC"]}).check()
    expect(done.returncode == 77, done)


def refuses_in_words(folder):
    machine = Machine(folder, {"nvidia-smi": ["NVIDIA Something, 9.0"]})
    old = Machine(tempfile.mkdtemp(dir=folder), {"nvidia-smi": ["Tesla K80, 3.7"]})
    for done, word in ((machine.check("--elements", "few"), "a number"), (machine.check("--speed"), "--speed"),
                       (old.check(), "37"), (machine.check("--pack", "bundle.zip"), ".tar.xz"),
                       (machine.check("--pack", "b.tar.gz", "--backend", "sycl"), "sycl"),
                       (machine.check("--run"), "gpu_check.sh --run"), (machine.check("--report", folder), "state"),
                       (machine.check("--pack", "b.tar.gz", "--no-build", "--build", folder), "has no kadam-bench")):
        expect(done.returncode == 1 and done.stderr.count("\n") == 1 and word in done.stderr, word, done)


def runs_beside_its_build(folder):
    machine = Machine(folder, {"nvidia-smi": ["NVIDIA H200, 9.0", "NVIDIA H200, 9.0"]})
    build = pathlib.Path(folder) / "build"
    (build / "bin").mkdir(parents=True)
    for name in PROGRAMS[:2]:
        tool(build / "bin" / name, STAND_IN.replace("@FOLDER@", folder))
    out = pathlib.Path(folder) / "figures"
    done = machine.check("--no-build", "--build", str(build), "--out", str(out), "--elements", "512", "--only", "kernels",
                         "kernel-tests", "ranks")
    expect(done.returncode == 0 and "NVIDIA H200" in done.stdout, done)
    expect("4 passed" in done.stdout and "ranks skipped: there is no mpirun" in done.stdout, done)
    expect((out / "kernels-512.jsonl").exists(), done)
    for other in (("--backend", "hip"), ("--architecture", "80")):
        done = machine.check("--no-build", "--build", str(build), "--out", str(out), *other)
        expect(done.returncode == 77 and "NVIDIA H200" in done.stdout, other, done)


def finds_what_is_not_brought(folder):
    bundle = Bundle(folder)
    settings = bundle.folder / "settings"
    settings.write_text(settings.read_text() + "cublas='libcublas.so.of-nobody'\n")
    done = bundle.run("--only", "kernel-tests")
    expect(done.returncode == 2 and "no libcublas.so.of-nobody" in done.stderr, done)
    place = bundle.folder / "somewhere"
    place.mkdir()
    (place / "libcublas.so.of-nobody").touch()
    done = subprocess.run(bundle.command("--only", "kernel-tests"), capture_output=True, text=True, check=False, timeout=50,
                          env=os.environ | {"LD_LIBRARY_PATH": f"/nowhere:{place}"})
    expect(done.returncode == 0, done)


def packs_what_is_needed(folder):
    """Real programs of this machine under the names of those that are packed: not from a build."""
    folder = pathlib.Path(folder)
    if subprocess.run("mpirun --version | grep -q 'Open MPI) 4'", shell=True, check=False).returncode != 0:
        return
    (folder / "bin").mkdir()
    for name in PROGRAMS:
        (folder / "bin" / name).write_bytes(pathlib.Path("/bin/ls").read_bytes())
        (folder / "bin" / name).chmod(0o755)
    pack = [SCRIPTS / "gpu_check.sh", "--backend", "host", "--no-build", "--build", folder, "--pack"]
    done = subprocess.run([*pack, folder / "b.tar.gz"], capture_output=True, text=True, check=False)
    expect(done.returncode == 0 and "MiB" in done.stdout, done)
    subprocess.run(["tar", "-C", folder, "-xf", folder / "b.tar.gz"], check=True)
    bundle = folder / "kadam-gpu-check"
    for wanted in ("gpu_check.sh", "settings", "peers.py", "golden/adam_a/expected.npy", "bin/mpirun", "lib/libmpi.so.40",
                   "lib/libc/libc.so.6", "lib/libc/libpthread.so.0", "lib/components/mca_btl_vader.so"):
        expect((bundle / wanted).exists(), wanted, "is not in the bundle")
    expect(not list(bundle.glob("lib/libc.so*")), "of libc, what one machine has and another has not")

    # What no compressor makes smaller.
    with open(folder / "bin" / "kernels_test", "ab") as file:
        file.write(os.urandom(61 << 20))
    tool(folder / "strip", '#!/bin/sh\nexec cp "$3" "$2"\n')
    done = subprocess.run([*pack, folder / "large.tar.gz"], capture_output=True, text=True, check=False,
                          env=os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"})
    expect(done.returncode == 1 and "more than the 60 MiB" in done.stderr, done)
    expect(not (folder / "large.tar.gz").exists(), "too large a file was left")


def runs_every_stage(folder):
    bundle = Bundle(folder)
    bundle.behaves("checkpoint_test", f'[ -d "$TMPDIR" ] && printf %s "$TMPDIR" >{bundle.behaviour}/place\n')
    done = bundle.run()
    expect(done.returncode == 0, done)
    calls = bundle.calls()
    expect(calls[0].startswith("kadam-bench kernels --json --elements 4096"), "the kernels come first", calls)
    for wanted in ("kadam-bench kernels --json --elements 64 1 ", "kadam-bench kernels --json --elements 16384 1 ",
                   "kernels_test  0 3", "optimizers_test  4 3", "checkpoint_test  1 ", "golden_replay_test  3 "):
        expect(wanted in calls, wanted, "is missing in", calls)
    expect(sum("steps" in call for call in calls) == 4 and sum("exchange" in call for call in calls) == 2, calls)
    table = bundle.table()
    expect(tuple(table) == STAGES, table)
    expect(table["ranks"] == (15, 0, 0, 0) and table["kernel-tests"] == (4, 0, 0, 0), table)
    expect(table["memcheck"] == (0, 0, 1, 0) and "memcheck skipped: there is no compute-sanitizer" in done.stdout, done)
    expect(json.loads((bundle.out / "kernels-4096.jsonl").read_text())["kernel"] == "copy", "no figures")
    place = pathlib.Path((bundle.behaviour / "place").read_text())
    expect("kadam" in place.parent.name and not place.parent.exists(), "what tests wrote was left in", place)
    expect(time.strftime("measured='%Y", time.gmtime()) in (bundle.out / "settings").read_text(), "no date")

    # There is nothing left to do; and only what is asked for is done again.
    expect(bundle.run().returncode == 0 and bundle.calls() == [], "what was done is done again")
    expect(bundle.run("--again", "--only", "state").returncode == 0, "--again")
    expect({call.split()[0] for call in bundle.calls()} == {"checkpoint_test", "golden_replay_test"}, "--only")

    # Elsewhere, with what was done here.
    other = Bundle(tempfile.mkdtemp(dir=folder))
    expect(other.run("--from", bundle.out).returncode == 0 and other.calls() == [], "--from")

    without = Bundle(tempfile.mkdtemp(dir=folder))
    with open(without.folder / "settings", "a", encoding="utf-8") as settings:
        settings.write("mpirun=''\naware='false'\n")
    done = without.run("--only", "ranks", "exchange")
    expect(done.returncode == 0 and without.table()["ranks"] == (0, 0, 1, 0), done)


def does_nothing_without_a_device(folder):
    bundle = Bundle(folder)
    bundle.behaves("no-device", "")
    done = bundle.run()
    expect(done.returncode == 77 and "no device answers: what(): no CUDA-capable device" in done.stdout, done)
    expect(bundle.calls() == [] and not list((bundle.out / "state").iterdir()), "it went on")


def goes_on_after_a_failure(folder):
    bundle = Bundle(folder)
    bundle.behaves("collectives_test", "[ $KADAM_TEST_RANKS != 2 ] || { echo 'no such device' >&2; "
                                       "printf '%s\\n' -------- mpirun -------- >&2; exit 3; }\n")
    wanted = ("--only", "ranks", "exchange")
    done = bundle.run(*wanted)
    expect(done.returncode == 1 and bundle.table()["ranks"] == (14, 1, 0, 0), done)
    expect("collectives-2 failed: exit code 3: no such device" in done.stdout, done)
    expect(bundle.table()["exchange"] == (2, 0, 0, 0), "a failure ended the run", done)
    bundle.calls()
    expect(bundle.run(*wanted).returncode == 1 and bundle.calls() == [], "a failure is a result, and not tried again")


def keeps_to_its_time(folder):
    """A minute is the least there is: of a clock that goes ten times as fast."""
    bundle = Bundle(folder)
    clock = pathlib.Path(folder) / "tools"
    clock.mkdir()
    start = time.time()
    tool(clock / "date", f'#!/bin/sh\nexec /bin/date -d "@$(( ($(/bin/date +%s%3N) - {int(1000 * start)}) / 100 ))" "$@"\n')
    tool(clock / "timeout", '#!/bin/sh\nexec /usr/bin/timeout "$1" "$2" "$(( $3 / 10 )).$(( $3 % 10 ))" "${@:4}"\n'.replace("/bin/sh", "/bin/bash"))
    environment = os.environ | {"PATH": f"{clock}:{os.environ['PATH']}"}
    bundle.behaves("kernels_test", "echo begun; exec sleep 60\n")
    wanted = ("--only", "steps", "kernel-tests")
    done = subprocess.run(bundle.command("--minutes", "1", *wanted), capture_output=True, text=True, check=False, timeout=30,
                          env=environment)
    expect(time.time() - start < 40, "it took", time.time() - start)
    expect(done.returncode == 75 and "kernels-1-of-4 ... the time is up" in done.stdout, done)
    expect(bundle.table()["steps"] == (4, 0, 0, 0) and bundle.table()["kernel-tests"] == (0, 0, 0, 4), done)
    expect((bundle.out / "kernels-1-of-4.out").read_text() == "begun\n", "what it had said is lost")

    # What did not end last time comes last: it may never end.
    bundle.calls()
    bundle.behaves("kernels_test", "")
    expect(bundle.run(*wanted).returncode == 0, "it does not go on")
    calls = bundle.calls()
    expect(not any("steps --json" in call for call in calls), "what was done is done again", calls)
    expect(calls[0] == "kernels_test  0 1" and calls[-1] == "kernels_test  0 0", calls)


def survives_being_killed(folder):
    bundle = Bundle(folder)
    bundle.behaves("optimizers_test", "echo part; exec sleep 30\n")
    # The second run begins with what the first one had not begun.
    for number, shard in ((signal.SIGTERM, 1), (signal.SIGKILL, 2)):
        process = subprocess.Popen(bundle.command("--only", "ranks"), stdout=subprocess.PIPE, text=True, start_new_session=True)
        part = bundle.out / f"optimizers-2-{shard}-of-4.out"
        while not (part.exists() and part.read_text()):
            time.sleep(0.02)
        if number == signal.SIGTERM:
            process.terminate()
            said, _ = process.communicate(timeout=20)
            expect("interrupted" in said and process.returncode == 75, said, process.returncode)
            expect(bundle.table()["ranks"] == (1, 0, 0, 14), said)
        else:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    bundle.calls()
    bundle.behaves("optimizers_test", "")
    expect(bundle.run("--only", "ranks").returncode == 0, "it does not go on")
    expect(bundle.calls()[-2:] == ["optimizers_test  2 0", "optimizers_test  2 1"], "what was killed comes last")


def makes_tables(folder):
    folder = pathlib.Path(folder)
    (folder / "state").mkdir()

    def said():
        with contextlib.redirect_stdout(io.StringIO()) as text:
            main.main()
        return " ".join(text.getvalue().split())

    def write(name, *lines):
        (folder / name).write_text("".join(f"{json.dumps(line)}\n" for line in lines))

    sys.argv = ["main.py", str(folder)]
    expect("No tests were run." in said() and "|" not in said(), said())

    def kernel(name, milliseconds, moved, ratio, elements=1024):
        return {"kernel": name, "milliseconds": milliseconds, "spread": 0.01, "elements": elements,
                "bytes_per_element": moved, "ratio_to_limit": ratio}

    (folder / "settings").write_text("backend='cuda'\ncommit='commit abc'\nmeasured='2026-01-02'\nelements='1024'\n")
    (folder / "gpu.csv").write_text("name, driver_version, clocks.max.sm [MHz], clocks.max.memory [MHz]\n"
                                    "Some GPU, 570.1, 1980 MHz, 2619 MHz\n")
    write("kernels-1024.jsonl", kernel("copy", 2e-6, 8.0, 0.9), kernel("adam_update", 14e-6, 28.0, 0.5),
          kernel("adam step", 1.0, 0.0, None))
    with open(folder / "kernels-1024.jsonl", "a", encoding="utf-8") as file:
        file.write('{"kernel": "cut o')
    for wanted in ("2026-01-02, Some GPU, driver 570.1, at most 1980 MHz and 2619 MHz (memory)", "commit abc",
                   "| kernel | B/element | d = 2^10: ms | GB/s | to limit |",
                   "| adam_update | 28.00 | 1.4e-05 | 2048 | 0.50 |", "| adam step | - | 1 | - | - |"):
        expect(wanted in said(), wanted, "is missing in", said())
    write("kernels-64.jsonl", kernel("copy", 1e-6, 8.0, 0.8, 64))
    write("torch-1024.jsonl", {"kernel": "torch Adam, fused", "milliseconds": 21e-6})
    for tensors in (1, 400):
        write(f"steps-2-{tensors}.jsonl", {"optimizer": "adam", "elements": 1024, "tensors": tensors, "ranks": 2,
                                           "milliseconds": 0.5 * tensors, "launches": tensors + 1, "fences": 3})
    write("exchange-staged.jsonl", {"exchange": "dense mean", "elements": 1000, "seconds": 0.25, "bytes_sent": 4000000,
                                    "encode_seconds": 0.0, "decode_seconds": 0.001})
    for unit, state, text in (
            ("ranks-2", "failed 7 exit code 1: oh", "\x1b[0;32m[       OK ] \x1b[mA.One (3 ms)\n[  FAILED  ] A.Two (1 ms)\n"
             "[  FAILED  ] A.Three/0, where GetParam() = 4 (1 ms)\n[  FAILED  ] A.Two\n"),
            ("memcheck", "begun 0 ", "[       OK ] A.One (9 ms)\n[  SKIPPED ] A.Two (0 ms)\n")):
        (folder / "state" / unit).write_text(f"{state}\n")
        (folder / f"{unit}.out").write_text(text)
    for wanted in ("| kernel | B/element | d = 2^6: ms | GB/s | to limit | d = 2^10: ms | GB/s | to limit |",
                   "| copy | 8.00 | 1e-06 | 512 | 0.80 | 2e-06 | 4096 | 0.90 |", "| adam_update | 28.00 | - | - | - | 1.4e",
                   "2 passed, 2 failed (A.Three/0, A.Two), 1 skipped; cut off: memcheck.",
                   "Failed: ranks-2 (exit code 1: oh).",
                   "| adam | 0.5 | 2 | 3 | 200 | 401 | 3 |", "| adam_update | 1.4e-05 | torch Adam, fused | 2.1e-05 | 1.5 |",
                   "| dense mean | 1,000 | staged | 250 | 4 | 0 | 1 |"):
        expect(wanted in said(), wanted, "is missing in", said())

    document = folder / "performance.md"
    document.write_text("before\n<!-- gpu_check -->\nold\n<!-- /gpu_check -->\nafter\n")
    report.DOCUMENT = document
    sys.argv.append("--write")
    said()
    expect("Some GPU" in document.read_text() and "old" not in document.read_text(), document.read_text())


for test in (tells_that_there_is_no_gpu, refuses_in_words, runs_beside_its_build, finds_what_is_not_brought,
             packs_what_is_needed, runs_every_stage,
             does_nothing_without_a_device, goes_on_after_a_failure, keeps_to_its_time, survives_being_killed, makes_tables):
    with tempfile.TemporaryDirectory() as name:
        test(name)
