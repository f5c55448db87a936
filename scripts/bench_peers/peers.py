# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the counterparts of Kadam's kernels in PyTorch and DeepSpeed. Prints JSON objects like those of kadam-bench."""
import argparse
import json
import logging
import math
import statistics
import sys
import time

import torch

DENSITIES = (0.01, 0.001)
SECONDS_PER_ROUND = 0.5  # longest time spent on a slow kernel; at least one run
SECONDS_PER_GROUP = 1e-2  # on a GPU, between two events, as kadam-bench has it between fences


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--elements", type=int, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repetitions", type=int, required=True)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--need", choices=("deepspeed",), help="fails if DeepSpeed cannot be used")
    return parser.parse_args()


def gradient_like(elements, size, device):
    """Numbers of both signs whose magnitudes spread over some decades: the distribution of kadam-bench's vectors."""
    unit = torch.rand(elements, device=device).mul_(2).sub_(1)
    return unit.pow(3).mul_(size)


def parameter(gradient):
    x = torch.nn.Parameter(torch.zeros_like(gradient))
    x.grad = gradient
    return x


def adam_cases(gradient):
    x = parameter(gradient)
    for form in ("fused", "foreach"):
        optimizer = torch.optim.Adam([x], lr=1e-3, **{form: True})
        yield f"torch Adam, {form}", optimizer.step


def deepspeed_cases(gradient):
    """The cases of DeepSpeed; the first call compiles its Adam."""
    logging.disable(logging.WARNING)
    from deepspeed.ops.adam import DeepSpeedCPUAdam  # pylint: disable=import-outside-toplevel

    yield "DeepSpeed CPUAdam", DeepSpeedCPUAdam([parameter(gradient)], lr=1e-3).step


def largest_by_rows(magnitudes, k, rows):
    """The k largest values, exactly: first those of each row, then of these. torch.topk uses one thread per row."""
    width = magnitudes.numel() // rows
    values, indices = torch.topk(magnitudes[:rows * width].view(rows, width), min(k, width), dim=1, sorted=False)
    indices += torch.arange(rows).unsqueeze(1) * width
    rest = torch.arange(rows * width, magnitudes.numel())  # fewer than there are rows
    best = torch.topk(torch.cat((values.view(-1), magnitudes[rest])), k, sorted=False)
    return best.values, torch.cat((indices.view(-1), rest))[best.indices]


def top_k_cases(gradient, threads):
    magnitudes = gradient.abs()
    for density in DENSITIES:
        k = max(1, int(density * gradient.numel() + 0.5))
        percent = f"{100 * density:g} %"
        yield f"torch.topk of g.abs(), {percent}", lambda k=k: torch.topk(gradient.abs(), k, sorted=False)
        yield f"torch.topk without the abs, {percent}", lambda k=k: torch.topk(magnitudes, k, sorted=False)
        if threads > 1:
            yield (f"torch.topk of g.abs(), a row per thread, {percent}",
                   lambda k=k: largest_by_rows(gradient.abs(), k, threads))


def packed(bits):
    """Bits packed 8 to a byte. Torch has no operation for it; on a GPU this uses torch's instead of numpy's."""
    if not bits.is_cuda:
        import numpy  # pylint: disable=import-outside-toplevel # not everywhere that has a GPU

        return numpy.packbits(bits.numpy())
    whole = torch.nn.functional.pad(bits.byte(), (0, -bits.numel() % 8)).view(-1, 8)
    return whole.mul_(torch.tensor([128, 64, 32, 16, 8, 4, 2, 1], dtype=torch.uint8, device=bits.device)).sum(
        1, dtype=torch.uint8)


def sign_cases(gradient):
    """1-bit Adam's code in plain operations on whole vectors, one scale for all: h = m + e; s = |h| / sqrt(n);
    e = h - s sign(h); bits of the signs, packed."""
    m = torch.zeros_like(gradient)
    error = torch.zeros_like(gradient)

    def encode(values):
        compensated = values + error
        scale = compensated.norm() / math.sqrt(compensated.numel())
        positive = compensated >= 0
        torch.sub(compensated, positive.float().sub_(0.5).mul_(2 * scale), out=error)
        return packed(positive), scale

    def with_momentum():
        m.mul_(0.9).add_(gradient, alpha=0.1)
        return encode(m)

    yield "torch: error feedback, sign, pack", lambda: encode(gradient)
    yield "torch: momentum, error feedback, sign, pack", with_momentum


def cases_of(arguments):
    gradient = gradient_like(arguments.elements, 1e-2, arguments.device)
    x = torch.ones_like(gradient)
    cases = [("limit: in-place scale", lambda: x.mul_(0.9999999)),
             *adam_cases(gradient)]
    if arguments.device == "cuda":
        cases.append(("copy", lambda: x.copy_(gradient)))
        return cases + [*top_k_cases(gradient, 1), *sign_cases(gradient)]
    cases += [*top_k_cases(gradient, arguments.threads), *sign_cases(gradient)]
    try:
        cases += deepspeed_cases(gradient)
    except Exception as error:  # pylint: disable=broad-except # whatever it is, the others are measured
        if arguments.need:
            raise
        print(f"DeepSpeed is left out: {error}", file=sys.stderr)
    return cases


def seconds_on_host(function, _runs):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def seconds_on_gpu(function, runs):
    """Seconds of one run in a group, in which the host's launches hide behind earlier runs."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    begin.record()
    for _ in range(runs):
        function()
    end.record()
    end.synchronize()
    return 1e-3 * begin.elapsed_time(end) / runs


def measure(cases, repetitions, device):
    """All cases in turn, after a run of each that does not count."""
    seconds_of = seconds_on_gpu if device == "cuda" else seconds_on_host
    wanted, groups = [], []
    for _, function in cases:
        once = min(seconds_of(function, 1) for _ in range(1 if device == "cpu" else 2))
        wanted.append(min(repetitions, max(1, math.ceil(SECONDS_PER_ROUND / once))))
        groups.append(max(1, math.ceil(SECONDS_PER_GROUP / once)))
    seconds = [[] for _ in cases]
    for repetition in range(repetitions):
        for k, (_, function) in enumerate(cases):
            if repetition < wanted[k]:
                seconds[k].append(seconds_of(function, groups[k]))
    return seconds


def main():
    arguments = parse()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    torch.set_grad_enabled(False)
    if arguments.device == "cuda" and not torch.cuda.is_available():
        sys.exit("this PyTorch sees no GPU")
    cases = cases_of(arguments)
    for (name, _), seconds in zip(cases, measure(cases, arguments.repetitions, arguments.device)):
        print(json.dumps({"kernel": name, "milliseconds": 1e3 * statistics.median(seconds)}))


if __name__ == "__main__":
    main()
