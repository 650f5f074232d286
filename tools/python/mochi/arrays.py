"""Arrays as tensors and tensors as arrays, without a copy where the memory allows it."""

import numpy as np

from . import checked, errors
from ._library import address, ffi, lib

NUMPY: dict[int, np.dtype] = {
    lib.MO_F32: np.dtype(np.float32),
    lib.MO_F64: np.dtype(np.float64),
    lib.MO_I32: np.dtype(np.int32),
    lib.MO_I64: np.dtype(np.int64),
    lib.MO_U8: np.dtype(np.uint8),
    lib.MO_F16: np.dtype(np.float16),
}
# The library's number of each NumPy dtype. Keys are dtypes, because NumPy takes 3 us to give a dtype's name. The same
# type in another byte order is another key.
STORED = {dtype: number for number, dtype in NUMPY.items()}


class DType(str):
    """The name of a dtype, which is also equal to NumPy's dtype or type of that name; NumPy has no bfloat16."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other):
        if isinstance(other, str):
            return str.__eq__(self, other)
        return isinstance(other, (np.dtype, type)) and np.dtype(other).name == str(self)

    def __ne__(self, other):
        return not self == other


NAMES: dict[int, str] = {lib.MO_BF16: DType("bfloat16"), **{number: DType(dtype.name) for number, dtype in NUMPY.items()}}
NUMBERS = {name: number for number, name in NAMES.items()}
# The type in which the library stores other integers: the next wider one that holds all values.
WIDER = {"bool": "uint8", "int8": "int32", "int16": "int32", "uint16": "int32", "uint32": "int64"}
MAX_AXES = 6
# Objects that must live while the library reads their memory, by the number passed to the library as `state`.
_lent: dict[int, object] = {}
_lent_last = [0]


def number_of(dtype):
    """The library's number of a dtype, given as a name, as NumPy's dtype or type, or as a PyTorch dtype."""
    if isinstance(dtype, np.dtype) and dtype in STORED:
        return STORED[dtype]
    name = dtype if isinstance(dtype, str) else None
    if name is None and dtype is not None:  # NumPy's None is float64
        try:
            name = np.dtype(dtype).name
        except TypeError:
            name = str(dtype).rpartition(".")[2]
    if name not in NUMBERS:
        raise errors.MismatchError(f"dtype {dtype!r}, expected one of {', '.join(NUMBERS)}")
    return NUMBERS[name]


def lend(thing):
    """Keeps a thing alive; returns the number by which binding_done releases it."""
    _lent_last[0] += 1
    _lent[_lent_last[0]] = thing
    return ffi.cast("void *", _lent_last[0])


@ffi.def_extern()
def binding_done(state):
    """The library calls this when it no longer reads lent memory."""
    _lent.pop(address(state), None)


def array_of(value, dtype=None):
    """A NumPy array that shares the memory of an array-like object; `dtype`: for numbers and lists."""
    if isinstance(value, np.ndarray):
        if checked.is_masked(value):
            raise errors.InvalidError("an array with masked entries, expected all values")
        return value
    if hasattr(value, "__dlpack__") and not hasattr(value, "_frame"):
        return np.from_dlpack(value)
    array = np.asarray(value) if hasattr(value, "__array__") or hasattr(value, "__array_interface__") else None
    if array is None:
        try:
            array = np.asarray(memoryview(value))
        except TypeError:
            array = np.asarray(value)
            if dtype is not None and array.dtype.kind in "biuf":
                array = array.astype(dtype)
    if array.dtype.kind not in "biuf":
        raise errors.MismatchError(f"a {type(value).__name__} of {array.dtype}, expected numbers")
    return array


def storable(array):
    """The array itself, or a copy if the library cannot read its memory: other integers, byte orders, strides, unaligned."""
    if array.dtype in STORED and array.flags.c_contiguous and array.flags.aligned:
        return array
    if array.dtype.name in WIDER:
        return array.view(np.uint8) if array.dtype == bool else array.astype(WIDER[array.dtype.name])
    number_of(array.dtype)
    size = array.itemsize
    plain = all(s >= 0 and s % size == 0 for s in array.strides) and array.ctypes.data % size == 0
    return array if plain and array.dtype.isnative else np.array(array, array.dtype.newbyteorder("="), order="C")


def address_of(array):
    """The address of an array's memory; `array.ctypes` would take 3 us."""
    return ffi.from_buffer(array) if array.flags.c_contiguous else array.ctypes.data


