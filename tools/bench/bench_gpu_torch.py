#!/usr/bin/env python3
"""PyTorch's side of tools/bench/bench_gpu, one JSON object per case; a case that fails prints the reason, and the next one runs.

  bench_gpu_torch.py step PEER IMPL:MATH:CASE,CASE ...    PEER: the folder of bench_torch.py
  bench_gpu_torch.py solve BATCHxORDERxCOLUMNS ...        systems with their adjoint
"""
import json
import sys
import time
import types

import torch


def steps(peer, runs):
    """Runs all cases in one process, as importing PyTorch takes longer than a case."""
    sys.path.insert(0, peer)
    import bench_torch
    # torch.linalg.cholesky reads its result on the host, so a graph could not capture it.
    torch.linalg.cholesky = lambda A, **k: torch.linalg.cholesky_ex(A, **k)[0]
    torch.linalg.solve(torch.eye(2, device="cuda"), torch.eye(2, device="cuda"))
    for run in runs:
        impl, math, cases = run.split(":")
        for case in cases.split(","):
            options = types.SimpleNamespace(threads=0, device="cuda", dtype=math, variant="mochi++", temp="embed", dim=512,
                                            impl=impl, warmup=3, runs=15, cpu_gemm="onednn", malloc="keep")
            try:
                bench_torch.one_case(options, case)
            except Exception as reason:
                print(json.dumps({"impl": "torch-" + impl, "case": case, "dtype": math, "error": str(reason)[:300]}), flush=True)
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
        steps(sys.argv[2], sys.argv[3:])
    else:
        solves(sys.argv[2:])
