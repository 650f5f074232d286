#!/usr/bin/env python3
"""Measures `best` in the protocols of other papers: few labels with Planetoid's test nodes, a tenth of the nodes, every k.

Usage: PYTHON tests/field.py planetoid|tenth|curve [GRAPH ..] [--weights FILE] [--draws N] [--mochi PROGRAM] [--cache FOLDER]
  PYTHON      one that has the package mochi (tenth: and scikit-learn): BUILD/python/environment/bin/python
  planetoid   1 and 5 labels of each class, drawn from the nodes that are not test nodes; accuracy on the 1,000 test nodes
  tenth       a tenth of the nodes drawn at random has labels; accuracy on four fifths; the rest, which others read to tune,
              is not read. Beside it scikit-learn's ridge classifier on attributes two hops away, its penalty by leave-one-out
  curve       k labels of each class, k = 1 to 64: balanced accuracy over paired episodes (`mochi eval`), and where each
              baseline passes `best`
  GRAPH       rows of train/evaluation/RESULTS.md (default: planetoid its three, else all 25, of $MOCHI_SHARED/data)
  --draws     of labels, or episodes (default 20; tenth 5)

Draws come from seeds 0, 1, .. (tenth: 1, 2, ..); predictions are those of `mochi predict` with its defaults. ± is half a 95% interval."""

import argparse
import json
import subprocess
import sys

import mochi
import numpy as np
import results
import scipy.sparse as sp
import scipy.stats

SHOTS = (1, 2, 4, 8, 16, 32, 64)
COLUMNS = {"trained": "best", "random": "untrained", "hop": "best hop, ridge", "x0": "hop 0, ridge"}


def half_interval(x):
    return scipy.stats.t.ppf(0.975, len(x) - 1) * np.std(x, ddof=1) / np.sqrt(len(x)) if len(x) > 1 else float("nan")


def accuracy(fit, y, support, test):
    """Of the test nodes, in %, from the labels of `support`."""
    names = fit.graph.names
    fit.fit({int(i) if names is None else names[i]: y[i] for i in support})
    return 100 * np.mean(fit.predict()[test] == y[test])


def of_each_class(y, pool, k, random):
    return np.concatenate([random.permutation(pool[y[pool] == c])[:k] for c in np.unique(y[y >= 0])])


def planetoid(name, g, model, draws):
    test = np.flatnonzero(g.division("test"))
    pool = np.setdiff1d(np.flatnonzero(g.y >= 0), test)
    fit, line = model.few_shot(g), f"{name:24}"
    for k in (1, 5):
        found = [accuracy(fit, g.y, of_each_class(g.y, pool, k, np.random.default_rng(s)), test) for s in range(draws)]
        line += f"{np.mean(found):8.1f} ± {half_interval(found):3.1f}"
    print(line, flush=True)
    return None


def two_hops(g):
    """Attributes, averaged twice over the neighbours and the node itself; without attributes, columns of the adjacency."""
    indptr, indices = g.adjacency
    A = sp.csr_matrix((np.ones(len(indices)), indices, indptr), (g.nodes, g.nodes)) + sp.eye(g.nodes)
    P = sp.diags(1 / np.asarray(A.sum(1)).ravel()) @ A
    X = g.x if g.x is not None else sp.eye(g.nodes)
    return P @ (P @ sp.csr_matrix(X))


def tenth(name, g, model, draws):
    from sklearn.linear_model import RidgeClassifierCV

    y, fit, X, ours, peer = g.y, model.few_shot(g), two_hops(g), [], []
    known = np.flatnonzero(y >= 0)
    for seed in range(1, draws + 1):  # Minesweeper's mines were laid by seed 0, whose tenth would be mines alone
        order = np.random.default_rng(seed).permutation(known)
        support, test = order[: len(known) // 10], order[len(known) // 5:]
        missing = [np.flatnonzero(y == c)[:1] for c in np.setdiff1d(y[known], y[support])]  # a class nobody drew
        support = np.concatenate([support, *missing])
        ours.append(accuracy(fit, y, support, np.setdiff1d(test, support)))
        ridge = RidgeClassifierCV(np.logspace(-3, 3, 7)).fit(X[support].toarray(), y[support])
        peer.append(100 * np.mean(ridge.predict(X[test].toarray()) == y[test]))
    difference = np.subtract(ours, peer)
    print(f"{name:24}{np.mean(ours):8.1f} ± {half_interval(ours):3.1f}{np.mean(peer):8.1f}   {difference.mean():+5.1f} ± "
          f"{half_interval(difference):3.1f}", flush=True)
    return np.mean(ours), np.mean(peer)


def curve(name, path, options):
    words = [options.mochi, "eval", "--data", str(path), "--task", "nc", "--protocol", "episode", "--metric", "accuracy",
             "--episodes", str(options.draws), "--shots", ",".join(map(str, SHOTS)), "--json", "--quiet"]
    words += ["--cache", options.cache] if options.cache else []
    cells = map(json.loads, subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines())
    mean = {(c["features"], c["k"]): c["mean"] for c in cells if c["kind"] == "cell"}
    row = [[mean[of, k] for k in SHOTS] for of in COLUMNS]
    passes = [next((str(k) for k, a, b in zip(SHOTS, row[0], other) if b > a and k > 1), "-") for other in row[1:]]
    print(f"{name:24}" + "".join(f"{x:6.1f}" for x in row[0]) + "   " + " ".join(f"{p:>5}" for p in passes), flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=("planetoid", "tenth", "curve"))
    parser.add_argument("graph", nargs="*")
    parser.add_argument("--weights", default="best")
    parser.add_argument("--draws", type=int)
    parser.add_argument("--mochi", default="mochi")
    parser.add_argument("--cache")
    options = parser.parse_args()
    options.draws = options.draws or (5 if options.table == "tenth" else 20)
    files = results.ALIKE | results.OTHERS
    model, found = mochi.load(options.weights), []
    heads = {"planetoid": f"{'':24}{'k = 1':>13}{'k = 5':>14}", "tenth": f"{'':24}{'best':>14}{'two hops':>10}   best - two hops",
             "curve": f"{'k =':24}" + "".join(f"{k:6}" for k in SHOTS) + "   passed at k by " + ", ".join(list(COLUMNS.values())[1:])}
    print(heads[options.table], flush=True)
    for name in options.graph or (("Cora", "CiteSeer", "PubMed") if options.table == "planetoid" else files):
        path = results.find(files[name])
        if path is None:
            print(f"{name:24}   not below {results.DATA}")
            continue
        if options.table == "curve":
            found.append(curve(name, path, options))
        else:
            found.append({"planetoid": planetoid, "tenth": tenth}[options.table](name, mochi.graph(str(path)), model, options.draws))
    if not found:
        sys.exit("no graph was found")
    if options.table == "tenth":
        ours, peer = np.mean(found, 0)
        print(f"{'mean of ' + str(len(found)):24}{ours:8.1f}      {peer:8.1f}")
    elif options.table == "curve":
        for title, row in zip(COLUMNS.values(), np.mean(found, 0)):
            print(f"{'mean, ' + title:24}" + "".join(f"{x:6.1f}" for x in row))


if __name__ == "__main__":
    main()
