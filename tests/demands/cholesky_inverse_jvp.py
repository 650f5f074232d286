"""Is the forward derivative of an inverse made from a Cholesky factor right?

Asked: https://github.com/pytorch/pytorch/issues/196682
Answer: Yes, as `cholesky_solve(L, I)`: no rule of its own, so none to get wrong. PyTorch 2.15.0 still has the reported
number.
"""

import numpy as np

import mochi
from demand import needs, tell, torch_now

mp = needs("mpmath")
mp.mp.dps = 40
CONSTANT, SLOPE = np.array([[1.0, 0], [1, 2]]), np.array([[1.0, 0], [0, 0]])


def exact(t):
    inverse = mp.inverse(mp.matrix([[1 + t, 0], [1, 2]]) * mp.matrix([[1 + t, 1], [0, 2]]))
    return sum(inverse)


t = mochi.parameter([[0.7]], dtype="float64")
with mochi.Tape() as tape:
    y = mochi.ops.cholesky_solve(CONSTANT + SLOPE * t, np.eye(2)).sum()
    ours = tape.jvp([y], [t], [np.ones((1, 1))])[0].item()


def peer(torch):
    C, S, at = torch.tensor(CONSTANT), torch.tensor(SLOPE), torch.tensor(0.7, dtype=torch.float64)
    f = lambda t: torch.cholesky_inverse(C + t * S).sum()  # noqa: E731
    return f"{torch.func.jvp(f, (at,), (torch.ones_like(at),))[1].item():.5g}"


tell(float(mp.diff(exact, mp.mpf(7) / 10)), ours, -0.498827, now=torch_now(peer))