def wrapped(context, array):
    """A tensor outside any tape that shares an array's memory; the array lives until the library is done with it."""
    array = storable(array)
    if array.ndim > MAX_AXES:
        raise errors.InvalidError(f"an array of {array.ndim} axes, expected {MAX_AXES} at most")
    view, size = ffi.new("mo_view *"), array.itemsize
    view.data, view.dtype, view.ndim = ffi.cast("void *", address_of(array)), number_of(array.dtype), array.ndim
    for i, (n, stride) in enumerate(zip(array.shape, array.strides, strict=True)):
        view.shape[i], view.stride[i] = n, stride // size
    return wrap(context, view, array)


def wrap(context, view, owner):
    """A tensor outside any tape that shares a view's memory; its owner lives until the library is done with it."""
    state = lend(owner)
    tensor = lib.gate_mo_tensor_wrap(context._gate, context._pointer, view, lib.binding_done, state)
    if not tensor:
        failure = lib.binding_failed()
        binding_done(state)
        lib.binding_put_failure(failure)
        context._fail()
    return tensor


def uploaded(context, array):
    """A tensor of no tape on the context's device with the values of an array."""
    array = np.asarray(storable(array), order="C")
    shape, host = ffi.new("int64_t[]", array.shape or (0,)), ffi.cast("void *", address_of(array))
    return context.call(lib.gate_mo_tensor_create_from, context._pointer, number_of(array.dtype), array.ndim, shape, host)


def placed(context, array):
    """A tensor outside any tape with an array's values: sharing its memory, or on a GPU a copy."""
    return (wrapped if context.device == "cpu" else uploaded)(context, array)


def copied(tape, array):
    """A constant of the tape with the values of an array."""
    array = np.asarray(storable(array), order="C")
    shape = ffi.new("int64_t[]", array.shape or (0,))
    host = ffi.cast("void *", address_of(array))
    tensor = lib.gate_mo_from(tape._gate, tape._pointer, number_of(array.dtype), array.ndim, shape, host)
    return tensor or tape._fail()


class Export:
    """A tensor's memory for `np.asarray`: read-only, and kept until the last array that shares it is gone."""

    def __init__(self, tensor):
        if tensor.context.device != "cpu":
            raise errors.UnsupportedError("the tensor is on a GPU: copy it by numpy(), or take it by DLPack")
        view = tensor.context.call(lib.gate_mo_tensor_view, tensor._live())
        if view.dtype not in NUMPY:
            raise errors.UnsupportedError("NumPy has no bfloat16: cast to float32 first")
        dtype = NUMPY[view.dtype]
        shape = tuple(view.shape[0 : view.ndim])
        self.owner = tensor._lent()
        self.__array_interface__ = {
            "version": 3,
            "data": (address(view.data), True),
            "typestr": dtype.str,
            "shape": shape,
            "strides": tuple(s * dtype.itemsize for s in view.stride[0 : view.ndim]),
        }


def copy_of(tensor):
    """An array with a tensor's values."""
    number = lib.mo_tensor_dtype(tensor._live())
    if number not in NUMPY:
        raise errors.UnsupportedError("NumPy has no bfloat16: cast to float32 first")
    array = np.empty(tensor.shape, NUMPY[number])
    tensor.context.call(lib.gate_mo_tensor_read, tensor._live(), ffi.cast("void *", address_of(array)), array.nbytes)
    return array
