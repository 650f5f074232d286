"""Are 86,268 solves of 3 x 3, and their gradient, fast on a processor?

Asked: https://github.com/jax-ml/jax/issues/36927
Answer: `solve_spd` takes less than NumPy's `solve`: the matrices of the question are positive definite. Not answered:
`solve`, which also estimates each condition, takes longer than NumPy's and PyTorch's.
"""

import numpy as np

import mochi
from demand import least, tell, torch_now

rng = np.random.default_rng(0)
A, b = rng.normal(size=(182 * 474, 3, 3)).astype("float32"), rng.normal(size=(182 * 474, 3, 1)).astype("float32")
A = A @ A.swapaxes(1, 2) + 1e-2 * np.eye(3, dtype="float32")

ONE = mochi.Context(threads=1)  # as NumPy


def ours(gradient):
    a, c = mochi.parameter(A, context=ONE), mochi.parameter(b, context=ONE)
    with mochi.Tape(context=ONE) as tape:
        X = mochi.ops.solve_spd(a, c)
        return [x.numpy() for x in tape.grad(X.sum(), [a, c])] if gradient else X.numpy()


def peer(torch):
    a, c = torch.tensor(A, requires_grad=True), torch.tensor(b, requires_grad=True)
    solve = lambda: torch.linalg.solve(a, c)  # noqa: E731
    return f"{least(solve):.0f} and {least(lambda: torch.autograd.grad(solve().sum(), (a, c))):.0f} ms"


residual = float(np.abs(A @ ours(False) - b).max())
times = [least(lambda: ours(False)), least(lambda: ours(True)), least(lambda: np.linalg.solve(A, b))]
good = residual < 1e-2 and times[0] < times[2]
tell(
    "A X = B, sooner than NumPy",
    good or f"{residual:.0e} {times}",
    "33 to 87 ms, with gradient 57 to 159 ms, by an update",
    now=", ".join(filter(None, [f"ours {times[0]:.0f} and {times[1]:.0f} ms, NumPy {times[2]:.0f}", torch_now(peer)])),
)
