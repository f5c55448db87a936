# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every figure comes to Python under its name: mpirun -n 2 python figures_test.py"""
import pathlib
import tempfile
import warnings

import kadam
import numpy as np
from mpi4py import MPI

from checks import needed_warmup_of, refuses, rounds_of
from expect import expect

WORLD = MPI.COMM_WORLD
RANKS = WORLD.size
ELEMENTS = 2048
STATISTICS = ["elements", "steps_taken", "steps_skipped", "state_bytes", "workspace_bytes", "sent_bytes",
              "sent_control_bytes", "sent_dense_bytes", "sent_compressed_bytes", "sent_sparse_bytes",
              "sent_background_bytes", "sent_node_bytes", "check_seconds", "encode_seconds", "exchange_seconds",
              "decode_seconds"]
HEALTH = ["error_ratio", "variance_drift", "variance_spread", "support_overlap", "background_hidden",
          "largest_step", "largest_step_tensor", "inactive_fraction", "skipped_steps"]


def dense_mean_bytes(elements=ELEMENTS):
    """Sent by each of 1, 2 or 4 ranks for an exact mean, there and back: they own chunks of 256 elements alike."""
    return 8 * elements * (RANKS - 1) // RANKS


def gradient(step):
    """A quarter of the elements never has one."""
    values = np.random.default_rng([step, WORLD.rank]).normal(0.1, 1, ELEMENTS).astype(np.float32)
    values[::4] = 0
    return values


def make(name, tensors=None, **options):
    return kadam.Optimizer(name, tensors or {"x": ELEMENTS}, WORLD, lr=0.01, **options)


def sent(optimizer):
    return {kind: optimizer.statistics[f"sent_{kind}_bytes"]
            for kind in ("control", "dense", "compressed", "sparse", "background", "node")}


def train(optimizer, steps, of=gradient):
    """What was sent in these steps, by kind, and the phases."""
    x, before = np.ones(ELEMENTS, np.float32), sent(optimizer)
    phases = [optimizer.step(x, of(step)).phase for step in range(1, steps + 1)]
    after = sent(optimizer)
    expect(optimizer.statistics["sent_bytes"] == optimizer.sent_bytes == sum(after.values()), optimizer.statistics)
    bytes_ = {kind: after[kind] - before[kind] for kind in after}
    expect(bytes_.pop("control") == 16 * (RANKS - 1) * steps, "norm and raised bits of each step:", before, after)
    return bytes_, phases


def bytes_are_of_their_kind():
    none = {"dense": 0, "compressed": 0, "sparse": 0, "background": 0, "node": 0}
    # Half of the elements stay dense in compressed steps.
    tensors = {"kept": 1024, "x": 1024}
    groups = [{"tensors": "kept", "dense": True}]
    got, phases = train(make("onebit_adam", tensors, groups=groups, warmup_steps=3), 8)
    expect(phases == 3 * ["warm-up"] + 5 * ["compressed"], phases)
    codes = got["compressed"]
    expect(got == none | {"dense": 3 * dense_mean_bytes() + 5 * dense_mean_bytes(1024), "compressed": codes}, got)
    expect(RANKS == 1 or 5 * dense_mean_bytes(1024) / 32 < codes < 5 * dense_mean_bytes(2048) / 16, "codes of 1 bit:", codes)

    sparse = {"density": 0.05, "background_steps": 2, "warmup_steps": 1}
    optimizer = make("divisible_adam", variance_sync_interval=0, **sparse)
    got, _ = train(optimizer, 7)
    wanted = none | {"dense": dense_mean_bytes(), "background": 3 * dense_mean_bytes()}
    expect(got == wanted | {"sparse": got["sparse"]}, got)
    expect((got["sparse"] > 0) == (RANKS > 1), got)
    expect(got["sparse"] == 6 * optimizer.planned_bytes(2, "compressed"), got, "step 2 sends nothing else")
    # A mean of the variance at step 4, in the background as well.
    got, _ = train(make("divisible_adam", variance_sync_interval=4, variance_delay=2, **sparse), 7)
    expect(got == wanted | {"sparse": got["sparse"], "background": 4 * dense_mean_bytes()}, got)

    if RANKS == 4:
        # Two nodes of two: half of the vector goes to the neighbour and back, a quarter to the other node and back.
        got, _ = train(make("adam", ranks_per_node=2), 5)
        expect(got == none | {"dense": 5 * 2 * ELEMENTS, "node": 5 * 4 * ELEMENTS}, got)
        got, _ = train(make("onebit_adam", ranks_per_node=2, warmup_steps=2), 5)
        expect(got["dense"] == 2 * 2 * ELEMENTS and got["node"] > 2 * 4 * ELEMENTS and got["compressed"] > 0, got)


