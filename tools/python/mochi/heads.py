"""Heads: readouts fitted on the support of an episode; the library's, and your own in Python."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import checked, errors
from ._library import ffi, lib
from .arrays import number_of
from .context import Context, default_context, struck
from .functions import tensors, visited
from .handle import struct
from .inputs import input_of, optional_of, room, tape_of
from .solvers import Check
from .tensor import Leaf, Tensor, arrays_of, lists_of


FOLLOWED, MOST_COLUMN = 0.3, 100.0  # of the penalty of a ridge that follows the rows' scale (mochi.sklearn.RidgeHead)


def _library_name(parameter):
    """The name of a parameter in the library: `lam` is lambda, a word of Python."""
    return "lambda" if parameter == "lam" else parameter


class Head:
    """Your own readout, for `train`, `fit` and every other function that takes a head.

    Give exactly one of logits and residual.

    Parameters
    ----------
    name : str
        In error messages and tables.
    logits : callable
        logits(Zs, Ys, Zq, *parameters) -> [.., n_q, C], written with ops: Zs [.., n_s, d], Ys [.., n_s, C], Zq [.., n_q, d].
    residual : callable
        residual(W, Zs, Ys, *parameters), of the shape of W [.., d + 1, C], 0 at the fitted W; the logits are then [Zq | 1] W.
    parameters : dict
        name: value; or name: (value, low, high); or name: {"value": .., "shape": (.., ..)} of a tensor that training learns;
        a size "d" is the width of an embedding.
    symmetric : bool
        dF/dW is symmetric: the residual is the gradient of a loss.
    fixed_labels : bool
        No gradient flows to Ys.
    order : int
        The highest order of derivative that exists: 1 or 2.

    Examples
    --------
    >>> def nearest_mean(Zs, Ys, Zq):
    ...     means = (Ys / Ys.sum(axis=-2, keepdims=True)).mT @ Zs
    ...     return Zq @ means.mT - mochi.ops.square(means).sum(axis=-1, keepdims=True).mT * 0.5
    >>> head = mochi.Head("nearest_mean", logits=nearest_mean)
    >>> bool(head.check())
    True
    """

    _listed: list[str] | None = None

    def __init__(
        self,
        name: str,
        logits: Callable[..., Tensor] | None = None,
        residual: Callable[..., Tensor] | None = None,
        parameters: dict[str, Any] | None = None,
        symmetric: bool = False,
        fixed_labels: bool = False,
        order: int = 2,
    ) -> None:
        if (logits is None) == (residual is None):
            raise errors.InvalidError(f"head {name}: logits or residual, one of them")
        checked.whole(f"head {name}: order", order, 1, 2)
        parameters = parameters or {}
        self.logits, self.residual = logits, residual
        self._table = ffi.new("mo_head_parameter[]", max(1, len(parameters)))
        self._names = [ffi.new("char[]", _library_name(key).encode()) for key in parameters]
        for p, text, (key, value) in zip(self._table, self._names, parameters.items(), strict=False):
            self._describe(p, f"head {name}: {key}", value)
            p.name = text
        kind, code = ("logits", logits) if logits else ("residual", residual)
        self._pointer, self._kept = struct(
            "mo_head", abi=lib.MO_HEAD_ABI, size=ffi.sizeof("mo_head"), name=name, n_parameters=len(parameters),
            parameters=self._table, symmetric=symmetric, fixed_labels=fixed_labels, order=order,
            **{kind: ffi.callback(f"mo_head_{kind}", self._code_of(code), onerror=struck)},
        )  # fmt: skip

    def _code_of(self, function):
        """The library's call of a function: three tensors, then the parameters."""

        def run(t, a, b, c, parameters):
            def on(tape):
                return function(*tensors(tape, (a, b, c), 3), *tensors(tape, parameters, self._pointer.n_parameters))

            return visited(t, f"head {self.name}", on)

        return run

    def _describe(self, p, what, value):
        if isinstance(value, dict):
            shape = value["shape"]
            p.value, p.ndim = checked.real(what, value.get("value", 1.0)), len(shape)
            p.shape = [lib.MO_HEAD_DIM if s == "d" else s for s in shape]
        elif isinstance(value, tuple):
            p.low, p.high = (checked.real(what, bound) for bound in value[1:])
            p.value = checked.real(what, value[0], p.low, p.high)
        else:
            p.value = checked.real(what, value)

    @classmethod
    def of(cls, pointer: Any) -> Head:
        """The head for a table of the library."""
        head = cls.__new__(cls)
        head._pointer = pointer
        return head

    @property
    def name(self) -> str:
        """The name in error messages and tables."""
        return ffi.string(self._pointer.name).decode()

    @property
    def parameters(self) -> dict[str, float]:
        """The names and initial values of the parameters."""
        table = self._pointer.parameters[0 : self._pointer.n_parameters]
        return {name: p.value for name, p in zip(self._parameters(), table, strict=True)}

    def _parameters(self):
        """The names of the parameters, which are read once."""
        if self._listed is None:
            names = (ffi.string(p.name).decode() for p in self._pointer.parameters[0 : self._pointer.n_parameters])
            self._listed = ["lam" if name == "lambda" else name for name in names]
        return self._listed

    def at(self, **values: float) -> Head:
        """The same head with other initial parameter values."""
        at, p = Head.of(ffi.new("mo_head *", self._pointer[0])), self._pointer
        at._kept = [self]
        self._known(values)
        at._table = at._pointer.parameters = ffi.new("mo_head_parameter[]", list(p.parameters[0 : p.n_parameters]))
        for i, name in enumerate(self.parameters):
            at._table[i].value = self._checked(i, name, values.get(name, at._table[i].value))
        return at

    def __call__(
        self,
        Zs: ArrayLike,
        Ys: ArrayLike,
        Zq: ArrayLike,
        seed: int = 0,
        weight: ArrayLike | None = None,
        targets: bool = False,
        **parameters: ArrayLike,
    ) -> Tensor:
        """Logits [.., n_q, C] of the queries, by a fit on the support; parameters by name, others at their initial values.

        weight [.., n_s], 0 or more: a row of weight 2 counts as two rows, and a row of weight 0, or with zeros as labels,
        changes nothing. The logit of a class without a support row is -inf. targets: as in `fitted`.

        Source: models/head.h
        """
        support = ffi.new("mo_support *", {"targets": checked.flag("targets", targets)})
        if weight is not None:
            tape, (support.Zs, support.Ys, zq, support.weight), values = self._inputs((Zs, Ys, Zq, weight), parameters, seed)
        else:
            tape, (support.Zs, support.Ys, zq), values = self._inputs((Zs, Ys, Zq), parameters, seed)
        result = tape.context.call(lib.gate_mo_head_apply_weighted, tape._pointer, self._pointer, support, zq, values)
        return Tensor(result, tape) if result else tape._fail()

    def _state(self, tape, Zs, Ys, weight, values, targets=False, kernels=ffi.NULL, centres=ffi.NULL):
        """A mo_state on the tape, of a fit to the pointers of tensors."""
        support, state = ffi.new("mo_support *"), ffi.new("mo_state *")
        support.Zs, support.Ys, support.weight, support.targets = Zs, Ys, weight, targets
        support.kernels, support.centres = kernels, centres
        tape.context.call(lib.gate_mo_head_fit, tape._pointer, self._pointer, support, values, state)
        return state

    def fitted(
        self, Zs: ArrayLike, Ys: ArrayLike, weight: ArrayLike | None = None, seed: int = 0, targets: bool = False,
        kernels: Any = None, centres: ArrayLike | None = None, **parameters: ArrayLike,
    ) -> Fitted:
        """The fit to a support [n_s, d] with labels [n_s, C], kept: it gives logits of any rows, and can be saved.

        targets: Ys are C real targets of each row, which "ridge", "ridge_intercept" and "mixture" read; the fit then gives
        predictions. For "mixture", kernels [E, n_s, m] of your own between the support and its rows `centres` [m], all if None,
        beside 1 + <x, y> of the rows.

        Examples
        --------
        >>> Zs, Ys = np.eye(4), np.repeat(np.eye(2), 2, axis=0)
        >>> fit = mochi.head("lda").at(shrinkage=0.5).fitted(Zs, Ys)
        >>> fit(Zs).argmax(axis=1)
        array([0, 0, 1, 1])
        """
        from .tape import Tape

        with Tape() as tape:
            inputs = (Zs, Ys) if weight is None else (Zs, Ys, weight)
            tape, given, values = self._inputs(inputs, parameters, seed)
            rows = given[2] if weight is not None else ffi.NULL
            own = optional_of(kernels, tape, Zs), optional_of(centres, tape, None)
            state = self._state(tape, given[0], given[1], rows, values, checked.flag("fitted: targets", targets), *own)
            kept = ffi.new("mo_state *")
            tape.context.call(lib.gate_mo_state_clone, tape.context._pointer, state, kept)
        return Fitted(self, tape.context, kept, 0 if kernels is None else len(kernels))

    def load(self, path: str, context: Context | None = None) -> Fitted:
        """A fit of this head from the file that `Fitted.save` or `mochi fit --save` wrote."""
        context, state = context or default_context(), ffi.new("mo_state *")
        context.call(lib.gate_mo_state_read, context._pointer, self._pointer, os.fsencode(path), state)
        return Fitted(self, context, state)

    def fit(
        self, Zs: ArrayLike, Ys: ArrayLike, weight: ArrayLike | None = None, seed: int = 0, **parameters: ArrayLike
    ) -> tuple[Tensor, Tensor]:
        """For a head that is linear in the queries: W [.., d, C] and b [.., 1, C] of its logits Zq @ W + b.

        weight [.., n_s], 0 or more: a row of weight 2 counts as two rows. Gradients flow to the rows, labels, parameters and
        to weights above 0.

        Source: models/head.h
        """
        inputs = (Zs, Ys) if weight is None else (Zs, Ys, weight)
        tape, given, values = self._inputs(inputs, parameters, seed)
        out = room(2)
        given = given if weight is not None else [*given, ffi.NULL]
        tape.context.call(lib.gate_mo_head_linear, tape._pointer, self._pointer, *given, values, out, out + 1)
        return Tensor(out[0], tape), Tensor(out[1], tape)

    def _inputs(self, inputs, parameters, seed):
        """(the tape, the pointers of the inputs, those of the parameters)."""
        parameters = {"lam" if name == "lambda" else name: value for name, value in parameters.items()}
        self._known(parameters)
        tape = tape_of(*inputs, *parameters.values())
        given = [x if getattr(x, "_tape", None) is tape else Tensor(input_of(x, tape, inputs[0]), tape) for x in inputs]
        names, out = self._parameters(), ffi.new("mo_tensor *[]", lib.MO_MAX_HEAD_PARAMETERS)
        if names:
            real, d = number_of(given[0].dtype), given[0].shape[-1] if given[0].ndim else 0
            tape.context.call(lib.gate_mo_head_start, tape._pointer, self._pointer, real, d, ffi.NULL, seed, out)
        for i, name in enumerate(names):
            if name in parameters:
                out[i] = input_of(self._checked(i, name, parameters[name]), tape, given[0])
        tape._holds(self)
        return tape, [x._live() for x in given], out

    def _known(self, parameters):
        unknown = set(parameters).difference(self._parameters())
        if unknown:
            raise errors.InvalidError(f"head {self.name}: no parameter {sorted(unknown)[0]!r}; it has {list(self.parameters)}")

    def _checked(self, i, name, value):
        """A parameter as it was given; a number outside its bounds is an error."""
        p = self._pointer.parameters[i]
        if p.ndim == 0 and not isinstance(value, Tensor) and np.ndim(value) == 0:
            bounds = (p.low, p.high) if p.low < p.high else ()
            return checked.real(f"head {self.name}: {name}", value, *bounds)
        return value

    def check(self, order: int | None = None, seed: int = 0, context: Context | None = None) -> Check:
        """Checks derivatives in embeddings, labels and parameters, and that a batch gives the results of its episodes.

        order: the highest, None: that of the head; first derivatives are always checked. A head is compared with itself alone:
        whether its formula is the one you meant, `check` cannot know; compare a fit with one made in another way.
        """
        context = context or default_context()
        order = order or self._pointer.order
        return Check.run(context, lib.gate_mo_check_head, context._pointer, self._pointer, order, seed)

    def __repr__(self):
        return f"mochi.Head({self.name!r}, {self.parameters})"

    def __reduce__(self):
        if not lib.mo_find_head(self._pointer.name):
            raise TypeError(f"head {self.name} of Python cannot be pickled")
        return head, (self.name,)


