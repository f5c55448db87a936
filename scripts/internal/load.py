# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How busy other programs keep this machine."""
import os
import time


def processor_seconds():
    """Processor seconds that all programs of this machine have used; None where the system does not tell."""
    try:
        with open("/proc/stat", encoding="utf-8") as lines:
            user, nice, system = (int(word) for word in lines.readline().split()[1:4])
    except OSError:
        return None
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def share_of_others(before, after, own, seconds):
    """The share of the processors' time that other programs used."""
    if before is None or seconds <= 0:
        return 0.0
    return max(0.0, after - before - own) / (seconds * os.cpu_count())


def share_now():
    """The share of the processors that other programs use; 0 where the system does not tell. Takes half a second."""
    start, before = time.monotonic(), processor_seconds()
    time.sleep(0.5)
    return min(1.0, share_of_others(before, processor_seconds(), 0.0, time.monotonic() - start))
