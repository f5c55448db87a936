# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports how Kadam was built and what it finds here, takes one test step on all ranks, and gives advice.

    python -m kadam.doctor [--json]
    mpirun -n 4 python -m kadam.doctor
    torchrun --nproc-per-node 4 -m kadam.doctor

Exit code 0: Kadam works here; 1: it does not, and the output says why. The program kadam-doctor, if it is installed,
also checks cores, nodes and exchanges.
"""
from __future__ import annotations

import argparse
import array
import importlib.metadata
import json
import os
import pathlib
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import _kadam

# What launchers leave: mpirun of Open MPI, that of MPICH and srun with PMI, srun, torchrun.
_LAUNCHERS = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", "WORLD_SIZE")
# What torchrun leaves, and a rank needs to find the others.
_OF_TORCHRUN = ("TORCHELASTIC_RUN_ID", "RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
_ELEMENTS = 1000
_RATE = 0.1


@dataclass
class _Ranks:
    """Those that take the step, and what brings values of all of them together."""
    by: str | None = None  # mpi4py or torchrun
    comm: Any = None  # for kadam.Optimizer
    rank: int = 0
    size: int = 1
    gather: Callable[[Any], list[Any]] = lambda own: [own]
    end: Callable[[], None] = lambda: None


def _version_of(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _look_for_mpi4py() -> tuple[dict[str, Any], Any]:
    """What is to be said of it, and its communicator of all ranks, if Kadam can work with that."""
    found: dict[str, Any] = {"version": _version_of("mpi4py"), "library": None, "same_library": None, "error": None}
    try:
        from mpi4py import MPI
    except ImportError as error:
        if found["version"] is not None:
            found["error"] = str(error)
        return found, None
    except RuntimeError as error:  # it found no MPI library
        found["error"] = " ".join(str(error).split())
        return found, None
    found["library"] = MPI.Get_library_version().split("\n")[0].split(",")[0].rstrip("\0")
    found["same_library"] = MPI.Is_initialized() and _kadam.mpi_was_initialised()
    return found, MPI.COMM_WORLD if found["same_library"] else None


def _ranks_of_torchrun() -> _Ranks | None:
    """None unless torchrun has started several. Collective."""
    if any(name not in os.environ for name in _OF_TORCHRUN) or os.environ["WORLD_SIZE"] == "1":
        return None
    try:
        from torch import distributed
    except ImportError:
        return None
    from . import _torch_ranks
    distributed.init_process_group("gloo")
    comm = _torch_ranks.ranks()

    def gather(own: Any) -> list[Any]:
        values: list[Any] = [None] * comm.size
        distributed.all_gather_object(values, own)
        return values
    return _Ranks("torchrun", comm, comm.rank, comm.size, gather, distributed.destroy_process_group)


def _find_ranks(comm: Any) -> _Ranks:
    """comm: mpi4py's of all ranks, or None."""
    if comm and comm.size > 1:
        return _Ranks("mpi4py", comm, comm.rank, comm.size, comm.allgather)
    return _ranks_of_torchrun() or _Ranks(comm=comm)


def _take_a_step(ranks: _Ranks) -> dict[str, Any]:
    """The first step of dense Adam: from 1, against a gradient above 0, by the learning rate. Collective."""
    x = array.array("f", [1.0]) * _ELEMENTS
    try:
        optimizer = _kadam.Optimizer("adam", {"x": _ELEMENTS}, ranks.comm, lr=_RATE, weight_decay=0.0)
        optimizer.step(x, array.array("f", [1.0 + ranks.rank]) * _ELEMENTS)
        optimizer.close()
    except (ValueError, RuntimeError) as error:
        return {"passed": False, "error": str(error)}
    mine = x.tobytes()
    equal = all(other == mine for other in ranks.gather(mine))
    distance = max(abs(value - (1.0 - _RATE)) for value in x)
    return {"passed": equal and distance < 1e-5, "equal_on_all_ranks": equal, "distance": distance}


