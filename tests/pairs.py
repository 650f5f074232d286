#!/usr/bin/env python3
"""Measures link prediction beside the similarities of the literature: AUC, Hits@10 and MRR.

Usage: PYTHON tests/pairs.py [GRAPH ..] [--seeds N] [--test SHARE] [--most N]
  PYTHON   one that has the packages mochi and scipy: BUILD/python/environment/bin/python
  GRAPH    names of `mochi data list`, or paths (default: the graphs of train/evaluation/RESULTS.md)
  --seeds  divisions, the same for every method (default 5)
  --test   share of the links that is taken out and tested (default 0.2)
  --most   most test links, and most other pairs (default 2000)

Every method sees the graph without the test links. Each kind of pairs has links and as many pairs without one:
  random   test links; pairs drawn from all that are not linked
  near     test links that are two steps apart in the graph without them; pairs two steps apart and not linked, all equally
           likely. Links that are farther apart are left out: all other pairs have a common neighbour, so that having none
           would mark a link
Prints train/evaluation/results/pairs.csv. A rank is a test link's among all other pairs, ties counted half; Hits@10 is the share of ranks up to 10. The
strongest similarity is that of the eight with the highest mean over the divisions; ± is half of the 95% interval of the
paired difference mochi - strongest. The paper's AUC is of its own divisions."""

import argparse
import csv
import os
import pathlib
import sys

import mochi
import numpy as np
import scipy.sparse as sp
import scipy.stats

ROOT = pathlib.Path(__file__).resolve().parent.parent
MORE = pathlib.Path(os.environ.get("MOCHI_SHARED", ROOT.parent / "shared")) / "data" / "more"
GRAPHS = ["cora", "citeseer", "photo", "astroph", MORE / "social/polblogs.npz", MORE / "facebook100/fb100_Reed98.npz",
          MORE / "wikipedia/chameleon.npz", MORE / "citation/dblp.npz"]  # fmt: skip
PAPER = {"photo": (62.5, 88.5, 97.7), "gowalla": (95.3, 84.3, 97.4), "cora": (99.5, 93.2, 99.5)}  # train/data/paper.json
METRICS = ("AUC", "Hits@10", "MRR")
SIMILARITIES = ("common neighbours", "Adamic-Adar", "resource allocation", "preferential attachment", "Jaccard", "Katz", "cosine",
                "neighbours' cosine")  # fmt: skip


def adjacency(g):
    first, column = g.adjacency
    return sp.csr_matrix((np.ones(len(column)), column, first), (g.nodes, g.nodes))


def taken_out(A, pairs):
    u, v = pairs
    return (A - sp.csr_matrix((np.ones(2 * len(u)), (np.r_[u, v], np.r_[v, u])), A.shape)).tocsr().multiply(A).tocsr()


def near_pairs(A, whole, n, r):
    two = sp.triu(A @ A, 1).tocsr()
    two = (two - two.multiply(whole > 0)).tocsr()
    two.eliminate_zeros()
    u, v = two.nonzero()
    chosen = r.choice(len(u), min(n, len(u)), replace=False)
    return np.stack([u[chosen], v[chosen]])


def random_pairs(A, n, r):
    found = np.empty((2, 0), int)
    while found.shape[1] < n:
        u, v = np.sort(r.integers(A.shape[0], size=(2, 2 * n)), 0)
        fine = (u < v) & (np.asarray(A[u, v]).ravel() == 0)
        found = np.unique(np.hstack([found, np.stack([u[fine], v[fine]])]), axis=1)
    return found[:, r.choice(found.shape[1], n, replace=False)]


def unit(X):
    length = np.sqrt(np.asarray(X.multiply(X).sum(1)).ravel())
    return sp.diags(1 / np.maximum(length, 1e-12)) @ X


def similarities(A, X, pairs):
    u, v = pairs
    d = np.asarray(A.sum(1)).ravel()
    common = A[u].multiply(A[v]).tocsr()
    row = {"common neighbours": common.sum(1), "Adamic-Adar": common @ (1 / np.log(np.maximum(d, 2))),
           "resource allocation": common @ (1 / np.maximum(d, 1)), "preferential attachment": d[u] * d[v],
           "Jaccard": np.asarray(common.sum(1)).ravel() / np.maximum(d[u] + d[v] - np.asarray(common.sum(1)).ravel(), 1)}  # fmt: skip
    three = np.concatenate([(A[u[i : i + 500]] @ A).multiply(A[v[i : i + 500]]).sum(1) for i in range(0, len(u), 500)])
    row["Katz"] = np.asarray(row["common neighbours"]).ravel() + 0.05 * np.asarray(three).ravel()
    if X is not None:
        own, near = unit(X), unit(sp.diags(1 / np.maximum(d, 1)) @ A @ X)
        row["cosine"] = own[u].multiply(own[v]).sum(1)
        row["neighbours' cosine"] = near[u].multiply(near[v]).sum(1)
    return {name: np.asarray(x).ravel() for name, x in row.items()}


