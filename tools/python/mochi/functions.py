"""Python functions that the library calls: residuals, functions to recompute or check, and your own ops.

An exception in such a function ends the library's call, which raises it again.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import arrays, checked, errors
from ._library import address, ffi, lib
from .arrays import number_of
from .context import Context, failed, struck
from .inputs import input_of, list_of, room, tape_of
from .tape import Visit
from .tensor import Tensor

# Ops by the address of their descriptor; a tape whose nodes point to one holds it.
_ops: weakref.WeakValueDictionary[int, Op] = weakref.WeakValueDictionary()
_computed: dict[int, tuple] = {}  # what shape has computed and forward will write, by the address of the call


def tensors(tape, pointers, n):
    """The library's array of n tensors as tensors valid while the function runs (Visit, tape.py); None for null."""
    return [Tensor(pointers[i], tape) if pointers[i] else None for i in range(n)]


def guarded(t, what, function):
    """Runs function(tape) on the tape of a library call; after an exception returns None, and that call fails."""
    visit = None
    try:
        visit = Visit(t)
        with visit as tape:
            return function(tape)
    except BaseException as exception:  # also KeyboardInterrupt: it goes on when the library's call has returned
        if visit is not None:
            visit.close()
        failed(_context(t), exception, what)
    return None


def visited(t, what, function):
    """Runs function(tape) for its tensor; returns the pointer, or the null tensor after an exception."""
    return guarded(t, what, lambda tape: input_of(function(tape), tape, None)) or lib.mo_null_tensor(lib.mo_tape_context(t))


def _context(t):
    return Context._of(lib.mo_tape_context(t))


@ffi.def_extern(onerror=struck)
def binding_residual(t, x, theta, n, state):
    """F(x, theta) of a solver."""
    f, _ = ffi.from_handle(state)
    return visited(t, "residual", lambda tape: f(Tensor(x, tape), *tensors(tape, theta, n)))


@ffi.def_extern(onerror=struck)
def binding_jacobian(t, x, theta, n, state):
    """dF/dx of a solver."""
    _, f = ffi.from_handle(state)
    return visited(t, "jacobian", lambda tape: f(Tensor(x, tape), *tensors(tape, theta, n)))


@ffi.def_extern(onerror=struck)
def binding_graph_code(t, inputs, n, state):
    """The function of `recompute`."""
    f = ffi.from_handle(state)
    return visited(t, "recompute", lambda tape: f(*tensors(tape, inputs, n)))


@ffi.def_extern(onerror=struck)
def binding_function(t, inputs, n_in, out, n_out, state):
    """The function of `gradcheck`."""
    f = ffi.from_handle(state)

    def run(tape):
        results = f(*tensors(tape, inputs, n_in))
        results = results if isinstance(results, (list, tuple)) else (results,)
        if len(results) != n_out:
            raise errors.InvalidError(f"{len(results)} results, expected {n_out} as before")
        for i, result in enumerate(results):
            out[i] = input_of(result, tape, None)
        return results[0]

    null = visited(t, "function", run)
    for i in range(n_out):
        if not out[i]:
            out[i] = null


def recompute(f: Callable[..., Tensor], *inputs: ArrayLike) -> Tensor:
    """f(*inputs) with gradient checkpointing: only the result is kept, and backward runs f again.

    Every tensor that needs a gradient must be among the inputs.

    Source: ops/recompute.c; Griewank and Walther 2000; Chen et al. 2016
    """
    tape = tape_of(*inputs)
    pointers, n = list_of(inputs, tape)
    state = tape._holds(ffi.new_handle(tape._holds(f)))
    result = lib.gate_mo_recompute(tape._gate, tape._pointer, lib.binding_graph_code, pointers, n, state, 0)
    return Tensor(result, tape) if result else tape._fail()


