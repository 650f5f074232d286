"""The labels of a graph's examples from a few of them, and missing links."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import errors
from .._library import ffi, lib
from ..handle import Handle
from ..heads import Head
from ..heads import head as head_of
from .graph import Graph
from .sources import number_classes


@dataclasses.dataclass(frozen=True)
class Estimate:
    """What the labelled examples say of a readout that has not seen them: each was left out in turn.

    Attributes
    ----------
    accuracy, low, high : float
        The expected accuracy, mean over classes, and its 95% interval (Wilson 1927); NaN without held-out examples.
    classes, labelled, held_out, small_classes : int
        Classes; labelled examples; those that were left out; classes of one example, which no fit can do without.
    temperature : float
        Of the probabilities.
    """

    accuracy: float
    low: float
    high: float
    classes: int
    labelled: int
    held_out: int
    small_classes: int
    temperature: float

    def __str__(self) -> str:
        if self.accuracy != self.accuracy:
            return "expected accuracy: unknown; it takes two labels of a class"
        low, high = 100 * self.low, 100 * self.high
        interval = f"(95%: {low:.1f} to {high:.1f})"
        return f"expected accuracy {100 * self.accuracy:.1f}% {interval}, from {self.held_out} labels left out"


class FewShot(Handle):
    """A readout of a graph's examples, fitted on a few labels; made by `Trained.few_shot`.

    Features and embeddings are made once; `fit` takes any number of sets of labels.

    Attributes
    ----------
    classes : numpy.ndarray
        The labels' values, rising [C]; columns of logits and probabilities are in this order.
    labelled : numpy.ndarray
        int64 [n]: the numbers of the labelled examples, rising.
    """

    release = lib.gate_mo_few_shot_release

    def __init__(
        self,
        g: Graph,
        weights: str | os.PathLike,
        labels: Any = None,
        head: str | Head | None = None,
        lam: float = 0.0,
        transductive: bool = False,
        cache: str | None = None,
    ):
        options, kept = options_of(weights, head, lam, cache)
        options.transductive = transductive
        task = lib.MO_TASK_GC if g.graphs > 1 else lib.MO_TASK_NC
        made = g.context.call(lib.gate_mo_few_shot_open, g.pointer(), task, options)
        super().__init__(g.context, made, keep=(g.owned(), kept))
        self.graph = g
        self._weights = weights
        self.classes = np.zeros(0, np.int64)
        self.labelled = np.zeros(0, np.int64)
        self._fewest = 0
        if labels is not None:
            self.fit(labels)

    def fit(self, labels: Any) -> FewShot:
        """Fits the readout on labels, as `Trained.few_shot` takes them; returns itself."""
        self.labelled, label, self.classes = _labelled(self.graph, labels)
        self._fewest = int(np.bincount(label, minlength=1).min())
        ids = ffi.from_buffer("int64_t[]", self.labelled)
        given = ffi.from_buffer("int64_t[]", label)
        self.context.call(lib.gate_mo_few_shot_fit, self.pointer(), ids, given, len(label))
        return self

    @property
    def estimate(self) -> Estimate:
        """The accuracy to expect, from labels that are left out in turn."""
        e = self.context.call(lib.gate_mo_few_shot_expect, self.pointer())
        return Estimate(**{field.name: getattr(e, field.name) for field in dataclasses.fields(Estimate)})

    def predict(self, examples: Sequence | None = None) -> np.ndarray:
        """The class of each example [n], as the labels name it; None: of all."""
        return self.classes[np.argmax(self._rows(lib.gate_mo_few_shot_probabilities, examples), 1)]

    def predict_proba(self, examples: Sequence | None = None) -> np.ndarray:
        """Probabilities softmax(logits / temperature), float64 [n, C]; the temperature is of the left-out labels.

        Warns where a class has fewer than 4 labels: on Cora the mean of the largest lay 34 points below the accuracy with
        1 label of each class, 27 above it with 2, 9 above it with 3, and 3 below it with 4.
        """
        if 0 < self._fewest < 4:
            warnings.warn(f"few-shot: probabilities are rough below 4 labels of a class, found {self._fewest}", stacklevel=2)
        return self._rows(lib.gate_mo_few_shot_probabilities, examples)

    def logits(self, examples: Sequence | None = None) -> np.ndarray:
        """Logits, float64 [n, C]."""
        return self._rows(lib.gate_mo_few_shot_logits, examples)

    decision_function = logits

    def _rows(self, gate, examples):
        ids = _ids(self.graph, examples)
        out = np.empty((len(ids), max(1, len(self.classes))))
        read = ffi.from_buffer("int64_t[]", ids)
        self.context.call(gate, self.pointer(), read, len(ids), ffi.from_buffer("double[]", out, require_writable=True))
        return out

    def suggest(self, n: int) -> np.ndarray:
        """Numbers of the n examples to label next, int64 [n], the most useful first (V-optimal design, Fedorov 1972)."""
        out = np.empty(n, np.int64)
        known = ffi.from_buffer("int64_t[]", self.labelled)
        written = ffi.from_buffer("int64_t[]", out, require_writable=True)
        self.context.call(lib.gate_mo_few_shot_suggest, self.pointer(), known, len(self.labelled), n, written)
        return out

    def plane(self) -> np.ndarray:
        """The embeddings of all examples in the plane of their first two principal components, float64 [examples, 2]."""
        out = np.empty((self.graph.examples, 2))
        written = ffi.from_buffer("double[]", out, require_writable=True)
        self.context.call(lib.gate_mo_few_shot_plane, self.pointer(), written)
        return out

    def score_links(self, pairs: Sequence) -> np.ndarray:
        """Scores of pairs of nodes, as `Trained.score_links` gives them; labels play no part."""
        return score_links(self.graph, self._weights, pairs, None, 0.0)

    def __repr__(self) -> str:
        return f"mochi.FewShot({self.graph.name!r}, labels={len(self.labelled)}, classes={len(self.classes)})"

    def __reduce__(self):
        raise TypeError("a FewShot cannot be pickled: keep the graph, the name of the weights and the labels")


def score_links(g: Graph, weights: str | os.PathLike, pairs: Sequence, head: str | Head | None, lam: float) -> np.ndarray:
    """Scores of pairs of nodes [n, 2], float64 [n]; NaN of a pair that is linked already, or of one node twice."""
    ends = np.array([[g.find(u), g.find(v)] for u, v in pairs], np.int64).reshape(-1, 2)
    asked = np.array([u != v and not lib.mo_graph_has_edge(g.pointer(), u, v) for u, v in ends.tolist()], bool)
    score = np.full(len(ends), np.nan)
    if asked.any():
        options, kept = options_of(weights, head, lam, None)
        u, v = (np.ascontiguousarray(ends[asked, side]) for side in (0, 1))
        out = np.empty(len(u))
        g.context.call(
            lib.gate_mo_few_shot_links, g.pointer(), options, ffi.from_buffer("int64_t[]", u), ffi.from_buffer("int64_t[]", v),
            len(u), ffi.from_buffer("double[]", out, require_writable=True),
        )  # fmt: skip
        del kept
        score[asked] = out
    return score


def cache_of(cache: str | os.PathLike | None) -> str | None:
    """The folder that keeps features, as the program chooses it."""
    return os.fspath(cache) if cache is not None else os.environ.get("MOCHI_CACHE") or None


def options_of(weights, head, lam, cache):
    """(the options of the library, what they point to)."""
    folder = cache_of(cache)
    kept = [ffi.new("char[]", os.fsencode(weights))]
    options = ffi.new("mo_few_shot_options *")
    options.weights = kept[0]
    if folder is not None:
        kept.append(ffi.new("char[]", os.fsencode(folder)))
        options.cache = kept[1]
    if head is not None:
        readout = head_of(head)
        kept.append(readout)
        options.head = readout.pointer
    setattr(options, "lambda", lam)
    return options, kept


def _ids(g, examples):
    if examples is None:
        return np.arange(g.examples)
    array = np.asarray(examples)
    if array.dtype == bool and array.shape == (g.examples,):
        return np.flatnonzero(array)
    if g.names is None and array.dtype.kind in "iu":
        return np.ascontiguousarray(array.reshape(-1), np.int64)
    return np.array([g.find(e) for e in examples], np.int64)


def _labelled(g, labels):
    """(ids rising, classes 0 .. C - 1 of each, values of the classes)."""
    if hasattr(labels, "items"):
        pairs = list(labels.items())
        ids = np.array([g.find(example) for example, _ in pairs], np.int64)
        values = [value for _, value in pairs]
    else:
        values = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
        if len(values) == g.examples and all(isinstance(v, (bool, np.bool_)) for v in values):
            values = _own_labels(g, np.asarray(labels, bool))
        ids = np.arange(g.examples)
    label, classes = number_classes(values, len(ids))
    if len(classes) < 2:
        raise errors.InvalidError(f"few-shot: labels of {len(classes)} classes, expected two or more")
    kept = np.argsort(ids, kind="stable")
    kept = kept[label[kept] >= 0]
    ids, label = ids[kept], label[kept]
    if (np.diff(ids) == 0).any():
        raise errors.InvalidError(f"few-shot: example {ids[:-1][np.diff(ids) == 0][0]} is labelled twice")
    return ids, label, classes


def _own_labels(g, mask):
    own = g.y
    if own is None:
        raise errors.InvalidError(f"few-shot: {g.name} has no labels of its own, which a mask asks for")
    return [g.classes[c] if known and c >= 0 else None for c, known in zip(own, mask, strict=True)]
