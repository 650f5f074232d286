#!/usr/bin/env python3
"""The cases of `mochi bench solve` in PyTorch: batches of systems A X = B in float32, general (torch.linalg.solve) and
symmetric positive definite (cholesky, cholesky_solve), the solution alone and with its adjoint; a JSON object a case.

    tools/bench/bench_solve_torch.py [BATCHxORDER[xCOLUMNS]...] [--runs 15] [--warmup 3] [--threads N]

Bench_pair runs it beside the program."""
import argparse
import json
import time

import torch


def standard_cases():
    return [f"{8 ** e}x{n}" for n in (4, 8, 16, 32, 64, 128, 256, 512) for e in range(5) if 8**e * n * n <= 1 << 24]


def systems(batch, n, m, spd):
    """The matrices of bench_solve.c: N + (2 sqrt(n) + 4) I of a standard normal N, or of its symmetric part."""
    g = torch.Generator().manual_seed(4)
    A = torch.randn(batch, n, n, generator=g)
    if spd:
        A = (A + A.mT) / 2
    A += (2 * n**0.5 + 4) * torch.eye(n)
    B, X_bar = (torch.randn(batch, n, m, generator=g) for _ in range(2))
    return A.requires_grad_(), B.requires_grad_(), X_bar


def solve(A, B, X_bar, spd):
    X = torch.cholesky_solve(B, torch.linalg.cholesky(A)) if spd else torch.linalg.solve(A, B)
    return torch.autograd.grad(X, (A, B), X_bar) if X_bar is not None else X


def solve_each(A, B, X_bar, spd):
    """One matrix at a time: MKL 2024.2's LU of several matrices of order 256 and more ends in an error on some processors."""
    bars = X_bar if X_bar is not None else [None] * len(A)
    return [solve(a, b, bar, spd) for a, b, bar in zip(A, B, bars)]


def working(A, B, spd):
    try:
        X = solve(A, B, None, spd)
        return solve if (A @ X - B).abs().max() < 1e-2 else solve_each
    except RuntimeError:
        return solve_each


def measure(call, runs, warmup):
    times = []
    for _ in range(warmup + runs):
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return sorted(times[warmup:])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("cases", nargs="*", metavar="CASE", default=standard_cases())
    p.add_argument("--runs", type=int, default=15)
    p.add_argument("--warmup", type=int, default=3)
    p.add_argument("--threads", type=int, default=0)
    a = p.parse_args()
    if a.threads:
        torch.set_num_threads(a.threads)
    for case in a.cases:
        size = [int(x) for x in case.split("x")]
        batch, n, m = size if len(size) == 3 else (*size, 1)
        for spd in (False, True):
            A, B, X_bar = systems(batch, n, m, spd)
            call = working(A, B, spd)
            for adjoint in (False, True):
                with torch.set_grad_enabled(adjoint):
                    times = measure(lambda: call(A, B, X_bar if adjoint else None, spd), a.runs, a.warmup)
                variant = ("solve_spd" if spd else "solve") + ("+adjoint" if adjoint else "")
                print(json.dumps(dict(case=case, variant=variant, min_ms=times[0], med_ms=times[len(times) // 2])),
                      flush=True)


if __name__ == "__main__":
    main()
