#!/usr/bin/env python3
"""tools/bench/bench_gpu without a device: a claim without evidence is null, profilers' tables are summed, and only what was measured decides.
(tests/cli/bench.cases runs it.)"""
import importlib.machinery
import importlib.util
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BENCH = os.path.join(ROOT, "tools", "bench", "bench_gpu")
sys.path.insert(0, os.path.join(ROOT, "tools", "bench"))
sys.dont_write_bytecode = True
import bench_gpu_claims as claims  # noqa: E402
import bench_gpu_decisions as decisions  # noqa: E402


def load(path):
    loader = importlib.machinery.SourceFileLoader(os.path.basename(path), path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def steps(ours=0.3, eager=1.2):
    """What the part `step` finds if everything runs."""
    row = {"ours": {"min_ms": ours, "gflop": 1000.0, "peak_mb": 10}, "eager": {"min_ms": eager, "cuda_peak_mb": 100}}
    return {(case, math): json.loads(json.dumps(row)) for case in claims.SMALL + claims.LARGE for math in claims.RATE_SHARE}


def check_claims():
    empty = claims.claims({})
    assert set(empty.values()) == {None}, empty
    found = {"step": steps(), "rate": {math: 1e6 for math in claims.RATE_SHARE}}
    met = claims.claims(found)
    assert met["2 small"] is True and met["2 large"] is True and met["5 memory"] is True, met
    found["step"]["nc15", "tf32"]["ours"] = None  # after a crash, the other case proves nothing
    assert claims.claims(found)["2 small"] is None
    found["step"] = steps()
    del found["step"]["nc15", "fp32"]["eager"]
    assert claims.claims(found)["2 small"] is None
    found["step"]["lp", "bf16"]["ours"]["min_ms"] = 0.4
    assert claims.claims(found)["2 small"] is False
    found["rate"] = {}
    assert claims.claims(found)["2 share of the rate"] is None
    assert claims.claims({"train": {"one": {"ms": 1, "weights": "a"}}})["3 training"] is None


def check_kernels():
    bench = load(BENCH)
    ncu = ('==PROF== Connected\n"ID","Kernel Name","gpu__time_duration.sum"\n"","","ns"\n"0","map2","1,500"\n"1","gemm","4000"\n'
           '"2","map2","500"\n')
    assert bench.sum_kernels(ncu, "Kernel Name", "gpu__time_duration.sum") == [["gemm", 1, 4.0], ["map2", 2, 2.0]]
    nsys = "Processing\n\nTime (%),Total Time (ns),Instances,Name\n90.0,9000,3,gemm\n"
    assert bench.sum_kernels(nsys, "Name", "Total Time (ns)") == [["gemm", 3, 9.0]]
    assert bench.sum_kernels("==ERROR== no permission\n", "Kernel Name", "gpu__time_duration.sum") == []


def check_decisions():
    """Only what was measured decides."""
    empty = decisions.table({}).splitlines()
    assert len(empty) > 10 and all("not measured |  |" in line for line in empty[2:]), empty
    probe = {what: {"replay_us": us, "capture": "yes"} for what, us in (("spd 300 x 15", 90), ("potrf 300 lower", 60), ("trsm left 300 x 15", 40))}
    table = decisions.table({"probe": probe, "step": steps()})
    assert "| 90.0, 140.0 | ours |" in table and "potrf 300 lower in a graph |  | yes |" in table, table
    probe["trsm left 300 x 15"] = {"eager_us": 10, "replay_us": None, "capture": "not permitted"}
    table = decisions.table({"probe": probe})
    assert "| 90.0, 80.0 | the library |" in table and "in a graph |  | not permitted |" in table, table


check_claims()
check_decisions()
check_kernels()
print("3 parts hold: claims, decisions, kernels")
