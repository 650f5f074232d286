#!/usr/bin/env python3
"""Measures what a readout costs that is applied to a graph it was not fitted on, against one fitted there.

Usage: tests/new_graphs.py MOCHI [SET ..] [--labels N] [--episodes N] [--seed N]
  SET         .npz files of graphs with classes (default: those of the shared data that the table has), or folders with
              edges.csv, features.csv and targets.csv
  --labels    labels a class, or targets in all (default 16)
  --episodes  draws (default 10)

A third of the nodes is held out with its edges. `mochi predict --save` fits labels of the others. Then
  grown    the nodes come back: --readout on the whole graph, against --labels fitted on the whole graph
  apart    the held-out nodes alone, with their edges: --readout there, against the same fit on the whole graph
Prints train/evaluation/results/new_graphs.csv: accuracy of the held-out nodes in percent, of targets R² in percent; and the
differences applied - fitted on the whole, with half of the 95% interval over the draws."""

import argparse
import csv
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = pathlib.Path(os.environ.get("MOCHI_SHARED", ROOT.parent / "shared")) / "data"
SETS = ["cora_ml", "planetoid_citeseer", "amazon_electronics_photo", "chameleon_filtered", "brazil_airports", "columbus_crime",
        "baltimore_houses", "st_louis_homicide"]


class Graph:
    """ends [m, 2], attributes as rows of texts, names, and y: classes, or targets."""

    def __init__(self, path):
        self.real = path.is_dir()
        if self.real:
            table = list(csv.reader((path / "features.csv").open()))
            known = {row[0]: float(row[1]) for row in list(csv.reader((path / "targets.csv").open()))[1:]}
            self.names, self.header, self.X = [row[0] for row in table[1:]], table[0], np.array([row[1:] for row in table[1:]], float)
            at = {name: i for i, name in enumerate(self.names)}
            self.ends = np.array([[at[a], at[b]] for a, b, *_ in list(csv.reader((path / "edges.csv").open()))[1:]])
            self.y = np.array([known[name] for name in self.names])
            return
        with np.load(path, allow_pickle=False) as z:
            n = int(z["adj_shape"][0])
            first = z["adj_indptr"]
            self.ends = np.stack([np.repeat(np.arange(n), np.diff(first)), z["adj_indices"]], 1)
            self.y = z["labels"].astype(int)
            self.X = np.zeros((n, 0))
            if "attr_shape" in z:
                self.X = np.zeros(z["attr_shape"], np.float32)
                rows = np.repeat(np.arange(n), np.diff(z["attr_indptr"]))
                self.X[rows, z["attr_indices"]] = z["attr_data"] if "attr_data" in z else 1
        self.names = [f"n{i}" for i in range(n)]

    def write(self, folder, nodes):
        """The graph of some nodes: edges.csv and features.csv, with the edges among them."""
        folder.mkdir()
        inside = np.zeros(len(self.names), bool)
        inside[nodes] = True
        with open(folder / "edges.csv", "w") as f:
            f.write("source,target\n")
            f.writelines(f"{self.names[a]},{self.names[b]}\n" for a, b in self.ends[inside[self.ends].all(1)])
        with open(folder / "nodes.csv", "w") as f:
            f.write(",".join(["node"] + [f"x{j}" for j in range(self.X.shape[1])]) + "\n")
            f.writelines(",".join([self.names[i]] + [f"{x:.7g}" for x in self.X[i]]) + "\n" for i in nodes)

    def known(self, nodes, k, random):
        if self.real:
            return random.permutation(nodes)[:k]
        nodes = random.permutation(nodes)
        return np.concatenate([nodes[self.y[nodes] == c][:k] for c in np.unique(self.y[nodes])])

    def figure(self, table, nodes):
        rows = {row[0]: row[1] for row in list(csv.reader(table.splitlines()))[1:]}
        y = self.y[nodes]
        if not self.real:
            return 100 * np.mean([rows[self.names[i]] == f"c{self.y[i]}" for i in nodes])
        found = np.array([float(rows[self.names[i]]) for i in nodes])
        return 100 * (1 - ((y - found) ** 2).sum() / ((y - y.mean()) ** 2).sum())


def draw(mochi, g, k, seed, folder):
    random = np.random.default_rng(seed)
    order = random.permutation(len(g.names))
    new, old = order[: len(order) // 3], np.sort(order[len(order) // 3 :])
    known = g.known(old, k, random)
    given = folder / "known.csv"
    given.write_text("node,value\n" + "".join(f"{g.names[i]},{g.y[i] if g.real else f'c{g.y[i]}'}\n" for i in known))
    option = "--targets" if g.real else "--labels"

    def predict(data, *words):
        run = subprocess.run([mochi, "predict", "--data", str(folder / data), "--quiet", *map(str, words)], stdout=subprocess.PIPE, check=True, text=True)
        return run.stdout

    for name, nodes in (("old", old), ("grown", np.sort(order)), ("apart", np.sort(new))):
        g.write(folder / name, nodes)
    fit = folder / "fit.safetensors"
    predict("old", option, given, "--save", fit)
    return [g.figure(predict(data, *words), new) for data, words in (
        ("grown", (option, given)), ("grown", ("--readout", fit)), ("apart", ("--readout", fit)))]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mochi")
    parser.add_argument("set", nargs="*")
    parser.add_argument("--labels", type=int, default=16)
    parser.add_argument("--episodes", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    o = parser.parse_args()
    paths = [pathlib.Path(s) for s in o.set]
    if not paths:
        found = {p.name.removesuffix(".npz"): p for p in DATA.rglob("*") if p.suffix == ".npz" or p.is_dir()}
        paths = [found[name] for name in SETS if name in found]
    if not paths:
        sys.exit(f"no sets in {DATA}")
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["graph", "fitted on the whole %", "grown - fitted points", "± grown - fitted", "apart - fitted points",
                    "± apart - fitted"])  # fmt: skip
    for path in paths:
        g, figures = Graph(path), []
        for episode in range(o.episodes):
            with tempfile.TemporaryDirectory() as folder:
                figures.append(draw(o.mochi, g, o.labels, (o.seed, episode), pathlib.Path(folder)))
        x = np.array(figures)
        cells = [f"{x[:, 0].mean():.1f}"]
        for column in (1, 2):
            d = x[:, column] - x[:, 0]
            cells += [f"{d.mean():+.1f}", f"{1.96 * d.std(ddof=1) / np.sqrt(len(d)):.1f}"]
        table.writerow([path.name.removesuffix(".npz"), *cells])
        sys.stdout.flush()


if __name__ == "__main__":
    main()
