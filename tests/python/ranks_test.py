# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kadam between the ranks of an mpi4py communicator: mpirun -n 2 python ranks_test.py"""
import pathlib
import tempfile

import kadam
import numpy as np
from mpi4py import MPI

from checks import refuses, warmup_of
from expect import expect

WORLD = MPI.COMM_WORLD
# A tail that fills no word of 32 codes, and one tensor without elements.
TENSORS = {"weights": (40, 25), "nothing": 0, "bias": 7}
ELEMENTS = 1007
# Short blocks, and enough coordinates of a sparse mean, where there are such options.
SHORT = {"block": 64, "density": 0.05}
OPTIONS = {name: warmup_of(name, 4) | {option: SHORT[option] for option in SHORT if option in kadam.options(name)}
           for name in kadam.optimizers()}


def start():
    return np.linspace(-1, 1, ELEMENTS, dtype=np.float32)


def gradient(step):
    return np.random.default_rng([step, WORLD.rank]).normal(0.1, 1, ELEMENTS).astype(np.float32)


def make(name, comm=WORLD, **more):
    return kadam.Optimizer(name, TENSORS, comm, lr=0.01, **OPTIONS[name], **more)


def are_equal_on_all(x):
    return all(other == x.tobytes() for other in WORLD.allgather(x.tobytes()))