class Fitted:
    """A fitted head: named tensors, which give the logits of any rows, bit by bit as the fit did."""

    def __init__(self, head: Head, context: Context, state: Any, kernels: int | None = None) -> None:
        self.head, self._context = head, context
        self._kernels = kernels  # how many the fit was given; None: a file does not tell
        self._state = ffi.gc(state, lib.mo_state_release)

    def __call__(self, Z: ArrayLike, kernels: ArrayLike | None = None) -> np.ndarray:
        """Logits [n, C] of rows [n, d]; kernels [E, n, m]: between these and the centres of the fit, if it was given kernels."""
        return self._applied(lib.gate_mo_state_apply, Z, kernels)

    def spread(self, Z: ArrayLike, kernels: ArrayLike | None = None, diagonal: ArrayLike | None = None) -> np.ndarray:
        """The standard deviations [n, C] of predictions of real targets by "mixture"; diagonal [E, n]: of rows with themselves."""
        return self._applied(lib.gate_mo_mixture_spread, Z, kernels, diagonal)

    def _applied(self, gate, Z, *given):
        from .tape import Tape

        given_kernels = 0 if given[0] is None else len(given[0])
        if self._kernels not in (None, given_kernels):
            raise errors.InvalidError(f"head {self.head.name}: {given_kernels} kernels, expected {self._kernels} as in the fit")
        with Tape(context=self._context) as tape:
            inputs = [optional_of(x, tape, Z) for x in (Z, *given)]
            result = self._context.call(gate, tape._pointer, self._state, *inputs)
            return (Tensor(result, tape) if result else tape._fail()).numpy()

    def __getitem__(self, name: str) -> np.ndarray:
        """A copy of the tensor of that name."""
        return Leaf(self._state.tensor[self.names.index(name)], self._context, borrowed=True).numpy().copy()

    @property
    def names(self) -> list[str]:
        """The names of the tensors."""
        return [ffi.string(self._state.name[i]).decode() for i in range(self._state.n)]

    def save(self, path: str) -> None:
        """Writes the tensors to a safetensors file; `head.load(path)` reads it."""
        self._context.call(lib.gate_mo_state_write, self._state, os.fsencode(path))

    def _arrays(self):
        """The state as named tensors of the library."""
        arrays = lists_of(self._context, {})
        self._context.call(lib.gate_mo_state_save, self._state, arrays._live())
        return arrays

    def __reduce__(self):
        with self._arrays() as arrays:
            return _refitted, (self.head, arrays_of(self._context, arrays._live()), self._kernels)


