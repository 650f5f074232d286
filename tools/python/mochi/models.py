"""Models: an encoder with a readout on it; and episodes, the small labelled problems that a model reads."""

from __future__ import annotations

import os
import pathlib
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np

from . import checked, errors
from ._library import ffi, lib
from .context import default_context
from .dtypes import number_of
from .handle import Handle
from .heads import head as find_head
from .tensor import FOREVER, Leaf, Tensor, constant

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from .context import Context
    from .random import Random
    from .tape import Tape

TASKS = {"nc": lib.MO_TASK_NC, "lp": lib.MO_TASK_LP, "gc": lib.MO_TASK_GC}
TEMPERATURES = {"logit": lib.MO_TEMPERATURE_LOGIT, "embed": lib.MO_TEMPERATURE_EMBED}


class Parameter(Leaf):
    """A parameter of a model, which owns it and lives as long."""

    __slots__ = ("_model",)

    def __init__(self, pointer, model):
        self._pointer, self._tape, self._frame = pointer, None, FOREVER
        self._context, self._model = model.context, model

    def __del__(self):
        pass

    def __reduce__(self):
        return _parameter_of, (self._model, [p._pointer for p in self._model.parameters].index(self._pointer))


class Episode:
    """A few-shot problem: rows, and which of them are labelled examples and queries.

    Parameters
    ----------
    task : str
        "nc" (nodes), "lp" (links) or "gc" (graphs).
    rows : dict of str to array
        What the encoder reads, by name: "hops" [hops + 1, N, d] of nodes.
    support, query : arrays of int64
        Numbers of the examples, [n_s] and [n_q]; of links two of each. An example that the support has twice counts twice, and
        a readout that leaves it out leaves both out.
    support_label, query_label : arrays of int64
        0 .. classes - 1.
    segment : array of int64
        Of "gc": the first row of each graph, and the end.
    max_rows : int
        Rows encoded at once, and again in backward; 0: all.
    """

    def __init__(
        self, task, rows, support, query, support_label, query_label, classes=None, segment=None, max_rows=0, context=None
    ):
        if task not in TASKS:
            raise errors.InvalidError(f"task {task!r}, expected one of {', '.join(TASKS)}")
        if len(rows) > lib.MO_MAX_ROWS:
            raise errors.InvalidError(f"{len(rows)} names of rows, expected {lib.MO_MAX_ROWS} at most")
        self.context = context or default_context()
        self._kept = []
        e = self.struct = ffi.new("mo_episode *")
        e.task, e.n_rows, e.max_rows = TASKS[task], len(rows), max_rows
        for i, (name, values) in enumerate(rows.items()):
            e.rows[i].name = self._hold(ffi.new("char[]", name.encode()))
            e.rows[i].tensor = self._leaf(values)
        for i, (s, q) in enumerate([(support, query)] if task != "lp" else zip(support, query, strict=True)):
            e.support[i], e.query[i] = self._indices(s), self._indices(q)
        e.support_label, e.query_label = self._indices(support_label), self._indices(query_label)
        ends = np.stack([np.asarray(s) for s in (support if task == "lp" else [support])])
        _, first, times = np.unique(ends, axis=1, return_index=True, return_counts=True)
        if len(first) < ends.shape[1]:
            weight = np.zeros(ends.shape[1], np.int64)
            weight[first] = times
            e.support_weight = self._indices(weight)
        e.classes = classes if classes is not None else int(np.max(support_label)) + 1
        if segment is not None:
            e.segment = self._indices(segment)

    def _hold(self, thing):
        self._kept.append(thing)
        return thing

    def _leaf(self, values):
        return self._hold(values if isinstance(values, Tensor) else constant(values, context=self.context)).pointer()

    def _indices(self, values):
        return self._leaf(values if isinstance(values, Tensor) else checked.indices("Episode: numbers", values))