class DLPackOnly:
    """What the array API asks of an array, without a buffer."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **named):
        return self.array.__dlpack__(**named)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def ranks_stay_equal_and_send_what_is_planned():
    for name in OPTIONS:
        optimizer, x = make(name), start()
        expect((optimizer.rank, optimizer.size, optimizer.elements) == (WORLD.rank, WORLD.size, ELEMENTS))
        for step in range(1, 9):
            before = optimizer.statistics
            result = optimizer.step(x, gradient(step))
            after = optimizer.statistics
            sent = {kind: after[kind] - before[kind] for kind in after if kind.startswith("sent_")}
            expect(result.step == step and not result.skipped, name, result)
            planned = optimizer.planned_bytes(step, result.phase)
            expect(sent["sent_bytes"] - sent["sent_control_bytes"] == planned, name, step, result, sent, planned)
            expect(not result.synchronised or are_equal_on_all(x), name, "differs between ranks after step", step)
        expect(optimizer.sent_bytes == optimizer.statistics["sent_bytes"])
        expect((optimizer.sent_bytes > 0) == (WORLD.size > 1), name, optimizer.sent_bytes)
        expect(np.abs(x - start()).max() > 0.01, name, "does not move")
        optimizer.flush(x)
        expect(are_equal_on_all(x), name, "differs between ranks after flush()")
        optimizer.close()


def all_kinds_of_arrays_are_the_same():
    def run(wrap):
        optimizer, x = make("onebit_adam"), start()
        for step in range(1, 7):
            optimizer.step(wrap(x), wrap(gradient(step)))
        return x
    plain = run(lambda array: array)
    for name, wrap in (("DLPack", DLPackOnly), ("a buffer", memoryview),
                       ("two dimensions", lambda array: array.reshape(53, 19))):
        expect(run(wrap).tobytes() == plain.tobytes(), name, "gives other parameters")


def restarts_are_exact(folder):
    for name in OPTIONS:
        here = folder / name
        whole, x = make(name), start()
        for step in range(1, 7):
            if step == 4:
                whole.set(lr=0.02, weight_decay=0.1)
            whole.step(x, gradient(step))
        saved = whole.save(x, here, keep=1, words={"epoch": "6"})
        expect(WORLD.bcast(saved) == saved and saved.is_dir(), saved)
        again, y = make(name), np.zeros(ELEMENTS, np.float32)
        restored = again.load(y, saved)
        expect((restored.step, restored.path, restored.words) == (6, saved, {"epoch": "6"}), restored.words)
        for step in range(7, 13):
            whole.step(x, gradient(step))
            again.step(y, gradient(step))
        expect(x.tobytes() == y.tobytes(), name, "goes on differently after load()")
        newest = make(name).load_newest(y, str(here))
        expect(newest.step == 6, newest)
    (here / "step-000000000006" / "MANIFEST").unlink(missing_ok=True)
    refuses(RuntimeError, "MANIFEST", make(name).load, y, saved)


def gradients_may_leave_early():
    late, early = make("adam"), make("adam")
    x, y = start(), start()
    for step in range(1, 4):
        g = gradient(step)
        late.step(x, g)
        for first, last in ((600, ELEMENTS), (0, 600)):
            early.gradient_ready(g, first, last)
            early.progress()
        early.step(y, g)
    expect(x.tobytes() == y.tobytes(), "gradient_ready() changes the result")


def ranks_know_of_each_other():
    optimizer, x = make("adam"), start()
    optimizer.raise_bits(1 << WORLD.rank)
    expect(optimizer.step(x, gradient(1)).raised == (1 << WORLD.size) - 1, "raised bits are lost")
    bad, before = gradient(2), x.copy()
    if WORLD.rank == WORLD.size - 1:
        bad[3] = np.nan
    result = optimizer.step(x, bad)
    expect(result.skipped and result.step == 1 and x.tobytes() == before.tobytes(), "NaN on one rank:", result)
    expect(optimizer.health()["skipped_steps"] == 1, optimizer.health())
    # Without synchronisation at every step: consensus() says where flush() will lead.
    apart = kadam.Optimizer("zero_one_adam", TENSORS, WORLD, lr=0.01, variance_freeze_step=6, sync_doubling_steps=4)
    steps = [apart.step(x, gradient(step)) for step in range(1, 20)]
    expect(not steps[-1].synchronised, "no step without synchronisation at the end:", steps)
    out = np.empty_like(x)
    apart.consensus(x, out)
    apart.flush(x)
    expect(np.abs(x - out).max() < 1e-6 and are_equal_on_all(x), "consensus() is not flush()")


def ranks_set_the_same():
    optimizer, x = make("onebit_adam"), start()
    if WORLD.size > 1:
        optimizer.set(lr=0.125 * (1 + WORLD.rank))
        refuses(ValueError, "lr is 0.125 on rank 0, 0.25 on rank 1", optimizer.step, x, gradient(1))
        expect(x.tobytes() == start().tobytes(), "a step that was refused moved")
    optimizer.set(lr=0.125)
    result = optimizer.step(x, gradient(1))
    expect(result.step == 1 and result.learning_rate == 0.125 and are_equal_on_all(x), result)


def communicators_do_not_meet():
    alone = WORLD.Split(WORLD.rank)
    one, all_ = make("onebit_adam", alone), make("onebit_adam")
    x, y, z = start(), start(), start()
    none = make("onebit_adam", None, allow_alone=True)
    if WORLD.size > 1:
        refuses(ValueError, f"the launcher started {WORLD.size} tasks", make, "onebit_adam", None)
    for step in range(1, 7):
        one.step(x, gradient(step))
        all_.step(y, gradient(step))
        none.step(z, gradient(step))
    expect(x.tobytes() == z.tobytes() and one.sent_bytes == none.sent_bytes == 0, "one rank is not alone")
    expect(are_equal_on_all(y))
    one.close()
    alone.Free()


def mistakes_of_one_rank_end_on_all():
    if WORLD.size == 1:
        return
    is_first = WORLD.rank == 0
    refuses(kadam.PeerFailure if is_first else ValueError, "" if is_first else "'lr': expected", kadam.Optimizer, "adam",
            TENSORS, WORLD, lr=0.1 if is_first else {})
    refuses(kadam.PeerFailure if is_first else ValueError, "" if is_first else "tensor 'x'", kadam.Optimizer, "adam",
            TENSORS if is_first else {"x": -1}, WORLD)
    try:
        kadam.Optimizer("adam", TENSORS, WORLD, lr=0.1 * (1 + WORLD.rank))
    except Exception as error:
        expect("rank 0 and rank 1 disagree on option 'lr' (0.1 and 0.2)" in str(error), error)
    else:
        expect(False, "ranks with other options work together")
    refuses(ValueError, "COMM_NULL", kadam.Optimizer, "adam", TENSORS, MPI.COMM_NULL)
    refuses(kadam.PeerFailure if is_first else ValueError, "" if is_first else 'gpu_aware: expected "auto"', kadam.Optimizer,
            "adam", TENSORS, WORLD, gpu_aware="auto" if is_first else "perhaps")
    refuses(ValueError, "piece_bytes: expected 0 (automatic) or more bytes, got -1", kadam.Optimizer, "adam", TENSORS,
            WORLD, piece_bytes=-1)
    refuses(ValueError, "ranks_per_node: expected 0 or more ranks, got -2", kadam.Optimizer, "adam", TENSORS, WORLD,
            ranks_per_node=-2)


def a_wrong_array_of_one_rank_ends_the_step_on_all():
    if WORLD.size == 1:
        return
    for name, wrong, kind in (("adam", None, TypeError), ("local_adam", [1.0], TypeError),
                              ("onebit_adam", gradient(1)[1:], ValueError)):
        optimizer, x = make(name, timeout_seconds=30), start()
        if WORLD.rank == 0:
            refuses(kind, "gradient", optimizer.step, x, wrong)
        else:
            refuses(kadam.PeerFailure, "rank 0 cannot take this step", steps_up_to_a_round, optimizer, x)
    optimizer, x = make("adam", timeout_seconds=30), start()
    if WORLD.rank == 0:
        optimizer.give_up_step()
    else:
        refuses(kadam.PeerFailure, "rank 0 cannot take this step", optimizer.step, x, gradient(1))


def steps_up_to_a_round(optimizer, x):
    for step in range(1, 1 + optimizer.options.get("sync_interval", 1)):
        optimizer.step(x, gradient(step))


def missing_ranks_are_named():
    refuses(ValueError, "timeout_seconds: expected 0 (none) or more seconds, got -1", kadam.Optimizer, "adam", TENSORS,
            WORLD, timeout_seconds=-1)
    if WORLD.size == 1:
        return
    optimizer, last = make("adam", timeout_seconds=0.5), WORLD.size - 1
    if WORLD.rank != last:
        refuses(kadam.PeerFailure, f"no message has come for 0.5 s; this rank does not answer: {last}", optimizer.step,
                start(), gradient(1))
    WORLD.Barrier()


def ranks_without_mpi_send_the_same():
    ranks = kadam.Ranks(WORLD.rank, WORLD.size, WORLD.allgather, "127.0.0.1")
    for name in ("onebit_adam", "locally_accumulated_adam"):
        by_mpi, by_tcp = make(name), make(name, ranks)
        x, y = start(), start()
        for step in range(1, 7):
            by_mpi.step(x, gradient(step))
            by_tcp.step(y, gradient(step))
        expect(x.tobytes() == y.tobytes() and by_mpi.sent_bytes == by_tcp.sent_bytes, f"{name} over TCP")
    refuses(ValueError, "expected a rank of 0 to 1, got 2", make, "adam", kadam.Ranks(2, 2, WORLD.allgather))


def others_go_on_without_a_rank():
    """Rank 1 closes its optimizer, which ends its connections."""
    optimizer, x = make("adam", timeout_seconds=30), start()
    refuses(kadam.SnapshotLost, "no snapshots are kept: call keep_snapshots() first", optimizer.go_on, x)
    optimizer.keep_snapshots(x)
    refuses(kadam.PeerFailure, "use TCP, or start Open MPI 5", optimizer.go_on, x)
    for name in ("onebit_adam", "locally_accumulated_adam") if WORLD.size > 1 else ():
        optimizer = make(name, kadam.Ranks(WORLD.rank, WORLD.size, WORLD.allgather, "127.0.0.1"), timeout_seconds=30)
        refuses(ValueError, "spread from 1 to every", optimizer.keep_snapshots, x, every=2, spread=3)
        x = start()
        optimizer.keep_snapshots(x, every=2, spread=2, words={"step": "0"})
        for step in range(1, 6):
            optimizer.step(x, gradient(step))
            optimizer.after_step(x, {"step": str(step)})
        left = WORLD.Split(WORLD.rank == 1)
        if WORLD.rank == 1:
            del optimizer
        else:
            refuses(kadam.PeerFailure, "", steps_with_all, optimizer, x)
            x[:] = 1e30
            restored = optimizer.go_on(x)
            expect((restored.step, restored.words, restored.lost) == (4, {"step": "4"}, [1]), restored.step,
                   restored.words, restored.lost)
            expect((optimizer.rank, optimizer.size) == (left.rank, WORLD.size - 1), optimizer.rank, optimizer.size)
            for step in range(5, 9):
                optimizer.step(x, gradient(step))
                optimizer.after_step(x)
            optimizer.flush(x)
            expect(np.abs(x).max() < 10 and all(other == x.tobytes() for other in left.allgather(x.tobytes())), name)
        left.Free()


def others_take_newcomers_in():
    """The last rank is one that the others know nothing of."""
    if WORLD.size == 1:
        return
    comes = WORLD.rank == WORLD.size - 1
    others = WORLD.Split(comes)
    for name in ("onebit_adam", "locally_accumulated_adam"):
        own = None if comes else kadam.Ranks(others.rank, others.size, others.allgather, "127.0.0.1")
        optimizer, x = make(name, own, timeout_seconds=30, allow_alone=True), start()
        doors = [door for door in WORLD.allgather(optimizer.door) if door]
        expect(len(doors) == WORLD.size - 1 and not optimizer.has_newcomers, doors)
        refuses(kadam.SnapshotLost, "no snapshots are kept: call keep_snapshots() first", optimizer.admit, x)
        if comes:
            refuses(ValueError, "they have 'snapshots every 2 steps, spread over 2', "
                    "this process has 'snapshots every 2 steps, spread over 1'",
                    optimizer.join, x, doors, every=2, host="127.0.0.1")
            x[:] = 1e30
            restored = optimizer.join(x, doors, every=2, spread=2, host="127.0.0.1")
        else:
            optimizer.keep_snapshots(x, every=2, spread=2)
            restored, step = None, 0
            while restored is None:
                optimizer.step(x, gradient(step := step + 1))
                optimizer.after_step(x)
                if optimizer.has_newcomers:
                    restored = optimizer.admit(x, {"why": "a test"})
        expect((restored.words, restored.lost) == ({"why": "a test"}, []), restored.words, restored.lost)
        expect((optimizer.rank, optimizer.size) == (WORLD.rank, WORLD.size), optimizer.rank, optimizer.size)
        for step in range(restored.step + 1, restored.step + 6):
            optimizer.step(x, gradient(step))
            optimizer.after_step(x)
        optimizer.flush(x)
        expect(np.abs(x).max() < 10 and are_equal_on_all(x), name)
    others.Free()


def steps_with_all(optimizer, x):
    for step in range(6, 20):
        optimizer.step(x, gradient(step))


ranks_stay_equal_and_send_what_is_planned()
all_kinds_of_arrays_are_the_same()
with tempfile.TemporaryDirectory() as own:
    restarts_are_exact(pathlib.Path(WORLD.bcast(own)))
    WORLD.Barrier()
gradients_may_leave_early()
ranks_know_of_each_other()
ranks_set_the_same()
communicators_do_not_meet()
mistakes_of_one_rank_end_on_all()
a_wrong_array_of_one_rank_ends_the_step_on_all()
missing_ranks_are_named()
ranks_without_mpi_send_the_same()
others_go_on_without_a_rank()
others_take_newcomers_in()