class Op:
    """A differentiable op from two functions.

    Parameters
    ----------
    forward : callable
        forward(*inputs) -> an array, or a tuple of `outputs` arrays; inputs are arrays with copies of the values.
    vjp : callable
        vjp(y_bar, y, *inputs) -> the adjoints of the inputs, one for each; None: zero. Written with ops of `mochi`, so that it
        can be differentiated again. With several outputs, y_bar and y are tuples, in which y_bar has None for an
        output that no gradient reaches. None: the op has no derivative.
    name : str
        In error messages and printed graphs; None: that of forward.
    outputs : int
        4 at most.

    Examples
    --------
    >>> cube = Op(lambda x: x**3, lambda y_bar, y, x: (y_bar * 3.0 * x * x,), name="cube")
    >>> bool(mochi.gradcheck(cube, [np.array([1.0, 2.0])]))
    True
    """

    def __init__(
        self, forward: Callable[..., Any], vjp: Callable[..., Any] | None = None, name: str | None = None, outputs: int = 1
    ) -> None:
        if not 1 <= outputs <= lib.MO_MAX_OUTPUTS:
            raise errors.InvalidError(f"{outputs} outputs, expected 1 to {lib.MO_MAX_OUTPUTS}")
        self.forward, self.outputs = forward, outputs
        self.vjp: Any = vjp  # if None, the library does not ask for it
        self.name = name or forward.__name__
        self._text = ffi.new("char[]", self.name.encode())
        op = self._op = ffi.new("mo_op *")
        op.name, op.n_out, op.n_in, op.max_in = self._text, outputs, 1, lib.MO_MAX_INPUTS
        op.reads_in, op.reads_out = 2**lib.MO_MAX_INPUTS - 1, 2**outputs - 1
        op.shape, op.forward = lib.binding_op_shape, lib.binding_op_forward
        op.vjp = lib.binding_op_vjp if vjp else ffi.NULL
        _ops[address(op)] = self

    def __call__(self, *inputs: ArrayLike) -> Any:
        """The result, or a tuple of several, on the tape of the inputs."""
        tape = tape_of(*inputs)
        tape._holds(self)
        pointers, n = list_of(inputs, tape)
        out = room(self.outputs)
        tape.context.call(lib.gate_mo_apply_all, tape._pointer, self._op, pointers, n, ffi.NULL, out)
        results = tuple(Tensor(out[i], tape) for i in range(self.outputs))
        return results[0] if self.outputs == 1 else results

    def __reduce__(self):
        return Op, (self.forward, self.vjp, self.name, self.outputs)

    def __repr__(self):
        return f"mochi.Op({self.name!r})"


def _results(op, results):
    """The arrays of forward's results; a single one need not be a tuple."""
    results = results if isinstance(results, tuple) else (results,)
    if len(results) != op.outputs:
        raise errors.InvalidError(f"{len(results)} results, expected {op.outputs}")
    for i, r in enumerate(results):
        if checked.is_masked(r):
            raise errors.InvalidError(f"result {i} is an array with masked entries, expected all values")
    return [np.asarray(arrays.storable(np.asarray(r)), order="C") for r in results]


@ffi.def_extern(onerror=struck)
def binding_op_shape(c):
    """Runs forward to give the library its results' shapes."""
    op = _ops[address(c.op)]

    def run(tape):
        results = _results(op, op.forward(*(arrays.copy_of(x) for x in tensors(tape, getattr(c, "in"), c.n_in))))
        for i, r in enumerate(results):
            if not lib.mo_call_output(c, i, number_of(r.dtype), r.ndim, ffi.new("int64_t[]", r.shape or (0,))):
                return False
        _computed[address(c)] = results
        return True

    return bool(guarded(c.t, op.name, run))


@ffi.def_extern(onerror=struck)
def binding_op_forward(c):
    """Writes the results to the outputs, which the library has made meanwhile."""
    for i, r in enumerate(_computed.pop(address(c))):
        lib.mo_tensor_write(c.out[i], ffi.cast("void *", r.ctypes.data), r.nbytes)


@ffi.def_extern(onerror=struck)
def binding_op_vjp(v):
    """The adjoints of the inputs."""
    op = _ops[address(v.op)]

    def run(tape):
        bars, outs = (tuple(tensors(tape, pointers, v.n_out)) for pointers in (v.out_bar, v.out))
        inputs = tensors(tape, getattr(v, "in"), v.n_in)
        found = op.vjp(bars[0], outs[0], *inputs) if op.outputs == 1 else op.vjp(bars, outs, *inputs)
        found = found if isinstance(found, (tuple, list)) else (found,)
        if len(found) != v.n_in:
            raise errors.InvalidError(f"vjp: {len(found)} adjoints of {v.n_in} inputs")
        for i, bar in enumerate(found):
            if v.needs[i] and bar is not None:
                v.in_bar[i] = input_of(bar, tape, inputs[i])

    guarded(v.t, op.name, run)
