"""Trained models: the weights that come with the library, those of a file, and what they make of a graph."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import errors
from .._library import ffi, lib
from ..context import Context, default_context
from ..handle import Handle
from ..heads import Head
from ..models import Model
from ..tensor import Leaf
from .few_shot import FewShot, cache_of, score_links
from .graph import graph

MAX_ROWS = 32768  # as the program: rows that are encoded at once
FORMS = {"nodes": lib.MO_FEATURES_OF_NODES, "examples": lib.MO_FEATURES_OF_EXAMPLES}
COMBINE = {"sum": lib.MO_COMBINE_SUM, "concat": lib.MO_COMBINE_CONCAT}
NORMS = {"layer": lib.MO_FEATURE_NORM_LAYER, "none": lib.MO_FEATURE_NORM_NONE}


class _Weights(Handle):
    release = lib.gate_mo_weights_release


class _Model(Handle):
    release = lib.gate_mo_model_release


class _Features(Handle):
    release = lib.gate_mo_features_release


def features(
    g: Any,
    hop: int | None = None,
    dim: int | None = None,
    hops: int = 3,
    form: str = "nodes",
    combine: str = "sum",
    norm: str = "layer",
    power_iterations: int = 2,
    seed: int = 0,
    cache: str | None = None,
) -> np.ndarray | dict[str, np.ndarray]:
    """Frozen features of a graph: two truncated SVDs, of the adjacency and the attributes, and their hops.

    Parameters
    ----------
    g : Graph
        Or what `graph` takes.
    hop : int
        One hop of the nodes' rows: float32 [nodes, dim], or their means over the graphs of a set [graphs, dim]. None: all.
    dim : int
        The width of a row; None: 512, of examples 256.
    hops : int
        The number of hops, l.
    form : str
        "nodes": rows as in the paper. "examples": rows that do not depend on the basis of an SVD.
    combine : str
        Structure and attributes as a "sum", or side by side: "concat".
    norm : str
        Of each row before the hops: "layer" or "none".
    power_iterations : int
        Of the randomised SVD; below 0: until converged.
    seed : int
        Of its test matrices.
    cache : str
        A folder that keeps features; None: the one that MOCHI_CACHE names, if any.

    Returns
    -------
    numpy.ndarray or dict
        Of nodes [hops + 1, nodes, dim], or one hop of them; of examples the arrays by name: "blocks"
        [2, hops + 1, examples, dim], "spectrum" [2, dim], "extras" [examples, p].

    Source: train/features/
    """
    g = graph(g)
    for word, choices in ((form, FORMS), (combine, COMBINE), (norm, NORMS)):
        if word not in choices:
            raise errors.InvalidError(f"features: {word!r}, expected one of {', '.join(choices)}")
    if hop is not None and (form != "nodes" or not isinstance(hop, (int, np.integer)) or not 0 <= hop <= hops):
        raise errors.InvalidError(f"features: hop {hop} of rows of {form}, expected one of 0 .. {hops} of rows of nodes")
    options = ffi.new("mo_feature_options *")
    options.form, options.combine, options.norm = FORMS[form], COMBINE[combine], NORMS[norm]
    options.dim, options.hops = (512 if form == "nodes" else 256) if dim is None else dim, hops
    options.power_iterations, options.seed = power_iterations, seed
    with _features_of(g, options, cache) as made:
        if hop is None:
            return arrays_of(g.context, made.pointer().arrays) if form == "examples" else _hops(g, made)
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
        self._made: dict[Context, _Weights] = {}
        self._in(context or default_context())

    def _in(self, context):
        """The weights in a context; read once for each."""
        if context not in self._made:
            read = context.call(lib.gate_mo_weights_read, context.pointer, os.fsencode(self.weights))
            self._made[context] = _Weights(context, read)
        return self._made[context].pointer()

    @property
    def kind(self) -> str:
        """The name of the encoder: "invariant", "mochi", or one from outside."""
        return ffi.string(self._any().kind).decode()

    @property
    def recipe(self) -> str:
        """The recipe of training; "" if unknown."""
        return ffi.string(self._any().recipe).decode()

    def model(self, context: Context | None = None) -> Model:
        """Encoder and readout as a model whose parameters can be read, written and differentiated."""
        return Model.open(self.weights, context)

    def _any(self):
        return next(iter(self._made.values())).pointer()

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """The weights by name."""
        context, weights = next(iter(self._made.items()))
        return arrays_of(context, weights.pointer().arrays)

    def embed(self, g: Any, max_rows: int = MAX_ROWS, cache: str | None = None) -> np.ndarray:
        """Embeddings of the nodes, or of the graphs of a set: float32 [examples, d], as `mochi embed` writes them.

        Parameters
        ----------
        g : Graph
            Or what `graph` takes.
        max_rows : int
            Rows that are encoded at once; 0: all.
        cache : str
            A folder that keeps features; None: the one that MOCHI_CACHE names, if any.
        """
        g = graph(g)
        weights = self._in(g.context)
        options = ffi.new("mo_feature_options *", weights.features)
        choice = ffi.new("mo_model_choice *")
        if weights.head[0] != b"\0" and not lib.mo_find_head(weights.head):
            choice.head = lib.mo_find_head(b"ridge")  # no head is used here: any can replace the user's own
        made = g.context.call(lib.gate_mo_weights_model_as, weights, choice)
        with _Model(g.context, made) as model, _features_of(g, options, cache) as rows:
            return _taken(g.context, g.context.call(lib.gate_mo_embed_all, model.pointer(), _source(g, rows), max_rows))

    def few_shot(
        self,
        g: Any,
        labels: Any = None,
        head: str | Head | None = None,
        lam: float = 0.0,
        transductive: bool | str = "auto",
        experts: Any = (),
        cache: str | None = None,
    ) -> FewShot:
        """The labels of a graph's examples from a few of them, as `mochi predict` finds them.

        Parameters
        ----------
        g : Graph
            Or what `graph` takes.
        labels : dict, pandas.Series or array_like
            {example: class}, examples by the graph's names, or by number if it has none; or one class for each example, of
            any type that `graph` takes; or a mask, bool [examples]: the graph's own labels there. None: `FewShot.fit` comes
            later.
        head : str
            The readout; None: the one that the weights were trained with.
        lam : float
            The penalty of a readout that has one, above 0; 0: the trained one.
        transductive : bool or "auto"
            Refit the readout on its own predictions for all examples, classes of equal size; "auto": where labels left
            out in turn are predicted no worse by it, of 100,000 examples or fewer.
        experts : sequence or dict of array_like
            Rows [nodes, w] of one's own, under names in a dict, by which nodes are compared too.

        Source: train/few_shot/
        """
        return FewShot(graph(g), self.weights, labels, head=head, lam=lam, transductive=transductive, experts=experts, cache=cache)

    def score_links(self, g: Any, pairs: Sequence, head: str | Head | None = None, lam: float = 0.0) -> np.ndarray:
        """Scores of pairs of nodes that are not linked: the higher, the likelier is a missing link.

        Parameters
        ----------
        g : Graph
            Or what `graph` takes.
        pairs : array_like
            [n, 2], nodes by the graph's names, or by number if it has none.
        head, lam : str, float
            The readout and its penalty, as for `few_shot`.

        Returns
        -------
        numpy.ndarray
            float64 [n], as `mochi predict --task lp` writes them.
        """
        return score_links(graph(g), self.weights, pairs, head, lam)

    def __repr__(self) -> str:
        return f"mochi.Trained({self.weights!r})"

    def __reduce__(self):
        return Trained, (self.weights,)


def _features_of(g, options, cache):
    """Features of all nodes or graphs, with the folder of the cache named."""
    folder = cache_of(cache)
    kept = ffi.NULL if folder is None else ffi.new("char[]", os.fsencode(folder))
    options.cache = kept
    made = g.context.call(lib.gate_mo_task_features_open, g.pointer(), _task(g), ffi.NULL, options)
    return _Features(g.context, made, keep=g.owned())


def _task(g):
    return lib.MO_TASK_GC if g.graphs > 1 else lib.MO_TASK_NC


def _source(g, made):
    source = ffi.new("mo_source *")
    source.graph, source.task, source.features = g.pointer(), _task(g), made.pointer()
    return source


def _taken(context, pointer):
    """An array with the values of a tensor of no tape, which is released."""
    return Leaf(pointer, context).numpy()


def _hops(g, made):
    return arrays_of(g.context, made.pointer().arrays)["hops"]


def arrays_of(context: Context, pointer: Any) -> dict[str, np.ndarray]:
    """Copies of the library's named tensors."""
    found = {}
    for item in pointer.items[0 : pointer.count]:
        found[ffi.string(item.name).decode()] = _Shown(item.tensor, context).numpy()
    return found


class _Shown(Leaf):
    """A tensor that the library owns."""

    __slots__ = ()

    def __del__(self):
        pass


__all__ = ["Trained", "features", "load"]
