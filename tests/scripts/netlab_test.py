# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/netlab.sh: rates, delays, counters, exit codes, and that nothing is left: netlab_test.py FOLDER_OF_SCRIPTS"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

from expect import expect

NETLAB = pathlib.Path(sys.argv[1]) / "netlab.sh"
LAB = f"test{os.getpid()}"
# Of 1514 bytes on a cable, TCP and IP leave this many to a program.
GOODPUT = 1448 / 1514

RECEIVER = """
import socket
server = socket.create_server(("198.18.0.2", 5000))
print("listening", flush=True)
connection, _ = server.accept()
while connection.recv(1 << 20):
    pass
connection.sendall(b"done")
"""
# Prints the seconds from the first byte to the word that all has come.
SENDER = """
import socket, sys, time
connection = socket.create_connection(("198.18.0.2", 5000))
start = time.monotonic()
connection.sendall(bytes(int(sys.argv[1])))
connection.shutdown(socket.SHUT_WR)
connection.recv(4)
print(time.monotonic() - start)
"""

# Echo, and the seconds of a round trip: the least of 20.
ECHO = """
import socket
server = socket.create_server(("198.18.0.2", 5001))
print("listening", flush=True)
connection, _ = server.accept()
while word := connection.recv(1):
    connection.sendall(word)
"""
ROUND_TRIP = """
import socket, time
connection = socket.create_connection(("198.18.0.2", 5001))
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
def seconds():
    start = time.monotonic()
    connection.sendall(b"x")
    connection.recv(1)
    return time.monotonic() - start
print(min(seconds() for _ in range(20)))
"""


def netlab(*words, lab=LAB):
    environment = os.environ | {"KADAM_NETLAB": lab}
    return subprocess.run([NETLAB, *words], capture_output=True, text=True, check=False, env=environment, timeout=60)


def done(*words):
    """What it says; it must not fail."""
    ended = netlab(*words)
    expect(ended.returncode == 0, words, ended)
    return ended.stdout


def left_behind(lab):
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    state = pathlib.Path("/run/kadam-netlab") / lab
    return [line for line in listed.splitlines() if f"kadam-{lab}-" in line] + [state] * state.exists()


def counted():
    """A pair per host: bytes sent, bytes received."""
    return [(host["sent"], host["received"]) for host in json.loads(done("bytes"))["hosts"]]


def seconds_between(server, client, *words, lab=LAB):
    """What the client on host 0 says, with the server on host 1."""
    with subprocess.Popen([NETLAB, "exec", "1", "--", sys.executable, "-c", server], stdout=subprocess.PIPE,
                          text=True, env=os.environ | {"KADAM_NETLAB": lab}) as running:
        expect(running.stdout.readline() == "listening\n", "the server did not start")
        ended = netlab("exec", "0", "--", sys.executable, "-c", client, *words, lab=lab)
        expect(ended.returncode == 0, ended)
    return float(ended.stdout)


def seconds_to_send(count):
    """From host 0 to host 1, over one connection."""
    return seconds_between(RECEIVER, SENDER, str(count))


def obeys_its_rate():
    for rate, bits, count in (("100mbit", 100e6, 5_000_000), ("10mbit", 10e6, 1_000_000)):
        done("shape", "--rate", rate)
        limit = 8 * count / bits / GOODPUT
        before = counted()
        seconds = min(seconds_to_send(count) for _ in range(2))
        after = counted()
        expect(0.95 * limit < seconds < 1.15 * limit, f"{count} bytes at {rate}: {seconds} s, the wire takes {limit} s")
        for host, direction in ((0, 0), (1, 1)):
            sent = after[host][direction] - before[host][direction]
            expect(1.0 < sent / (2 * count) < 1.1, f"{2 * count} bytes were sent, host {host} counted {sent}")
    done("shape", "--rate", "none")
    seconds = min(seconds_to_send(5_000_000) for _ in range(2))
    expect(seconds < 0.2, f"not shaped, 40 Mbit took {seconds} s")


