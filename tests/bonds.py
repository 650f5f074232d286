#!/usr/bin/env python3
"""Measures what the kinds of bonds give: a set of molecules as it is read, beside the same set in which the label of a node is its
atom and its bonds' kinds.

Usage: PYTHON tests/bonds.py SET ..        PYTHON: BUILD/python/environment/bin/python; SET: a TU folder with edge labels

For classes the accuracy on all other graphs at 4, 16 and 64 labels per class, for targets (NAME_graph_attributes.txt) R² at 16,
64 and 256, as mean over 20 draws, without and with bonds, and the mean difference with half of its 95% interval."""

import pathlib
import shutil
import sys
import tempfile
import warnings

import mochi
import numpy as np

DRAWS = 20


def with_bonds(folder, out):
    """Writes the set with labels of nodes that tell atom and bonds; returns its folder."""
    name, made = folder.name, pathlib.Path(out) / folder.name
    shutil.copytree(folder, made)
    atom = np.loadtxt(folder / f"{name}_node_labels.txt", dtype=int)
    ends = np.loadtxt(folder / f"{name}_A.txt", delimiter=",", dtype=int) - 1
    bond = np.loadtxt(folder / f"{name}_edge_labels.txt", dtype=int)
    own = [[] for _ in atom]
    for u, b in zip(ends[:, 0], bond, strict=True):
        own[u].append(int(b))
    number = {}
    label = [number.setdefault((int(a), *sorted(bonds)), len(number)) for a, bonds in zip(atom, own, strict=True)]
    np.savetxt(made / f"{name}_node_labels.txt", label, fmt="%d")
    return made


def score(fit, y, known):
    """Accuracy, or R², on the graphs that are not known."""
    others = np.setdiff1d(np.arange(len(y)), known)
    fit.fit({int(i): y[i].item() for i in known})
    found = fit.predict()[others]
    if y.dtype.kind != "f":
        return 100 * np.mean(found == y[others])
    return 1 - ((found - y[others]) ** 2).sum() / ((y[others] - y[others].mean()) ** 2).sum()


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    warnings.filterwarnings("ignore", category=mochi.DataWarning)  # edge labels are not read
    model = mochi.load("best")
    for folder in map(pathlib.Path, sys.argv[1:]):
        real = folder / f"{folder.name}_graph_attributes.txt"
        with tempfile.TemporaryDirectory() as out:
            plain, bonds = (mochi.graph(str(path)) for path in (folder, with_bonds(folder, out)))
        y = np.loadtxt(real) if real.exists() else plain.y
        first = {"targets": {0: 0.0, 1: 1.0, 2: 2.0}} if real.exists() else {"transductive": False}
        fits = [model.few_shot(g, **first) for g in (plain, bonds)]
        for n in (16, 64, 256) if real.exists() else (4, 16, 64):
            if not real.exists() and np.bincount(y).min() <= n:
                continue
            found = []
            for seed in range(DRAWS):
                order = np.random.default_rng(seed).permutation(len(y))
                of_class = [order[y[order] == c][:n] for c in np.unique(y)] if not real.exists() else [order[:n]]
                known = np.sort(np.concatenate(of_class))
                found.append([score(fit, y, known) for fit in fits])
            found = np.array(found)
            d = found[:, 1] - found[:, 0]
            half = 1.96 * d.std(ddof=1) / np.sqrt(DRAWS)
            print(f"{folder.name:12} {n:4} {found[:, 0].mean():8.3f} {found[:, 1].mean():8.3f} {d.mean():+8.3f} ± {half:.3f}", flush=True)


if __name__ == "__main__":
    main()
