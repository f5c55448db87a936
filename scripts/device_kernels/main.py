# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of kernels from the output of `ptxas -v` and cuobjdump."""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field

from accesses import accesses_of
from limits import HOT, NOT_YET, OF_THE_LIBRARY, REGISTERS_OF_A_THREAD

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "internal"))
from report import DOCUMENT, markdown, put_between_markers  # noqa: E402

# One multiprocessor of an H200 (compute capability 9.0).
REGISTERS = 65536
REGISTER_UNIT = 256  # allocation unit of a warp's registers
THREADS = 2048
BLOCKS = 32
TEAM = 128  # threads of a team unless its launch says otherwise, as in kernels/kadam/kernels/detail/backend.hpp
# Kokkos launches a larger functor through constant memory, for which the host waits; but not one whose policy asks for
# HintLightWeight. Which it is, is part of a kernel's name.
LAUNCH_BYTES = 512
TOLD_APART = (r"AlreadyAdded|ElementSource|ContinuedSource|MeanOfMessages|WithCopy|AddEntry|SubtractSum|SubtractEntry|"
              r"CountSender|SquareOf|MagnitudeOf|DecodedSquare")


@dataclass
class Kernel:
    mangled: str
    demangled: str = ""
    registers: int = 0
    stack: int = 0
    spills: int = 0
    shared: int = 0  # bytes, static
    functor: int = 0  # bytes; 0: in constant memory, or behind a pointer

    @property
    def name(self):
        return short_name(self.demangled)

    @property
    def needs(self):
        return (self.spills, self.stack, self.registers, self.functor)

    @property
    def is_light(self):
        return "parallel_launch_local_memory" in self.demangled

    @property
    def occupancy(self):
        """The largest fraction of a multiprocessor's threads that can run at a time, as far as registers limit it."""
        of_warp = -(-self.registers * 32 // REGISTER_UNIT) * REGISTER_UNIT
        bounds = re.search(r"LaunchBounds<(?:\(unsigned int\))?(\d+)", self.demangled)
        team = int(bounds.group(1)) if bounds and int(bounds.group(1)) else TEAM
        teams = min(REGISTERS // (of_warp * (team // 32)), BLOCKS, THREADS // team)
        return teams * team / THREADS

    @property
    def faults(self):
        """What exceeds its limits, as texts."""
        registers = REGISTERS_OF_A_THREAD.get(self.name)
        if registers is None:
            return ["has no limit in limits.py"]
        return [f"{what}: {has}, at most {most}" for what, has, most in (
            ("registers", self.registers, registers), ("stack", self.stack, 0), ("spills", self.spills, 0),
        ) if has > most] + ([] if self.is_light else [f"{LAUNCH_BYTES} B or more, not launched as light-weight"])

    @property
    def columns(self):
        functor = self.functor if self.is_light else f"{LAUNCH_BYTES} or more"
        return [self.registers, self.stack, self.spills, self.shared, functor, f"{self.occupancy:.0%}"]


COLUMNS = ["registers", "stack (B)", "spills (B)", "shared (B)", "functor (B)", "threads at a time"]


def short_name(demangled):
    """The name of a kernel: its functor, or the function that contains its lambda, with code and input. None for a
    kernel of Kokkos itself."""
    functor = re.search(r"Parallel(?:For|Scan|Reduce)<(?:Kokkos::Impl::Combined\w+<)*kadam::(?:detail::)?"
                        r"(?:TeamBlockLoop<kadam::(?:detail::)?)?(\w+)", demangled)
    if functor is None:
        return None
    words = [functor.group(1)]
    if rule := re.search(r"ElementLoop<kadam::(?:BySegment<Kokkos::\w+, kadam::)?(?:detail::)?(?:PartOfLocalStep<kadam::detail::)?(\w+)",
                         demangled):
        words = [rule.group(1)]
    if digit := re.search(r"TallyDigit<Kokkos::\w+, (\d)>", demangled):
        words.append(digit.group(1))
    if code := re.search(r"kadam::(Sign|Uniform|Float8|Gauss2)Quantiser(?:<(?:\(int\))?(\d+)>)?", demangled):
        words.append(code.group(1).lower() + (code.group(2) or ""))
    if part := re.search(TOLD_APART, demangled):
        words.append(part.group())
    if "Bfloat16Errors" in demangled:
        words.append("bf16")
    if "MomentumScaleOf" in demangled:
        words.append("by tensor")
    if "NarrowTeam" in demangled:
        words.append("narrow")
    return " ".join(words)


def kernels_of(log):
    """{mangled name: kernel} of all kernels with figures in a log of nvcc."""
    kernels, kernel = {}, None
    for line in log.splitlines():
        if found := re.search(r"Compiling entry function '(\w+)'", line):
            kernel = kernels.setdefault(found.group(1), Kernel(found.group(1)))
        elif kernel and (found := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line)):
            kernel.stack = int(found.group(1))
            kernel.spills = int(found.group(2)) + int(found.group(3))
        elif kernel and (found := re.search(r"Used (\d+) registers", line)):
            kernel.registers = int(found.group(1))
            if shared := re.search(r"(\d+) bytes smem", line):
                kernel.shared = int(shared.group(1))
    names = subprocess.run(["c++filt"], input="\n".join(kernels), text=True, capture_output=True, check=True).stdout.splitlines()
    for kernel, name in zip(kernels.values(), names):
        kernel.demangled = name
    return kernels


def read_parameters(kernels, elf):
    """Sets the size of each kernel's functor, its only argument, from `cuobjdump -elf`."""
    for section in re.split(r"^\.nv\.info\.", elf, flags=re.MULTILINE)[1:]:
        kernel = kernels.get(section.split(None, 1)[0])
        size = re.search(r"EIATTR_CBANK_PARAM_SIZE\s+Format:\s*\w+\s+Value:\s*0x([0-9a-f]+)", section)
        if kernel and size and kernel.is_light:
            kernel.functor = int(size.group(1), 16)


def worst_of_each_name(kernels):
    """One kernel for each name, sorted: of those compiled for several formats the worst."""
    worst = {}
    for kernel in kernels:
        if kernel.name and (kernel.name not in worst or kernel.needs > worst[kernel.name].needs):
            worst[kernel.name] = kernel
    return sorted(worst.values(), key=lambda kernel: kernel.name)


def missing_labels(root, code):
    """Complaints about labels of kernels in the sources that the compiled file lacks."""
    launch = re.compile(r'(?:parallel_(?:for|reduce|scan)|for_each_block|for_each_short_block|for_each_element|for_each_entry)\(\s*"(kadam::[^"]+)"')
    labels = {label for folder in ("kernels", "src") for path in (root / folder).rglob("*.[ch]pp")
              if not path.name.startswith("host_")  # for CPUs only
              for label in launch.findall(path.read_text(encoding="utf-8"))}
    missing = [f"{label}: tests/device/kernels.cpp does not launch it" for label in sorted(labels - OF_THE_LIBRARY - NOT_YET)
               if label.encode() + b"\0" not in code]
    return missing + [f"{label}: limits.py lists this label, but no kernel has it"
                      for label in sorted(OF_THE_LIBRARY - labels)]


def functions_of(sass):
    """{mangled name: text} of `cuobjdump -sass`."""
    return {part.split(None, 1)[0]: part for part in re.split(r"^\s*Function : ", sass, flags=re.MULTILINE)[1:]}


@dataclass
class Traffic:
    """Accesses of a hot kernel to global memory, per element."""
    hot: object
    found: dict  # {"load" or "store": {bits: accesses}}
    per_element: dict = field(init=False)

    def __post_init__(self):
        self.per_element = {kind: {bits: count / self.elements(kind) for bits, count in sorted(self.found[kind].items())}
                            for kind, limits in (("load", self.hot.loads), ("store", self.hot.stores)) if limits is not None}

    def elements(self, kind):
        """Number of elements of one round: those that a thread holds, or those whose bytes it moves."""
        if self.hot.held:
            return self.hot.held
        moved = sum(bits // 8 * count for bits, count in self.found[kind].items())
        return moved / {"load": self.hot.read_bytes, "store": self.hot.written_bytes}[kind]

    @property
    def faults(self):
        wrong = []
        for kind, limits in (("load", self.hot.loads), ("store", self.hot.stores)):
            if limits is None:
                continue
            for bits, count in self.per_element[kind].items():
                if count > limits.get(bits, 0):
                    wrong.append(f"{count:g} {kind}s of {bits} bits, at most {limits.get(bits, 0):g}")
            if not self.found[kind]:
                wrong.append(f"no {kind}s")
        return wrong

    @property
    def columns(self):
        return [" + ".join(f"{count:g} x {bits}" for bits, count in self.per_element[kind].items())
                if limits is not None else "-" for kind, limits in (("load", self.hot.loads), ("store", self.hot.stores))]


def traffic_of(kernels, functions):
    """Traffic of every row of HOT, and complaints about rows without exactly one kernel."""
    rows, lost = [], []
    for hot in HOT:
        texts = [functions[k.mangled] for k in kernels.values() if re.search(hot.pattern, k.demangled)]
        if len(texts) != 1:
            lost.append(f"{hot.name}: {len(texts)} kernels fit its pattern, expected one")
            continue
        rows.append(Traffic(hot, accesses_of(texts[0], hot.loop)))
    return rows, lost


def program(name):
    found = shutil.which(name)
    if found is None:
        raise SystemExit(f"kadam: {name} is needed; scripts/device_kernels.sh installs it.")
    return found


def dump(what, path):
    return subprocess.run([program("cuobjdump"), what, path], text=True, capture_output=True, check=True).stdout


def print_table(heads, rows):
    """rows: [name, columns, faults]."""
    widths = [2 + max(len(str(row[k])) for row in (heads[1:], *(columns for _, columns, _ in rows)))
              for k in range(len(heads) - 1)]
    print(f"{heads[0]:<50}" + "".join(f"{head:>{width}}" for head, width in zip(heads[1:], widths)))
    for name, columns, faults in rows:
        note = f"  <- failed: {'; '.join(faults)}" if faults else ""
        print(f"{name:<50}" + "".join(f"{str(c):>{width}}" for c, width in zip(columns, widths)) + note)


def first_figures(document):
    """{(name of a row, number of columns, column): first figure} from the tables of a document."""
    figures = {}
    for line in document.partition("<!-- device_kernels -->")[2].partition("<!-- /device_kernels -->")[0].splitlines():
        name, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        for k, cell in enumerate(cells):
            figures.setdefault((name, len(cells), k), cell.split(" -> ")[0])
    return figures


def table_of(heads, rows, first):
    """The table for a document: a figure that has changed is shown as first -> present."""
    lines = [heads]
    for name, columns, _ in rows:
        now = [str(column).replace("%", " %") for column in columns]
        was = [first.get((name, len(now), k), figure) for k, figure in enumerate(now)]
        lines.append([name] + [a if a == b else f"{a} -> {b}" for a, b in zip(was, now)])
    return markdown(lines)


def lambdas_in_headers(root):
    """Complaints about lambdas as kernels in headers: nvcc 13 may link the launch in one file to the kernel of
    another."""
    return [f"{path.relative_to(root)}: a kernel in a header must be a functor, not a KOKKOS_LAMBDA"
            for folder in ("kernels", "src", "workloads") for path in sorted((root / folder).rglob("*.hpp"))
            if "KOKKOS_LAMBDA" in path.read_text(encoding="utf-8")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("log", type=pathlib.Path)
    parser.add_argument("object", type=pathlib.Path)
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    kernels = kernels_of(arguments.log.read_text(encoding="utf-8"))
    if not kernels:
        raise SystemExit("kadam: The output of the compiler names no kernel.")
    read_parameters(kernels, dump("-elf", arguments.object))
    worst = worst_of_each_name(kernels.values())
    traffic, errors = traffic_of(kernels, functions_of(dump("-sass", arguments.object)))
    root = pathlib.Path(__file__).parents[2]
    errors += missing_labels(root, arguments.object.read_bytes()) + lambdas_in_headers(root)
    errors += [f"{name}: limits.py has a limit, but there is no such kernel"
               for name in REGISTERS_OF_A_THREAD.keys() - {kernel.name for kernel in worst}]

    tables = [(["kernel", *COLUMNS], [(k.name, k.columns, k.faults) for k in worst]),
              (["for each element", "loads x bits", "stores x bits"], [(t.hot.name, t.columns, t.faults) for t in traffic])]
    if arguments.markdown or arguments.write:
        first = first_figures(DOCUMENT.read_text(encoding="utf-8"))
        text = "\n\n".join(table_of(heads, rows, first) for heads, rows in tables)
        print(text)
        if arguments.write:
            put_between_markers(DOCUMENT, "device_kernels", text)
    else:
        for heads, rows in tables:
            print_table(heads, rows)
            print()
    for error in errors:
        print(f"failed: {error}")
    failed = sum(bool(row.faults) for row in (*worst, *traffic)) + len(errors)
    print(f"{len(worst) + len(traffic) + len(errors) - failed} passed, {failed} failed")
    raise SystemExit(failed != 0)


if __name__ == "__main__":
    main()
