#!/usr/bin/env python3
"""Tests mochi-bench: a line of figures per case, the number of operations that the algorithm needs, the profile of a
step, refusals in one line.

Usage: test_bench.py MOCHI_BENCH"""
import json
import subprocess
import sys

MEMBERS = "case variant rows gflop min_ms med_ms max_ms processor_ms gemm_share peak_mb growth_mb allocations bits".split()


def run(*words, status=0):
    done = subprocess.run([sys.argv[1], *words], capture_output=True, text=True)
    assert done.returncode == status, done
    return done.stdout if status == 0 else done.stderr


def cases(*words):
    """Returns the lines after the first, which describes the run."""
    first, *lines = map(json.loads, run(*words, "--json").splitlines())
    assert first["kind"] == "run" and first["device"] == "cpu" and first["threads"] >= 1, first
    for line in lines:
        assert list(line) == MEMBERS and 0 < line["min_ms"] <= line["med_ms"] <= line["max_ms"], line
    return lines


def test_steps():
    lines = cases("step", "nc15", "lp", "gc_enzymes_mixed", "--dim", "16", "--runs", "3", "--warmup", "3")
    assert [(x["case"], x["rows"], x["allocations"]) for x in lines] == [("nc15", 900, 0), ("lp", 384, 0), ("gc_enzymes_mixed", 11880, 0)]
    line, = cases("step", "nc15", "--runs", "1", "--warmup", "0")  # d = 512; 15.3 GFLOP is what bench_torch.py counts
    u, ns, nq, C, D = 2 * 900 * 512**2, 300, 600, 15, 513
    readout = 3 * ns * ns * D + ns**3 / 3 + 6 * ns * ns * C + 6 * ns * D * C + 6 * nq * D * C
    assert abs(line["gflop"] - 1e-9 * (32 * u + readout)) < 1e-3, line


def test_profile():
    step = ("step", "nc15", "--dim", "16", "--runs", "2", "--warmup", "1", "--profile")
    text = run(*step)
    assert "nc15 mochi++, 2 runs:\n" in text and "\neverything" in text and text.count("\nsolve_spd ") == 2, text  # the op is called in forward, and in its own vjp
    assert "recompute" in run("step", "lp", "--dim", "16", "--runs", "1", "--max-rows", "100", "--profile")


def test_products():
    line, = cases("gemm", "64x32x16", "--runs", "2")
    assert abs(line["gflop"] - 2e-9 * 64 * 32 * 16) < 1e-12
    lines, n, column = cases("solve", "8x16x3", "--runs", "2", "--warmup", "1"), 16, 2 * 16 * 16 * 3
    assert [x["variant"] for x in lines] == ["solve", "solve+adjoint", "solve_spd", "solve_spd+adjoint"]
    for i, line in enumerate(lines):
        assert abs(line["gflop"] - 8e-9 * ((2, 1)[i // 2] * n**3 / 3 + (1, 3)[i % 2] * column)) < 1e-9 and line["allocations"] == 0, line
    assert len(cases("rows", "softmax:8x16", "spmm:9x3x4", "--runs", "2", "--warmup", "1")) == 2


def test_refusals():
    for words, said in (((), "step, gemm"), (("walk",), "walk"), (("step", "nc16"), "no case 'nc16'"), (("gemm", "8x8"), "8x8"),
                        (("solve", "8"), "'8'"), (("rows", "spmm:9x10x4"), "spmm:9x10x4"), (("gemm", "8", "--dim", "8"), "--dim"),
                        (("solve", "4x4", "--max-rows", "8"), "--max-rows"), (("step", "--threads", "0"), "--threads"),
                        (("step", "--replay"), "--replay"), (("step", "--profile", "--json"), "--profile"), (("step", "--math", "tf32"), "--math")):
        text = run(*words, status=2)
        assert said in text and text.count("\n") == 1, (words, text)


tests = [test for name, test in list(globals().items()) if name.startswith("test_")]
for test in tests:
    test()
print(f"{len(tests)} checks: steps, profile, products, refusals")
