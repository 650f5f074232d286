#!/usr/bin/env python3
"""Times of the package beside those of scikit-learn and PyTorch, on one thread.

Usage: tests/python/times.py [digits|cora|wide|episode ...]      default: all; for the Python that has the package

Each figure is the least processor time of several turns that alternate between the two, in milliseconds. The marks: no
estimator slower than 1.1 times scikit-learn's, ridge and LDA at least 3 times faster at 4 rows of each class; an episode not
slower than PyTorch's.
"""

import os
import sys
import time
import warnings

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import mochi  # noqa: E402
import numpy as np  # noqa: E402

PARTS = ("digits", "cora", "wide", "episode")
SHARES = (4, 16, 64, 0.75)  # rows of each class, or the share of all rows


def fastest(calls, seconds):
    """The least time of each call in milliseconds; the calls take turns for about that many seconds, 3 turns at least."""
    best, turns, began = [float("inf")] * len(calls), 0, time.process_time()
    while turns < 3 or (turns < 200 and time.process_time() - began < seconds):
        for i, call in enumerate(calls):
            start = time.process_time()
            call()
            best[i] = min(best[i], time.process_time() - start)
        turns += 1
    return [1e3 * t for t in best]


def pairs():
    """(name, ours, scikit-learn's) with equal penalties."""
    import mochi.sklearn as ms
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression, RidgeClassifier
    from sklearn.svm import LinearSVC

    return [
        ("ridge", ms.RidgeHead(10.0, "free"), RidgeClassifier(alpha=10.0)),
        ("logistic", ms.LogisticHead(), LogisticRegression(max_iter=1000)),
        ("LDA", ms.LDAHead(), LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1)),
        ("SVM", ms.SVMHead(), LinearSVC(multi_class="crammer_singer", max_iter=10000)),
    ]


def rows_of(part):
    """(rows float64, labels) of a part."""
    rng = np.random.default_rng(0)
    if part == "digits":
        from sklearn.datasets import load_digits

        digits = load_digits()
        return digits.data / 16, digits.target
    if part == "wide":
        y = np.arange(700) % 7
        Z = rng.normal(size=(700, 4096))
        Z[np.arange(700), y] += 3
        return Z, y
    cora = mochi.graph("cora")
    return np.asarray(mochi.load("best").embed(cora), np.float64), cora.y


def estimators(part):
    """A line of the table for each share of the rows."""
    Z, y = rows_of(part)
    rng, classes = np.random.default_rng(0), np.unique(y)
    print(f"{part}, d = {Z.shape[1]:,}: scikit-learn / mochi in ms (times faster)", flush=True)
    for share in SHARES:
        if share < 1:
            rows = rng.permutation(len(y))[: int(share * len(y))]
        else:
            rows = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:share] for c in classes])
        X, label, cells = Z[rows], y[rows], []
        for name, ours, theirs in pairs():
            if part == "wide" and name == "LDA" and share != 4:
                continue  # scikit-learn's takes a minute a fit
            mine, other = fastest([lambda e=e, X=X, label=label: e.fit(X, label) for e in (ours, theirs)], 1.0)
            cells.append(f"{name} {other:.1f} / {mine:.1f} ({other / mine:.2f})")
        print(f"  {'3/4 of all' if share < 1 else share}: " + "; ".join(cells), flush=True)


def episode():
    """One small episode, forward and backward: 5 classes, 5 rows of each, d = 64, 75 queries."""
    import mochi.torch
    import torch

    torch.set_num_threads(1)
    Zs, Zq = torch.randn(1, 25, 64, requires_grad=True), torch.randn(1, 75, 64)
    Y = torch.nn.functional.one_hot(torch.arange(5).repeat_interleave(5), 5).float()[None]

    def twin():
        K = Zs @ Zs.mT + torch.eye(25)
        return Zq @ (Zs.mT @ torch.cholesky_solve(Y, torch.linalg.cholesky(K)))

    def turn(logits):
        Zs.grad = None
        logits().square().mean().backward()

    mine, other = fastest([lambda: turn(lambda: mochi.torch.ridge(Zs, Y, Zq, 1.0, bias=None)), lambda: turn(twin)], 3.0)
    print(f"episode of 25 rows, d = 64: PyTorch's Cholesky / mochi.torch.ridge {other:.3f} / {mine:.3f} ms ({other / mine:.2f})")


def main():
    warnings.simplefilter("ignore")
    mochi.set_default_context(mochi.Context(threads=1))
    for part in sys.argv[1:] or PARTS:
        if part not in PARTS:
            sys.exit(f"times.py: {part!r}, expected some of {', '.join(PARTS)}")
        episode() if part == "episode" else estimators(part)


if __name__ == "__main__":
    main()
