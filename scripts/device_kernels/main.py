# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A table of kernels from what `ptxas -v` says of them."""
import argparse
import re
import subprocess
from dataclasses import dataclass

# One multiprocessor of an H200 (compute capability 9.0).
REGISTERS = 65536
REGISTER_UNIT = 256  # a warp gets them in units
THREADS = 2048
BLOCKS = 32
TEAM = 128  # threads of a team, as in kernels/kadam/kernels/detail/backend.hpp
LEAST_OCCUPANCY = 0.25
# Kokkos' scan over bins keeps its 8-byte sums there, once for each thread.
STACK = {"FindDigit": 8, "SumMarks": 8}


@dataclass
class Kernel:
    name: str
    registers: int = 0
    stack: int = 0
    spills: int = 0

    @property
    def needs(self):
        return (self.spills, self.stack, self.registers)

    @property
    def occupancy(self):
        """The largest share of a multiprocessor's threads that can be under way at a time, by registers alone."""
        of_warp = -(-self.registers * 32 // REGISTER_UNIT) * REGISTER_UNIT
        teams = min(REGISTERS // (of_warp * (TEAM // 32)), BLOCKS, THREADS // TEAM)
        return teams * TEAM / THREADS

    @property
    def passes(self):
        return self.stack <= STACK.get(self.name, 0) and self.spills == 0 and self.occupancy >= LEAST_OCCUPANCY


def short_name(demangled):
    """The functor of this library, with the code and the input that it is for; None for a kernel of Kokkos itself."""
    functor = re.search(r"Parallel\w+<kadam::(?:detail::)?(?:TeamBlockLoop<kadam::(?:detail::)?)?(\w+)", demangled)
    if functor is None:
        return None
    words = [functor.group(1)]
    if code := re.search(r"kadam::(Sign|Uniform|Float8)Quantiser(?:<(?:\(int\))?(\d+)>)?", demangled):
        words.append(code.group(1).lower() + (code.group(2) or ""))
    if source := re.search(r"ElementSource|ContinuedSource|MeanOfMessages", demangled):
        words.append(source.group())
    return " ".join(words)


def kernels_of(log):
    """The kernels that a log of nvcc has figures of."""
    kernels, mangled = {}, None
    for line in log.splitlines():
        if found := re.search(r"Compiling entry function '(\w+)'", line):
            mangled = found.group(1)
            kernels[mangled] = Kernel(mangled)
        elif mangled and (found := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line)):
            kernels[mangled].stack = int(found.group(1))
            kernels[mangled].spills = int(found.group(2)) + int(found.group(3))
        elif mangled and (found := re.search(r"Used (\d+) registers", line)):
            kernels[mangled].registers = int(found.group(1))
    names = subprocess.run(["c++filt"], input="\n".join(kernels), text=True, capture_output=True, check=True).stdout.splitlines()
    for (mangled, kernel), name in zip(kernels.items(), names):
        kernel.name = short_name(name)
    # One line for each name: what is compiled for several formats is as good as the worst of them.
    worst = {}
    for kernel in kernels.values():
        if kernel.name and (kernel.name not in worst or kernel.needs > worst[kernel.name].needs):
            worst[kernel.name] = kernel
    return sorted(worst.values(), key=lambda kernel: kernel.name)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("log")
    parser.add_argument("--markdown", action="store_true")
    arguments = parser.parse_args()
    with open(arguments.log, encoding="utf-8") as log:
        kernels = kernels_of(log.read())
    if not kernels:
        raise SystemExit("kadam: The compiler said nothing of any kernel.")
    if arguments.markdown:
        print("| kernel | registers | stack (B) | spills (B) | threads at a time |\n|---|---|---|---|---|")
    else:
        print(f"{'kernel':<58}registers  stack  spills  threads at a time")
    for k in kernels:
        if arguments.markdown:
            print(f"| {k.name} | {k.registers} | {k.stack} | {k.spills} | {k.occupancy:.0%} |")
        else:
            note = "" if k.passes else "  <- failed"
            print(f"{k.name:<58}{k.registers:9}{k.stack:7}{k.spills:8}{k.occupancy:19.0%}{note}")
    failed = sum(not k.passes for k in kernels)
    print(f"{len(kernels) - failed} passed, {failed} failed")
    raise SystemExit(failed != 0)


if __name__ == "__main__":
    main()
