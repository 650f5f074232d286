"""Does the function transform `grad` take more memory than the same gradient on a tape?

Asked: https://github.com/pytorch/pytorch/issues/134612
Answer: No: `mochi.grad` is a tape, and backward frees values as it passes them.
"""

import numpy as np

import mochi
from demand import tell

x = np.random.default_rng(0).random((256, 256)).astype("float32")


def h(x):
    for _ in range(10):
        x = mochi.ops.cos(mochi.ops.sin(x))
    return x.sum()


context = mochi.default_context()
peaks = []
for transformed in (True, False):
    context.reset_peaks()
    if transformed:
        mochi.grad(h)(x)
    else:
        a = mochi.parameter(x)
        with mochi.Tape() as tape:
            tape.grad(h(a), [a])[0].numpy()
    peaks.append(context.counters["tape_peak"] / x.nbytes)
tell("equal", peaks[0] == peaks[1] or f"{peaks}", "more with torch.func.grad", now=f"peak of {peaks[0]:.1f} arrays for 20 ops")