def measures(links, others):
    """AUC, Hits@10, MRR in percent; a tie counts half."""
    others = np.sort(others)
    above, least = len(others) - np.searchsorted(others, links, "right"), len(others) - np.searchsorted(others, links, "left")
    rank = 1 + (above + least) / 2
    return 100 * np.array([1 - ((above + least) / 2).mean() / len(others), (rank <= 10).mean(), (1 / rank).mean()])


def division(g, A, X, seed, options):
    """{kind: {method: measures}} and the share of the test links that is two steps apart."""
    r = np.random.default_rng(seed)
    edges = np.stack(sp.triu(A, 1).nonzero())
    test = edges[:, r.permutation(edges.shape[1])[: max(2, round(options.test * edges.shape[1]))]]
    seen = taken_out(A, test)
    test = test[:, : options.most]
    two = np.asarray(seen[test[0]].multiply(seen[test[1]]).sum(1)).ravel() > 0
    pairs = {"random": (test, random_pairs(A, test.shape[1], r))}
    if two.sum() > 1:
        pairs["near"] = (test[:, two], near_pairs(seen, A, int(two.sum()), r))
    every = np.hstack([part for both in pairs.values() for part in both])
    score = {"mochi": mochi.load("best").score_links(mochi.graph(seen, x=None if X is None else g.x), every.T)}
    score.update(similarities(seen, X, every))
    found, at = {}, 0
    for kind, (links, others) in pairs.items():
        n, m = links.shape[1], others.shape[1]
        found[kind] = {name: measures(x[at : at + n], x[at + n : at + n + m]) for name, x in score.items()}
        at += n + m
    return found, two.mean()


def rows_of(name, found, near):
    """The rows of a graph; and, of its cells, the number and those that are not below and those lower in mean."""
    rows, cells, fine, lower = [], 0, 0, 0
    for kind in (kind for kind in ("random", "near") if kind in found[0]):
        kept = [f[kind] for f in found if kind in f]
        shown = {method: np.array([f[method] for f in kept]) for method in kept[0]}
        others, line = [method for method in shown if method != "mochi"], []
        for m in range(len(METRICS)):
            best = max(others, key=lambda method: shown[method][:, m].mean())
            d = shown["mochi"][:, m] - shown[best][:, m]
            half = scipy.stats.t.ppf(0.975, len(d) - 1) * d.std(ddof=1) / np.sqrt(len(d)) if len(d) > 1 else np.nan
            cells, fine, lower = cells + 1, fine + (d.mean() >= -half), lower + (d.mean() < 0)
            line += [f"{shown['mochi'][:, m].mean():.1f}", f"{shown[best][:, m].mean():.1f}", f"{d.mean():+.1f}", f"{half:.1f}"]
            strongest = best if m == 0 else strongest
        each = [f"{shown[method][:, 0].mean():.1f}" if method in shown else "" for method in SIMILARITIES]
        of_paper = [*PAPER[name]] if kind == "random" and name in PAPER else [""] * 3
        rows.append([name, kind, f"{100 * near:.0f}" if kind == "near" else "", *line, strongest, *each, *of_paper])
    return rows, np.array([cells, fine, lower])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", nargs="*")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--test", type=float, default=0.2)
    parser.add_argument("--most", type=int, default=2000)
    options = parser.parse_args()
    counts, table = np.zeros(3, int), csv.writer(sys.stdout, lineterminator="\n")
    names = [(f"{m} %", f"{m} of the strongest %", f"{m} difference points", f"± {m}") for m in METRICS]
    table.writerow(["graph", "pairs", "near links %", *sum(names, ()), "strongest in AUC", *(f"AUC of {s} %" for s in SIMILARITIES),
                    "AUC of the paper's MOCHI %", "AUC of its MOCHI++ %", "AUC of its best %"])  # fmt: skip
    for path in options.graph or [str(p) for p in GRAPHS]:
        if not options.graph and os.sep in path and not os.path.exists(path):
            sys.exit(f"{path} is not here: set MOCHI_SHARED")
        g = mochi.graph(path)
        A, x = adjacency(g), g.x
        X = None if x is None else sp.csr_matrix(x, dtype=float)
        found = [division(g, A, X, seed, options) for seed in range(options.seeds)]
        rows, counted = rows_of(g.name.removeprefix("fb100_"), [f for f, _ in found], np.mean([share for _, share in found]))
        table.writerows(rows)
        sys.stdout.flush()
        counts += counted
    print(f"{counts[1]} of {counts[0]} cells are not below the strongest by more than the interval; in {counts[2]} the mean is lower.",
          file=sys.stderr)  # fmt: skip


if __name__ == "__main__":
    main()
