#!/usr/bin/env python3
"""Measures predictions of real targets beside common regressors: R², mean absolute error, and coverage of the intervals.

Usage: PYTHON tests/targets.py [SET ..] [--labels N,..] [--episodes N] [--seed N] [--rows NAME,..]
       PYTHON tests/targets.py SET --picture FILE.svg [--labels N] [--seed N]
  PYTHON      one that has the packages mochi and scikit-learn: BUILD/python/environment/bin/python
  SET         folders: edges.csv, features.csv and targets.csv, or the files of a TU set with NAME_graph_attributes.txt;
              or DATA:COLUMN, an attribute of the nodes of the graph DATA, which is then left out of it; DATA:degree, the
              logarithm of each node's degree (default: the sets of $MOCHI_SHARED/data/regression)
  --labels    targets known in all (default 16,64,256; sets that have fewer than 1.25 times as many are left out)
  --episodes  drawn subsets, the same for every method (default 40)
  --rows      what the regressors read, in this order (default: all). Nodes: the attributes (X), the attributes with the
              neighbours' means (X+PX). Graphs: the numbers of nodes with each label, of edges with each label, and of both
              (counts); the numbers of nodes with each colour of two rounds of Weisfeiler and Leman, which see edge labels,
              beside the counts (WL, without k nearest neighbours)
  --picture   60 predictions of one subset, with intervals of 90%, beside the targets, in place of the table

Prints rows of train/evaluation/results/targets.csv, and what they sum up to on stderr. R² of an episode is 1 - squared errors / squared distances of the other
targets to their own mean; negative values count as they are; ± is half of the 95% interval of the paired difference over the
episodes. Penalty, depth and k are chosen by cross-validation inside the known targets, as scikit-learn does."""

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


def colours(folder, name, n_graphs, rounds=2):
    """[graphs, columns]: nodes by colour in each round, of colours that five graphs have (Weisfeiler and Leman 1968)."""
    of_node = column(folder / f"{name}_graph_indicator.txt").astype(int) - 1
    colour = column(folder / f"{name}_node_labels.txt").astype(int).tolist()
    ends = np.loadtxt(folder / f"{name}_A.txt", delimiter=",", dtype=int) - 1
    bond = column(folder / f"{name}_edge_labels.txt").astype(int)
    tables = []
    for _ in range(rounds):
        near = [[] for _ in colour]
        for (u, v), b in zip(ends.tolist(), bond.tolist(), strict=True):
            near[u].append((b, colour[v]))
        number = {}
        colour = [number.setdefault((c, *sorted(others)), len(number)) for c, others in zip(colour, near, strict=True)]
        X = scipy.sparse.csc_matrix((np.ones(len(colour)), (of_node, colour)), (n_graphs, len(number)))
        tables.append(X[:, np.diff(X.indptr) >= 5].toarray())
    return np.hstack(tables)


def beside(X, A):
    """Attributes, and these with the neighbours' means; without attributes nothing."""
    if X is None:
        return {}
    return {"X": X, "X+PX": np.hstack([X, np.asarray(A @ X / np.maximum(A.sum(1), 1).reshape(-1, 1))])}


def opened(path):
    """(graph, targets [n], {name: rows [n, w]}, adjacency or None)."""
    data, _, what = path.partition(":")
    if what:
        g = mochi.graph(data)
        A, X = adjacency(g), g.x
        if what == "degree":
            return g, np.log1p(np.diff(A.indptr)), beside(X, A), A
        names = g.columns or [str(j) for j in range(X.shape[1])]
        y = X[:, names.index(what)].astype(float)
        X = X[:, [j for j, name in enumerate(names) if name not in (what, f"{what} missing")]]
        return mochi.graph(A, x=X, name=f"{data}-{what}"), y, beside(X, A), A
    folder = pathlib.Path(path)
    name = folder.name
    if (folder / f"{name}_A.txt").exists():
        y = column(folder / f"{name}_graph_attributes.txt")
        X = counts(folder, name, len(y))
        return mochi.graph(str(folder)), y, {"counts": X, "WL": np.hstack([X, colours(folder, name, len(y))])}, None
    g = mochi.graph(str(folder))
    names = [str(v) for v in (g.names if g.names is not None else range(g.nodes))]
    targets, rows = table_of(folder / "targets.csv"), table_of(folder / "features.csv")
    A = adjacency(g)
    return g, np.array([targets[v][0] for v in names]), beside(np.array([rows[v] for v in names]), A), A


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
        X = X[:, np.ptp(X[known], 0) > 0]
        for name, regressor in regressors(len(known)).items():
            if X.shape[1] and (of, name) != ("WL", "neighbours"):
                guess[f"{name}, {of}"] = regressor.fit(X[known], y[known]).predict(X)
    for name, value in guess.items():
        found.setdefault(name, []).append((r2(y[others], value[others]), np.abs(y - value)[others].mean()))


