"""Names and functions that mochi shares with NumPy: of tensors, indices and number formats; and gradients of
functions."""

import mochi
import numpy as np
import pytest
from mochi import ops

rng = np.random.default_rng(0)
X, C, P, Q = rng.normal(size=(4, 3)), rng.normal(size=(2, 3, 4)), rng.uniform(1, 2, (3, 3)), rng.uniform(1, 2, (3, 3))
EXPRESSIONS = [
    "X.min()", "X.min(1)", "X.min(axis=0, keepdims=True)", "X.std(0)", "X.std(axis=1, ddof=1)", "X.prod()", "X.prod(0)",
    "X.prod(axis=1, keepdims=True)", "X.flatten()", "X.reshape(3, 4)", "X.reshape((2, -1))", "X.mT", "X[:, None].squeeze()",
    "X[:, None].squeeze(1)", "np.expand_dims(X, 1)", "X.astype('float32')", "X[::2]", "X[::-1, 1:]", "X[3:0:-2]", "X[:, [0, 2]]",
    "X[:, [True, False, True]]", "X[[-1, 0]]", "X[-1, [0, -1]]", "X[[1, 3], 0]", "X[..., ::2]", "X[:, np.array([2, 2, 0])]",
    "X > 0.1", "X < 0.1", "0.1 > X", "X > X[:, ::-1]", "np.exp(X)", "np.sin(X) + np.cos(X)", "np.log1p(X * X)", "np.sum(X)",
    "np.sum(X, axis=0)", "np.mean(X, 1, keepdims=True)", "np.min(X)", "np.max(X, 0)", "np.std(X, axis=0)", "np.prod(X, 0)",
    "np.maximum(X, -X)", "np.concatenate([X, X])", "np.stack([X, X], 1)", "np.abs(X) ** 2", "np.einsum('ij,kj->ik', X, X)",
    "np.einsum('ij->j', X)", "np.einsum('ij,kj,kl', X, X, X)", "np.einsum('ij,ij->i', X, X)", "np.einsum('ij,k->kji', X, X[0])",
    "np.einsum('ij,ij', X, X)", "np.ones((2, 4)) @ X", "np.float64(2) * X", "np.arange(3.0) - X", "np.arange(3.0) < X",
    "P + Q", "Q + P", "P - Q", "Q - P", "P * Q", "P / Q", "Q / P", "P @ Q", "Q @ P", "P**2", "P**Q", "-P", "P + 1", "1 - P", "2 / P",
    "P**0.5", "2**P", "abs(-P)", "P.sum(axis=0)", "P.mean()", "P.max(axis=(0, 1), keepdims=True)", "P >= Q", "C[0]", "C[-1]", "C[1, 2]",
    "C[1, 2, 3]", "C[0:1]", "C[:, 1]", "C[..., 2]", "C[None, 1]", "C[:, :, 2]", "C[0, ..., 1:3]", "C[[1, 0, 1]]", "C[np.array([0])]",
    "np.isfinite(X)", "np.linalg.norm(X)", "np.array_equal(X, X)", "np.clip(X, -0.5, 0.5)", "np.where(X > 0, X, -X)",
]  # fmt: skip


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_has_numpys_value(expression):
    with mochi.Tape():
        tensors = {"X": mochi.constant(X) * 1.0, "C": mochi.constant(C), "P": mochi.constant(P)}
        found = eval(expression, {"np": np, "Q": Q, **tensors})  # noqa: S307
        expected = eval(expression, {"np": np, "Q": Q, "X": X, "C": C, "P": P})  # noqa: S307
        values = found.numpy() if isinstance(found, mochi.Tensor) else found
    assert np.shape(values) == np.shape(expected)
    np.testing.assert_allclose(values, expected, rtol=1e-6 if "float32" in expression else 1e-13)


