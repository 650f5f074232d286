"""Singular values and vectors, and least squares of any rank, on matrices of condition 1 to 5e11: gradients against the
truth, of 80 digits for the SVD and rational for least squares. Errors of derivatives are about the condition times the
rounding of float64."""

from fractions import Fraction

import mochi
import numpy as np
import pytest
from mochi import ops

# (m, n) of a Hilbert matrix: the derivatives along cos(i + 2 j) of the sums over j of (j + 1) s_j, of sin(i + 3 j + 1) U_ij
# and of sin(i + 3 j + 2) V_ij, by mpmath's svd_r and central differences of 1e-30; its condition number
TRUTH = {
    (5, 3): (-0.43075855116308173, -69.168832066914446, -3.1207166180196025, 2.7e2),
    (7, 5): (-0.81479112065851632, 6533.8524410126351, 1274.6779014914358, 1.7e5),
    (5, 7): (-0.92740428861262893, -5.5720203364219569, 6.035604864518587, 1.7e5),
    (9, 7): (0.2106584065176472, 2400602.3694488321, -57854.781311984198, 1.2e8),
    (11, 9): (1.2251431717127602, -18039643.971950899, -18105900.337651032, 1.0e11),
}


def hilbert(m, n):
    return np.array([[1.0 / (i + j + 1) for j in range(n)] for i in range(m)])


def waves(f, m, n, i=1, j=2, start=0):
    return np.array([[f(i * a + j * b + start) for b in range(n)] for a in range(m)])


@pytest.mark.parametrize("m, n", TRUTH)
def test_gradients_of_the_svd_are_the_truth(m, n):
    A, k, condition = mochi.parameter(hilbert(m, n)), min(m, n), TRUTH[m, n][3]
    with mochi.Tape() as tape:
        U, s, V = ops.svd(A)
        of_s = (s * np.arange(1.0, k + 1)).sum()
        of_vectors = (U * waves(np.sin, m, k, 1, 3, 1)).sum(), (V * waves(np.sin, n, k, 1, 3, 2)).sum()
        for y, truth in zip((of_s, *of_vectors), TRUTH[m, n], strict=False):
            if y is not of_s and condition > 1e8:
                with pytest.raises(mochi.NumericalError, match="a gradient through U or V was asked for, but singular value"):
                    tape.grad(y, [A], retain=True)
            else:
                (G,) = tape.grad(y, [A], retain=True)
                direction = waves(np.cos, m, n)
                error = abs((G.numpy() * direction).sum() - truth) / (np.linalg.norm(G.numpy()) * np.linalg.norm(direction))
                print(f"{m} x {n}, condition {condition:.1e}: {error:.1e}")
                assert error < 10 * condition * np.finfo(float).eps, (m, n, error)


def rational(x):
    return [[Fraction(float(value)) for value in row] for row in x]


def product(A, B):
    return [[sum(a * b for a, b in zip(row, column, strict=True)) for column in zip(*B, strict=True)] for row in A]


def transposed(A):
    return [list(column) for column in zip(*A, strict=True)]


def added(A, B, scale=1):
    return [[a + scale * b for a, b in zip(*rows, strict=True)] for rows in zip(A, B, strict=True)]


def solved(A, B):
    """A^-1 B by elimination."""
    rows = [[*a, *b] for a, b in zip(A, B, strict=True)]
    for i in range(len(rows)):
        rows[i] = [x / rows[i][i] for x in rows[i]]
        rows = [row if k == i else [x - row[i] * y for x, y in zip(row, rows[i], strict=True)] for k, row in enumerate(rows)]
    return [row[len(A) :] for row in rows]