def delays_what_it_carries():
    lab = f"{LAB}d"
    made = netlab("up", "--hosts", "2", "--rate", "100mbit", "--delay", "5ms", lab=lab)
    if made.returncode == 77:
        expect("/dev/net/tun" in made.stderr, made)
        return
    try:
        expect(made.returncode == 0 and "5000 microseconds" in made.stdout, made)
        slow = seconds_between(ECHO, ROUND_TRIP, lab=lab)
        expect(0.010 < slow < 0.015, f"5 ms there and 5 ms back took {slow} s")
        limit = 8 * 5_000_000 / 100e6 / GOODPUT
        seconds = min(seconds_between(RECEIVER, SENDER, "5000000", lab=lab) for _ in range(2))
        expect(limit < seconds < 1.25 * limit, f"5 MB with a delay took {seconds} s, the wire takes {limit} s")
        expect(netlab("shape", "--delay", "0ms", lab=lab).returncode == 0, "the delay could not be changed")
        quick = seconds_between(ECHO, ROUND_TRIP, lab=lab)
        expect(quick < 0.005, f"without a delay a round trip took {quick} s")
    finally:
        netlab("down", lab=lab)
    relays = subprocess.run(["pgrep", "-f", f"netlab_relay.py .*{lab}"], capture_output=True, text=True, check=False)
    expect(not left_behind(lab) and relays.stdout == "", left_behind(lab), relays.stdout)


def open_mpi_is_here():
    """Whichever mpirun the script would take."""
    mpirun = shutil.which("mpirun.openmpi") or shutil.which("mpirun")
    said = subprocess.run([mpirun, "--version"], capture_output=True, text=True, check=False).stdout if mpirun else ""
    return re.search(r"\((Open MPI|OpenRTE)\) 4\.", said) is not None


def starts_programs():
    if not open_mpi_is_here():
        return
    ranks = done("run", "--ranks-per-host", "2", "--", "sh", "-c",
                 "echo $(hostname) $OMPI_COMM_WORLD_LOCAL_RANK $OMP_NUM_THREADS").splitlines()
    expect(sorted(ranks) == [f"{LAB}-h{host} {rank} 1" for host in (0, 1) for rank in (0, 1)], ranks)
    failed = netlab("run", "sh", "-c", "exit 7")
    expect(failed.returncode == 7, failed)


def refuses_in_words():
    for wrong, word in ((("up",), "already"), (("exec", "2", "true"), "no host 2"), (("turn",), "turn"),
                        (("shape",), "--rate"),
                        (("shape", "--rate", "fast"), "fast"), (("shape", "--rate"), "a value"),
                        (("shape", "--delay", "long"), "long"), (("shape", "--delay", "1ms"), "up --delay"),
                        (("run",), "a program"),
                        (("bytes", "--hosts", "2"), "no option of bytes"), (("down", "--name", "A/b"), "A/b")):
        refused = netlab(*wrong)
        expect(refused.returncode == 1 and refused.stderr.count("\n") == 1 and word in refused.stderr, wrong, refused)
    expect(netlab("bytes", lab="nowhere").returncode == 1, "the bytes of no lab")


def leaves_nothing_when_its_command_ends():
    other = f"{LAB}b"
    for command, code in (("exit 5", 5), (f"{NETLAB} run sh -c 'exit 6'", 6), ("true", 0)):
        if "run" in command and not open_mpi_is_here():
            continue
        ended = netlab("with", "--hosts", "2", "--rate", "100mbit", "--", "sh", "-c", command, lab=other)
        expect(ended.returncode == code and not left_behind(other), command, ended, left_behind(other))
    # A program on a host, and a signal from outside.
    command = [NETLAB, "with", "--hosts", "2", "--", NETLAB, "exec", "1", "sh", "-c", "echo runs; sleep 60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                          env=os.environ | {"KADAM_NETLAB": other}) as running:
        expect(running.stdout.readline() == "runs\n", "no word from host 1")
        start = time.monotonic()
        running.send_signal(signal.SIGTERM)
        expect(running.wait() == 143 and time.monotonic() - start < 10, "it went on after a signal", running.returncode)
    expect(not left_behind(other), left_behind(other))


def main():
    made = netlab("up", "--hosts", "2", "--rate", "100mbit")
    if made.returncode == 77:
        expect(made.stderr.startswith("skipped: ") and made.stderr.count("\n") == 1, made)
        print(made.stderr, end="")
        sys.exit(77)
    try:
        expect(made.returncode == 0 and "198.18.0.2" in made.stdout, made)
        obeys_its_rate()
        delays_what_it_carries()
        starts_programs()
        refuses_in_words()
        leaves_nothing_when_its_command_ends()
    finally:
        ended = netlab("down")
    expect(ended.returncode == 0 and not left_behind(LAB), ended, left_behind(LAB))


main()
