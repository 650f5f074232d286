"""Gradient checkpointing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._library import ffi, lib
from .inputs import list_of, tape_of
from .tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike


def recompute(f: Callable[..., Tensor], *inputs: ArrayLike) -> Tensor:
    """f(*inputs) by gradient checkpointing: only the result is kept, and backward runs f again.

    Every tensor that needs a gradient is among the inputs.

    Source: ops/recompute.c; Griewank and Walther 2000; Chen et al. 2016
    """
    tape = tape_of(*inputs)
    pointers, n = list_of(inputs, tape)
    state = tape.holds(ffi.new_handle(tape.holds(f)))
    result = lib.gate_mo_recompute(tape.gate, tape.pointer, lib.door_graph_code, pointers, n, state, 0)
    return Tensor(result, tape) if result else tape.fail()
