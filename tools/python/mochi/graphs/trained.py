"""Trained models, from the library's weights or a file: embeddings, few-shot labels and link scores of a graph."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import checked, errors
from .._library import ffi, lib
from ..context import Context, default_context
from ..handle import Handle, struct
from ..heads import Head
from ..tensor import Leaf, arrays_of
from .few_shot import ATTRIBUTES, FewShot, cache_folder, integers, options_of, reals, task_of
from .graph import graph
from .targets import FewShotTargets

MAX_ROWS = 32768  # rows that are encoded at once, as in the program


def features(
    g: Any,
    hop: int | None = None,
    dim: int | None = None,
    hops: int = 3,
    seed: int = 0,
    attributes: str = "scaled",
) -> np.ndarray:
    """Frozen features of a graph: two truncated SVDs, of the adjacency and the attributes, and their hops.

    Parameters
    ----------
    g : Graph
        Or what `graph` takes.
    hop : int
        Return only this hop: float32 [nodes, dim], or means over the graphs of a set [graphs, dim]. None: all hops.
    dim : int
        The width of a row; None: 512.
    hops : int
        The number of hops, l.
    seed : int
        Of the test matrices of the randomised SVD.
    attributes : str
        "scaled": columns of another scale are brought to that of the others (`Graph.scaled`); or "raw".

    Returns
    -------
    numpy.ndarray
        float32 [hops + 1, nodes, dim], or one hop of them.

    Source: train/features/
    """
    g = graph(g)
    if hop is not None and (not isinstance(hop, (int, np.integer)) or not 0 <= hop <= hops):
        raise errors.InvalidError(f"features: hop {hop}, expected one of 0 .. {hops}")
    options, _ = struct("mo_feature_options", hops=hops, power_iterations=2, seed=seed, dim=512 if dim is None else dim)
    options.attributes = checked.choice("features: attributes", attributes, ATTRIBUTES)
    with _features_of(g, options) as made:
        if hop is None:
            return arrays_of(g.context, made._live().arrays)["hops"]
        return _taken(g.context, g.context.call(lib.gate_mo_embed_hop, _source(g, made), hop))


def load(weights: str | os.PathLike = "best", context: Context | None = None) -> Trained:
    """A trained model: "best", the weights that come with the library, or a weights file, such as a run's."""
    return Trained(weights, context)


