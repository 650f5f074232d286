#!/usr/bin/env python3
"""Heads of `mochi bench head` in PyTorch, as a loop over episodes, in float32: ridge by torch.linalg.solve of each episode's
dual system, logistic by unrolled Newton steps on the dense Hessian of its dual; the logits alone and with the gradients
of the queries' cross-entropy; a JSON object a case.

    tools/bench/bench_head_torch.py [ridge|logistic[:EPISODESxCLASSESxSHOTSxDIM]...] [--runs 15] [--warmup 3] [--threads N]
        [--batched]

--batched solves all episodes in one call (ridge). Bench_pair runs it beside the program."""
import argparse
import json

import torch
from bench_solve_torch import measure

QUERIES = 15


def episodes(n, classes, shots, dim):
    g = torch.Generator().manual_seed(1)
    mean = torch.randn(n, classes, 1, dim, generator=g)
    Zs, Zq = ((mean + torch.randn(n, classes, each, dim, generator=g)).reshape(n, -1, dim).requires_grad_()
              for each in (shots, QUERIES))
    Ys = torch.eye(classes).repeat_interleave(shots, 0).expand(n, -1, -1)
    return Zs, Ys, Zq, torch.arange(classes).repeat_interleave(QUERIES)


def ridge(Zs, Ys, Zq, lam):
    Z1, Q1 = (torch.cat([Z, torch.ones_like(Z[..., :1])], -1) for Z in (Zs, Zq))
    K = Z1 @ Z1.mT + lam * torch.eye(Z1.shape[-2])
    return Q1 @ (Z1.mT @ torch.linalg.solve(K, Ys))


def logistic(Zs, Ys, Zq, lam, steps=8):
    """Coordinates a of [W; b] = Z1^T a, penalised: lam a + softmax(K a) - Y = 0."""
    Z1, Q1 = (torch.cat([Z, torch.ones_like(Z[..., :1])], -1) for Z in (Zs, Zq))
    K, (n, C) = Z1 @ Z1.mT, Ys.shape
    a = torch.zeros_like(Ys)
    for _ in range(steps):
        P = torch.softmax(K @ a, -1)
        S = torch.diag_embed(P) - P.unsqueeze(-1) * P.unsqueeze(-2)
        H = (S.unsqueeze(2) * K[:, None, :, None]).reshape(n * C, n * C) + lam * torch.eye(n * C)
        a = a - torch.linalg.solve(H, (lam * a + P - Ys).reshape(-1)).reshape(n, C)
    return Q1 @ (Z1.mT @ a)


HEADS = {"ridge": (ridge, 10.0), "logistic": (logistic, 1.0)}


def read_out(head, batch, lam, batched, gradient):
    Zs, Ys, Zq, target = batch
    parts = [head(Zs, Ys, Zq, lam)] if batched else [head(*e, lam) for e in zip(Zs, Ys, Zq)]
    if gradient:
        every = target.repeat(Zs.shape[0]) if batched else target
        loss = sum(torch.nn.functional.cross_entropy(p.flatten(0, -2), every) for p in parts) / len(parts)
        torch.autograd.grad(loss, (Zs, Zq, lam))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("cases", nargs="*", metavar="CASE", default=["ridge"])
    p.add_argument("--runs", type=int, default=15)
    p.add_argument("--warmup", type=int, default=3)
    p.add_argument("--threads", type=int, default=0)
    p.add_argument("--batched", action="store_true")
    a = p.parse_args()
    if a.threads:
        torch.set_num_threads(a.threads)
    for case in a.cases:
        head, _, sizes = case.partition(":")
        if head not in HEADS or (a.batched and head != "ridge"):
            p.error(f"{case}: only {', '.join(HEADS)} are written here, ridge alone batched")
        batch = episodes(*(int(x) for x in (sizes or "64x5x10x64").split("x")))
        lam = torch.tensor(HEADS[head][1], requires_grad=True)
        for gradient in (False, True):
            with torch.set_grad_enabled(gradient):
                times = measure(lambda: read_out(HEADS[head][0], batch, lam, a.batched, gradient), a.runs, a.warmup)
            print(json.dumps(dict(case=case, variant="logits+gradients" if gradient else "logits", min_ms=times[0],
                                  med_ms=times[len(times) // 2])), flush=True)


if __name__ == "__main__":
    main()