class Model(Handle):
    """An encoder with a readout, as `Model.open`, `Model.mochi` and `Model.invariant` make them."""

    def __init__(self, context: Context, model: Any, source: Any = None) -> None:
        if not model:
            context.fail()
        super().__init__(context, model)
        self._source = source

    release = lib.gate_mo_model_release

    @classmethod
    def open(cls, name: str | os.PathLike[str] = "best", context: Context | None = None) -> Model:
        """The model of a weights file, or of embedded weights ("best"), in float32."""
        context = context or default_context()
        path = os.fspath(name)
        source = (path, pathlib.Path(path).read_bytes() if os.path.exists(path) else None)
        return cls(context, context.call(lib.gate_mo_model_open, context.pointer, path.encode()), source)

    @classmethod
    def mochi(
        cls, dim: int = 512, hops: int = 3, layers: int = 3, relu_hops: bool = True, dropout: float = 0.0,
        temperature: str = "logit", smoothing: float = 0.1, head: str = "ridge", lam: float = 10.0, dtype: str = "float32",
        seed: int = 0, context: Context | None = None,
    ) -> Model:  # fmt: skip
        """MOCHI: GAMLP with node-adaptive hop attention under a head; parameters drawn from the seed (models/gamlp.c)."""
        context = context or default_context()
        if temperature not in TEMPERATURES:
            raise errors.InvalidError(f"temperature {temperature!r}, expected one of {', '.join(TEMPERATURES)}")
        options = ffi.new("mo_mochi_options *", lib.mo_mochi_defaults())
        encoder = options.encoder
        encoder.dim, encoder.hops, encoder.layers, encoder.relu_hops, encoder.dropout = dim, hops, layers, relu_hops, dropout
        options.temperature, options.smoothing = TEMPERATURES[temperature], smoothing
        setattr(options, "lambda", lam)
        options.head = find_head(head).pointer
        made = context.call(lib.gate_mo_mochi_create, context.pointer, number_of(dtype), options, seed)
        arguments = (dim, hops, layers, relu_hops, dropout, temperature, smoothing, head, lam, dtype, seed)
        return cls(context, made, ("mochi", arguments))

    @classmethod
    def invariant(
        cls, hops: int = 3, smoothing: float = 0.1, dtype: str = "float32", context: Context | None = None
    ) -> Model:
        """The model of the recipe `best`, which reads only what every valid SVD agrees on (models/invariant.c)."""
        context = context or default_context()
        options = ffi.new("mo_invariant_options *")
        options.hops, options.smoothing = hops, smoothing
        made = context.call(lib.gate_mo_invariant_create, context.pointer, number_of(dtype), options)
        return cls(context, made, ("invariant", (hops, smoothing, dtype)))

    @property
    def parameters(self) -> list[Parameter]:
        """All parameters, each with its name."""
        m = self.pointer()
        return [Parameter(lib.mo_model_parameter(m, i), self) for i in range(lib.mo_model_n_parameters(m))]

    def load(self, arrays: Mapping[str, ArrayLike]) -> None:
        """Writes parameters by their names: a dict of arrays, as `state` gives it."""
        for p in self.parameters:
            if p.name not in arrays:
                raise errors.FormatError(f"{p.name} is absent")
            p.write(arrays[p.name])

    def state(self) -> dict[str, NDArray[Any]]:
        """Copies of the parameters, by name."""
        return {p.name: p.numpy() for p in self.parameters}

    def embed(self, tape: Tape, episode: Episode, random: Random | None = None) -> tuple[Tensor, Tensor]:
        """Embeddings of an episode's examples: Zs [n_s, d] and Zq [n_q, d]."""
        out = ffi.new("mo_tensor *[2]")
        self.context.call(lib.gate_mo_model_embed, tape.pointer, *self._given(tape, episode, random), out, out + 1)
        return Tensor(out[0], tape), Tensor(out[1], tape)

    def logits(self, tape: Tape, episode: Episode, random: Random | None = None) -> Tensor:
        """Logits [n_q, C] of the readout fitted on the support's embeddings."""
        result = self.context.call(lib.gate_mo_model_logits, tape.pointer, *self._given(tape, episode, random))
        return Tensor(result, tape)

    def loss(self, tape: Tape, episode: Episode, random: Random | None = None) -> Tensor:
        """The cross-entropy of the queries, with the model's label smoothing."""
        result = self.context.call(lib.gate_mo_model_loss, tape.pointer, *self._given(tape, episode, random), ffi.NULL)
        return Tensor(result, tape)

    def _given(self, tape, episode, random):
        tape.holds((self, episode))
        return self.pointer(), episode.struct, ffi.NULL if random is None else random.position

    def __reduce__(self):
        return _remade, (self._source, self.state())


def _parameter_of(model, i):
    return model.parameters[i]


def _remade(source, state):
    """A model made again from what made it, with its parameters."""
    kind, rest = source
    if kind in ("mochi", "invariant") and isinstance(rest, tuple):
        model = getattr(Model, kind)(*rest)
    elif rest is None:
        model = Model.open(kind)
    else:
        with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
            file.write(rest)
            file.flush()
            model = Model.open(file.name)
        model._source = source
    model.load(state)
    return model