class Trained:
    """A trained model; made by `load`.

    Parameters
    ----------
    weights : str or path
        "best", or a weights file.
    """

    def __init__(self, weights: str | os.PathLike = "best", context: Context | None = None):
        self.weights = os.fspath(weights)
        self._made: dict[Context, Handle] = {}
        self._in(context or default_context())

    def _in(self, context):
        """The weights in a context, read once per context."""
        if context not in self._made:
            read = context.call(lib.gate_mo_weights_read, context._pointer, os.fsencode(self.weights))
            self._made[context] = Handle(context, read, release=lib.gate_mo_weights_release)
        return self._made[context]._live()

    @property
    def kind(self) -> str:
        """The name of the encoder: "invariant", "mochi", or one from outside."""
        return ffi.string(self._any().kind).decode()

    @property
    def recipe(self) -> str:
        """The recipe of training; "" if unknown."""
        return ffi.string(self._any().recipe).decode()

    def _any(self):
        return next(iter(self._made.values()))._live()

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """The weights by name."""
        context, weights = next(iter(self._made.items()))
        return arrays_of(context, weights._live().arrays)

    def embed(self, g: Any, attributes: str = "auto") -> np.ndarray:
        """Embeddings of the nodes, or of the graphs of a set: float32 [examples, d], as `mochi embed` writes them.

        Parameters
        ----------
        g : Graph
            Or what `graph` takes.
        attributes : str
            As for `few_shot`.
        """
        g = graph(g)
        weights = self._in(g.context)
        options = ffi.new("mo_feature_options *", weights.features)
        if attributes != "auto":
            options.attributes = checked.choice("embed: attributes", attributes, ATTRIBUTES)
        choice = ffi.new("mo_model_choice *")
        if weights.head[0] != b"\0" and not lib.mo_find_head(weights.head):
            choice.head = lib.mo_find_head(b"ridge")  # no head is used here: any can replace the user's own
        made = g.context.call(lib.gate_mo_weights_model_as, weights, choice)
        released = lib.gate_mo_model_release
        with Handle(g.context, made, release=released) as model, _features_of(g, options) as rows:
            return _taken(g.context, g.context.call(lib.gate_mo_embed_all, model._live(), _source(g, rows), MAX_ROWS))

    def few_shot(
        self,
        g: Any,
        labels: Any = None,
        head: str | Head | None = None,
        lam: float | None = None,
        transductive: bool | str = "auto",
        experts: Any = (),
        attributes: str = "auto",
        readout: str | os.PathLike | None = None,
        targets: Any = None,
        transform: str = "auto",
    ) -> FewShot:
        """Predicts the labels of a graph's examples from a few given ones, as `mochi predict` does.

        Parameters
        ----------
        g : Graph
            Or what `graph` takes.
        labels : dict, pandas.Series, pandas.DataFrame or array_like
            {example: class}, examples by the graph's names, or by number if it has none: the index of a Series or of a table of
            one column, or the first of two columns; or one class for each example, in the order of the graph's names, of any type
            that `graph` takes; or a mask, bool [examples], that selects the graph's own labels. None: call `FewShot.fit`
            later.
        head : str
            The readout; None: the one that the weights were trained with.
        lam : float
            The readout's penalty, above 0; None: the trained value.
        transductive : bool, "auto" or "never"
            Refit the readout on its own predictions for all examples, assuming classes of equal size; "auto": if it predicts
            left-out labels no worse, for at most 100,000 examples; "never", for a set: a prediction reads only its own graph and
            the labelled ones.
        experts : sequence or dict of array_like
            Your own rows [nodes, w], in a sequence or in a dict by name, as a further comparison of nodes; those of a DataFrame
            are aligned by its index.
        attributes : str
            "scaled": columns of another scale are brought to that of the others, and constant ones left out (`Graph.scaled`);
            "raw": as they are; "auto": as for the weights.
        readout : path
            A file of `FewShot.save` or `mochi predict --save`, in place of labels or targets and what the readout is made of.
        targets : dict, pandas.Series, pandas.DataFrame or array_like
            Real numbers in place of labels, given as these; NaN or None: unknown. The result is a `FewShotTargets`.
        transform : str
            Of targets: "none"; "log", for targets of widely different sizes; "auto": the one whose left-out targets have the larger
            density.

        Source: train/few_shot/
        """
        g = graph(g)
        if readout is not None and (labels is not None or head or lam or transductive != "auto" or len(experts)):
            raise errors.InvalidError("few_shot: a saved readout has its own labels, head, lam and transductive, and no experts")
        options, held = options_of(g, self.weights, head, lam, experts, attributes)
        options.transductive = checked.choice("few_shot: transductive", transductive, (False, True, "auto", "never"))
        weights = self._in(g.context)
        if targets is not None and (labels is not None or readout is not None):
            raise errors.InvalidError("few_shot: labels and targets, or a saved readout, expected one of them")
        handle = None if readout is None else _read(readout, g, options, weights)
        saved = None if handle is None else handle._live()
        if targets is not None or (saved is not None and not saved.known.label):
            told = FewShotTargets(g, options, held, targets, weights, transform, saved)
            if saved is not None:
                transform = "log" if told.estimate.log else "none"
            told._made = self, {"head": head, "lam": lam, "experts": experts, "attributes": attributes, "transform": transform}
            return told
        made = FewShot(g, options, held, labels, weights, saved)  # the weights that were read, whatever the file is now
        made._made = self, {"head": head, "lam": lam, "transductive": transductive, "experts": experts}
        made._made[1]["attributes"] = attributes
        return made

    def score_links(self, g: Any, pairs: Sequence, head: str | Head | None = None, lam: float | None = None) -> np.ndarray:
        """Scores pairs of nodes that are not linked: the higher, the more likely a link is missing.

        A score is the logarithm of the odds that two nodes like these are linked, among all pairs of the graph; 1 / (1 +
        exp(-score)) is the probability.

        Parameters
        ----------
        g : Graph
            Or what `graph` takes.
        pairs : array_like or pandas.DataFrame
            [n, 2], nodes by the graph's names, or by number if it has none.
        head, lam : str, float
            The readout and its penalty, as for `few_shot`.

        Returns
        -------
        numpy.ndarray
            float64 [n], as `mochi predict --task lp` writes them; NaN for a linked pair, or for a node paired with itself.
        """
        g, pairs = graph(g), _pairs_of(pairs)
        wrong = next((p for p in pairs if isinstance(p, (str, bytes)) or not hasattr(p, "__len__") or len(p) != 2), None)
        if wrong is not None:
            raise errors.InvalidError(f"score_links: {wrong!r} among the pairs, expected two nodes")
        ends = np.array([[g.find(u), g.find(v)] for u, v in pairs], np.int64).reshape(-1, 2)
        asked = np.array([u != v and not lib.mo_graph_has_edge(g._live(), u, v) for u, v in ends.tolist()], bool)
        score = np.full(len(ends), np.nan)
        if asked.any():
            options, held = options_of(g, self.weights, head, lam)
            u, v = (np.ascontiguousarray(ends[asked, side]) for side in (0, 1))
            out = np.empty(len(u))
            given = g._live(), options, integers(u), integers(v), len(u), reals(out)
            g.context.call(lib.gate_mo_few_shot_links, *given)
            del held
            score[asked] = out
        return score

    def best_links(self, g: Any, n: int = 10, head: str | Head | None = None, lam: float | None = None) -> list[tuple]:
        """The best partners of every node, among those that it is not linked to.

        Parameters
        ----------
        g : Graph
            Or what `graph` takes.
        n : int
            At most that many partners of a node.
        head, lam : str, float
            The readout and its penalty, as for `few_shot`.

        Returns
        -------
        list of tuple
            (node, partner, probability) in the order of nodes, the likeliest first, as `mochi predict --task lp --best`
            writes them; nodes by the graph's names, or by number if it has none.
        """
        g = graph(g)
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
            raise errors.InvalidError(f"best_links: n is {n!r}, expected 1 or more")
        n = min(int(n), g.nodes)
        options, held = options_of(g, self.weights, head, lam)
        opened = g.context.call(lib.gate_mo_link_scorer_open, g._live(), options, ffi.NULL, ffi.NULL, ffi.NULL)
        scorer = Handle(g.context, opened, keep=held, release=lib.gate_mo_link_scorer_release)
        partner, score = np.empty((g.nodes, n), np.int64), np.empty((g.nodes, n))
        g.context.call(lib.gate_mo_link_scorer_best, scorer._live(), n, integers(partner), reals(score))
        at = list(range(g.nodes)) if g.names is None else g.names
        chance = 1 / (1 + np.exp(-score))
        return [(at[u], at[v], float(chance[u, i])) for u, row in enumerate(partner.tolist()) for i, v in enumerate(row) if v >= 0]

    def __repr__(self) -> str:
        return f"mochi.Trained({self.weights!r})"

    def __reduce__(self):
        return Trained, (self.weights,)


