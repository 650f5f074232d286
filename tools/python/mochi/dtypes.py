"""The library's dtypes and NumPy's."""

import numpy as np

from . import errors
from ._library import lib

NUMPY: dict[int, np.dtype] = {
    lib.MO_F32: np.dtype(np.float32),
    lib.MO_F64: np.dtype(np.float64),
    lib.MO_I32: np.dtype(np.int32),
    lib.MO_I64: np.dtype(np.int64),
    lib.MO_U8: np.dtype(np.uint8),
    lib.MO_F16: np.dtype(np.float16),
}
# By NumPy's dtype, whose name takes NumPy 3 us to make; another byte order is another key.
STORED = {dtype: number for number, dtype in NUMPY.items()}
NAMES = {lib.MO_BF16: "bfloat16", **{number: dtype.name for number, dtype in NUMPY.items()}}
NUMBERS = {name: number for number, name in NAMES.items()}
# What the library stores of other integers: the next wider type that holds all values.
WIDER = {"bool": "uint8", "int8": "int32", "int16": "int32", "uint16": "int32", "uint32": "int64"}


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


def name_of(number):
    """The name of one of the library's dtypes: "float32"."""
    return NAMES[number]
