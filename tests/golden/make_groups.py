# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Computes the golden cases NAME_groups beside it: every optimizer with parameter groups, tensors kept dense and clipping.

python3 make_groups.py [FOLDER]: writes FOLDER/NAME_groups/{case.json,parameters.npy,gradients.npy,expected.npy}, by
default beside this file. Needs NumPy alone and uses nothing of Kadam: each optimizer is written from its formulas in
docs/algorithms, whole vectors at a time, in float32. The same numbers come out each time, but for rounding.

The tensors are such that one that is kept dense holds the first element of a chunk on 2, 3 and 4 ranks, gradients are
clipped at every step in every phase, and eps is as large as many of them: Adam takes no notice of a factor that all
gradients have in common but by eps.
"""
import fnmatch
import json
import pathlib
import sys

import numpy as np

F = np.float32
STEPS = 16
TENSORS = [("embedding", 0, 48), ("norm", 48, 70), ("layer.weight", 70, 110), ("layer.bias", 110, 130), ("frozen", 130, 150),
           ("empty", 150, 150), ("head.weight", 150, 230)]
D = TENSORS[-1][2]
GROUPS = [{"tensors": "*.bias", "weight_decay": 0.0, "dense": True},
          {"tensors": "norm", "lr_scale": 2.0, "dense": True},
          {"tensors": "embedding", "lr_scale": 0.5, "weight_decay": 0.2},
          {"tensors": "frozen", "lr_scale": 0.0, "weight_decay": 0.3}]
COMMON = {"lr": 0.01, "weight_decay": 0.05, "clip_norm": 2.0, "eps": 0.02}


class Rules:
    """What holds for each element (arrays of D) and for all."""

    def __init__(self, options):
        self.lr, self.eps, self.clip_norm = options["lr"], options["eps"], options["clip_norm"]
        self.beta1, self.beta2 = options.get("beta1", 0.9), options.get("beta2", 0.999)
        self.scale, self.decay = np.ones(D), np.full(D, options["weight_decay"])
        self.dense = np.zeros(D, bool)
        for name, begin, end in TENSORS:
            group = next((g for g in GROUPS if fnmatch.fnmatchcase(name, g["tensors"])), {})
            self.scale[begin:end] = group.get("lr_scale", 1.0)
            self.decay[begin:end] = group.get("weight_decay", options["weight_decay"])
            self.dense[begin:end] = group.get("dense", False)
        self.gamma = self.lr * self.scale
        self.keep = F(1 - self.gamma * self.decay)

    def c(self, t):
        return 1 - self.beta1**t, 1 - self.beta2**t

    def first(self, m, g):
        return ema(m, g, self.beta1)

    def second(self, v, g):
        return ema(v, g * g, self.beta2)

    def step(self, m, v, c1=1.0, c2=1.0):
        return F(self.gamma / c1) * m / (np.sqrt(v * F(1 / c2)) + F(self.eps))

    def clipped_mean(self, gradients):
        g = mean(gradients)
        return self.clipped(g, norm(g))

    def clipped_each(self, gradients):
        return self.clipped(gradients, norm(gradients) / np.sqrt(len(gradients)))

    def clipped(self, g, size):
        assert size > self.clip_norm, "gradients are to be clipped at every step"
        return g * F(self.clip_norm / size)


def norm(values):
    return np.sqrt(np.sum(values.astype(np.float64) ** 2))


def ema(a, b, beta):
    return F(beta) * a + F(1 - beta) * b


def mean(rows):
    """In rank order."""
    total = rows[0].copy()
    for row in rows[1:]:
        total = total + row
    return total * F(1 / len(rows))


def chunks(ranks):
    length = 64 * -(-(-(-D // ranks)) // 64)
    return [(min(j * length, D), min((j + 1) * length, D)) for j in range(ranks)]


def code(h, active, bits, block, ranks):
    """decoded C(h), 0 where it is not active."""
    q = np.zeros(D, F)
    for begin, end in chunks(ranks):
        for first in range(begin, end, block):
            at = np.arange(first, min(first + block, end))
            at = at[active[at]]
            if len(at) == 0:
                continue
            if bits == 1:
                s = F(norm(h[at]) / np.sqrt(len(at)))
                q[at] = np.where(h[at] >= 0, s, -s)
            else:
                levels = 2 ** (bits - 1) - 1
                step = np.abs(h[at]).max() / F(levels)
                if step > 0:
                    q[at] = np.clip(np.rint(h[at] / step), -levels, levels) * step
    return q


class CompressedMean:
    """C-AR, with the exact mean where `dense`."""

    def __init__(self, ranks, bits, block):
        self.ranks, self.bits, self.block = ranks, bits, block
        self.worker, self.server = np.zeros((ranks, D), F), np.zeros(D, F)

    def __call__(self, y, active, dense):
        active = active & ~dense
        zero = F(0)
        h = np.where(active, y + self.worker, zero)
        q = np.stack([code(row, active, self.bits, self.block, self.ranks) for row in h])
        self.worker = h - q
        p = np.where(active, mean(q) + self.server, zero)
        out = code(p, active, self.bits, self.block, self.ranks)
        self.server = p - out
        return np.where(dense, mean(y), out)


def adam(rules, options, gradients, x):
    m = v = np.zeros(D, F)
    for t, rows in enumerate(gradients, 1):
        g = rules.clipped_mean(rows)
        m, v = rules.first(m, g), rules.second(v, g)
        x = rules.keep * x - rules.step(m, v, *rules.c(t))
        yield [x] * len(rows)


def lamb_step(rules, x, m, v, t):
    """The next x, and phi of each tensor."""
    c1, c2 = rules.c(t)
    u = m * F(1 / c1) / (np.sqrt(v * F(1 / c2)) + F(rules.eps)) + F(rules.decay) * x
    x, ratios = x.copy(), []
    for _, begin, end in TENSORS:
        own, way = norm(x[begin:end]), norm(u[begin:end])
        ratios.append(np.clip(own / way if own > 0 and way > 0 else 1.0, 0.01, 10.0))
        x[begin:end] -= F(rules.gamma[begin:end] * ratios[-1]) * u[begin:end]
    return x, np.array(ratios)


def lamb(rules, options, gradients, x):
    m = v = np.zeros(D, F)
    for t, rows in enumerate(gradients, 1):
        g = rules.clipped_mean(rows)
        m, v = rules.first(m, g), rules.second(v, g)
        x, _ = lamb_step(rules, x, m, v, t)
        yield [x] * len(rows)


def frozen_variance(rules, options, gradients, x, bits, corrected):
    m = v = np.zeros(D, F)
    compressed = CompressedMean(len(gradients[0]), bits, options["block"])
    for t, rows in enumerate(gradients, 1):
        c1, c2 = rules.c(t) if corrected else (1.0, 1.0)
        if t <= options["warmup_steps"]:
            g = rules.clipped_mean(rows)
            m, v = rules.first(m, g), rules.second(v, g)
            x = rules.keep * x - rules.step(m, v, c1, c2)
        else:
            y = rules.first(m, rules.clipped_each(rows))
            m = np.where(v > 0, compressed(y, v > 0, rules.dense), F(0))
            x = rules.keep * x - rules.step(m, v)
        if t == options["warmup_steps"]:
            m, v = m * F(1 / c1), v * F(1 / c2)
        yield [x] * len(rows)


def onebit_adam(rules, options, gradients, x):
    return frozen_variance(rules, options, gradients, x, 1, True)


def apmsqueeze(rules, options, gradients, x):
    return frozen_variance(rules, options, gradients, x, options["bits"], False)


def onebit_lamb(rules, options, gradients, x):
    m = v = np.zeros(D, F)
    compressed = CompressedMean(len(gradients[0]), 1, options["block"])
    eps, ratio = F(rules.eps), np.ones(len(TENSORS))
    for t, rows in enumerate(gradients, 1):
        if t <= options["warmup_steps"]:
            g = rules.clipped_mean(rows)
            m, v = rules.first(m, g), rules.second(v, g)
            x, phi = lamb_step(rules, x, m, v, t)
            trust = phi if t == 1 else 0.9 * trust + 0.1 * phi
        if t == options["warmup_steps"]:
            c1, c2 = rules.c(t)
            m, v = np.where(v > 0, m * F(1 / c1), F(0)), v * F(1 / c2)
            fresh, active = v, v > 0
            size = []
            for _, begin, end in TENSORS:
                count = active[begin:end].sum()
                size.append(norm(m[begin:end]) / np.sqrt(count) if count else 0.0)
            size = np.array(size)
            match = np.ones(D)
            for (_, begin, end), own in zip(TENSORS, size):
                if own > 0:
                    match[begin:end] = size[size > 0].mean() / own
        elif t > options["warmup_steps"]:
            y = F(match) * rules.first(m, rules.clipped_each(rows))
            after = np.where(active, compressed(y, active, rules.dense) / F(match), F(0))
            implied = (after - F(rules.beta1) * m) / F(1 - rules.beta1)
            fresh, m = np.where(active, rules.second(fresh, implied), fresh), after
            p = np.where(active, m / (np.sqrt(v) + eps), F(0))
            u = p + F(rules.decay) * x
            x = x.copy()
            for k, (_, begin, end) in enumerate(TENSORS):
                part = np.arange(begin, end)
                moving = part[active[part]]
                wanted = ((np.sqrt(v[moving]) + eps) / (np.sqrt(fresh[moving]) + eps)).max() if len(moving) else 1.0
                if len(part) and rules.decay[begin] > 0 and norm(u[part]) > 0:
                    share = min(1.0, norm(p[part]) / norm(u[part]))
                    wanted = wanted * share + 1 - share
                ratio[k] = np.clip(np.clip(wanted, 0.5, 4.0), 0.9 * ratio[k], 1.1 * ratio[k])
                x[part] -= F(rules.gamma[part] * ratio[k] * trust[k]) * u[part]
        yield [x] * len(rows)


def zero_one_adam(rules, options, gradients, x):
    ranks = len(gradients[0])
    compressed = CompressedMean(ranks, 1, options["block"])
    m, v, u = np.zeros((ranks, D), F), np.zeros(D, F), np.zeros((ranks, D), F)
    freeze, kappa, doubling = (options[k] for k in ("variance_freeze_step", "variance_kappa", "sync_doubling_steps"))
    variance_steps = [1]
    while variance_steps[-1] < STEPS:
        variance_steps.append(variance_steps[-1] + 2 ** ((len(variance_steps) - 1) // kappa))
    refreshed, last, gamma_sum = 0, 0, 0.0
    moves = rules.scale > 0

    def at(step):
        way = step / (np.sqrt(v * F(1 / rules.c(refreshed)[1])) + F(rules.eps))
        return F(1 - rules.decay * gamma_sum * rules.scale) * x - np.where((v > 0) & moves, way, F(0))

    for t, rows in enumerate(gradients, 1):
        if t in variance_steps and t <= freeze:
            g = rules.clipped_mean(rows)
            refreshed, last = refreshed + 1, t
            m, v = rules.first(m, g), rules.second(v, g)
            way = rules.step(m[0], v, 1.0, rules.c(refreshed)[1])
            x = rules.keep * x - np.where((v > 0) & moves, way, F(0))
            yield [x] * ranks
            continue
        m = rules.first(m, rules.clipped_each(rows))
        u, gamma_sum = u + F(rules.gamma) * m, gamma_sum + rules.lr
        gap = 1 if t <= freeze else min(16, 2 ** ((t - freeze - 1) // doubling))
        if t - last < gap:
            yield [at(own) for own in u]
            continue
        delivered = np.where(v > 0, compressed(u, v > 0, rules.dense), F(0))
        x = at(delivered)
        with np.errstate(divide="ignore", invalid="ignore"):
            same = np.where(v > 0, delivered / F(gamma_sum * rules.scale), F(0))
        m = np.where(moves | (v == 0), same, m).astype(F)
        u, gamma_sum, last = np.zeros((ranks, D), F), 0.0, t
        yield [x] * ranks


def efficient_adam(rules, options, gradients, x):
    ranks = len(gradients[0])
    compressed = CompressedMean(ranks, options["bits"], options["block"])
    m = v = np.zeros((ranks, D), F)
    for t, rows in enumerate(gradients, 1):
        g = rules.clipped_each(rows)
        m, v = rules.first(m, g), rules.second(v, g)
        x = rules.keep * x - compressed(rules.step(m, v, *rules.c(t)), rules.scale > 0, rules.dense)
        yield [x] * ranks


def loco(rules, options, gradients, x):
    ranks, block = len(gradients[0]), options["block"]
    m = v = np.zeros(D, F)
    error = np.zeros((ranks, D), F)
    for t, rows in enumerate(gradients, 1):
        h = rows + error
        q = np.stack([code(row, ~rules.dense, 4, block, ranks) for row in h])
        error = np.stack([code(row, ~rules.dense, 8, block, ranks) for row in ema(error, h - q, 0.8)])
        g = rules.clipped_mean(np.where(rules.dense, rows, q))
        m, v = rules.first(m, g), rules.second(v, g)
        x = rules.keep * x - rules.step(m, v, *rules.c(t))
        if t % options["error_reset"] == 0:
            error = np.zeros((ranks, D), F)
        yield [x] * ranks


def largest(values, density, block):
    """Where the largest magnitudes of each block are."""
    chosen = np.zeros(D, bool)
    for first in range(0, D, block):
        part = np.abs(values[first : first + block])
        count = min(len(part), max(1, int(np.floor(density * len(part) + 0.5))))
        chosen[first + np.argsort(-part, kind="stable")[:count]] = True
    return chosen


def take_largest(rules, options, residual):
    """The mean of what goes: all that is kept dense, and the largest entries. It is 0 in the residual afterwards."""
    density, block = options["density"], options["select_block"]
    goes = np.stack([largest(np.where(rules.dense, F(0), row), density, block) for row in residual])
    sent = np.where(goes & ~rules.dense, residual, F(0))
    if options.get("exchange") == "owner":
        goes &= largest(mean(sent), density, block)
        sent = np.where(goes, sent, F(0))
    delivered = np.where(rules.dense, mean(residual), mean(sent))
    residual[goes | rules.dense] = 0
    return delivered


def local_moments(rules, options, gradients, x, residual, deliver):
    """Warm-up as adam, then residual += the step of the own moments.

    deliver(x, t) gives the next x, and the points at which the ranks take their next gradients.
    """
    ranks = len(gradients[0])
    m = v = np.zeros((ranks, D), F)
    for t, rows in enumerate(gradients, 1):
        if t <= options["warmup_steps"]:
            g = rules.clipped_mean(rows)
            m, v = rules.first(m, g), rules.second(v, g)
            x = rules.keep * x - rules.step(m[0], v[0], *rules.c(t))
            yield [x] * ranks
            continue
        g = rules.clipped_each(rows)
        m, v = rules.first(m, g), rules.second(v, g)
        if t % options["variance_sync_interval"] == 0:
            v = np.stack([mean(v)] * ranks)
        residual *= F(options.get("residual_decay", 1.0))
        residual += rules.step(m, v, *rules.c(t))
        x, points = deliver(rules.keep * x, t)
        yield points


def locally_accumulated_adam(rules, options, gradients, x):
    residual = np.zeros((len(gradients[0]), D), F)

    def deliver(x, t):
        x = x - take_largest(rules, options, residual)
        return x, [x - F(options["step_ahead"]) * own for own in residual]

    return local_moments(rules, options, gradients, x, residual, deliver)


def divisible_adam(rules, options, gradients, x):
    residual = np.zeros((len(gradients[0]), D), F)
    in_flight = residual.copy()

    def deliver(x, t):
        x = x - take_largest(rules, options, residual)
        if (t - options["warmup_steps"]) % options["background_steps"] == 0:
            x = x - mean(in_flight)
            in_flight[:] = residual
            residual[:] = 0
        return x, [x - F(options["step_ahead"]) * (own + away) for own, away in zip(residual, in_flight)]

    return local_moments(rules, options, gradients, x, residual, deliver)


CASES = {
    adam: (2, {}),
    lamb: (3, {}),
    onebit_adam: (4, {"warmup_steps": 5, "block": 48, "variance_floor": 0.0}),
    apmsqueeze: (3, {"warmup_steps": 5, "bits": 4, "block": 100, "variance_floor": 0.0}),
    onebit_lamb: (4, {"warmup_steps": 5, "block": 64, "variance_floor": 0.0}),
    zero_one_adam: (3, {"variance_freeze_step": 6, "variance_kappa": 2, "sync_doubling_steps": 3, "block": 48,
                        "variance_floor": 0.0}),
    efficient_adam: (2, {"bits": 4, "block": 48}),
    loco: (4, {"block": 32, "error_reset": 6}),
    locally_accumulated_adam: (4, {"warmup_steps": 4, "density": 0.1, "select_block": 50, "variance_sync_interval": 5,
                                   "residual_decay": 0.9, "step_ahead": 0.5, "exchange": "owner"}),
    divisible_adam: (3, {"warmup_steps": 4, "density": 0.05, "select_block": 64, "variance_sync_interval": 6,
                         "background_steps": 3, "step_ahead": 0.5}),
}


def make(folder, seed, algorithm, ranks, own_options):
    random = np.random.default_rng(seed)
    size = 10 ** random.uniform(-1.5, 0.5, D)
    gradients = size * (random.normal(size=D) + random.normal(size=(STEPS, ranks, D)))
    gradients[:8, :, 5::17] = 0  # no variance when it is frozen
    gradients, start = gradients.astype(F), random.normal(size=D).astype(F)
    options = COMMON | own_options
    trajectory = np.array(list(algorithm(Rules(options), options, gradients, start)))
    assert trajectory.dtype == F and np.isfinite(trajectory).all()
    folder.mkdir(parents=True, exist_ok=True)
    case = {"algorithm": algorithm.__name__, "ranks": ranks, "steps": STEPS, "options": options, "groups": GROUPS,
            "tensors": [{"name": name, "begin": begin, "end": end} for name, begin, end in TENSORS]}
    (folder / "case.json").write_text(json.dumps(case, indent=1) + "\n")
    np.save(folder / "parameters.npy", start)
    np.save(folder / "gradients.npy", gradients.transpose(1, 0, 2).copy())
    np.save(folder / "expected.npy", trajectory.transpose(1, 0, 2).copy())


if __name__ == "__main__":
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    for index, (optimizer, (count, settings)) in enumerate(CASES.items()):
        make(root / f"{optimizer.__name__}_groups", 100 + index, optimizer, count, settings)
