"""Is the gradient of a least-squares loss |A x - B|² in A still right where A has condition 1e11?

Asked: https://github.com/sulcantonin/FastLSQ/pull/7
Answer: Yes, also through x: `least_squares` keeps its factors, and its rule projects residuals instead of subtracting them,
which loses no digits. The gradient of PyTorch 2.15.0 on the same matrix is wrong by more than its own size.
"""

import numpy as np

import mochi
from demand import needs, tell, torch_now

mp = needs("mpmath")
mp.mp.dps = 60
points = np.linspace(0, 1, 40)
A, B = np.vander(points, 16, increasing=True), np.sin(9 * points)[:, None] + 0.01 * np.cos(300 * points)[:, None]
exact_A, exact_B = mp.matrix(A.tolist()), mp.matrix(B.tolist())
x, _ = mp.qr_solve(exact_A, exact_B)
truth = np.array((2 * (exact_A * x - exact_B) * x.T).tolist(), dtype=float)


def error(gradient):
    return np.linalg.norm(gradient - truth) / np.linalg.norm(truth)


a = mochi.parameter(A)
with mochi.Tape() as tape:
    loss = ((a @ mochi.ops.least_squares(a, B) - B) ** 2).sum()
    ours = error(tape.grad(loss, [a])[0].numpy())


def peer(torch):
    a = torch.tensor(A, requires_grad=True)
    X = torch.linalg.lstsq(a, torch.tensor(B), driver="gelsd").solution
    return f"{error(torch.autograd.grad((a @ X - torch.tensor(B)).square().sum(), a)[0].numpy()):.1e}"


tell(
    "relative error below 1e-5",
    ours < 1e-5 or f"error {ours:.1e}",
    "4.3e6 times too large, cosine -0.707",
    now=", ".join(filter(None, [f"ours {ours:.1e}", torch_now(peer)])),
)
