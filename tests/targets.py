#!/usr/bin/env python3
"""Measures predictions of real targets beside common regressors: R², mean absolute error, and coverage of the intervals.

Usage: PYTHON tests/targets.py [SET ..] [--labels N,..] [--episodes N] [--seed N]
  PYTHON      one that has the packages mochi and scikit-learn: BUILD/python/environment/bin/python
  SET         folders: edges.csv, features.csv and targets.csv, or the files of a TU set with NAME_graph_attributes.txt;
              or DATA:degree, the logarithm of each node's degree in the graph DATA (default: the sets of
              $MOCHI_SHARED/data/regression)
  --labels    targets known in all (default 16,64,256; sets that have fewer than 1.25 times as many are left out)
  --episodes  drawn subsets, the same for every method (default 40)

R² of an episode is 1 - squared errors / squared distances of the other targets to their own mean; negative values count as
they are, so that the median over episodes is shown beside the mean. After each method other than mochi stands the mean
difference mochi - method in R², with half of its 95% interval over the episodes; 'below' marks those where mochi is lower by
more than that. Nodes: every regressor has the attributes (X), and the attributes with the neighbours' means (X+PX). Graphs: the
numbers of nodes with each label, of edges with each label, and of both (counts). Penalty, depth and k are chosen by
cross-validation inside the known targets, as scikit-learn does."""

import argparse
import csv
import os
import pathlib
import sys
import warnings

import mochi
import numpy as np
import scipy.sparse
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = pathlib.Path(os.environ.get("MOCHI_SHARED", ROOT.parent / "shared")) / "data" / "regression"
COVERAGES = (0.5, 0.8, 0.9)


def table_of(path):
    with open(path, newline="") as file:
        rows = list(csv.reader(file))[1:]
    return {row[0]: [float(x) for x in row[1:]] for row in rows}


def column(path):
    return np.loadtxt(path, dtype=float, ndmin=1)


def counts(folder, name, n_graphs):
    """[graphs, columns]: nodes by label, edges by label, nodes, edges."""
    of_node = column(folder / f"{name}_graph_indicator.txt").astype(int) - 1
    label = column(folder / f"{name}_node_labels.txt").astype(int)
    ends = np.loadtxt(folder / f"{name}_A.txt", delimiter=",", dtype=int) - 1
    bond = column(folder / f"{name}_edge_labels.txt").astype(int)
    X = np.zeros((n_graphs, label.max() + bond.max() + 4))
    np.add.at(X, (of_node, label), 1)
    np.add.at(X, (of_node[ends[:, 0]], label.max() + 1 + bond), 0.5)
    np.add.at(X, (of_node, -2), 1)
    np.add.at(X, (of_node[ends[:, 0]], -1), 0.5)
    return X


def adjacency(g):
    first, column = g.adjacency
    return scipy.sparse.csr_matrix((np.ones(len(column)), column, first), (g.nodes, g.nodes))


def opened(path):
    """(graph, targets [n], {name: rows [n, w]}, adjacency or None)."""
    if path.endswith(":degree"):
        g = mochi.graph(path.removesuffix(":degree"))
        A = adjacency(g)
        X = np.asarray(g.features.todense() if hasattr(g.features, "todense") else g.features, float)
        return g, np.log1p(np.diff(A.indptr)), {"X": X}, A
    folder = pathlib.Path(path)
    name = folder.name
    if (folder / f"{name}_A.txt").exists():
        y = column(folder / f"{name}_graph_attributes.txt")
        return mochi.graph(str(folder)), y, {"counts": counts(folder, name, len(y))}, None
    g = mochi.graph(str(folder))
    names = [str(v) for v in (g.names if g.names is not None else range(g.nodes))]
    targets, rows = table_of(folder / "targets.csv"), table_of(folder / "features.csv")
    A = adjacency(g)
    X = np.array([rows[v] for v in names])
    near = A @ X / np.maximum(A.sum(1), 1).reshape(-1, 1)
    return g, np.array([targets[v][0] for v in names]), {"X": X, "X+PX": np.hstack([X, np.asarray(near)])}, A


def harmonic(A, known, y):
    """Each unknown node is the mean of its neighbours (Zhu, Ghahramani and Lafferty 2003); the mean where no target reaches."""
    found = np.full(A.shape[0], y.mean())
    found[known] = y
    degree = np.maximum(np.asarray(A.sum(1)).ravel(), 1e-9)
    for _ in range(500):
        found = np.where(degree > 1e-8, A @ found / degree, y.mean())
        found[known] = y
    return found