class Cells:
    """The figures of the table: whether mochi is below, and the means of R² by method."""

    def __init__(self):
        self.of, self.below, self.means = 0, [], {}

    def of_method(self, where, name, found):
        """R², and mochi - method in R² with half of its interval."""
        mine, own = (np.array(found[key])[:, 0] for key in ("mochi", name))
        self.means.setdefault(name, []).append((mine.mean(), own.mean()))
        d = mine - own
        half = 1.96 * d.std(ddof=1) / np.sqrt(len(d))
        self.of += 1
        if d.mean() < -half:
            self.below.append(f"{where}: {name}")
        return [f"{own.mean():.3f}", f"{d.mean():+.3f}", f"{half:.3f}"]

    def rows(self, where, found, held):
        """The rows of a cell, one a method."""
        for name in found:
            method, _, reads = name.partition(", ")
            r, absolute = np.array(found[name]).mean(0)
            three = [f"{r:.3f}", "", ""] if name == "mochi" else self.of_method(" ".join(map(str, where)), name, found)
            yield [*where, method, reads, *three, f"{absolute:.4g}", *(f"{100 * h:.1f}" if name == "mochi" else "" for h in held)]


def picture(fit, y, known):
    """An SVG of the predictions of every k-th of the other targets, with intervals of 90%, over the targets."""
    fit.fit({(i if fit.graph.names is None else fit.graph.names[i]): float(y[i]) for i in known.tolist()})
    others = np.setdiff1d(np.arange(len(y)), known)
    shown = others[:: max(1, len(others) // 60)][:60]
    found, (low, high) = fit.predict()[shown], fit.predict_interval(0.9)[shown].T
    least, most, size = min(low.min(), y[shown].min()), max(high.max(), y[shown].max()), 320
    place = lambda v: 10 + (v - least) / (most - least) * size  # noqa: E731
    up = lambda v: size + 20 - place(v)  # noqa: E731
    held = (low <= y[shown]) & (y[shown] <= high)
    parts = [f'<path d="M10 {up(least):.1f}L{place(most):.1f} 10" stroke="#999"/>']
    for x, v, a, b, inside in zip(y[shown], found, low, high, held, strict=True):
        colour = "#1f5fbf" if inside else "#c0392b"
        parts.append(f'<path d="M{place(x):.1f} {up(a):.1f}V{up(b):.1f}" stroke="{colour}" opacity=".4"/>')
        parts.append(f'<circle cx="{place(x):.1f}" cy="{up(v):.1f}" r="3" fill="{colour}"/>')
    text = f"measured, {least:.3g} to {most:.3g}; up: predicted from {len(known)}, with its interval"
    parts.append(f'<text x="10" y="{size + 44}" font-family="sans-serif" font-size="12">{text}</text>')
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size + 20} {size + 56}">\n' + "\n".join(parts) + "\n</svg>\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", nargs="*")
    parser.add_argument("--labels", default="16,64,256")
    parser.add_argument("--episodes", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows")
    parser.add_argument("--picture")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)
    sets = options.set or [str(p) for p in sorted(DATA.iterdir()) if p.is_dir()] if options.set or DATA.is_dir() else []
    if not sets:
        sys.exit(f"no sets in {DATA}")
    model, cells = mochi.load("best"), Cells()
    if options.picture:
        g, y, _, _ = opened(sets[0])
        known = np.sort(np.random.default_rng((options.seed, 0)).permutation(len(y))[: int(options.labels.split(",")[0])])
        first = (list(range(g.examples)) if g.names is None else g.names)[:3]
        pathlib.Path(options.picture).write_text(picture(model.few_shot(g, targets=dict(zip(first, [0.0, 1.0, 2.0]))), y, known))
        return
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["set", "known", "of", "subsets", "method", "reads", "R²", "mochi - method", "± mochi - method", "MAE",
                    *(f"held at {100 * share:.0f}%" for share in COVERAGES)])  # fmt: skip
    for path in sets:
        g, y, rows, A = opened(path)
        rows = rows if options.rows is None else {name: rows[name] for name in options.rows.split(",") if name in rows}
        fit = model.few_shot(g, targets=dict(zip(list(g.names if g.names is not None else range(g.examples))[:3], [0.0, 1.0, 2.0])))
        for n in (int(k) for k in options.labels.split(",")):
            if 1.25 * n > len(y):
                continue
            found = {}
            for seed in range(options.episodes):
                known = np.sort(np.random.default_rng((options.seed, seed)).permutation(len(y))[:n])
                episode(fit, y, rows, A, known, found)
            held = np.mean(found.pop("coverage"), 0)
            table.writerows(cells.rows([pathlib.Path(path).name, n, len(y), options.episodes], found, held))
            sys.stdout.flush()
    print(f"Below by more than the interval in {len(cells.below)} of {cells.of} comparisons. {'; '.join(cells.below)}", file=sys.stderr)
    print("Means of R² over the cells that a method has (mochi there):", file=sys.stderr)
    for name, pairs in cells.means.items():
        print(f"  {name:20}{np.mean([b for _, b in pairs]):8.3f}  ({np.mean([a for a, _ in pairs]):.3f})", file=sys.stderr)


if __name__ == "__main__":
    main()
