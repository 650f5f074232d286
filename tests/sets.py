#!/usr/bin/env python3
"""Measures how often the sets of classes of `FewShot.predict_sets` (`mochi predict --sets`) have the right class.

Usage: PYTHON tests/sets.py [GRAPH ..] [--coverage P] [--shots K,..] [--draws N]
  PYTHON      one that has the package mochi: BUILD/python/environment/bin/python after tests/python/run BUILD
  GRAPH       names of `mochi data list`, paths, or rows of train/evaluation/RESULTS.md (default: its 25 graphs, of
              $MOCHI_SHARED/data)
  --coverage  what the sets are asked for (default 0.9)
  --shots     labels drawn for each class (default 4,16,64; of a class at most half)
  --draws     of labels, for each graph and number (default 5)

Prints the rows of train/evaluation/results/class_sets.csv: for each graph and number of labels the share of the other nodes
whose set has their class (empty: too few labels are left out, so that every set has every class), and the mean number of
classes in a set. On stderr: the means, and the graphs below P - 0.05."""

import argparse
import csv
import sys

import mochi
import numpy as np
import results


def labels_of(y, k, random):
    """k nodes of each class, at most half of it; classes of one node have none."""
    drawn = {}
    for c in range(y.max() + 1):
        members = np.flatnonzero(y == c)
        for i in random.permutation(members)[: min(k, len(members) // 2)]:
            drawn[int(i)] = c
    return drawn


def measured(fit, y, drawn, coverage):
    """(share of sets with the right class, mean size); NaN where too few labels tell."""
    names = fit.graph.names
    fit.fit({i if names is None else names[i]: c for i, c in drawn.items()})
    others = np.setdiff1d(np.flatnonzero(np.isin(y, fit.classes_)), list(drawn))
    sets = fit.predict_sets(coverage)[others]
    right = sets[np.arange(len(others)), np.searchsorted(fit.classes_, y[others])]
    return (float("nan"), len(fit.classes_)) if sets.all() else (right.mean(), sets.sum(1).mean())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", nargs="*")
    parser.add_argument("--coverage", type=float, default=0.9)
    parser.add_argument("--shots", default="4,16,64")
    parser.add_argument("--draws", type=int, default=5)
    options = parser.parse_args()
    shots = [int(k) for k in options.shots.split(",")]
    rows = results.ALIKE | results.OTHERS
    model, table, low, out = mochi.load("best"), [], [], csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["graph", "k", "held %", "classes in a set"])
    for name in options.graph or rows:
        path = results.find(rows[name]) if name in rows else name
        if path is None:
            print(f"{name}: not below {results.DATA}", file=sys.stderr)
            continue
        g = mochi.graph(str(path))
        y, fit = g.y, model.few_shot(g)
        line = []
        for k in shots:
            found = [measured(fit, y, labels_of(y, k, np.random.default_rng(seed)), options.coverage) for seed in range(options.draws)]
            line.append(np.mean(found, 0))
        table.append(line)
        low += [f"{name}, k = {k}: {100 * right:.1f}" for k, (right, _) in zip(shots, line) if right < options.coverage - 0.05]
        out.writerows([name, k, "" if np.isnan(r) else f"{100 * r:.1f}", f"{size:.2f}"] for k, (r, size) in zip(shots, line))
        sys.stdout.flush()
    if not table:
        sys.exit("no graph was found")
    share, size = np.nanmean(np.array(table), 0).T
    print(f"mean of {len(table)}: " + ", ".join(f"{100 * r:.1f}% {s:.2f} classes" for r, s in zip(share, size)), file=sys.stderr)
    print(f"below by more than 5 points: {'; '.join(low) or 'none'}", file=sys.stderr)


if __name__ == "__main__":
    main()
