"""Reverse-mode automatic differentiation through solvers: the Python door of libmochi.

>>> import mochi, numpy as np
>>> W = mochi.parameter(np.ones((2, 3)))
>>> with mochi.Tape() as tape:
...     loss = (W * W).sum()
>>> tape.grad(loss, [W])[0].numpy()
array([[2., 2., 2.],
       [2., 2., 2.]])
"""

from . import blas_core as _blas_core  # before anything that loads the library

_blas_core.load()

from . import ops
from ._library import ffi as _ffi
from ._library import lib as _lib
from .context import Context, default_context, device_describe, set_default_context
from .errors import (
    BusyError,
    Error,
    FileError,
    ForkError,
    FormatError,
    InvalidError,
    MismatchError,
    NumericalError,
    OutOfMemoryError,
    StateError,
    UnsupportedError,
)
from .operators import attach as _attach
from .tape import Tape, current_tape
from .tensor import Tensor, constant, parameter

_attach()
__version__ = _ffi.string(_lib.door_version()).decode()

__all__ = [
    "BusyError",
    "Context",
    "Error",
    "FileError",
    "ForkError",
    "FormatError",
    "InvalidError",
    "MismatchError",
    "NumericalError",
    "OutOfMemoryError",
    "StateError",
    "Tape",
    "Tensor",
    "UnsupportedError",
    "constant",
    "current_tape",
    "default_context",
    "device_describe",
    "ops",
    "parameter",
    "set_default_context",
]
