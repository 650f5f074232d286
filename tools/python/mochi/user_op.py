"""An op of one's own: a forward on arrays of NumPy, and a vjp written with ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import arrays, errors
from ._library import ffi, lib
from .callbacks import failed, struck
from .context import Context
from .dtypes import number_of
from .inputs import input_of, list_of, room, tape_of
from .tape import Visit
from .tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

# Ops by the address of their descriptor, which nodes point to: they stay.
_ops: dict[int, Op] = {}
_computed: dict[int, tuple] = {}  # results between shape and forward, by the address of the call


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
        op.shape, op.forward = lib.door_op_shape, lib.door_op_forward
        op.vjp = lib.door_op_vjp if vjp else ffi.NULL
        _ops[_address(op)] = self

    def __call__(self, *inputs: ArrayLike) -> Any:
        """The result, or a tuple of several, on the tape of the inputs."""
        tape = tape_of(*inputs)
        pointers, n = list_of(inputs, tape)
        out = room(self.outputs)
        tape.context.call(lib.gate_mo_apply_all, tape.pointer, self._op, pointers, n, ffi.NULL, out)
        results = tuple(Tensor(out[i], tape) for i in range(self.outputs))
        return results[0] if self.outputs == 1 else results

    def __repr__(self):
        return f"mochi.Op({self.name!r})"


def _address(pointer):
    return int(ffi.cast("uintptr_t", pointer))


def _results(op, results):
    """The arrays of a forward's results; one of them need not be in a tuple."""
    results = results if isinstance(results, tuple) else (results,)
    if len(results) != op.outputs:
        raise errors.InvalidError(f"{len(results)} results, expected {op.outputs}")
    return [np.asarray(arrays.storable(np.asarray(r)), order="C") for r in results]


@ffi.def_extern(onerror=struck)
def door_op_shape(c):
    """Runs forward, whose results have the shapes that the library asks for."""
    op, visit = _ops[_address(c.op)], Visit(c.t)
    try:
        with visit as tape:
            inputs = [arrays.copy_of(Tensor(pointer, tape)) for pointer in getattr(c, "in")[0 : c.n_in]]
        results = _results(op, op.forward(*inputs))
        for i, r in enumerate(results):
            if not lib.mo_call_output(c, i, number_of(r.dtype), r.ndim, ffi.new("int64_t[]", r.shape or (0,))):
                return False
        _computed[_address(c)] = results
        return True
    except BaseException as exception:
        visit.close()
        failed(Context.of(c.ctx), exception, op.name)
        return False


@ffi.def_extern(onerror=struck)
def door_op_forward(c):
    """Writes the results to the outputs, which the library has made meanwhile."""
    for i, r in enumerate(_computed.pop(_address(c))):
        lib.mo_tensor_write(c.out[i], ffi.cast("void *", r.ctypes.data), r.nbytes)


@ffi.def_extern(onerror=struck)
def door_op_vjp(v):
    """The adjoints of the inputs."""
    op = _ops[_address(v.op)]
    visit = Visit(v.t)
    try:
        with visit as tape:
            bars = tuple(Tensor(p, tape) if p else None for p in v.out_bar[0 : v.n_out])
            outs = tuple(Tensor(p, tape) for p in v.out[0 : v.n_out])
            inputs = [Tensor(p, tape) for p in getattr(v, "in")[0 : v.n_in]]
            found = op.vjp(bars[0], outs[0], *inputs) if op.outputs == 1 else op.vjp(bars, outs, *inputs)
            found = found if isinstance(found, (tuple, list)) else (found,)
            if len(found) != v.n_in:
                raise errors.InvalidError(f"vjp: {len(found)} adjoints of {v.n_in} inputs")
            for i, bar in enumerate(found):
                if v.needs[i] and bar is not None:
                    v.in_bar[i] = input_of(bar, tape, inputs[i])
    except BaseException as exception:
        visit.close()
        failed(visit.tape.context, exception, op.name)
