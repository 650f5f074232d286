#!/usr/bin/env python3
"""Heads of mochi.torch beside the same heads written in PyTorch, as a loop over episodes and in one batch, gradients included:
in float32, in one process, in turn; medians in ms and ratios, a JSON object a case. Needs PyTorch and the package mochi.
A turn calls each form twice and times the second call, whose data the first left in the processor's caches, as the steps of a
training loop do; --cold times the first.

    tools/bench/bench_torch_heads.py [ridge|logistic[:EPISODESxCLASSESxSHOTSxDIM]...] [--rounds 15] [--threads 1] [--cold]"""

import argparse
import json
import statistics
import time

import mochi
import mochi.torch
import torch
from bench_head_torch import HEADS, episodes, read_out


def batched_logistic(Zs, Ys, Zq, lam, steps=8):
    """The head of bench_head_torch.py for all episodes at once."""
    Z1, Q1 = (torch.cat([Z, torch.ones_like(Z[..., :1])], -1) for Z in (Zs, Zq))
    K, (e, n, C) = Z1 @ Z1.mT, Ys.shape
    a = torch.zeros_like(Ys)
    for _ in range(steps):
        P = torch.softmax(K @ a, -1)
        S = torch.diag_embed(P) - P.unsqueeze(-1) * P.unsqueeze(-2)
        H = (S.unsqueeze(3) * K[:, :, None, :, None]).reshape(e, n * C, n * C) + lam * torch.eye(n * C)
        a = a - torch.linalg.solve(H, (lam * a + P - Ys).reshape(e, -1, 1)).reshape(e, n, C)
    return Q1 @ (Z1.mT @ a)


def logistic(Zs, Ys, Zq, lam):
    return mochi.torch.readout("logistic_penalised", Zs, Ys, Zq, **{"lambda": lam})


OURS = {"ridge": mochi.torch.ridge, "logistic": logistic}
BATCHED = {"ridge": HEADS["ridge"][0], "logistic": batched_logistic}


def rivals(head, sizes):
    batch = episodes(*(int(x) for x in (sizes or "64x5x10x64").split("x")))
    lam = torch.tensor(HEADS[head][1], requires_grad=True)

    return {
        "mochi": lambda: read_out(OURS[head], batch, lam, True, True),
        "torch_loop": lambda: read_out(HEADS[head][0], batch, lam, False, True),
        "torch_batched": lambda: read_out(BATCHED[head], batch, lam, True, True),
    }


def timed(run):
    """Milliseconds of one call."""
    begin = time.perf_counter()
    run()
    return 1e3 * (time.perf_counter() - begin)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("cases", nargs="*", metavar="CASE", default=["ridge", "logistic"])
    p.add_argument("--rounds", type=int, default=15)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--cold", action="store_true")
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    mochi.set_default_context(mochi.Context(threads=a.threads))
    for case in a.cases:
        head, _, sizes = case.partition(":")
        if head not in OURS:
            p.error(f"{case}: expected {' or '.join(OURS)}")
        runs = rivals(head, sizes)
        times = {name: [] for name in runs}
        for turn in range(a.rounds + 2):
            for name, run in runs.items():
                calls = [timed(run) for _ in range(2)]
                if turn > 1:
                    times[name].append(calls[0 if a.cold else 1])
        ms = {name: statistics.median(t) for name, t in times.items()}
        print(json.dumps(dict(case=case, threads=a.threads, **{f"{n}_ms": round(t, 3) for n, t in ms.items()},
                              loop_ratio=round(ms["torch_loop"] / ms["mochi"], 2),
                              batched_ratio=round(ms["torch_batched"] / ms["mochi"], 2))), flush=True)


if __name__ == "__main__":
    main()
