# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cables with a delay, for scripts/netlab.sh where the kernel has no netem: eth0 of every host and its port of the
switch are TAP devices, and this program carries frames between them. Those from a host are held for the delay; it is
read from a file, again at SIGHUP."""
import collections
import ctypes
import fcntl
import os
import pathlib
import select
import signal
import struct
import sys
import time

CLONE_NEWNET = 0x40000000
TUNSETIFF, TUNSETOFFLOAD = 0x400454CA, 0x400454D0
IFF_TAP, IFF_NO_PI, IFF_VNET_HDR = 0x0002, 0x1000, 0x4000
# Checksums and segmentation are left to the last device: frames of up to 64 KiB pass in one piece.
TUN_F_CSUM_AND_TSO = 0x1 | 0x2 | 0x4
LONGEST_FRAME = 10 + 14 + 65536

libc = ctypes.CDLL(None, use_errno=True)


def enter(path):
    """Moves this process into a network namespace."""
    with open(path, "rb") as namespace:
        if libc.setns(namespace.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)


def tap(namespace, name):
    """Opens a TAP device of a namespace; reading it returns frames that were sent there."""
    enter(f"/run/netns/{namespace}")
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI | IFF_VNET_HDR))
    fcntl.ioctl(device, TUNSETOFFLOAD, TUN_F_CSUM_AND_TSO)
    return device


def frames_from(device):
    while True:
        try:
            yield os.read(device, LONGEST_FRAME)
        except BlockingIOError:
            return


def send(device, frame):
    """Writes a frame; it is lost, as on a real cable, if the device is down."""
    try:
        os.write(device, frame)
    except OSError:
        pass


class Delay:
    """The delay in seconds, from a file that holds microseconds."""

    def __init__(self, path):
        self.path = path
        self.read()

    def read(self, *_):
        self.seconds = int(self.path.read_text(encoding="ascii")) / 1e6


def carry(cables, delay):
    """Carries frames over cables, (device of a host, port of the switch), and never returns."""
    other_end = {end: other for host, port in cables for end, other in ((host, port), (port, host))}
    hosts = {host for host, _ in cables}
    held = collections.deque()  # (time to leave, target, frame)
    while True:
        wait = max(0.0, held[0][0] - time.monotonic()) if held else None
        ready = select.select(list(other_end), (), (), wait)[0]
        for device in ready:
            leaves = time.monotonic() + (delay.seconds if device in hosts else 0.0)
            for frame in frames_from(device):
                if device in hosts:
                    held.append((leaves, other_end[device], frame))
                else:
                    send(other_end[device], frame)
        now = time.monotonic()
        while held and held[0][0] <= now:
            _, device, frame = held.popleft()
            send(device, frame)


def main():
    """netlab_relay.py FOLDER NAMESPACES HOSTS: delay in FOLDER/delay; FOLDER/relay-ready says that all devices are
    there. Namespaces are NAMESPACES-h0, ... and NAMESPACES-switch."""
    folder, namespaces, hosts = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    delay = Delay(folder / "delay")
    signal.signal(signal.SIGHUP, delay.read)
    os.setpriority(os.PRIO_PROCESS, 0, -10)  # the programs on the hosts must not slow down their network
    cables = [(tap(f"{namespaces}-h{k}", "eth0"), tap(f"{namespaces}-switch", f"p{k}")) for k in range(hosts)]
    (folder / "relay-ready").touch()
    carry(cables, delay)


main()
