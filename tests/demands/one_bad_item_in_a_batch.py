"""If one system of a batch has no solution, do the others survive, and can I tell which failed?

Asked: https://github.com/cvxgrp/diffcp/issues/70
Answer: Yes: `solve_or_nan` and `solve_spd_or_nan` give NaN for that item alone, in X and in gradients, and `solve_check` has
a status for each item. `solve` raises an error that names it. Conic programs, of which the question speaks, are no part of
libmochi.
"""

import numpy as np

import mochi
from demand import tell

A = mochi.parameter(np.stack([np.eye(2), np.ones((2, 2)), 2 * np.eye(2)]))
B = np.ones((3, 2, 1))
with mochi.Tape() as tape:
    X = mochi.ops.solve_or_nan(A, B)
    info = mochi.solve_check(A, B, X).info.numpy()
    (gradient,) = tape.grad((X * X).sum(), [A])
    items = [np.isnan(x).all(axis=(1, 2)).tolist() for x in (X.numpy(), gradient.numpy())]
    exact = np.allclose(X.numpy()[[0, 2], :, 0], [[1, 1], [0.5, 0.5]])
try:
    with mochi.Tape():
        mochi.ops.solve(A, B)
except mochi.NumericalError as error:
    named = "matrix 1 of 3" in str(error)
good = items == [[False, True, False]] * 2 and exact and named and (info != 0).tolist() == [False, True, False]
tell("2 solved, item 1 NaN and named", good or f"{items} {info}", "SolverError for the whole batch")
