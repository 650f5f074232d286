"""The extension with the library: `ffi` and `lib`, on the kernels that this processor runs best.

A wheel that travels has kernels for x86-64-v2, v3 and v4, and the best is chosen here; one that was built on this machine
has its own. MOCHI_KERNELS (v2, v3, v4) chooses another. BLAS has to be told its core before it is loaded.
"""

import importlib
import importlib.util
import os

from . import blas_core

# What a level of x86-64 adds to the one below, as /proc/cpuinfo names it.
LEVELS = {
    "v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
    "v3": {"avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"},
    "v2": {"sse4_1", "sse4_2", "ssse3", "popcnt", "cx16"},
}


def _extension():
    """The name of the module to load."""
    asked = os.environ.get("MOCHI_KERNELS")
    flags = blas_core.processor()[0]
    for level, needed in LEVELS.items():
        name = f"mochi._kernels_{level}"
        if (asked == level or (asked is None and needed <= flags)) and importlib.util.find_spec(name):
            return name
    return "mochi._native"


EXTENSION = _extension()
with blas_core.chosen():
    _module = importlib.import_module(EXTENSION)
ffi, lib = _module.ffi, _module.lib
__all__ = ["ffi", "lib"]
