# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What users of torch.optim expect of kadam.torch.Optimizer, on the ranks of mpirun: torch_optimizer_test.py [ONLY]

Each function is a row of the table in docs/pytorch.md."""
import io
import itertools
import pathlib
import sys
import tempfile
import warnings

try:
    import torch
except ImportError:
    print("skipped: PyTorch is not installed (scripts/bench_peers.sh makes an environment that has it)")
    sys.exit(77)
import kadam.torch
from mpi4py import MPI
from torch import nn

from checks import refuses
from expect import expect

WORLD = MPI.COMM_WORLD
RANKS = range(WORLD.size)
# AdamW rounds at other places; both are float32, after a few dozen steps.
AS_TORCH = 3e-6


def network(seed=1):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3))


def batch(step, rank, size=16):
    generator = torch.Generator().manual_seed(1000 * step + rank)
    return torch.randn(size, 8, generator=generator), torch.randint(3, (size,), generator=generator)


def loss_of(model, step, rank=WORLD.rank):
    inputs, targets = batch(step, rank)
    return nn.functional.cross_entropy(model(inputs.to(next(model.parameters()).dtype)).float(), targets)


def mean_loss(model, step):
    """Whose gradient is the mean over the ranks."""
    return sum(loss_of(model, step, rank) for rank in RANKS) / WORLD.size


def flat(model):
    return torch.cat([parameter.detach().float().reshape(-1) for parameter in model.parameters()])


def are_equal_on_ranks(model):
    own = flat(model).numpy().tobytes()
    return all(other == own for other in WORLD.allgather(own))


def optimizer_of(model, algorithm="adam", **more):
    return kadam.torch.Optimizer(model.named_parameters(), algorithm, WORLD, **{"lr": 0.01} | more)


def is_as_torch(model, reference, what):
    apart = (flat(model) - flat(reference)).abs().max().item()
    expect(apart < AS_TORCH, what, "is", apart, "away from torch.optim.AdamW")
    expect(are_equal_on_ranks(model), what, "differs between ranks")


def beside_adamw(what, groups_of, schedulers=(), steps=30, **options):
    """Trains beside torch.optim.AdamW on the mean gradient, both with these groups and schedulers."""
    model, reference = network(), network()
    ours = kadam.torch.Optimizer(groups_of(model), "adam", WORLD, **{"lr": 0.01} | options)
    theirs = torch.optim.AdamW(groups_of(reference), **{"lr": 0.01} | options)
    schedules = [[make(optimizer) for make in schedulers] for optimizer in (ours, theirs)]
    for step in range(steps):
        ours.zero_grad()
        loss_of(model, step).backward()
        ours.step()
        theirs.zero_grad()
        common = mean_loss(reference, step)
        common.backward()
        theirs.step()
        for schedule in itertools.chain(*schedules):
            schedule.step(*([common.item()] if isinstance(schedule, torch.optim.lr_scheduler.ReduceLROnPlateau) else []))
        for ours_group, theirs_group in zip(ours.param_groups, theirs.param_groups):
            expect(ours_group["lr"] == theirs_group["lr"], what, step, ours_group["lr"], theirs_group["lr"])
    is_as_torch(model, reference, what)
    return ours


def steps_are_those_of_adamw():
    beside_adamw("adam", lambda model: model.named_parameters())
    beside_adamw("adam without names", lambda model: model.parameters(), betas=(0.8, 0.99), eps=1e-6, weight_decay=0.1)


def groups_have_rates_and_decays():
    def groups(model):
        weights = [p for p in model.parameters() if p.dim() > 1]
        biases = [p for p in model.parameters() if p.dim() == 1]
        return [{"params": weights, "weight_decay": 0.2}, {"params": biases, "weight_decay": 0.0, "lr": 0.002}]
    beside_adamw("two groups", groups)


def groups_have_betas_and_eps():
    def groups(model):
        return [{"params": model[0].parameters(), "betas": (0.5, 0.9)}, {"params": model[2].parameters(), "eps": 1e-3}]
    optimizer = beside_adamw("groups with betas", groups)
    expect(len(optimizer.engines) == 2, optimizer.engines)


def groups_are_added_before_the_first_step():
    model = network()
    optimizer = kadam.torch.Optimizer(model[0].parameters(), "adam", WORLD, lr=0.01)
    optimizer.add_param_group({"params": list(model[2].parameters()), "lr": 0.1})
    before = flat(model)
    loss_of(model, 0).backward()
    optimizer.step()
    expect(bool(((flat(model) - before).abs() > 0.005).all()), "some parameters do not move")
    refuses(RuntimeError, "groups can only be added before the first step", optimizer.add_param_group,
            {"params": [nn.Parameter(torch.zeros(3))]})


def frozen_parameters_stay():
    model = network()
    model[0].weight.requires_grad_(False)
    before = model[0].weight.clone()
    optimizer = optimizer_of(model, weight_decay=0.5)
    loss_of(model, 0).backward()
    optimizer.step()
    expect(torch.equal(model[0].weight, before), "a frozen parameter moved")
    expect(sum(engine.elements for engine in optimizer.engines) == sum(p.numel() for p in model.parameters()) - 128)


def tied_weights_are_one_parameter():
    torch.manual_seed(2)
    model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8))
    model[2].weight = model[0].weight
    optimizer = optimizer_of(model)
    model(torch.ones(2, 8)).square().sum().backward()
    optimizer.step()
    expect(model[2].weight is model[0].weight and optimizer.engines[0].elements == 64 + 8 + 8)
    expect(model[0].weight.data_ptr() == model[2].weight.data_ptr(), "tied weights lie apart")


def parameters_without_a_gradient_are_left_alone():
    """Also from the first step on, in the middle, and with a state that goes elsewhere."""
    model, reference = network(), network()
    ours = optimizer_of(model, weight_decay=0.3)
    theirs = torch.optim.AdamW(reference.parameters(), lr=0.01, weight_decay=0.3)
    for step in range(20):
        ours.zero_grad()
        loss_of(model, step).backward()
        theirs.zero_grad()
        mean_loss(reference, step).backward()
        before = flat(model[0]), model[2].bias.detach().clone()
        for of in model, reference:
            if step < 3 or step % 4 == 1:
                of[2].bias.grad = None
            if 5 < step < 9:
                of[0].weight.grad = of[0].bias.grad = None
        if step == 12:
            state = ours.state_dict()
            ours = optimizer_of(model, weight_decay=0.3)
            ours.load_state_dict(state)
        ours.step()
        theirs.step()
        expect(torch.equal(flat(model[0]), before[0]) == (5 < step < 9), step, "the first layer")
        expect(torch.equal(model[2].bias, before[1]) == (step < 3 or step % 4 == 1), step, "the bias")
    is_as_torch(model, reference, "parameters without a gradient")


def gradients_that_are_none_on_some_ranks_are_zeros_there():
    if WORLD.size == 1:
        return  # one rank is all ranks
    courses = []
    for is_none in True, False:
        model = network()
        optimizer = optimizer_of(model)
        for step in range(4):
            optimizer.zero_grad()
            loss_of(model, step).backward()
            if step > 1:  # of each rank another one
                own = list(model.parameters())[(WORLD.rank + step) % 4]
                own.grad = None if is_none else torch.zeros_like(own)
            optimizer.step()
        courses.append(flat(model))
        expect(are_equal_on_ranks(model))
    expect(torch.equal(*courses), "None is not 0")


def cosine_schedules_drive_it():
    beside_adamw("cosine", lambda model: model.named_parameters(),
                 [lambda of: torch.optim.lr_scheduler.CosineAnnealingLR(of, 25)])


def one_cycle_drives_it():
    def one_cycle(optimizer):
        return torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.02, total_steps=40, cycle_momentum=False)
    beside_adamw("one cycle", lambda model: model.named_parameters(), [one_cycle])


def plateaus_drive_it():
    beside_adamw("plateau", lambda model: model.named_parameters(),
                 [lambda of: torch.optim.lr_scheduler.ReduceLROnPlateau(of, patience=1, factor=0.3)])


def warm_ups_from_zero_drive_it():
    def groups(model):
        return [{"params": model[0].parameters()}, {"params": model[2].parameters(), "lr": 0.03}]
    beside_adamw("from zero", groups, [lambda of: torch.optim.lr_scheduler.LambdaLR(of, lambda k: min(1, k / 10))])
    # One group waits while another moves.
    beside_adamw("one waits", groups, [lambda of: torch.optim.lr_scheduler.LambdaLR(of, [lambda k: 1, lambda k: k > 5])])


def rates_may_be_written_into_groups():
    model = network()
    optimizer = optimizer_of(model)
    for lr in 0.25, 0.125:
        optimizer.param_groups[0]["lr"] = lr
        loss_of(model, 0).backward()
        optimizer.step()
        expect(optimizer.results[0].learning_rate == lr, optimizer.results)


def decays_may_be_written_into_groups():
    def groups(model):
        return [{"params": model[0].parameters()}, {"params": model[2].parameters(), "weight_decay": 0.3}]

    class Decays:
        """Schedules as people write them."""

        def __init__(self, optimizer):
            self.groups, self.steps = optimizer.param_groups, 0

        def step(self):
            self.steps += 1
            for k, group in enumerate(self.groups):
                group["weight_decay"] = 0.5 * (k + self.steps % 3)
    beside_adamw("decays of two groups", groups, [Decays])
    beside_adamw("decays", lambda model: model.parameters(), [Decays])


def betas_stay():
    model = network()
    optimizer = optimizer_of(model)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.02, total_steps=40)
    loss_of(model, 0).backward()
    optimizer.step()
    schedule.step()
    refuses(RuntimeError, "cycle_momentum=False", optimizer.step)


def gradients_are_cleared_in_both_ways():
    courses = []
    for to_none in True, False:
        model = network()
        optimizer = optimizer_of(model, "onebit_adam", warmup_steps=3)
        for step in range(8):
            optimizer.zero_grad(set_to_none=to_none)
            expect((model[0].weight.grad is None) == (to_none or step == 0))
            loss_of(model, step).backward()
            optimizer.step()
        courses.append(flat(model))
    expect(torch.equal(*courses), "zero_grad(set_to_none) changes the result")


def gradients_leave_as_they_come():
    courses = []
    for overlap in False, True:
        model = network()
        optimizer = optimizer_of(model, overlap=overlap)
        for step in range(6):
            optimizer.zero_grad()
            loss_of(model, step).backward()
            optimizer.step()
        courses.append(flat(model))
    expect(torch.equal(*courses), "overlap changes the result")
    loss_of(model, 7).backward()
    refuses(RuntimeError, "optimizer.accumulate()", loss_of(model, 8).backward)


def gradients_accumulate():
    whole, parts = network(), network()
    of_whole, of_parts = optimizer_of(whole), optimizer_of(parts, overlap=True)
    for step in range(6):
        of_whole.zero_grad()
        (0.5 * (loss_of(whole, step) + loss_of(whole, step + 100))).backward()
        of_whole.step()
        of_parts.zero_grad()
        with of_parts.accumulate():
            (0.5 * loss_of(parts, step)).backward()
        (0.5 * loss_of(parts, step + 100)).backward()
        of_parts.step()
    apart = (flat(whole) - flat(parts)).abs().max().item()
    expect(apart < AS_TORCH and are_equal_on_ranks(parts), apart)


def closures_are_called():
    model = network()
    optimizer = optimizer_of(model)

    def closure():
        optimizer.zero_grad()
        loss = loss_of(model, 0)
        loss.backward()
        return loss
    first = optimizer.step(closure)
    expect(optimizer.step(closure).item() < first.item(), "the loss does not fall")


def halves_have_a_master():
    for dtype in torch.bfloat16, torch.float16:
        model = network().to(dtype)
        optimizer = optimizer_of(model, lr=1e-4)
        start = flat(model)
        for step in range(40):
            optimizer.zero_grad()
            loss_of(model, step).backward()
            optimizer.step()
        expect(next(model.parameters()).dtype == dtype and are_equal_on_ranks(model))
        # Steps far below the distance of neighbours in bfloat16 add up.
        expect((flat(model) - start).abs().max() > 5e-4, dtype, "small steps are lost")
        master = optimizer._parts[0].x
        expect(torch.equal(master.to(dtype).float(), flat(model)), "the model is not the rounded master")


def a_bad_gradient_skips_the_step_on_all_ranks():
    def groups(model):
        return [{"params": model[0].parameters()}, {"params": model[2].parameters(), "betas": (0.8, 0.99)}]
    for groups_of in (lambda model: model.named_parameters()), groups:
        model = network()
        optimizer = kadam.torch.Optimizer(groups_of(model), "adam", WORLD, lr=0.01)
        before = flat(model)
        loss_of(model, 0).backward()
        if WORLD.rank == WORLD.size - 1:
            model[2].bias.grad[1] = float("inf")
        optimizer.step()
        expect(optimizer.skipped and torch.equal(flat(model), before), "a step with Inf on one rank was taken")
        optimizer.zero_grad()
        loss_of(model, 1).backward()
        optimizer.step()
        expect(not optimizer.skipped and not torch.equal(flat(model), before))


def grad_scalers_work():
    model, plain = network(), network()
    optimizer, beside = optimizer_of(model), optimizer_of(plain)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for step in range(5):
        optimizer.zero_grad()
        scaler.scale(loss_of(model, step)).backward()
        if step == 2 and WORLD.rank == WORLD.size - 1:
            model[0].bias.grad[0] = float("nan")
        if step == 3:
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        expect(optimizer.skipped == (step == 2), step, optimizer.results)
        if step == 2:
            continue
        beside.zero_grad()
        loss_of(plain, step).backward()
        beside.step()
    # A power of two scales without rounding.
    expect(torch.equal(flat(model), flat(plain)), "a GradScaler changes the result")
    expect(scaler.get_scale() == (512.0 if WORLD.rank == WORLD.size - 1 else 1024.0), scaler.get_scale())


def a_scale_may_be_said():
    model, plain = network(), network()
    optimizer, beside = optimizer_of(model), optimizer_of(plain)
    (64 * loss_of(model, 0)).backward()
    optimizer.step(gradient_scale=64)
    loss_of(plain, 0).backward()
    beside.step()
    expect(torch.equal(flat(model), flat(plain)))


def states_go_on_to_the_last_bit():
    for algorithm, options in (("adam", {}), ("onebit_adam", {"warmup_steps": 4}), ("loco", {}),
                               ("zero_one_adam", {"variance_freeze_step": 3, "sync_doubling_steps": 3}),
                               ("local_muon", {"sync_interval": 4})):
        def make():
            model = network()
            optimizer = optimizer_of(model, algorithm, **options)
            return model, optimizer, torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)

        def train(model, optimizer, schedule, steps):
            for step in steps:
                optimizer.zero_grad()
                loss_of(model, step).backward()
                optimizer.step()
                schedule.step()
        whole = make()
        train(*whole, range(7))
        saved = io.BytesIO()
        torch.save([part.state_dict() for part in whole], saved)
        train(*whole, range(7, 14))
        saved.seek(0)
        again = make()
        for part, state in zip(again, torch.load(saved, weights_only=True)):
            part.load_state_dict(state)
        train(*again, range(7, 14))
        expect(torch.equal(flat(whole[0]), flat(again[0])), algorithm, "goes on differently from its state")


def checkpoints_go_on():
    def groups(model):
        return [{"params": model[0].parameters()}, {"params": model[2].parameters(), "betas": (0.8, 0.99)}]

    def train(model, optimizer, steps):
        for step in steps:
            optimizer.zero_grad()
            loss_of(model, step).backward()
            optimizer.step()
    with tempfile.TemporaryDirectory() as own:
        for name, groups_of in ("one", lambda model: model.named_parameters()), ("two", groups):
            folder = pathlib.Path(WORLD.bcast(own)) / name

            def make():
                model = network()
                return model, kadam.torch.Optimizer(groups_of(model), "onebit_adam", WORLD, lr=0.01, warmup_steps=4)
            whole, again = make(), make()
            expect(again[1].load_newest(folder) is None, "a checkpoint came out of nothing")
            train(*whole, range(7))
            whole[1].save(folder, words={"epoch": "3"})
            train(*whole, range(7, 12))
            restored = again[1].load_newest(folder)
            expect((restored.step, restored.words) == (7, {"epoch": "3"}), restored.step, restored.words)
            train(*again, range(7, 12))
            expect(torch.equal(flat(whole[0]), flat(again[0])), name, "goes on differently from its checkpoint")
        WORLD.Barrier()


def states_of_others_are_refused():
    model = network()
    other = torch.optim.AdamW(model.parameters())
    loss_of(model, 0).backward()
    other.step()
    refuses(ValueError, "that of another optimizer of PyTorch", optimizer_of(model).load_state_dict, other.state_dict())


def ranks_start_equal():
    model = network(seed=1 + WORLD.rank)
    optimizer = optimizer_of(model)
    loss_of(model, 0).backward()
    optimizer.step()
    expect(are_equal_on_ranks(model), "ranks start from parameters of their own")
    if WORLD.size > 1:
        model = network(seed=1 + WORLD.rank)
        optimizer = optimizer_of(model, broadcast=False)
        loss_of(model, 0).backward()
        refuses(ValueError, "the parameters of rank 1 are not those of rank 0", optimizer.step)


def buffers_are_broadcast():
    model = nn.BatchNorm1d(4)
    model(torch.full((3, 4), float(WORLD.rank)) + torch.arange(3.0)[:, None])
    model.num_batches_tracked += WORLD.rank
    kadam.torch.broadcast(model, WORLD)
    expect(torch.allclose(model.running_mean, torch.full((4,), 0.1)) and model.num_batches_tracked == 1, model.running_mean)


def evaluation_sees_what_all_have_in_common():
    model = network()
    optimizer = optimizer_of(model, "zero_one_adam", variance_freeze_step=3, sync_doubling_steps=2, sync_interval_max=8)
    for step in range(13):
        optimizer.zero_grad()
        loss_of(model, step).backward()
        optimizer.step()
    expect(not optimizer.results[0].synchronised, "the last step synchronises; the test needs one that does not")
    own = flat(model)
    with optimizer.consensus():
        common = flat(model)
        expect(are_equal_on_ranks(model), "no consensus")
    expect(torch.equal(flat(model), own), "consensus() leaves something behind")
    optimizer.flush()
    expect(are_equal_on_ranks(model) and (flat(model) - common).abs().max() < 1e-6, "flush() is not consensus()")
    optimizer.close()


def closing_early_warns():
    model = network()
    optimizer = optimizer_of(model, "local_adam", sync_interval=4)
    loss_of(model, 0).backward()
    optimizer.step()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        optimizer.close()
    expect("close() was called before flush()" in str(said[0].message), said)


def every_algorithm_trains():
    for algorithm in kadam.optimizers():
        known = kadam.options(algorithm)
        options = {name: 4 for name in ("warmup_steps", "variance_freeze_step", "sync_interval") if name in known}
        model = network()
        optimizer = optimizer_of(model, algorithm, lr=0.02, **options)
        for step in range(16):
            optimizer.zero_grad()
            loss = loss_of(model, step)
            loss.backward()
            optimizer.step()
        optimizer.flush()
        expect(are_equal_on_ranks(model) and not torch.equal(flat(model), flat(network())), algorithm)


def mistakes_meet_words():
    model = network()
    refuses(TypeError, "has no option 'no_such_option'", optimizer_of, model, no_such_option=1)
    refuses(TypeError, "set beta1 through betas", optimizer_of, model, beta1=0.5)
    refuses(TypeError, "it comes from a scheduler of PyTorch", optimizer_of, model, lr_schedule="cosine")
    double = nn.Linear(2, 2).double()
    refuses(TypeError, "is torch.float64; Kadam trains float32, bfloat16 and float16", optimizer_of(double).prepare)
    sparse = nn.Embedding(4, 2, sparse=True)
    optimizer = optimizer_of(sparse)
    sparse(torch.tensor([1])).sum().backward()
    refuses(RuntimeError, "parameter 'weight' has a sparse gradient", optimizer.step)
    frozen = nn.Linear(2, 2).requires_grad_(False)
    refuses(RuntimeError, "no parameter requires a gradient", optimizer_of(frozen).prepare)
    refuses(ValueError, "lr", optimizer_of(network(), lr=-1.0).prepare)


ROWS = [value for name, value in list(globals().items())
        if callable(value) and getattr(value, "__module__", "") == "__main__" and not value.__code__.co_argcount]
for row in ROWS:
    if len(sys.argv) < 2 or row.__name__ in sys.argv[1:]:
        row()
