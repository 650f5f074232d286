"""Can I know the peak of memory of a gradient, and be sure that no later version of my code takes half as much again?

Asked: https://github.com/patrick-kidger/optimistix/issues/218
Answer: `Context.counters` has the peak in bytes, the same at every run, so a test can hold it; a context with that many
bytes runs the gradient, one with half of them refuses. Not answered: no figure before a first run.
"""

import numpy as np

import mochi
from demand import tell

x = np.ones((256, 256))


def peak(context):
    a = mochi.parameter(x, context=context)
    with mochi.Tape(context=context) as tape:
        root = mochi.root(lambda w, a: w * w * w - a, x, [a], batch_axes=2)
        tape.grad(root.sum(), [a])
    return context.counters["bytes_peak"]


first = peak(mochi.Context(threads=1))
same = peak(mochi.Context(threads=1)) == first == peak(mochi.Context(threads=1, memory=first))
try:
    peak(mochi.Context(threads=1, memory=first // 2))
    refused = False
except mochi.OutOfMemoryError:
    refused = True
tell(
    "the same bytes thrice, half refused",
    same and refused or f"{first} {same} {refused}",
    "half as much again after an update",
    now=f"{first / 2**20:.1f} MB",
)
