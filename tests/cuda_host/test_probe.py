#!/usr/bin/env python3
"""gpu_probe (tools/bench/probe) on the emulated device: every question has an answer, and it is true of that device.

Usage: test_probe.py GPU_PROBE"""
import json
import os
import subprocess
import sys


def ask(**device):
    done = subprocess.run([sys.argv[1], "--dry-run"], capture_output=True, text=True, env={**os.environ, **device})
    assert not done.stderr, done.stderr
    return done.returncode, {row["what"]: row for row in map(json.loads, done.stdout.splitlines())}


status, plain = ask()
assert status == 0 and "emulated" in plain["device"]["device"], plain
timed = {what: row for what, row in plain.items() if "capture" in row}
for name in ("kernel of one block", "fill of 3600 bytes", "copy of 64 bytes", "9 dependent loads", "potrf 9 lower", "potrf 9 upper",
             "potrf of a batch of one, 9 upper", "trsm left 9 x 2", "trsm right 9 x 2", "spd 9 x 2", "spd adjoint 9 x 2", "layer: relu, bias bf16",
             "softmax of 4 x 16384 by cuDNN", "adjoint of softmax of 1024 x 64 by cuDNN"):
    row = timed[name]
    assert row["capture"] == "yes" and row["eager_us"] >= 0 and row["replay_us"] >= 0, row
searched = [row for what, row in plain.items() if what.startswith("search ")]
assert len(searched) == 3 * 10 + 1 and all(row.get("algorithm", True) for row in searched), searched
assert plain["relu of NaN fp32"]["is_nan"] is False  # as seam_blas.cpp has it
assert all(plain[f"tf32 - fp32 of {shape}"]["largest"] > 0 for shape in ("7 x 70 x 33", "40 x 70 x 64"))

status, broken = ask(MOCHI_CUDA_HOST_BREAK="seam_potrf")
assert status == 0 and set(broken) == set(plain)
row = broken["potrf 9 upper"]
assert row["replay_us"] is None and row["capture"] != "yes" and row["eager_us"] >= 0, row
assert broken["trsm left 9 x 2"]["capture"] == "yes"

status, without = ask(MOCHI_CUDA_HOST_EPILOGUE="32")  # 32 is no divisor of d = 16, so there are no epilogues
assert status == 0 and without["search layer: relu, bias fp32"]["algorithm"] is False
assert "layer: relu, bias fp32" not in without and "relu of NaN fp32" not in without

status, refused = ask(MOCHI_CUDA_HOST_FAIL="seam_softmax")
assert status == 0 and "cuDNN" in refused["softmax of 4 x 16384 by cuDNN"]["refused"] and set(refused) == set(plain)

status, full = ask(MOCHI_CUDA_HOST_MEMORY="100000")
assert status == 1 and any("stopped" in row for row in full.values()), full
print(f"{len(plain)} answers, {len(timed)} of them timed")
