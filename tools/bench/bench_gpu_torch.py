#!/usr/bin/env python3
"""PyTorch's side of tools/bench/bench_gpu, one JSON object per case; a case that fails prints the reason, and the next one runs.

  bench_gpu_torch.py step FORM:MATH:CASE,CASE ...         steps, by step_torch.py
  bench_gpu_torch.py solve BATCHxORDERxCOLUMNS ...        systems with their adjoint
"""
import json
import sys
import time
import types

import step_torch
import torch


def steps(runs):
    """Runs all cases in one process, as importing PyTorch takes longer than a case."""
    torch.linalg.solve(torch.eye(2, device="cuda"), torch.eye(2, device="cuda"))
    for run in runs:
        form, math, cases = run.split(":")
        for case in cases.split(","):
            options = types.SimpleNamespace(device="cuda", math=math, form=form, dim=512, warmup=3, runs=15)
            try:
                step_torch.precise_products(math, "cuda")
                row = step_torch.timed(case, options)
            except Exception as reason:
                row = {"case": case, "error": str(reason)[:300]}
            print(json.dumps({**row, "form": form, "math": math}), flush=True)
            torch.cuda.empty_cache()


def solves(cases):
    torch.backends.cuda.matmul.allow_tf32 = False
    def timed(f):
        for _ in range(3): f()
        torch.cuda.synchronize()
        times = []
        for _ in range(10):
            start = time.perf_counter(); f(); torch.cuda.synchronize()
            times.append(1e3 * (time.perf_counter() - start))
        return sorted(times)[5]
    for case in cases:
        b, n, m = map(int, case.split("x"))
        M = torch.randn(b, n, n, device="cuda")
        S = (M @ M.mT + n * torch.eye(n, device="cuda")).requires_grad_()
        A = (M + n * torch.eye(n, device="cuda")).requires_grad_()
        B = torch.randn(b, n, m, device="cuda", requires_grad=True)
        G = torch.randn(b, n, m, device="cuda")
        general = timed(lambda: torch.autograd.grad(torch.linalg.solve(A, B), (A, B), G))
        spd = timed(lambda: torch.autograd.grad(torch.cholesky_solve(B, torch.linalg.cholesky(S)), (S, B), G))
        print(json.dumps({"case": case, "solve": general, "solve_spd": spd}), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "step":
        steps(sys.argv[2:])
    else:
        solves(sys.argv[2:])
