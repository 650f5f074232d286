"""Figures as axes of matplotlib: accuracy against k, reliability of probabilities, embeddings in a plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import errors
from .graphs.sources import number_classes, plain_labels

BINS = 15  # as mochi fit: bin b holds (b / 15, (b + 1) / 15]


def _axes(ax):
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(4.5, 3.5), layout="constrained")[1]


def accuracy(rows: Sequence[dict[str, Any]], ax: Any = None) -> Any:
    """Accuracy against k, a line for each head with its 95% interval.

    Parameters
    ----------
    rows : list of dict
        As `mochi.few_shot_score` returns them; rows without a fit are left out.
    ax : matplotlib.axes.Axes
        None: new ones.

    Returns
    -------
    matplotlib.axes.Axes
    """
    fitted = [row for row in rows if row["failure"] is None]
    if not fitted:
        raise errors.InvalidError("plot.accuracy: rows without a fit alone, expected one with a fit")
    ax = _axes(ax)
    for head in dict.fromkeys(row["head"] for row in fitted):
        k, mean, half = np.array([(r["k"], r["accuracy"], r["ci95"]) for r in fitted if r["head"] == head]).T
        order = np.argsort(k)
        ax.errorbar(k[order], mean[order], np.nan_to_num(half[order]), capsize=2, marker="o", markersize=3, label=head)
    shots = sorted({row["k"] for row in fitted})
    ax.set_xscale("log", base=2)
    ax.set_xticks(shots, [str(k) for k in shots])
    ax.set_xlabel("labels of each class")
    ax.set_ylabel("accuracy, %")
    ax.legend(frameon=False)
    return ax


def reliability(probabilities: Any, y: Any, classes: Any = None, ax: Any = None) -> Any:
    """Accuracy against confidence, in 15 bins, with their expected calibration error (Guo et al. 2017) in the title.

    Parameters
    ----------
    probabilities : array_like
        [n, C].
    y : array_like
        The labels [n], each one of the classes; rows of unlabelled ones (-1, None, NaN, "") are left out.
    classes : array_like
        What the columns are called [C]; None: 0 .. C - 1.
    ax : matplotlib.axes.Axes
        None: new ones.

    Returns
    -------
    matplotlib.axes.Axes
    """
    P, labels = np.asarray(probabilities), plain_labels(y)
    known = np.array([label is not None for label in labels], bool)
    if P.ndim != 2 or len(labels) != len(P) or not known.any():
        raise errors.InvalidError(f"plot.reliability: probabilities {list(P.shape)} and {known.sum()} labels, expected [n, C]")
    names = list(range(P.shape[1])) if classes is None else plain_labels(classes)
    wrong = [label for label in labels if label is not None and label not in names]
    if len(names) != P.shape[1] or wrong:
        found = f"{len(names)} classes and {f'label {wrong[0]!r}' if wrong else 'all labels'}"
        raise errors.InvalidError(f"plot.reliability: {found}, expected {P.shape[1]} with each label")
    P = P[known]
    confidence, right = P.max(1), P.argmax(1) == [names.index(label) for label in labels if label is not None]
    number = np.clip(np.ceil(confidence * BINS).astype(int) - 1, 0, BINS - 1)
    count, rights, sums = (np.bincount(number, weights, BINS) for weights in (None, right, confidence))
    used = count > 0
    share, mean = rights[used] / count[used], sums[used] / count[used]
    error = (np.abs(share - mean) * count[used]).sum() / len(P)
    ax = _axes(ax)
    ax.plot([0, 1], [0, 1], color="0.7", linewidth=1, zorder=0)
    ax.bar((np.flatnonzero(used) + 0.5) / BINS, share, 0.9 / BINS, alpha=0.35)
    ax.scatter(mean, share, s=4 + 60 * count[used] / count.max(), zorder=3)
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="confidence", ylabel="share that is right", title=f"ECE {100 * error:.1f}%")
    return ax


def plane(Z: Any, y: Any = None, ax: Any = None) -> Any:
    """Embeddings in the plane of their first two principal components, coloured by class.

    Parameters
    ----------
    Z : array_like or FewShot
        Embeddings [n, d], d of 2 or more; or a readout, of whose graph all examples are drawn.
    y : array_like
        Labels [n] of any type; unlabelled ones (-1, None, NaN, "") are grey.
    ax : matplotlib.axes.Axes
        None: new ones.

    Returns
    -------
    matplotlib.axes.Axes
    """
    xy = Z.plane() if hasattr(Z, "plane") else _principal(np.asarray(Z, float))
    label, names = (np.full(len(xy), -1), np.empty(0)) if y is None else number_classes(y, len(xy))
    ax = _axes(ax)
    rest = label < 0
    ax.scatter(*xy[rest].T, s=3, color="0.75", linewidths=0, zorder=1)
    for c, name in enumerate(names):
        ax.scatter(*xy[label == c].T, s=5, linewidths=0, zorder=2, label=str(name))
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set(xlabel="first component", ylabel="second component")
    if 0 < len(names) <= 10:
        ax.legend(frameon=False, markerscale=2, fontsize="small")
    return ax


def _principal(Z):
    if Z.ndim != 2 or Z.shape[1] < 2:
        raise errors.InvalidError(f"plot.plane: embeddings {list(Z.shape)}, expected [n, d] with d of 2 or more")
    centred = Z - Z.mean(0)
    return centred @ np.linalg.eigh(centred.T @ centred)[1][:, :-3:-1]