def numbers_are_under_their_names():
    optimizer = make("onebit_adam", warmup_steps=2)
    expect(list(optimizer.statistics) == STATISTICS, optimizer.statistics)
    x = np.ones(ELEMENTS, np.float32)
    for step in range(1, 8):
        values = gradient(step)
        if step in (2, 5) and WORLD.rank == RANKS - 1:
            values[1] = np.inf
        optimizer.step(x, values)
    got = optimizer.statistics
    expect((got["elements"], got["steps_taken"], got["steps_skipped"]) == (ELEMENTS, 5, 2), got)
    # Two moments and an error, and with others a part of their common error: what a checkpoint holds of it.
    server = 4 * ELEMENTS // RANKS if RANKS > 1 else 0
    expect(got["state_bytes"] == 12 * ELEMENTS + server and got["workspace_bytes"] != got["state_bytes"], got)


def seconds_are_of_their_phase():
    """Which is which is seen by what has none of it."""
    def of(name, values, **options):
        optimizer, x = kadam.Optimizer(name, {"x": ELEMENTS}, allow_alone=True, **options), np.ones(ELEMENTS, np.float32)
        optimizer.step(x, values)
        seconds = [optimizer.statistics[f"{phase}_seconds"] for phase in ("check", "encode", "exchange", "decode")]
        expect(not any(seconds), "not measured:", seconds)
        optimizer.measure_phases(True)
        optimizer.step(x, values)
        got = {phase for phase in ("check", "encode", "exchange", "decode")
               if optimizer.statistics[f"{phase}_seconds"] > 0}
        values = values.copy()
        values[3] = np.nan
        expect(optimizer.step(x, values).skipped)
        left = [phase for phase in ("check", "encode", "exchange", "decode")
                if optimizer.statistics[f"{phase}_seconds"] > 0]
        expect(left == ["check"], "a skipped step is a check:", left)
        return got
    values = gradient(1)
    # Alone: nothing is exchanged, and dense Adam encodes nothing.
    expect(of("adam", values) == {"check", "decode"}, of("adam", values))
    got = of("onebit_adam", values, warmup_steps=1)
    expect("encode" in got, got)
    if RANKS > 1:
        optimizer = make("adam")
        optimizer.measure_phases(True)
        optimizer.step(np.ones(ELEMENTS, np.float32), values)
        expect(optimizer.statistics["exchange_seconds"] > 0 and optimizer.statistics["encode_seconds"] == 0,
               optimizer.statistics)


def health_is_under_its_names():
    optimizer = make("adam")
    expect(list(optimizer.health()) == HEALTH, optimizer.health())
    train(optimizer, 2)
    nothing = dict.fromkeys(HEALTH) | {"inactive_fraction": 0, "skipped_steps": 0}
    expect(optimizer.health() == nothing, optimizer.health())

    frozen = make("onebit_adam", warmup_steps=2)
    train(frozen, 2)
    got = frozen.health()
    expect(0 < got["largest_step"] < 10 and got["largest_step_tensor"] == "x", got)
    of_step = {name: got[name] for name in ("largest_step", "largest_step_tensor")}
    expect(got == nothing | {"inactive_fraction": 0.25} | of_step, "no step since the freeze:", got)
    # Gradients of twice the size: four times the mean square.
    constant = gradient(1)
    doubled = make("onebit_adam", warmup_steps=2)
    train(doubled, 4, lambda step: constant if step <= 2 else 2 * constant)
    got = doubled.health()
    expect(abs(got["variance_drift"] - 4) < 1e-6 and got["inactive_fraction"] == 0.25, got)
    expect((got["error_ratio"] > 0) == (RANKS > 1), got)
    expect([got[name] for name in ("variance_spread", "support_overlap", "background_hidden")] == [None] * 3, got)

    # Gradients of rank r are r + 1 times as large: the variances' sums differ by the square of that.
    spreads = {}
    for name in kadam.optimizers():
        own = make(name, **needed_warmup_of(name, 4), **rounds_of(name, nonfinite="each_step"))
        train(own, 3, lambda step: np.full(ELEMENTS, WORLD.rank + 1, np.float32))
        got = own.health()
        if got["variance_spread"] is not None:
            spreads[name] = got["variance_spread"]
            expect(got["variance_drift"] is None, name, got)
    expect(len(spreads) > 1 and all(abs(spread - RANKS**2) < 1e-3 for spread in spreads.values()), spreads)

    # All ranks send the same coordinates; then each its own ones.
    for overlap, of in (1, lambda step: np.arange(ELEMENTS, dtype=np.float32)), (0, lambda step: np.where(
            np.arange(ELEMENTS) % RANKS == WORLD.rank, 1, 0).astype(np.float32)):
        sparse = make("divisible_adam", density=0.1, background_steps=2, variance_sync_interval=0)
        train(sparse, 5, of)
        got = sparse.health()
        expect(RANKS == 1 or got["support_overlap"] == overlap, overlap, got)
        expect(RANKS == 1 or 0 <= got["background_hidden"] <= 1, got)
        expect(got["error_ratio"] is None and got["variance_drift"] is None, got)

    optimizer.step(np.ones(ELEMENTS, np.float32), np.full(ELEMENTS, np.nan, np.float32))
    expect(optimizer.health()["skipped_steps"] == 1, optimizer.health())


