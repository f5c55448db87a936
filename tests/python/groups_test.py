# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Groups through Python: without gradient a step is its weight decay alone, x <- (1 - lr lr_scale decay) x."""
import kadam
import numpy as np

from checks import rounds_of, warmup_of
from expect import expect

TENSORS = {"no_group": 10, "nothing_of_its_own": 10, "None": 10, "zero": 10, "own": 10, "slow": 10}
GROUPS = [{"tensors": "nothing*"}, {"tensors": "None", "weight_decay": None}, {"tensors": "zero", "weight_decay": 0.0},
          {"tensors": "own", "weight_decay": 1}, {"tensors": "slow", "lr_scale": 0.5, "dense": True}]
AFTER = {"no_group": 0.95, "nothing_of_its_own": 0.95, "None": 0.95, "zero": 1, "own": 0.9, "slow": 0.975}


def values_after_a_step(name, **options):
    optimizer = kadam.Optimizer(name, TENSORS, groups=GROUPS, lr=0.1, weight_decay=0.5, **options)
    x = np.ones(60, np.float32)
    optimizer.step(x, np.zeros(60, np.float32))
    return {tensor: x[first:last] for tensor, (first, last) in optimizer.tensors.items()}


for name in kadam.optimizers():
    # LAMB scales a step, its weight decay included, by the norm of the tensor.
    if "trust_max" in kadam.options(name):
        continue
    for tensor, values in values_after_a_step(name, **warmup_of(name, 1), **rounds_of(name, sync_interval=1)).items():
        expect(np.all(np.abs(values - AFTER[tensor]) < 1e-6), name, tensor, values)

optimizer = kadam.Optimizer("adam", TENSORS, groups=tuple(GROUPS))
got = [tuple(group.values()) for group in optimizer.groups]
expect(got == [("nothing*", 1, None, False), ("None", 1, None, False), ("zero", 1, 0, False), ("own", 1, 1, False),
               ("slow", 0.5, None, True)], got)
expect(list(optimizer.groups[0]) == ["tensors", "lr_scale", "weight_decay", "dense"], optimizer.groups[0])
