"""The extension with the library: `ffi` and `lib`, on the kernels that this processor runs best.

A portable wheel has kernels for x86-64-v2, v3 and v4, and this module chooses the best; a wheel built on this machine has its
own. MOCHI_KERNELS (v2, v3, v4) overrides the choice.
"""

import contextlib
import importlib
import importlib.util
import os

# What a level of x86-64 adds to the one below, as /proc/cpuinfo names it.
LEVELS = {
    "v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
    "v3": {"avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"},
    "v2": {"sse4_1", "sse4_2", "ssse3", "popcnt", "cx16"},
}


def instructions():
    """The instruction sets of this machine's processor; empty if the system does not tell."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as file:
        for key, _, value in (line.partition(":") for line in file):
            if key.strip() == "flags":
                return set(value.split())
    return set()


def _extension():
    """The name of the module to load."""
    asked = os.environ.get("MOCHI_KERNELS")
    flags = instructions()
    for level, needed in LEVELS.items():
        name = f"mochi._kernels_{level}"
        if (asked == level or (asked is None and needed <= flags)) and importlib.util.find_spec(name):
            return name
    return "mochi._native"


# NumPy must not be loaded first: if both use one OpenBLAS (Debian's), the library can guard its allocator only if it is loaded
# before (tensor/cpu/fast/blas_guard.c).
EXTENSION = _extension()
_module = importlib.import_module(EXTENSION)
ffi, lib = _module.ffi, _module.lib
__all__ = ["address", "ffi", "lib"]


def address(pointer):
    """The address that a pointer of the library holds."""
    return int(ffi.cast("uintptr_t", pointer))
