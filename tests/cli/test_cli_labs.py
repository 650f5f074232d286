#!/usr/bin/env python3
"""`mochi lab conditioning`, `truncation`: their figures against what theory says of them.
(`adjoint`: test_cli_lab.c.)

Usage: test_cli_labs.py MOCHI."""
import json
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


def one_seed_gives_the_same_figures(folder):
    for words in (["conditioning"], ["truncation", "--iterations", "5"]):
        assert told(*words) == told(*words, "--seed", "0") == told(*words, "--threads", "2") != told(*words, "--seed", "1")
    assert all(len(line) <= 80 for e in ("conditioning", "truncation") for line in told(e).splitlines())


def problems_of_other_sizes_become_exact(folder):
    for problem in ("ridge", "logistic", "root"):
        found = rows("adjoint", "--problem", problem, "--n", "5", "--method", "implicit,unrolled", "--iterations", "2000",
                     "--runs", "1")
        assert len(found) == 2 and all(r["error"] < 1e-9 for r in found), found
    refused("--n: expected at most 64", "adjoint", "--n", "65")


def what_has_no_effect_is_refused(folder):
    refused("--problem: has no effect on conditioning", "conditioning", "--problem", "root")
    refused("--method", "truncation", "--method", "implicit")
    refused("--iterations", "conditioning", "--iterations", "3")
    refused("--runs", "conditioning", "--runs", "3")
    refused("--n", "conditioning", "--n", "1")
    refused("expected one experiment", "truncation", "adjoint")


def main():
    tests = [errors_grow_with_the_condition_number, implicit_gradients_are_off_as_the_solution_is,
             one_seed_gives_the_same_figures, problems_of_other_sizes_become_exact, what_has_no_effect_is_refused]
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