def _read(path, g, options, weights):
    """The mo_saved_readout of a file, for this graph; sets the readout in the options."""
    saved = Handle(g.context, ffi.new("mo_saved_readout *"), release=lib.gate_mo_saved_readout_release)
    g.context.call(lib.gate_mo_saved_readout_read, os.fsencode(path), g._live(), options, weights, saved._live())
    if saved._live().old:
        raise errors.InvalidError(f"{os.fspath(path)}: the readout is of other data than {g.name}; open it for those, then `on`")
    return saved


def _pairs_of(pairs):
    """A list of pairs; those of a table are its two columns."""
    if not hasattr(pairs, "columns"):
        return list(pairs)
    if len(pairs.columns) != 2:
        raise errors.InvalidError(f"score_links: a table of {len(pairs.columns)} columns, expected two, of nodes")
    return list(zip(*(pairs.iloc[:, i].tolist() for i in (0, 1)), strict=True))


def _features_of(g, options):
    """Features of all nodes or graphs."""
    options.cache = folder = cache_folder()
    read = Handle(g.context, g.context.call(lib.gate_mo_graph_scale, g._live(), options), release=lib.gate_mo_graph_release)
    made = g.context.call(lib.gate_mo_task_features_open, read._live(), task_of(g), ffi.NULL, options)
    return Handle(g.context, made, keep=(read, folder), release=lib.gate_mo_features_release)


def _source(g, made):
    source = ffi.new("mo_source *")
    source.graph, source.task, source.features = g._live(), task_of(g), made._live()
    return source


def _taken(context, pointer):
    """An array with the values of a tensor of no tape, which is released."""
    return Leaf(pointer, context).numpy()


__all__ = ["Trained", "features", "load"]
