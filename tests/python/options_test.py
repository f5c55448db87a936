# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options come back to Python as they are: those that there are, and those that an optimizer has. Some are set later."""
import operator

import kadam
import numpy as np

from checks import refuses, warmup_of
from expect import expect

defaults = {name: value for name, (value, _) in kadam.options("adam").items()}
expect(defaults["beta1"] == 0.9 and defaults["bias_correction"] is True and defaults["gradients"] == "float32", defaults)
expect(defaults["dense_below"] == 0 and type(defaults["dense_below"]) is int, defaults)

for name in kadam.optimizers():
    listed = kadam.options(name)
    expect(all(text for _, text in listed.values()), name, listed)
    given = {"lr": [0.5, 0.25], "eps": 1e-6} | warmup_of(name, 3)
    got = kadam.Optimizer(name, {"x": 3}, **given).options
    expect(got | given == got and got.keys() <= listed.keys(), name, got)
    kept = {option: value for option, (value, _) in listed.items() if option in got and option not in given}
    expect(got | kept == got, name, "has other values than its defaults:", got, kept)
    again = kadam.Optimizer(name, {"x": 3}, **got)
    expect(again.options == got, name, got, again.options)
    refuses(TypeError, "does not support item assignment", operator.setitem, again.options, "lr", 1.0)

# Without gradient a step is its weight decay alone.
optimizer = kadam.Optimizer("adam", {"a": 2, "b": 2}, groups=[{"tensors": "b", "weight_decay": 0}], lr=0.1,
                            lr_schedule="cosine", lr_warmup_steps=5, lr_total_steps=20)
x, nothing = np.ones(4, np.float32), np.zeros(4, np.float32)
optimizer.set(lr=0.2, weight_decay=0.5)
result = optimizer.step(x, nothing)
expect(result.learning_rate == 0.2 and np.allclose(x, [0.9, 0.9, 1, 1], atol=1e-6), result, x)
optimizer.set_group("b", lr_scale=0.5, weight_decay=2)
optimizer.step(x, nothing)
expect(np.allclose(x, [0.81, 0.81, 0.8, 0.8], atol=1e-6), "factors of a group", x)
optimizer.set_group("b")
optimizer.step(x, nothing)
expect(np.allclose(x, [0.729, 0.729, 0.72, 0.72], atol=1e-6), "a group without factors of its own", x)
expect(optimizer.options["lr"] == 0.1 and optimizer.options["weight_decay"] == 0, optimizer.options)
refuses(ValueError, "option 'beta1' cannot be set during training", optimizer.set, beta1=0.5)
refuses(ValueError, "option 'lr': expected a number, 0 or more, got -1", optimizer.set, lr=-1)
refuses(ValueError, "option 'lr': expected a number, 0 or more, got \"high\"", optimizer.set, clip_norm=1, lr="high")
refuses(ValueError, "there is no parameter group 'c': its groups are b", optimizer.set_group, "c")
optimizer.close()
refuses(RuntimeError, "this optimizer is closed", optimizer.set, lr=0.1)
