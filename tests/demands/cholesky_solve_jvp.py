"""Does the forward derivative of `cholesky_solve` see that the factor depends on the input?

Asked: https://github.com/pytorch/pytorch/issues/196694
Answer: Yes: `cholesky_solve` is two `solve_triangular`, whose one rule serves forward and backward. PyTorch 2.15.0 still has
the reported number forward; its backward is right.
"""

import numpy as np

import mochi
from demand import needs, tell, torch_now

mp = needs("mpmath")
mp.mp.dps = 40
CONSTANT, SLOPE = np.array([[[2.0, 0], [0, 3]], [[3, 0], [1, 2]]]), np.array([[[0.0, 0], [1, 0]], [[0, 0], [2, 0]]])
B, W = np.array([[1.0, 2], [-1, 3]]), np.array([[[1.0, 2], [3, 4]], [[2, -1], [4, 3]]])


def exact(t):
    L = [mp.matrix((CONSTANT[i] + 0 * SLOPE[i]).tolist()) + t * mp.matrix(SLOPE[i].tolist()) for i in range(2)]
    X = [mp.inverse(L[i] * L[i].T) * mp.matrix(B.tolist()) for i in range(2)]
    return sum(W[i, j, k] * X[i][j, k] for i in range(2) for j in range(2) for k in range(2))


t = mochi.parameter([[-7.0]], dtype="float64")
with mochi.Tape() as tape:
    y = (mochi.ops.cholesky_solve(CONSTANT + SLOPE * t, B) * W).sum()
    ours = tape.jvp([y], [t], [np.ones((1, 1))])[0].item()


def peer(torch):
    C, S, b, w = (torch.tensor(x) for x in (CONSTANT, SLOPE, B, W))
    at = torch.tensor(-7.0, dtype=torch.float64)
    f = lambda t: (torch.cholesky_solve(b, C + t * S) * w).sum()  # noqa: E731
    return f"{torch.func.jvp(f, (at,), (torch.ones_like(at),))[1].item():.5g}"


tell(float(mp.diff(exact, -7)), ours, -410.222, now=torch_now(peer))