def _advice(findings: dict[str, Any]) -> list[str]:
    mpi, mpi4py = findings["mpi"], findings["mpi4py"]
    if findings["ranks_by"] == "torchrun":  # they need no MPI
        return []
    anew = ("build mpi4py for Kadam's MPI library: pip install --no-binary mpi4py mpi4py, with the mpicc of "
            f"{mpi} in PATH.")
    if mpi is None:
        return ["Kadam was built without MPI, so there is one rank and nothing is exchanged. For more ranks, build "
                "Kadam with KADAM_ENABLE_MPI=ON."]
    if mpi4py["error"]:
        return [f"mpi4py does not find its MPI library: {anew}"]
    if mpi4py["version"] is None:
        return [f"mpi4py is not installed, so there is one rank and nothing is exchanged. For more ranks, {anew}"]
    if not mpi4py["same_library"]:
        return [f"mpi4py uses {mpi4py['library']}, but Kadam uses {mpi}: {anew}"]
    if findings["ranks"] == 1 and findings["self_test"]["passed"]:
        return ["There is one rank, so nothing is exchanged. For more ranks: mpirun -n RANKS python -m kadam.doctor."]
    return []


def look_around() -> tuple[dict[str, Any], bool]:
    """What was found, and whether it is this rank that says it. Collective, if there are ranks."""
    mpi4py, comm = _look_for_mpi4py()
    ranks = _find_ranks(comm)
    threads = _kadam.host_threads()
    findings: dict[str, Any] = {
        "version": _kadam.__version__,
        "folder": str(pathlib.Path(__file__).parent),
        "execution_space": _kadam.execution_space(),
        **_kadam.build(),
        "mpi": _kadam.mpi_library(),
        "python": platform.python_version(),
        "mpi4py": mpi4py,
        "torch": _version_of("torch"),
        "launcher": {name: os.environ[name] for name in _LAUNCHERS if name in os.environ},
        "ranks": ranks.size,
        "ranks_by": ranks.by,
        "threads": ranks.gather(threads),
    }
    test = _take_a_step(ranks)
    test["passed"] = all(ranks.gather(test["passed"]))
    findings["self_test"] = test
    ranks.end()
    findings["advice"] = _advice(findings)
    mpi4py_fits = mpi4py["error"] is None and mpi4py["same_library"] is not False
    findings["works"] = test["passed"] and (mpi4py_fits or ranks.by == "torchrun")
    return findings, ranks.rank == 0


def _span(numbers: list[int]) -> str:
    least, most = min(numbers), max(numbers)
    return str(least) if least == most else f"{least} to {most}"


def _words_on_mpi4py(found: dict[str, Any]) -> str:
    if found["error"]:
        return f"{found['version']}, FAILED: {found['error']}"
    if found["version"] is None:
        return "not installed"
    return f"{found['version']}, {'the same' if found['same_library'] else 'ANOTHER'} MPI library"


def _words_on_test(test: dict[str, Any]) -> str:
    if "error" in test:
        return f"FAILED: {test['error']}"
    return (f"{'passed' if test['passed'] else 'FAILED'}: parameters "
            f"{'bitwise equal' if test['equal_on_all_ranks'] else 'DIFFER'} on all ranks, {test['distance']:.3f} from "
            "where Adam's first step leads")


def as_text(findings: dict[str, Any]) -> str:
    """As kadam-doctor says it."""
    lines = {
        "Python": f"{findings['python']}, {sys.executable}",
        "mpi4py": _words_on_mpi4py(findings["mpi4py"]),
        "PyTorch": findings["torch"] or "not installed",
        "ranks": str(findings["ranks"]) + (", by torchrun" if findings["ranks_by"] == "torchrun" else ""),
        "threads of a rank": _span(findings["threads"]),
        "variables of a launcher": ", ".join(f"{k}={v}" for k, v in findings["launcher"].items()) or "none",
    }
    head = (f"kadam {findings['version']}, {findings['folder']}\n"
            f"Kokkos {findings['kokkos']}, {findings['execution_space']}\n"
            f"MPI: {findings['mpi'] or 'none (one rank)'}\n"
            f"compiled by {findings['compiler']}, {findings['type']}\n\n")
    body = "".join(f"{name:<32}{value}\n" for name, value in lines.items())
    test = f"\n{'self-test':<32}{_words_on_test(findings['self_test'])}\n\n"
    advice = "".join(f"- {sentence}\n" for sentence in findings["advice"])
    if advice:
        return head + body + test + "Advice:\n" + advice
    return head + body + test + ("All is well.\n" if findings["works"] else "")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m kadam.doctor", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the same as JSON")
    arguments = parser.parse_args()
    findings, speaks = look_around()
    if speaks:
        print(json.dumps(findings, indent=2) + "\n" if arguments.json else as_text(findings), end="")
    return 0 if findings["works"] else 1


if __name__ == "__main__":
    sys.exit(main())
