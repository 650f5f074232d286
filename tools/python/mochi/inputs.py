"""Converts an op's arguments (tensors, arrays, numbers, axes, shapes, names) for the library."""

import numpy as np

from . import arrays, checked, errors
from ._library import ffi, lib
from .arrays import number_of as dtype_of
from .tape import current_tape
from .tensor import Tensor

# The names of enums, in their order.
CHOICES = {"mo_triangle": ("lower", "lower_transposed", "upper", "upper_transposed"), "mo_intercept": ("none", "free")}


def tape_of(*inputs):
    """The tape of the first input that has one; else the one that is open."""
    for x in inputs:
        try:
            if x._tape is not None:
                return x._tape
        except AttributeError:
            continue
    return current_tape()


def input_of(x, tape, like):
    """The pointer of a tensor, or of a constant made from an array or a number in the dtype of `like`."""
    try:
        if x._frame.alive:
            if x._tape is None and x.context.forked:
                raise errors.ForkError("the tensor belongs to the process that this one was forked from; make it anew here")
            return x._pointer
    except AttributeError:
        return constant_on(tape, x, real_of(like))
    x._gone()


def real_of(like):
    """The dtype for numbers combined with `like`: its own, or float32."""
    if isinstance(like, Tensor):
        name = like.dtype
        return name if name in ("float32", "float64") else "float32"
    if isinstance(like, np.ndarray) and like.dtype in ("float32", "float64"):
        return like.dtype
    return "float32"


def constant_on(tape, x, dtype):
    """A constant of the tape with a copy of the values; numbers and lists in that dtype."""
    if isinstance(x, (int, float)):
        return lib.gate_mo_scalar(tape._gate, tape._pointer, dtype_of(dtype or "float32"), x) or tape._fail()
    if x is None:
        raise errors.InvalidError("an input is None, expected a tensor, an array or a number")
    return arrays.copied(tape, arrays.array_of(x, dtype))


def optional_of(x, tape, like):
    """As `input_of`; None: none."""
    return ffi.NULL if x is None else input_of(x, tape, like)


def index_of(x, tape, like):
    """As `input_of`; lists of integers, and arrays of integers of any width, become int64. A mask is refused."""
    if isinstance(x, Tensor):
        return x._live()
    array = arrays.array_of(x)
    if array.dtype == bool:
        raise errors.InvalidError(f"an index of bool {list(array.shape)}, expected integers: numpy.flatnonzero of a mask")
    if array.dtype == np.uint64 or (not array.size and isinstance(x, (list, tuple))):
        array = checked.indices("an index", array)
    elif array.dtype.kind in "iu":
        array = array.astype(np.int64, copy=False)
    elif not isinstance(x, np.ndarray):
        array = array.astype(real_of(like))
    return arrays.copied(tape, array)


def labels_of(x, tape, like):
    """As `index_of`; False and True are classes 0 and 1."""
    if not isinstance(x, Tensor):
        x = arrays.array_of(x)
        x = x.astype(np.int64) if x.dtype == bool else x
    return index_of(x, tape, like)


def list_of(xs, tape, null=False):
    """(the pointers of several inputs, their number); null: None is allowed."""
    like = next((x for x in xs if isinstance(x, Tensor)), None)
    of = optional_of if null else input_of
    return ffi.new("mo_tensor *[]", [of(x, tape, like) for x in xs] or [ffi.NULL]), len(xs)


def axes_of(axis):
    """A set of axes for C; None: all; (): none, as in NumPy."""
    if axis is None:
        return ffi.new("mo_axes *", {"bits": 2**32 - 1})[0]
    bits = 0
    for i in (axis,) if isinstance(axis, (int, np.integer)) else axis:
        if not -6 <= i < 6:
            raise errors.InvalidError(f"axis {i}, expected -6 to 5")
        bits |= 1 << (int(i) & 31)
    return ffi.new("mo_axes *", {"bits": bits})[0]


def shape_of(shape):
    """(number of axes, sizes)."""
    sizes = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    return len(sizes), ffi.new("int64_t[]", [int(s) for s in sizes] or [0])


def choice_of(kind, name):
    """The number of a name in that enum; for an intercept also of False and True."""
    return int(name) if isinstance(name, bool) else checked.choice(kind.removeprefix("mo_"), name, CHOICES[kind])


def room(n):
    """Room for n results."""
    return ffi.new("mo_tensor *[]", n)
