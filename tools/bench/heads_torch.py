#!/usr/bin/env python3
"""Heads of mochi.torch beside the same in PyTorch: one batch of episodes, forward and backward.

Usage: tools/bench/heads_torch.py [--threads N] [--rounds N] [ridge] [prototype]      for the Python that has both

Five ways, 75 queries, float32, gradients to support and queries. Each round times a head and the two ways in which PyTorch
writes it in turn, by the median of its calls. Printed: PyTorch's faster way / mochi, the median over the rounds of processor
time (wall time with more than one thread), for B = 1, 4, 16 and 64 episodes; above 1 mochi is faster. Then the least of all cells and their mean.
"""

import argparse
import os
import time

HEADS, SIZES, BATCHES = ("ridge", "prototype"), ((25, 64), (25, 640), (100, 64), (100, 640), (200, 64), (200, 640)), (1, 4, 16, 64)
WAYS, QUERIES, TURN = 5, 75, 0.02  # TURN: seconds for which a way runs in a round, one call at least


def ways(head, mt, torch):
    """(ours, the twins in PyTorch) as functions of Zs, Y, Zq."""
    if head == "ridge":

        def gram(Zs):
            return Zs @ Zs.mT + torch.eye(Zs.shape[-2])

        def primal(Zs):
            return Zs.mT @ Zs + torch.eye(Zs.shape[-1])

        def solved(solve):
            def logits(Zs, Y, Zq):
                if Zs.shape[-2] <= Zs.shape[-1]:
                    return Zq @ (Zs.mT @ solve(gram(Zs), Y))
                return Zq @ solve(primal(Zs), Zs.mT @ Y)

            return logits

        return (
            lambda Zs, Y, Zq: mt.ridge(Zs, Y, Zq, 1.0, bias=None),
            solved(torch.linalg.solve),
            solved(lambda K, B: torch.cholesky_solve(B, torch.linalg.cholesky(K))),
        )

    def means(Zs, Y):
        return (Y / Y.sum(-2, keepdim=True)).mT @ Zs

    def expanded(Zs, Y, Zq):
        P = means(Zs, Y)
        return 2 * Zq @ P.mT - P.square().sum(-1)[..., None, :] - Zq.square().sum(-1, keepdim=True)

    return mt.prototype, expanded, lambda Zs, Y, Zq: -torch.cdist(Zq, means(Zs, Y)).square()


def cell(calls, inputs, rounds, clock):
    """Median over the rounds of the faster twin's time / ours."""
    leaves, ratios = (inputs[0], inputs[2]), []

    def turn(call):
        for x in leaves:
            x.grad = None
        call(*inputs).square().mean().backward()

    def seconds(call):
        times, start = [], clock()
        while not times or clock() - start < TURN:
            began = clock()
            turn(call)
            times.append(clock() - began)
        return sorted(times)[len(times) // 2]

    for call in calls:
        turn(call)
        turn(call)
    for _ in range(rounds):
        ours, *twins = [seconds(call) for call in calls]
        ratios.append((min(twins) / ours, ours))
    ratios.sort()
    return ratios[len(ratios) // 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("heads", nargs="*", metavar="HEAD", help="ridge or prototype; default: both")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, nargs="*", default=BATCHES)
    o = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(o.threads)
    import mochi
    import mochi.torch as mt
    import torch

    torch.set_num_threads(o.threads)
    mochi.set_default_context(mochi.Context(threads=o.threads))
    for head in o.heads or HEADS:
        found = []
        for n, d in SIZES:
            texts = []
            for B in o.batches:
                torch.manual_seed(0)
                Zs, Zq = torch.randn(B, n, d, requires_grad=True), torch.randn(B, QUERIES, d, requires_grad=True)
                Y = torch.nn.functional.one_hot(torch.arange(n) % WAYS, WAYS).float().expand(B, n, WAYS).contiguous()
                ratio, ours = cell(ways(head, mt, torch), (Zs, Y, Zq), o.rounds, time.process_time if o.threads == 1 else time.perf_counter)
                found.append(ratio)
                texts.append(f"{ratio:.2f} ({1e6 * ours:.0f} us)")
            print(f"{head} n = {n}, d = {d}: " + ", ".join(texts), flush=True)
        print(f"{head}, {o.threads} threads: least {min(found):.2f}, mean {sum(found) / len(found):.2f}")


if __name__ == "__main__":
    main()
