"""The extension with the library: `ffi` and `lib`, on the kernels that this processor runs best.

A portable wheel has kernels for x86-64-v2, v3 and v4, and this module chooses the best; a wheel built on this machine has its
own. MOCHI_KERNELS (v2, v3, v4) overrides the choice. BLAS must know its core before it is loaded.
"""

import contextlib
import importlib
import importlib.util
import os
import pathlib
import re

# What a level of x86-64 adds to the one below, as /proc/cpuinfo names it.
LEVELS = {
    "v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
    "v3": {"avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"},
    "v2": {"sse4_1", "sse4_2", "ssse3", "popcnt", "cx16"},
}
CORE = "OPENBLAS_CORETYPE"


def processor():
    """(instruction sets, vendor, family) of this machine's processor; empty if the system does not provide them."""
    told: dict[str, str] = {}
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as file:
        first = file.read().partition("\n\n")[0]
        told = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in first.splitlines())}
    return set(told.get("flags", "").split()), told.get("vendor_id", ""), int(told.get("cpu family", 0))


def better():
    """The core to ask OpenBLAS for, by the table that the program has too (tools/cores.h); None: OpenBLAS's own choice."""
    flags, vendor, family = processor()
    table = (pathlib.Path(__file__).parent / "cores.h").read_text()
    for core, maker, generation, needed in re.findall(r'^ *\{"(\w+)", "(\w+)", (\d+), "([^"]*)"\},', table, re.MULTILINE):
        if vendor == maker and int(generation) in (0, family) and flags >= set(needed.split()):
            return str(core)
    return None


def _extension():
    """The name of the module to load."""
    asked = os.environ.get("MOCHI_KERNELS")
    flags = processor()[0]
    for level, needed in LEVELS.items():
        name = f"mochi._kernels_{level}"
        if (asked == level or (asked is None and needed <= flags)) and importlib.util.find_spec(name):
            return name
    return "mochi._native"


def _load():
    """Loads the extension with that core, unless the user has chosen one; no other library sees the choice.

    NumPy must not be loaded first: if both use one OpenBLAS (Debian's), the library can guard its allocator only if it is loaded
    before (tensor/cpu/fast/blas_guard.c).
    """
    core = better() if CORE not in os.environ else None
    if core:
        os.environ[CORE] = core
    try:
        return importlib.import_module(EXTENSION)
    finally:
        if core:
            del os.environ[CORE]


EXTENSION = _extension()
_module = _load()
ffi, lib = _module.ffi, _module.lib
__all__ = ["address", "ffi", "lib"]


def address(pointer):
    """The address that a pointer of the library holds."""
    return int(ffi.cast("uintptr_t", pointer))
