"""Do 1,000,000 systems I x = 1 of size 10 have the answer 1, without NaN?

Asked: https://github.com/patrick-kidger/lineax/issues/79
Answer: Yes, exactly, on a processor. The report is of a GPU, which the program tries where there is one.
"""

import numpy as np

import mochi
from demand import tell

count = 0
for device in ("cpu", "cuda"):
    try:
        context = mochi.Context(device=device)
    except mochi.Error:
        now = "no GPU here"
        continue
    now = f"also on {device}"
    with mochi.Tape(context=context):
        X = mochi.ops.solve(
            np.broadcast_to(np.eye(10, dtype="float32"), (1_000_000, 10, 10)), np.ones((1_000_000, 10, 1), "float32")
        )
        count += int((X.numpy() != 1).sum())
tell("0 wrong", f"{count} wrong", "NaN", now=now)
