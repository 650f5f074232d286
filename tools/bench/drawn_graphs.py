#!/usr/bin/env python3
"""Draws graphs of 10, 30, 50, 70 and 90% homophily: drawn_graphs.py FOLDER writes FOLDER/homophily10.npz ...

2,000 nodes of 5 classes, of mean degree 10; a share h of the edges joins two nodes of one class, the others nodes of two classes;
500 words: a node has each of its class's 100 words with probability 0.06, every other word with 0.03. Every run writes the same
bytes.
"""

import pathlib
import random
import sys

import numpy

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "python/mochi"))
from convert.archive import adjacency_members, feature_members, write_npz  # noqa: E402

NODES, CLASSES, DEGREE, WORDS = 2000, 5, 10, 500
OWN, OTHER = 0.06, 0.03  # probability of each word of a node's class, of every other word


def draw(percent):
    r = random.Random(percent)
    label = [i % CLASSES for i in range(NODES)]
    members = [[i for i in range(NODES) if label[i] == c] for c in range(CLASSES)]
    ends = []
    while len(ends) < NODES * DEGREE // 2:
        u = r.randrange(NODES)
        others = [c for c in range(CLASSES) if c != label[u]]
        v = r.choice(members[label[u] if r.random() < percent / 100 else r.choice(others)])
        if u != v:
            ends.append((u, v))
    node, word = numpy.nonzero([[r.random() < (OWN if w % CLASSES == label[i] else OTHER) for w in range(WORDS)] for i in range(NODES)])
    return {**adjacency_members(NODES, *zip(*ends)), **feature_members((NODES, WORDS), node, word, numpy.ones(len(node))),
            "labels": numpy.array(label)}


def main(arguments):
    if len(arguments) != 1:
        sys.exit("drawn_graphs.py: expected one folder")
    folder = pathlib.Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for percent in (10, 30, 50, 70, 90):
        write_npz(folder / f"homophily{percent}.npz", draw(percent))


if __name__ == "__main__":
    main(sys.argv[1:])
