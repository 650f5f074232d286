#!/usr/bin/env python3
"""Draws graphs of communities and times `mochi predict` on them: seconds, seconds of processor, largest resident size.

    tests/large_graph.py                              # 10,000, 100,000 and 1,000,000 nodes of mean degree 20
    tests/large_graph.py 4000000 --memory 16G --also OTHER/BUILD

Node i has the class i % 10. Of its edges, 60% lead to its class and the others anywhere; its 64 columns are a mean of
its class and normal noise. The graph is written piece by piece, so that drawing takes little memory. --also: another
build, which predicts in turn with this one, and whose labels are compared. Needs NumPy."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import zipfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLASSES, COLUMNS, EDGES, ALIKE, STEP = 10, 64, 10, 0.6, 1 << 18


def pieces(n):
    return [np.arange(i, min(n, i + STEP)) for i in range(0, n, STEP)]


def neighbours(rng, n, own):
    shape, own = (len(own), EDGES), own[:, None]
    same = np.minimum(rng.integers(0, n // CLASSES, shape) * CLASSES + own % CLASSES, n - 1)
    return np.where(rng.random(shape) < ALIKE, same, rng.integers(0, n, shape))


def draw(path, n):
    rng = np.random.default_rng(1)
    mean = rng.standard_normal((CLASSES, COLUMNS), np.float32) * 0.3
    members = {
        "adj_shape": ("<i8", 2, [[n, n]]),
        "adj_indptr": ("<i8", n + 1, (i * EDGES for i in pieces(n + 1))),
        "adj_indices": ("<i4", n * EDGES, (neighbours(rng, n, i) for i in pieces(n))),
        "attr_shape": ("<i8", 2, [[n, COLUMNS]]),
        "attr_indptr": ("<i8", n + 1, (i * COLUMNS for i in pieces(n + 1))),
        "attr_indices": ("<i4", n * COLUMNS, (np.tile(np.arange(COLUMNS), len(i)) for i in pieces(n))),
        "attr_data": ("<f4", n * COLUMNS, (rng.standard_normal((len(i), COLUMNS), np.float32) + mean[i % CLASSES] for i in pieces(n))),
        "labels": ("<i8", n, (i % CLASSES for i in pieces(n))),
    }
    with zipfile.ZipFile(path, "w", allowZip64=True) as archive:
        for name, (dtype, length, parts) in members.items():
            with archive.open(name + ".npy", "w", force_zip64=True) as file:
                np.lib.format.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": (length,)})
                for part in parts:
                    file.write(np.ascontiguousarray(part, dtype).tobytes())


def predict(build, a, graph, out):
    """Returns seconds, seconds of processor, and the largest resident size in GiB."""
    line = [build / "tools" / "mochi", "predict", "--data", graph, "--demo-labels", "16", "--out", out, "--quiet"]
    line += ["--memory", a.memory] if a.memory else []
    line += ["--threads", str(a.threads)] if a.threads else []
    start = time.monotonic()
    process = subprocess.Popen([str(word) for word in line])
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"large_graph: {build}: predict ended with {status}")
    return time.monotonic() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("nodes", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    p.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    p.add_argument("--also", type=pathlib.Path, help="another build")
    p.add_argument("--memory", help="as of mochi predict")
    p.add_argument("--threads", type=int)
    a = p.parse_args()
    print("| nodes | build | seconds | of processor | GiB |\n|---|---|---|---|---|")
    for n in a.nodes:
        with tempfile.TemporaryDirectory() as folder:
            graph, place = pathlib.Path(folder) / "graph.npz", pathlib.Path(folder)
            draw(graph, n)
            for number, build in enumerate([a.also, a.build] if a.also else [a.build]):
                seconds, processor, size = predict(build, a, graph, place / f"{number}.csv")
                print(f"| {n:,} | {build} | {seconds:.1f} | {processor:.1f} | {size:.2f} |", flush=True)
            if a.also:
                labels = [[line.split(",")[:2] for line in open(place / f"{i}.csv")] for i in range(2)]
                print(f"{sum(x != y for x, y in zip(*labels))} of {n:,} predictions differ")


if __name__ == "__main__":
    main()
