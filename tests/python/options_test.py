# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options come back to Python as they are: those that there are, and those that an optimizer has."""
import kadam

from checks import warmup_of
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