def test_compositions_have_derivatives():
    for f in (
        lambda x: x.prod(0), lambda x: x.prod(), lambda x: x.std(1), lambda x: x.min(0), lambda x: x[::2, [0, 2]],
        lambda x: mochi.einsum("ij,kj,kl->il", x, x, x), lambda x: mochi.einsum("ij,ij->j", x, x), np.sin, np.cos, ops.erf,
        lambda x: np.log1p(x * x), lambda x: np.sum(np.exp(x), axis=0),
    ):  # fmt: skip
        assert mochi.gradcheck(f, [X])


def test_functions_of_numpy_that_would_lose_a_gradient_are_refused():
    W = mochi.parameter(X)
    with mochi.Tape():
        with pytest.raises(TypeError, match="np.arctan of a tensor that needs a gradient"):
            np.arctan(W * 1.0)
        assert np.allclose(np.arctan(mochi.constant(X)), np.arctan(X))


def test_indices_that_numpy_would_pair_are_refused():
    Y = mochi.constant(rng.normal(size=(4, 3, 2)))
    with mochi.Tape():
        for index, message in (
            (([0, 1], [0, 1]), "2 lists in an index"), ((0, slice(None), [0, 1]), "side by side"),
            (([-5],), "index -5 of an axis"),
            ((slice(None), [True, False]), r"a mask \[2\]"), ((slice(None), np.zeros((2, 2), int)), "expected one axis"),
        ):  # fmt: skip
            with pytest.raises(IndexError, match=message):
                Y[index]


def test_a_number_is_formatted():
    with mochi.Tape():
        loss = (mochi.constant(X) ** 2).sum()
        assert f"{loss:.3f}" == f"{(X**2).sum():.3f}" and f"{loss}" == repr(loss)


def test_gradients_of_functions():
    def loss(w, x, scale=1.0):
        return ((x @ w - 1.0) ** 2).sum() * scale

    w = np.ones(3)
    value, (gw, gx) = mochi.value_and_grad(lambda w, x: loss(w.reshape(3, 1), x), argnums=(0, 1))(w, X)
    residual = X @ w - 1
    assert float(value) == pytest.approx(residual @ residual)
    np.testing.assert_allclose(gw, 2 * X.T @ residual)
    np.testing.assert_allclose(gx, 2 * np.outer(residual, w))
    np.testing.assert_allclose(mochi.grad(loss)(np.ones((3, 1)), X, scale=2.0)[:, 0], 2 * gw)
    assert float(mochi.grad(mochi.grad(mochi.grad(lambda x: x**4)))(2.0)) == pytest.approx(48)
    with pytest.raises(ValueError, match=r"the function gave \[4, 3\]"):
        mochi.grad(lambda x: x * 2.0)(X)


def test_messages_speak_of_python():
    W = mochi.parameter(X)
    with mochi.Tape() as tape:
        y = (W * W).sum()
        tape.grad(y, [W])
        with pytest.raises(mochi.StateError, match="pass retain=True to it"):
            tape.grad(y, [W])
        with pytest.raises(ValueError, match="axis 2, expected -2 to 1"):
            W.sum(2)
        with pytest.raises(ValueError, match="axis -3, expected -2 to 1"):
            W.sum(-3)
        with pytest.raises(ValueError, match="pass allow_unused=True if you want zeros"):
            tape.grad(ops.sum(mochi.constant(X)), [W])


def test_heads_and_ops_are_freed():
    """As in a notebook, a cell that makes a head runs repeatedly, while a tape still holds a node of the former
    head."""
    import gc
    import weakref

    heads, made = [], []
    for _ in range(200):
        head = mochi.Head("mine", logits=lambda Zs, Ys, Zq: Zq @ Zs.mT @ Ys)
        double = mochi.Op(lambda x: 2 * x, lambda y_bar, y, x: y_bar * 2.0)
        W = mochi.parameter(X)
        with mochi.Tape() as tape:
            y = double(head(W, np.eye(4), X)).sum()
        heads.append(weakref.ref(head))
        made.append(weakref.ref(double))
        del head, double
        assert heads[-1]() and np.isfinite(tape.grad(y, [W])[0].numpy()).all()
        tape.release()
        del y, tape
    gc.collect()
    assert sum(r() is not None for r in heads + made) <= 2
