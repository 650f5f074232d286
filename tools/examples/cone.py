#!/usr/bin/env python3
"""Measures what the paper's Appendix A describes in embeddings trained for link prediction: norms near the roots of degrees,
aligned neighbours, rows in a cone within a half-space. The paper gives no figures; this program does.

    mochi embed --data cora --out Z.npy
    python cone.py Z.npy cora

Needs mochi's Python package."""
import sys

import numpy as np

import mochi


def measure(Z, graph):
    """Measures Z [nodes, d]. Cosines leave out rows of zeros; a figure is NaN if no pair or row is left."""
    Z = np.asarray(Z, float)
    if Z.ndim != 2 or len(Z) != graph.nodes or not np.isfinite(Z).all():
        raise ValueError(f"expected finite Z [{graph.nodes}, d], a row for each node, found {Z.shape}")
    pointer, v = graph.adjacency  # lists each edge in both directions
    norm, degree = np.linalg.norm(Z, axis=1), np.diff(pointer)
    u = np.repeat(np.arange(len(Z)), degree)
    unit = Z[norm > 0] / norm[norm > 0, None]
    root, joined, both = np.sqrt(degree[degree > 0]), norm[degree > 0], (norm[u] > 0) & (norm[v] > 0)
    aligned = (Z[u] * Z[v]).sum(1)[both] / (norm[u] * norm[v])[both]
    pairs, mean = len(unit) * (len(unit) - 1), Z.mean(0)
    length = np.linalg.norm(mean)
    return {
        "zero rows": len(Z) - len(unit),
        "correlation of |z| and sqrt(degree)": np.corrcoef(joined, root)[0, 1] if np.ptp(joined) and np.ptp(root) else np.nan,
        "quartiles of |z| / sqrt(degree)": np.quantile(joined / root, [0.25, 0.5, 0.75], method="lower"),
        "mean cosine of neighbours": aligned.mean() if both.any() else np.nan,
        "mean cosine of all pairs": (np.square(unit.sum(0)).sum() - len(unit)) / pairs if pairs else np.nan,
        "mean cosine with the mean row": (unit @ mean).mean() / length if length else np.nan,
        "share of rows on its side": (Z @ mean > 0).mean(),
        "|mean| over the root mean square of |z|": length / np.sqrt(np.square(norm).mean()) if norm.any() else np.nan,
    }


if __name__ == "__main__":
    for name, value in measure(np.load(sys.argv[1]), mochi.graph(sys.argv[2])).items():
        print(f"{name:42}", np.round(value, 3))