def regressors(n):
    folds = min(5, n // 2)
    near = {"kneighborsregressor__n_neighbors": [k for k in (1, 2, 3, 5, 8, 12, 20) if k < n * (folds - 1) // folds]}
    return {
        "ridge": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 4, 15))),
        "forest": RandomForestRegressor(200, min_samples_leaf=1, max_features=1.0, random_state=0),
        "neighbours": GridSearchCV(make_pipeline(StandardScaler(), KNeighborsRegressor()), near, cv=folds),
    }  # fmt: skip


def r2(y, found):
    return 1 - ((y - found) ** 2).sum() / ((y - y.mean()) ** 2).sum()


def episode(fit, y, rows, A, known, found):
    """Appends to found[method] (R², mean absolute error) and to found["coverage"] what the intervals hold."""
    others = np.setdiff1d(np.arange(len(y)), known)
    names = fit.graph.names
    fit.fit({(i if names is None else names[i]): float(y[i]) for i in known.tolist()})
    guess = {"mochi": fit.predict(), "mean": np.full(len(y), y[known].mean())}
    held = []
    for share in COVERAGES:
        low, high = fit.predict_interval(share).T
        held.append(np.nan if np.isnan(low).all() else np.mean((low[others] <= y[others]) & (y[others] <= high[others])))
    found.setdefault("coverage", []).append(held)
    if A is not None:
        guess["harmonic"] = harmonic(A, known, y[known])
    for of, X in rows.items():
        for name, regressor in regressors(len(known)).items():
            guess[f"{name}, {of}"] = regressor.fit(X[known], y[known]).predict(X)
    for name, value in guess.items():
        found.setdefault(name, []).append((r2(y[others], value[others]), np.abs(y - value)[others].mean()))


def line(name, mine, own):
    mine, own = np.array(mine), np.array(own)
    text = f"  {name:20}{own[:, 0].mean():8.3f}{np.median(own[:, 0]):8.3f}{own[:, 1].mean():11.4g}"
    if name == "mochi":
        return text, None
    d = mine[:, 0] - own[:, 0]
    half = 1.96 * d.std(ddof=1) / np.sqrt(len(d))
    return f"{text}{d.mean():+9.3f} ± {half:.3f}{'   below' if d.mean() < -half else ''}", d.mean() >= -half


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", nargs="*")
    parser.add_argument("--labels", default="16,64,256")
    parser.add_argument("--episodes", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)
    sets = options.set or [str(p) for p in sorted(DATA.iterdir()) if p.is_dir()] if options.set or DATA.is_dir() else []
    if not sets:
        sys.exit(f"no sets in {DATA}")
    model, cells, fine, means = mochi.load("best"), 0, 0, {}
    for path in sets:
        g, y, rows, A = opened(path)
        fit = model.few_shot(g, targets=dict(zip(list(g.names if g.names is not None else range(g.examples))[:3], [0.0, 1.0, 2.0])))
        for n in (int(k) for k in options.labels.split(",")):
            if 1.25 * n > len(y):
                continue
            found = {}
            for seed in range(options.episodes):
                known = np.sort(np.random.default_rng((options.seed, seed)).permutation(len(y))[:n])
                episode(fit, y, rows, A, known, found)
            held = 100 * np.mean(found.pop("coverage"), 0)
            shown = ", ".join(f"{100 * c:.0f}%: {h:.1f}" for c, h in zip(COVERAGES, held))
            print(f"{pathlib.Path(path).name}, {n} of {len(y)} targets; R² (mean, median), mean absolute error, mochi - method in R²;"
                  f" held by intervals of {shown}", flush=True)
            for name, own in found.items():
                text, good = line(name, found["mochi"], own)
                means.setdefault(name, []).append((np.mean(np.array(found["mochi"])[:, 0]), np.mean(np.array(own)[:, 0])))
                cells, fine = cells + (good is not None), fine + bool(good)
                print(text, flush=True)
    print(f"not below beyond the paired interval in {fine} of {cells} cells; means of R² over the cells that a method has (mochi there):")
    for name, pairs in means.items():
        print(f"  {name:20}{np.mean([b for _, b in pairs]):8.3f}  ({np.mean([a for a, _ in pairs]):.3f})")


if __name__ == "__main__":
    main()
