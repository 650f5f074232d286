"""Random numbers that are the same on every device and at any number of threads (Philox4x32-10, Salmon et al. 2011)."""

from __future__ import annotations

from . import checked
from ._library import ffi, lib


class Random:
    """A position in the random numbers of a seed.

    Parameters
    ----------
    seed : int
        Equal seeds give equal numbers.
    stream : int
        One of many sequences of a seed, below 2^48.
    purpose : int
        1000 to 65535 are for callers.
    """

    def __init__(self, seed: int, stream: int = 0, purpose: int = lib.MO_PURPOSE_OWN) -> None:
        seed = checked.whole("Random: seed", seed, 0, 2**64 - 1)
        stream = checked.whole("Random: stream", stream, 0, 2**48 - 1)
        purpose = checked.whole("Random: purpose", purpose, 0, 2**16 - 1)
        self.position = ffi.new("mo_random *", lib.mo_random_at(seed, purpose, stream))

    def __getstate__(self):
        p = self.position
        return p.seed, p.purpose, p.stream, p.index

    def __setstate__(self, state):
        self.position = ffi.new("mo_random *", state)
