"""A user's code for `mypy --strict` (test_types.py); each assert_type states the type that mypy must infer."""

from typing import Any

import mochi
import numpy as np
from mochi import ops
from numpy.typing import NDArray
from typing_extensions import assert_type

W = mochi.parameter(np.ones((2, 3)), name="W", dtype="float64")
X: NDArray[np.float64] = np.ones((4, 3))
with mochi.Tape() as tape:
    Z = ops.append_ones(W @ W.T)
    loss = ops.solve_spd(ops.add_diag(Z @ Z.T, 1.0), np.ones((2, 1))).sum()
    mean = (2.0 * W**2 - 1).mean(axis=(0, 1), keepdims=True)[0, :1]
    U, R = ops.qr(W.T)
(gradient,) = tape.grad(loss, [W], create_graph=True)
assert_type(Z, mochi.Tensor)
assert_type(loss, mochi.Tensor)
assert_type(mean, mochi.Tensor)
assert_type(U, mochi.Tensor)
assert_type(gradient, mochi.Tensor)
assert_type(gradient.shape, tuple[int, ...])
assert_type(loss.item(), float)
assert_type(W.numpy(), NDArray[Any])
assert_type(ops.softmax(X, axis=0), mochi.Tensor)

adamw = mochi.AdamW([W], lr=0.1)
assert_type(adamw.step([gradient]), float)
assert_type(adamw.steps, int)


def residual(w: mochi.Tensor, a: mochi.Tensor) -> mochi.Tensor:
    """The residual x^2 - a, which is 0 at the square root of a."""
    return w * w - a


assert_type(mochi.root(residual, np.ones(2), [W[0, :2]]), mochi.Tensor)
assert_type(mochi.gradcheck(ops.tanh, [X]).passed, bool)
assert_type(mochi.head("ridge")(X, X, X, lam=1.0), mochi.Tensor)
assert_type(mochi.cosine(0.1, 0.0, 1, 10), float)
cube = mochi.Op(lambda x: x**3, lambda y_bar, y, x: (y_bar * 3.0 * x * x,), name="cube")
assert_type(W.requires_grad, bool)
cora = mochi.graph("cora")
assert_type(cora.nodes, int)
fit = mochi.load("best").few_shot(cora, {0: 1})
assert_type(fit.predict_proba(), NDArray[Any])

ops.softmax(X, axis="rows")  # type: ignore[arg-type]
mochi.Tape(mode=1)  # type: ignore[arg-type]
W.no_such_op()  # type: ignore[attr-defined]
