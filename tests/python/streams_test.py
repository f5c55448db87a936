# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Streams, as far as a processor goes: what the producer of an array on a device is asked for before the array is
refused here, and that nobody can give a stream where there are none."""
import types

import kadam
import numpy as np

from checks import Declared, refuses
from expect import expect

if kadam.execution_space() in ("Cuda", "HIP"):
    raise SystemExit("this is a test of builds for a processor")


class Producer(Declared):
    """Writes down how its array was asked for."""

    def __init__(self, device, knows=("stream", "max_version"), only_none=False, **named):
        super().__init__(np.ones(4, np.float32), device=device, **named)
        self.knows, self.only_none, self.asked = knows, only_none, []

    def __dlpack__(self, **wishes):
        self.asked.append(wishes)
        unknown = set(wishes) - set(self.knows)
        if unknown:
            raise TypeError(f"__dlpack__() got an unexpected keyword argument {unknown}")
        if self.only_none and wishes.get("stream") is not None:
            raise ValueError("only stream=None is supported")
        return super().__dlpack__()


class Leaf(Producer):
    """A tensor that requires a gradient."""
    requires_grad = True

    def __init__(self, device):
        super().__init__(device)
        self.detached = Producer(device)

    def detach(self):
        return self.detached

    def __dlpack__(self, **wishes):
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")


optimizer = kadam.Optimizer("adam", {"x": 4}, lr=0.1)
x, gradient = np.ones(4, np.float32), np.ones(4, np.float32)
CUDA, ROCM = Declared.CUDA, Declared.ROCM


def is_refused(producer, words):
    """As what is written, and as what is read alone."""
    refuses(ValueError, f"x is on {words}, but this Kadam computes on", optimizer.step, producer, gradient)
    refuses(ValueError, f"gradient is on {words}, but this Kadam computes on", optimizer.step, x, producer)
    refuses(ValueError, f"gradient is on {words}", optimizer.gradient_ready, producer, 0, 4)
    refuses(ValueError, f"out is on {words}", optimizer.consensus, x, producer)


def devices_are_asked_for_a_stream():
    for device, words, stream in (CUDA, "a CUDA device", 1), (ROCM, "a ROCm device", 0):
        producer = Producer(device)
        is_refused(producer, words)
        expect(len(producer.asked) == 4 and all(asked == {"stream": stream, "max_version": (1, 0)}
                                                for asked in producer.asked), words, producer.asked)
        leaf = Leaf(device)
        is_refused(leaf, words)
        expect([asked["stream"] for asked in leaf.detached.asked] == 4 * [stream], words, leaf.detached.asked)


def older_producers_are_asked_for_less():
    for device, words, stream in (CUDA, "a CUDA device", 1), (ROCM, "a ROCm device", 0):
        producer = Producer(device, knows=("stream",))
        is_refused(producer, words)
        expect(producer.asked[1] == {"stream": stream}, words, producer.asked)
        for other in Producer(device, knows=()), Producer(device, only_none=True):
            is_refused(other, words)
            expect([asked.get("stream") for asked in other.asked[:3]] == [stream, stream, None], words, other.asked)


def the_host_has_no_streams():
    producer = Producer(Declared.CPU)
    optimizer.step(producer, gradient, stream=None)
    optimizer.step(x, Producer(Declared.CPU, knows=()))
    expect(producer.asked and all(asked.get("stream") is None for asked in producer.asked), producer.asked)
    expect(np.all(producer.array < 1), "not written", producer.array)
    before = optimizer.statistics["steps_taken"]
    torch, cupy = types.SimpleNamespace(cuda_stream=0), types.SimpleNamespace(ptr=140_000)
    for stream in 0, 1, np.int64(7), torch, cupy:
        words = "stream: this Kadam computes on the host, where there are no streams: pass None"
        refuses(ValueError, words, optimizer.step, x, gradient, stream=stream)
        refuses(ValueError, words, optimizer.gradient_ready, gradient, 0, 4, stream=stream)
        refuses(ValueError, words, optimizer.flush, x, stream=stream)
        refuses(ValueError, words, optimizer.consensus, x, gradient, stream=stream)
        refuses(ValueError, words, optimizer.save, x, "/nonexistent/kadam", stream=stream)
        refuses(ValueError, words, optimizer.load, x, "/nonexistent/kadam", stream=stream)
        refuses(ValueError, words, optimizer.load_newest, x, "/nonexistent/kadam", stream=stream)
    for stream in "0", 1.5, True, -1, [0], types.SimpleNamespace(ptr=None):
        refuses(TypeError, "stream: expected None, a stream of PyTorch or CuPy, or its handle", optimizer.step, x,
                gradient, stream=stream)
    expect(optimizer.statistics["steps_taken"] == before, "a refused step was taken")


for test in devices_are_asked_for_a_stream, older_producers_are_asked_for_less, the_host_has_no_streams:
    test()
