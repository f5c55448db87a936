# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is wrong with a call is said in words, and changes nothing."""
import os
import threading

import kadam
import numpy as np

from checks import Declared, refuses
from expect import expect


def making_one():
    make = kadam.Optimizer
    refuses(ValueError, "there is no optimizer 'sgd': choose one of adam", make, "sgd", {"x": 1})
    refuses(ValueError, "no_such_option", make, "adam", {"x": 1}, no_such_option=1)
    refuses(ValueError, "lr", make, "adam", {"x": 1}, lr=-1.0)
    refuses(ValueError, "beta2", make, "adam", {"x": 1}, beta2="large")
    refuses(ValueError, "option 'lr': expected a number, a text", make, "adam", {"x": 1}, lr={})
    refuses(ValueError, "option 'rates': expected a number, got str", make, "adam", {"x": 1}, rates=["a"])
    refuses(ValueError, "tensors: expected a dict", make, "adam", [("x", 1)])
    refuses(ValueError, "tensors: expected texts as names", make, "adam", {1: 1})
    refuses(ValueError, "tensor 'x': expected a number of elements (0 or more), or a shape", make, "adam", {"x": -1})
    refuses(ValueError, "tensor 'x': expected a number of elements (0 or more), or a shape", make, "adam", {"x": (2, 1.5)})
    refuses(ValueError, "groups: expected a list of dicts", make, "adam", {"x": 1}, groups="x")
    refuses(ValueError, "groups: each group needs 'tensors'", make, "adam", {"x": 1}, groups=[{"dense": True}])
    refuses(ValueError, "groups has no option 'lr'", make, "adam", {"x": 1}, groups=[{"tensors": "x", "lr": 1}])
    refuses(ValueError, "groups, option 'dense': expected true or false", make, "adam", {"x": 1},
            groups=[{"tensors": "x", "dense": 1}])
    refuses(ValueError, "nowhere*", make, "adam", {"x": 1}, groups=[{"tensors": "nowhere*"}])
    refuses(TypeError, "comm: expected a communicator of mpi4py", make, "adam", {"x": 1}, 0)
    refuses(ValueError, "there is no optimizer 'sgd'", kadam.options, "sgd")


def being_alone():
    os.environ["WORLD_SIZE"] = "4"
    refuses(ValueError, "the launcher started 4 tasks (WORLD_SIZE), but comm is None", kadam.Optimizer, "adam", {"x": 1})
    kadam.Optimizer("adam", {"x": 1}, allow_alone=True)
    del os.environ["WORLD_SIZE"]


def arrays():
    optimizer = kadam.Optimizer("adam", {"x": (3, 2), "y": 4}, lr=0.1)
    x, g = np.ones(10, np.float32), np.ones(10, np.float32)
    locked = x.copy()
    locked.flags.writeable = False
    for bad, kind, words in (
            ([1.0] * 10, TypeError, "x: expected an array of NumPy, PyTorch"),
            (None, TypeError, "got NoneType"),
            (x.astype(np.float64), ValueError, "x is float64, expected float32"),
            (x.astype(np.int32), ValueError, "x is int32, expected float32"),
            (x[:9], ValueError, "x has 9 elements, the tensors have 10"),
            (np.ones(20, np.float32)[::2], ValueError, "x is not contiguous"),
            (np.ones((5, 2), np.float32).T, ValueError, "x is not contiguous"),
            (locked, ValueError, "x is read-only"),
            (Declared(x, device=Declared.CUDA), ValueError, "x is on a CUDA device, but this Kadam computes on"),
            (Declared(x, code=Declared.BFLOAT), ValueError, "x is bfloat32, expected float32")):
        refuses(kind, words, optimizer.step, bad, g)
    refuses(ValueError, "gradient is float16, expected float32", optimizer.step, x, g.astype(np.float16))
    refuses(ValueError, "gradient has 11 elements", optimizer.step, x, np.ones(11, np.float32))
    refuses(ValueError, "model is float32, expected bfloat16 or float16", optimizer.step, x, g, g.copy())
    refuses(ValueError, "out is read-only", optimizer.consensus, x, locked)
    half = kadam.Optimizer("adam", {"x": 10}, gradients="bf16")
    refuses(ValueError, "expected bfloat16, as the option 'gradients' says, or its bits", half.step, x, g)
    optimizer.gradient_ready(g, 0, 5)
    refuses(ValueError, "gradient_ready", optimizer.gradient_ready, g, 5, 11)
    expect(np.all(x == 1) and optimizer.statistics["steps_taken"] == 0, "a refused step changed something", x)
    optimizer.step(x, locked)
    expect(np.all(np.abs(x - 0.9) < 1e-6), "a gradient may be read-only", x)


def checkpoints_and_states(folder="/nonexistent/kadam"):
    optimizer = kadam.Optimizer("adam", {"x": 4}, lr=0.1)
    x = np.ones(4, np.float32)
    refuses(ValueError, "keep: expected 0 (all) or more checkpoints, got -1", optimizer.save, x, folder, -1)
    refuses(RuntimeError, folder, optimizer.load, x, folder)
    expect(optimizer.load_newest(x, folder) is None, "there is no checkpoint")
    optimizer.close()
    optimizer.close()
    refuses(RuntimeError, "this optimizer is closed", optimizer.step, x, x)
    refuses(RuntimeError, "this optimizer is closed", lambda: optimizer.statistics)


def threads():
    """A thread that finds the object in a step of another is told so; it does not wait, and does no harm."""
    optimizer = kadam.Optimizer("adam", {"x": 200_000}, lr=1e-3)
    gradient = np.ones(200_000, np.float32)
    taken, words = [], []

    def steps():
        x = np.ones(200_000, np.float32)
        for _ in range(20_000):
            if words:
                return
            try:
                taken.append(optimizer.step(x, gradient).step)
            except RuntimeError as error:
                words.append(str(error))

    both = [threading.Thread(target=steps) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    expect(optimizer.statistics["steps_taken"] == len(taken) == len(set(taken)), len(taken), optimizer.statistics)
    expect(words, "no thread ran while another was in a step: is Python's lock kept?")
    expect(all("another thread is in a call" in text for text in words), words[0])


for test in making_one, being_alone, arrays, checkpoints_and_states, threads:
    test()
