#!/usr/bin/env python3
"""`mochi lab conditioning`, `truncation`, `differences`, `checkpointing`: their figures against what theory says of them.
(`adjoint`: test_cli_lab.c.)

Usage: test_cli_labs.py MOCHI."""
import json
import os
import subprocess
import sys
import tempfile

MOCHI = sys.argv[1]


def run(*words):
    return subprocess.run([MOCHI, "lab", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)


def told(*words):
    done = run(*words)
    assert done.returncode == 0 and not done.stderr, f"lab {words}: {done.returncode}, {done.stderr}"
    return done.stdout


def rows(*words):
    return [json.loads(line) for line in told(*words, "--json").splitlines()]


def refused(part, *words):
    done = run(*words)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and part in done.stderr, (words, done.stderr)


def errors_grow_with_the_condition_number(folder):
    for seed in ("0", "3"):
        found = {(r["arithmetic"], round(r["kappa"])): r for r in rows("conditioning", "--seed", seed)}
        assert len(found) == 5 * 7
        for error in ("value_error", "gradient_error"):
            def of(way, kappa):
                return found[way, kappa][error]
            for kappa in (1, 10**2, 10**4, 10**6):
                # the precision is 1e-16 or 6e-8; 0.001 .. 100: how much of the worst case a random system meets
                assert 1e-18 * kappa < of("float64", kappa) < 2e-14 * kappa, (seed, kappa)
                assert 6e-11 * kappa < of("float32", kappa) < 6e-6 * kappa, (seed, kappa)
                assert of("float32 refined", kappa) < 2e-14 * kappa, (seed, kappa)
            assert of("tf32", 100) > 100 * of("float32", 100), seed
            assert of("tf32 refined", 100) < 1e-12 < 1e-4 < of("tf32", 100), seed
            assert of("tf32 refined", 10**6) > 0.01, seed  # nothing is left to refine
            # singular to the precision of float32: no result, or none that is worth anything
            assert all(of("float32", k) is None or of("float32", k) > 0.05 for k in (10**10, 10**12)), seed
            assert of("float64", 10**12) < 1e-3, seed
    assert " -\n" in told("conditioning") and len(rows("conditioning", "--n", "5")) == 35


def implicit_gradients_are_off_as_the_solution_is(folder):
    steps = ["1", "3", "10", "30", "100", "1000"]
    found = rows("truncation", "--iterations", ",".join(steps), "--seed", "2")
    assert [r["steps"] for r in found] == [int(s) for s in steps] * 3
    for r in found:
        radius = float(r["radius"].split()[1])
        bound = radius ** r["steps"]
        assert r["solution_error"] <= bound + 1e-14, r
        # -u w_K^T and -u w^T differ as w_K and w do
        assert abs(r["implicit_error"] - r["solution_error"]) <= 1e-6 * r["solution_error"] + 1e-14, r
        # (1 + K (1 - radius) / radius) radius^K bounds sum_j (I - A)^j w_bar w^T cut at K, times the condition of A
        assert r["unrolled_error"] <= (2 + r["steps"]) * bound / (1 - radius) + 1e-13, r
        assert r["unrolled_error"] >= 0.9 * r["implicit_error"] - 1e-13, r
        assert r["neumann_error"] <= r["solution_error"] + 2 * bound / (1 - radius) + 1e-13, r
    assert found[0]["unrolled_error"] == 1  # the first step from 0 does not read A
    assert found[5]["unrolled_error"] < 1e-13


def quotients_have_their_orders_and_their_v(folder):
    for seed in ("0", "1"):
        found = {}
        for r in rows("differences", "--seed", seed):
            found.setdefault(r["rule"], []).append(r["error"])
        assert [len(v) for v in found.values()] == [14] * 4
        # a step ten times smaller: h, h^2, h^4
        assert 8 < found["forward"][1] / found["forward"][2] < 12.5, seed
        assert 80 < found["central"][1] / found["central"][2] < 125, seed
        assert 3e3 < found["four points"][0] / found["four points"][1] < 3e4, seed
        best = {rule: min(range(14), key=errors.__getitem__) + 1 for rule, errors in found.items()}  # 10^-best
        assert 6 <= best["forward"] <= 9 and 4 <= best["central"] <= 7 and 2 <= best["four points"] <= 5, best
        assert 1 <= best["central float32"] <= 4, best
        assert min(found["forward"]) < 1e-5 and min(found["central"]) < 1e-8 and min(found["four points"]) < 1e-10
        assert 1e-8 < min(found["central float32"]) < 1e-3 and found["central float32"][-1] > 0.1
        assert all(errors[-1] > 100 * min(errors) for errors in found.values())


def segments_cost_a_forward_and_save_memory(folder):
    found = rows("checkpointing", "--runs", "1", "--n", "32")
    peak = {(r["chain"], r["segment"]): r["peak_bytes"] for r in found}
    assert len(found) == 1 + 7 and all(r["difference"] < 1e-13 for r in found)
    whole = peak["recorded", 1]
    parts = {segment: bytes for (chain, segment), bytes in peak.items() if chain == "recomputed"}
    assert min(parts, key=parts.get) in (4, 8, 16) and min(parts.values()) < whole / 3, parts
    assert parts[64] >= whole and parts[1] < whole, parts


def one_seed_gives_the_same_figures(folder):
    for words in (["conditioning"], ["truncation", "--iterations", "5"], ["differences"]):
        assert told(*words) == told(*words, "--seed", "0") == told(*words, "--threads", "2") != told(*words, "--seed", "1")
    assert all(len(line) <= 80 for e in ("conditioning", "truncation", "differences") for line in told(e).splitlines())


def plugin(name):
    return os.path.join(os.environ["MOCHI_PLUGINS"], name + ".so")


def a_problem_of_ones_own_has_its_gradient(folder):
    for n in ("3", "20"):
        found = rows("adjoint", "--problem", plugin("lab_good"), "--n", n, "--iterations", "2,100", "--runs", "1")
        assert len(found) == 8 and all(r["problem"] == "exponentials" for r in found)
        for r in found:
            assert r["iterations"] == 2 or r["error"] < 1e-10, r
            assert r["method"] == "analytic" or r["iterations"] == 100 or r["error"] > 1e-3, r
    assert "gradient in 3 hyper-parameters" in told("adjoint", "--problem", plugin("lab_good"), "--iterations", "5")
    for name, part in (("lab_old", "was built for version 9"), ("lab_unnamed", "exports no mo_lab_plugin"),
                       ("lab_stepless", "a step above 0"), ("lab_none", "lab_none.so")):
        done = run("adjoint", "--problem", plugin(name))
        assert done.returncode == 1 and done.stderr.count("\n") == 1 and part in done.stderr, done.stderr


def problems_of_other_sizes_become_exact(folder):
    for problem in ("ridge", "logistic", "root"):
        found = rows("adjoint", "--problem", problem, "--n", "5", "--method", "implicit,unrolled", "--iterations", "2000",
                     "--runs", "1")
        assert len(found) == 2 and all(r["error"] < 1e-9 for r in found), found
    refused("--n: expected at most 64", "adjoint", "--n", "65")


def what_has_no_effect_is_refused(folder):
    refused("--problem: has no effect on conditioning", "conditioning", "--problem", "root")
    refused("--method", "truncation", "--method", "implicit")
    refused("--iterations", "differences", "--iterations", "3")
    refused("--runs", "conditioning", "--runs", "3")
    refused("--n", "differences", "--n", "5")
    refused("--n", "conditioning", "--n", "1")
    refused("expected one experiment", "differences", "adjoint")


def main():
    tests = [errors_grow_with_the_condition_number, implicit_gradients_are_off_as_the_solution_is,
             quotients_have_their_orders_and_their_v, segments_cost_a_forward_and_save_memory,
             one_seed_gives_the_same_figures, a_problem_of_ones_own_has_its_gradient, problems_of_other_sizes_become_exact, what_has_no_effect_is_refused]
    failed = 0
    for test in tests:
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(folder)
                print(f"[     OK ] {test.__name__}", flush=True)
            except (AssertionError, KeyError, ValueError) as error:
                failed += 1
                print(f"[ FAILED ] {test.__name__}: {error!r}", flush=True)
    return 1 if failed else 0


sys.exit(main())
