# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What scripts/device_kernels counts in machine code and reads of kernels: device_kernels_test.py FOLDER_OF_SCRIPTS"""
import pathlib
import sys
import tempfile
from collections import Counter

from expect import expect

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "device_kernels"))
import main as script  # noqa: E402
from accesses import accesses_of  # noqa: E402
from limits import Hot  # noqa: E402


def function(*instructions):
    """As cuobjdump -sass writes it; `jump N` goes to instruction number N."""
    lines = []
    for k, text in enumerate(instructions):
        predicate, _, rest = text.rpartition("|")
        opcode, _, operands = rest.partition(" ")
        if opcode == "jump":
            opcode, operands = "BRA", f"0x{16 * int(operands):x}"
        lines.append(f"        /*{16 * k:04x}*/  {predicate and predicate + ' '}{opcode} {operands} ;  /* 0x00 */")
    return "\n".join(lines)


# A loop of 3 scalar loads, of which one is jumped over where there is no mask; then what is left, outside of it.
LOOP = function("S2R R0, SR_CTAID.X", "@P1|jump 6", "LDG.E R1, desc[UR4][R2.64]", "@!P2|jump 5", "LDG.E R1, desc[UR4][R4.64]",
                "LDG.E R6, desc[UR4][R6.64+0x200]", "@P0|jump 1", "STG.E.64 desc[UR4][R2.64], R6", "EXIT")
found = accesses_of(LOOP)
expect(found == {"load": Counter({32: 3}), "store": Counter({64: 1})}, found)

# Of two ways through a loop, the wide one, though the narrow one moves more. The loop inside does not count.
CHOICE = function("@P0|jump 4", "LDG.E.128.CONSTANT R4, desc[UR4][R2.64]", "STG.E.128 desc[UR4][R2.64], R4", "jump 9",
                  *["LDG.E R1, desc[UR4][R2.64]"] * 5, "STG.E.U8 desc[UR4][R2.64], R4", "@P1|jump 9", "@P2|jump 0", "EXIT")
found = accesses_of(CHOICE)
expect(found == {"load": Counter({128: 1}), "store": Counter({128: 1})}, found)
found = accesses_of(CHOICE, 1)
expect(found["store"] == Counter({8: 1}), found)

# Two loops that do the same are one.
found = [accesses_of(function("LDG.E R1, desc[UR4][R2.64]", "@P0|jump 0", "LDG.E R1, desc[UR4][R2.64]", "@P0|jump 2",
                              "LDG.E.U16 R1, desc[UR4][R2.64]", "EXIT"), nth)["load"] for nth in (0, 1)]
expect(found == [Counter({32: 1}), Counter({16: 1})], found)

# Shared and local memory, and code behind an unconditional jump, are no traffic.
found = accesses_of(function("LDS R1, [R2]", "STL [R1], R2", "jump 4", "LDG.E R1, desc[UR4][R2.64]", "LD.E R1, [R2.64]", "EXIT"))
expect(found == {"load": Counter({32: 1}), "store": Counter()}, found)

hot = Hot("AdamUpdate", "", {128: 1}, {32: 3}, read_bytes=16, written_bytes=12)
wide = script.Traffic(hot, {"load": Counter({128: 4}), "store": Counter({32: 12})})
expect(wide.columns == ["1 x 128", "3 x 32"] and not wide.faults, wide)
narrow = script.Traffic(hot, {"load": Counter({32: 4}), "store": Counter({32: 3})})
expect(narrow.faults == ["4 loads of 32 bits, at most 0"], narrow.faults)
expect(script.Traffic(hot, {"load": Counter(), "store": Counter({32: 3})}).faults == ["no loads"], hot)

# How a kernel is launched stands in its name.
TEAM = "void Kokkos::Impl::cuda_parallel_launch_{}_memory<Kokkos::Impl::ParallelFor<kadam::detail::TeamBlockLoop<" \
       "kadam::detail::DecodeBlock<kadam::UniformQuantiser<4>, kadam::Store, Kokkos::CudaSpace> > > >()"
expect(script.short_name(TEAM.format("local")) == "DecodeBlock uniform4", script.short_name(TEAM.format("local")))
light = script.Kernel("", TEAM.format("local"), registers=28, functor=600)
heavy = script.Kernel("", TEAM.format("constant"), registers=28)
expect(not light.faults, light.faults)
expect(heavy.faults == ["512 B or more, not launched as light-weight"] and heavy.columns[4] == "512 or more", heavy.faults)
expect(script.Kernel("", TEAM.format("local"), registers=64, stack=8, spills=4).faults ==
       ["registers: 64, at most 32", "stack: 8, at most 0", "spills: 4, at most 0"], "a kernel that needs too much")
expect(script.short_name("Kokkos::Impl::ParallelFor<kadam::step_ahead<Kokkos::Cuda>(float)::{lambda(long)#1}>") == "step_ahead",
       "a lambda has the name of its function")

log = """ptxas info    : Compiling entry function '_Z1f' for 'sm_90'
    16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 30 registers, used 1 barriers, 48 bytes smem"""
kernels = script.kernels_of(log)
kernels["_Z1f"].demangled = TEAM.format("local")
script.read_parameters(kernels, ".nv.info._Z1f\n\tAttribute:\tEIATTR_CBANK_PARAM_SIZE\n\tFormat:\tEIFMT_HVAL\n\tValue:\t0x160\n")
kernel = kernels["_Z1f"]
expect((kernel.registers, kernel.stack, kernel.spills, kernel.shared, kernel.functor) == (30, 16, 12, 48, 352), kernel)

with tempfile.TemporaryDirectory() as folder:
    (pathlib.Path(folder) / "kernels").mkdir()
    (pathlib.Path(folder) / "kernels" / "a.hpp").write_text(
        'Kokkos::parallel_for("kadam::one", 1); for_each_block(\n  "kadam::two", 2); fence("kadam::three");', encoding="utf-8")
    missing = script.missing_labels(pathlib.Path(folder), b"\0kadam::one\0kadam::two_ahead\0")
    expect(missing[0] == "kadam::two: tests/device/kernels.cpp does not launch it", missing)
    expect(all("no kernel has it" in text for text in missing[1:]) and len(missing) > 1, missing)