def _refitted(head, members, kernels):
    """A fit from the arrays of its state."""
    context, state = default_context(), ffi.new("mo_state *")
    with lists_of(context, members) as arrays:
        context.call(lib.gate_mo_state_load, context._pointer, head._pointer, arrays._live(), state)
    return Fitted(head, context, state, kernels)


_known: dict[str, Head] = {}


def head(name: str | os.PathLike | Head) -> Head:
    """The library's head of that name, which `head_names()` lists; or the head of a plug-in FILE.so (tools/guides/heads.md)."""
    if isinstance(name, Head):
        return name
    if isinstance(name, (str, os.PathLike)) and os.fspath(name).endswith((".so", ".dylib")):
        context = default_context()
        return Head.of(context.call(lib.gate_mo_load_head, context._pointer, os.fsencode(name)))
    if isinstance(name, str) and name in _known:
        return _known[name]
    pointer = lib.mo_find_head(name.encode()) if isinstance(name, str) else None
    if not pointer:
        raise errors.InvalidError(f"head {name!r}, expected one of {', '.join(head_names())}")
    return _known.setdefault(str(name), Head.of(pointer))


def head_names() -> list[str]:
    """The names of the library's heads."""
    names, i = [], 0
    while lib.mo_head_at(i):
        names.append(ffi.string(lib.mo_head_at(i).name).decode())
        i += 1
    return names