@pytest.mark.parametrize("m, n", [(3, 1), (5, 3), (7, 5), (9, 7), (11, 9), (9, 9)])
def test_least_squares_and_its_gradient_are_the_truth(m, n):
    """A^T A dX = dA^T (B - A X) + A^T (dB - dA X), in rational numbers."""
    a, b, da, db = hilbert(m, n), waves(np.sin, m, 2), waves(np.cos, m, n), waves(np.cos, m, 2, 3, 1)
    A, B, dA, dB = map(rational, (a, b, da, db))
    At = transposed(A)
    X = solved(product(At, A), product(At, B))
    R = added(B, product(A, X), -1)
    right = added(product(transposed(dA), R), product(At, added(dB, product(dA, X), -1)))
    truth, dX = np.array(X, float), np.array(solved(product(At, A), right), float)
    P, Q = mochi.parameter(a), mochi.parameter(b)
    X_bar = dX / np.linalg.norm(dX)
    with mochi.Tape() as tape:
        X = ops.least_squares(P, Q)
        grads = [G.numpy() for G in tape.grad((X * X_bar).sum(), [P, Q])]
    condition = np.linalg.cond(a)
    # the condition of the problem is that of A and, times the share of B outside the range, its square
    bound = 100 * np.finfo(float).eps * condition
    assert np.linalg.norm(X.numpy() - truth) <= bound * np.linalg.norm(truth) * max(1, outside(a, b, truth))
    error = abs((grads[0] * da).sum() + (grads[1] * db).sum() - (X_bar * dX).sum()) / np.linalg.norm(dX)
    print(f"{m} x {n}, condition {condition:.1e}: relative error of the derivative {error:.1e}")
    assert error <= bound


def outside(a, b, x):
    """|residual| / (|A| |X|) times the condition: how much the square of the condition counts."""
    return np.linalg.cond(a) * np.linalg.norm(b - a @ x) / (np.linalg.norm(a, 2) * np.linalg.norm(x))


def test_compositions_are_numpys():
    rng = np.random.default_rng(3)
    A, B = rng.normal(size=(2, 6, 2)) @ rng.normal(size=(2, 2, 4)), rng.normal(size=(6, 3))
    with mochi.Tape():
        U, s, V = ops.svd(A)
        nearest = ops.matmul(U[:, :, :1] * s[:, None, :1], V[:, :, :1].mT)
        for i in range(2):
            u, values, v = np.linalg.svd(A[i], full_matrices=False)
            np.testing.assert_allclose(s.numpy()[i], values, atol=1e-14)
            np.testing.assert_allclose(nearest.numpy()[i], values[0] * np.outer(u[:, 0], v[0]), atol=1e-13)
            np.testing.assert_allclose(ops.least_squares(A, B).numpy()[i], np.linalg.lstsq(A[i], B, rcond=None)[0], atol=1e-13)
        for M in (A, A.swapaxes(1, 2)):
            pinv = ops.least_squares(M, ops.eye(M.shape[1]))
            np.testing.assert_allclose(pinv.numpy(), np.linalg.pinv(M), atol=1e-13)


def test_a_rank_that_is_held_has_gradients_of_every_order():
    rng = np.random.default_rng(4)
    L, R, B = rng.normal(size=(5, 2)), rng.normal(size=(2, 4)), rng.normal(size=(5, 1))
    check = mochi.gradcheck(lambda L, R, B: ops.square(ops.least_squares(L @ R, B)).sum(), [L, R, B], order=2)
    assert check, check.worst


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_wrong_inputs_are_named(bad):
    A = np.ones((2, 3, 2))
    A[1, 0, 0] = bad
    with mochi.Tape():
        for op in (lambda: ops.svd(A), lambda: ops.least_squares(A, np.ones((3, 1)))):
            with pytest.raises(mochi.NumericalError, match="matrix 1 of 2 holds a value that is not finite"):
                op()
        with pytest.raises(mochi.InvalidError, match="as many rows"):
            ops.least_squares(np.ones((3, 2)), np.ones((2, 1)))
        for rcond in (1.0, np.nan):
            with pytest.raises(mochi.InvalidError, match="expected less than 1"):
                ops.least_squares(np.ones((3, 2)), np.ones((3, 1)), rcond)
        assert [x.shape for x in ops.svd(np.ones((0, 3)))] == [(0, 0), (0,), (3, 0)]
