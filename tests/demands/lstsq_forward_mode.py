"""Has least squares a derivative in forward mode?

Asked: https://github.com/pytorch/pytorch/issues/93982
Answer: Yes: `tape.jvp` of `least_squares`, tall or wide. PyTorch 2.15.0 has it by now, though the question is open.
"""

import numpy as np

import mochi
from demand import needs, tell, torch_now

mp = needs("mpmath")
mp.mp.dps = 40
A, D, B = np.array([[1.0, 2], [3, 1], [0, 4]]), np.array([[1.0, 0], [2, 1], [-1, 1]]), np.array([[1.0], [2], [0]])
a = mochi.parameter(A)
with mochi.Tape() as tape:
    ours = tape.jvp([mochi.ops.least_squares(a, B)], [a], [D])[0].numpy().sum()


def exact(t):
    x, _ = mp.qr_solve(mp.matrix(A.tolist()) + t * mp.matrix(D.tolist()), mp.matrix(B.tolist()))
    return sum(x)


def peer(torch):
    at, along, b = torch.tensor(A), torch.tensor(D), torch.tensor(B)
    return f"{torch.func.jvp(lambda A: torch.linalg.lstsq(A, b).solution, (at,), (along,))[1].sum().item():.5g}"


tell(float(mp.diff(exact, 0)), ours, "RuntimeError of shapes", now=torch_now(peer))
