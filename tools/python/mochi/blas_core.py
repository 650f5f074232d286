"""The kernels of OpenBLAS, chosen as the program chooses them, before the library is loaded."""

import contextlib
import os

VARIABLE = "OPENBLAS_CORETYPE"
AVX512 = {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"}


def processor():
    """(instruction sets, vendor, family) of this machine's processor; empty where the system does not tell."""
    flags: set[str] = set()
    vendor, family = "", 0
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                key, _, value = (part.strip() for part in line.partition(":"))
                if not key:
                    break
                flags = set(value.split()) if key == "flags" else flags
                vendor = value if key == "vendor_id" else vendor
                family = int(value) if key == "cpu family" else family
    except OSError:
        pass
    return flags, vendor, family


def better():
    """The core to ask of OpenBLAS; None: its own choice."""
    flags, vendor, family = processor()
    if not flags >= AVX512:
        return None
    # Zen 4 runs AVX-512 in two halves, 5% slower than AVX2; OpenBLAS 0.3.21 takes AVX2 on newer processors of Intel.
    return "HASWELL" if vendor == "AuthenticAMD" and family == 0x19 else "SKYLAKEX"


@contextlib.contextmanager
def chosen():
    """The time in which the library is loaded under that choice, unless the user has made one; no other library sees it.

    NumPy is not loaded first: where both use one OpenBLAS (Debian's), the library guards its allocator only if it is there
    before (tensor/cpu/fast/blas_guard.c).
    """
    core = better() if VARIABLE not in os.environ else None
    if core:
        os.environ[VARIABLE] = core
    try:
        yield
    finally:
        if core:
            del os.environ[VARIABLE]
