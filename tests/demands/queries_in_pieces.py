"""When memory is short, can queries be predicted in pieces with the same answers?

Asked: https://github.com/PriorLabs/TabPFN/issues/125
Answer: Yes: a fitted head keeps no query, so you may cut anywhere. `Context(memory=..)` bounds what arrays take; what would
exceed it is an error that a program can catch and answer with smaller pieces, as here.
"""

import numpy as np

import mochi
from demand import tell

rng = np.random.default_rng(0)
Zs, Ys, Zq = rng.normal(size=(64, 64)), np.eye(4)[np.arange(64) % 4], rng.normal(size=(40_000, 64))
free = mochi.head("ridge").fitted(Zs, Ys)(Zq).argmax(1)
with mochi.Context(memory=12_000_000) as small:
    fitted, size, pieces = mochi.head("ridge").fitted(Zs, Ys), len(Zq), []
    while sum(map(len, pieces)) < len(Zq):
        first = sum(map(len, pieces))
        try:
            pieces.append(fitted(Zq[first : first + size]).argmax(1))
        except mochi.OutOfMemoryError:
            size //= 2
assert len(pieces) > 1, "the bound was not felt"
tell("0 of 40000 differ", f"{(np.concatenate(pieces) != free).sum()} of 40000 differ", "CUDA out of memory")