def results_say_what_a_step_did():
    optimizer, x = make("adam", clip_norm=5.0), np.ones(ELEMENTS, np.float32)
    result = optimizer.step(x, np.full(ELEMENTS, 1 / 3, np.float32))
    norm = np.sqrt(ELEMENTS) / 3
    expect(abs(result.gradient_norm - norm) < 1e-5 and abs(result.gradient_scale - 5 / norm) < 1e-6, result)
    expect((result.step, result.phase, result.learning_rate, result.raised) == (1, "dense", 0.01, 0), result)
    expect(result.synchronised and not result.skipped, result)
    expect(repr(result).startswith("StepResult(step=1, phase='dense', learning_rate=0.01"), result)
    expect("skipped" not in repr(result), result)
    skipped = optimizer.step(x, np.full(ELEMENTS, np.nan, np.float32))
    expect(skipped.skipped and "skipped=True" in repr(skipped), skipped)
    if WORLD.rank == 0:
        optimizer.raise_bits(5)
    raised = [optimizer.step(x, gradient(k)).raised for k in (1, 2)]
    expect(raised == [5, 0], "raised bits", raised)
    alone = make("local_adam", sync_interval=2)
    bad = np.nan if WORLD.rank == 0 else 1
    results = [alone.step(x, np.full(ELEMENTS, bad if step <= 2 else 1, np.float32)) for step in range(1, 5)]
    expect([result.skipped_alone for result in results] == [0, 2, 0, 0], results)
    expect("skipped_alone=2" in repr(results[1]) and "skipped" not in repr(results[0]), results)


def the_end_of_local_steps_is_known():
    """flush() leaves what consensus() said, in the model as well; a later step goes on from there."""
    optimizer = make("zero_one_adam", variance_freeze_step=3, sync_doubling_steps=2)
    x = np.ones(ELEMENTS, np.float32)
    for step in range(1, 13):
        result = optimizer.step(x, gradient(step))
    expect(not result.synchronised, result)
    before = x.copy()
    out, model = np.zeros(ELEMENTS, np.float32), np.zeros(ELEMENTS, np.float16)
    optimizer.consensus(x, out, model)
    expect(np.all(x == before) and np.all(model == out.astype(np.float16)), "consensus() changes what it reads")
    expect(RANKS == 1 or not np.all(x == out), "ranks do not differ")
    flushed = np.zeros(ELEMENTS, np.float16)
    optimizer.flush(x, flushed)
    expect(x.tobytes() == out.tobytes() and flushed.tobytes() == model.tobytes(), "flush() is not consensus()")
    expect(WORLD.bcast(x.tobytes()) == x.tobytes(), "ranks differ after flush()")


def announced_gradients_are_awaited():
    if RANKS == 1:
        return
    optimizer, x, values = make("adam"), np.ones(ELEMENTS, np.float32), gradient(1)
    optimizer.gradient_ready(values, 0, 700)
    refuses(ValueError, "is not the View that gradient_ready() got for this step", optimizer.step, x, values.copy())
    optimizer.step(x, values)
    y = np.ones(ELEMENTS, np.float32)
    make("adam").step(y, values)
    expect(x.tobytes() == y.tobytes(), "an announcement changes the step")


def words_are_those_of_the_checkpoint(folder):
    optimizer, x = make("adam"), np.ones(ELEMENTS, np.float32)
    optimizer.step(x, gradient(1))
    first = optimizer.save(x, folder, words={"epoch": "1", "batch": "17"})
    optimizer.step(x, gradient(2))
    newest = optimizer.save(x, folder)
    other = make("adam")
    expect(other.load(x, first).words == {"epoch": "1", "batch": "17"})
    restored = other.load_newest(x, folder)
    expect(restored.step == 2 and restored.words == {}, "words of another checkpoint:", restored.words)
    # One that is not whole is passed over, and said so.
    WORLD.barrier()
    if WORLD.rank == 0:
        (pathlib.Path(newest) / "MANIFEST").unlink()
    WORLD.barrier()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        expect(other.load_newest(x, folder).step == 1)
    expect(len(said) == (WORLD.rank == 0) and all("was passed over" in str(one.message) for one in said), said)


bytes_are_of_their_kind()
numbers_are_under_their_names()
seconds_are_of_their_phase()
health_is_under_its_names()
results_say_what_a_step_did()
the_end_of_local_steps_is_known()
announced_gradients_are_awaited()
with tempfile.TemporaryDirectory() as own:
    words_are_those_of_the_checkpoint(pathlib.Path(WORLD.bcast(own)))
    WORLD.Barrier()
