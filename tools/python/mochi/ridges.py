"""Ridges of the same rows at any penalty and without any of the rows, by the smaller of X X^T and X^T X."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from . import ops
from .tape import Tape

ROWS = 4096  # whose squares are held at a time


class Ridges:
    """The ridges of rows X [n, d], dense or sparse, on targets Y [n, C], with a penalised or a free intercept; `parts` are lists of
    rows that are left out together, each row in one part at most.

    Phi = [X | 1] and T = Y or, for a free intercept, X and Y minus their means. With M = Phi^T Phi + lam, and K = Phi Phi^T + lam
    if n <= d, where G = K^-1 (Allen 1974; Golub, Heath and Wahba 1979; J: rows that are left out together):

        n <= d    W = Phi^T G T         logits of J without J: Y_J - (G_JJ)^-1 (G T)_J
        n > d     W = M^-1 Phi^T T      logits of J without J: of (M - Phi_J^T Phi_J)^-1 (Phi^T T - Phi_J^T T_J)

    One eigendecomposition V s V^T of Phi Phi^T or Phi^T Phi gives the logits of every row by a fit without it, at every penalty:
    G_ii or h_i = Phi_i M^-1 Phi_i^T is a sum of squares over s + lam, and in the second case the logits are
    Y_i - (T - Phi W)_i / (1 - h_i), where a free intercept adds 1/n to h_i.
    """

    def __init__(self, X: Any, Y: np.ndarray, free: bool, parts: Sequence[np.ndarray] = ()) -> None:
        (n, d), self.Y, self.free, self.parts = X.shape, Y, free, parts
        self.dual, self.apart = n <= d, 0.0
        self.mean = np.asarray(X.mean(0)).ravel() if free else np.zeros(d)
        self.T = Y - Y.mean(0) if free else Y
        # Dense rows are centred: far from 0, their products minus those of the means would cancel.
        self.X = X - self.mean if free and not sparse.issparse(X) else X
        if not self.dual:
            # The products of all rows are the sum of the parts', which each fit without a part takes off again.
            rest = np.setdiff1d(np.arange(n), np.concatenate([*parts, []]).astype(int))
            self.of_parts = [self._products(rows) for rows in parts]
            self.gram, self.pulled = (sum(products) for products in zip(self._products(rest), *self.of_parts, strict=True))
            return
        K = _dense(self.X @ self.X.T)
        if free:
            of_mean = K.mean(0)
            K = K - of_mean[:, None] - of_mean + of_mean.mean()
            self.apart = np.trace(K) / n + np.finfo(float).tiny  # an eigenvalue for the vector 1, which has 0 in K
        self.gram = K + (self.apart / n if free else 1)

    def _products(self, rows):
        """([X | 1]^T [X | 1], [X | 1]^T Y) of some rows."""
        X, Y, d = self.X[rows], self.Y[rows], self.X.shape[1]
        G = np.empty((d + 1, d + 1))
        G[:d, :d], G[d, :d], G[d, d] = _dense(X.T @ X), np.asarray(X.sum(0)).ravel(), X.shape[0]
        G[:d, d] = G[d, :d]
        return G, np.concatenate([X.T @ Y, Y.sum(0)[None]])

    def _primal(self, M, B, lam):
        penalty = np.full(len(M), float(lam))
        penalty[-1] = 0 if self.free else lam
        return _solve(M + np.diag(penalty), B)

    def _inverse(self, lam):
        """G, without its part along the vector 1 if the intercept is free."""
        n, apart = len(self.Y), self.apart + lam
        G = _solve(self.gram + lam * np.eye(n), np.eye(n))
        return G - 1 / (n * apart) if self.free else G

    def weights(self, lam: float) -> tuple[np.ndarray, np.ndarray]:
        """(W [d, C], b [1, C]) of the fit of all rows: logits = X W + b."""
        if not self.dual:
            W = self._primal(self.gram, self.pulled, lam)
            return W[:-1], W[-1:] if sparse.issparse(self.X) else W[-1:] - self.mean @ W[:-1]
        dual = _solve(self.gram + lam * np.eye(len(self.Y)), self.T)
        W = self.X.T @ dual
        return W, self.Y.mean(0)[None] - self.mean @ W if self.free else dual.sum(0)[None]

    def without(self, lam: float) -> list[np.ndarray]:
        """The logits of the rows of each part by the fit of the rows outside it."""
        if self.dual:
            G = self._inverse(lam)
            dual = G @ self.T
            return [self.Y[rows] - _solve(G[np.ix_(rows, rows)], dual[rows]) for rows in self.parts]
        found = []
        for rows, (gram, pulled) in zip(self.parts, self.of_parts, strict=True):
            W = self._primal(self.gram - gram, self.pulled - pulled, lam)
            found.append(self.X[rows] @ W[:-1] + W[-1])
        return found

    def alone(self, penalties: ArrayLike) -> np.ndarray:
        """Logits [values, C, n] of each row by a fit without it, at each penalty above 0."""
        (n, C), d, lams = self.Y.shape, self.X.shape[1], np.asarray(penalties)[:, None]
        A, shift = self.gram, np.zeros(d)
        if self.free and not self.dual:
            shift = A[d, :d] / n
            A = A[:d, :d] - n * np.outer(shift, shift)
        with Tape(mode="eval"):
            s, V = (x.numpy() for x in ops.eigh(A))
        Z = V if self.dual else self.X @ V - shift @ V if self.free else self.X @ V[:d] + V[d]
        f, found = 1 / (np.maximum(s, 0) + lams), np.empty((len(lams), C, n))
        sides = (f[:, None] * (Z.T @ self.T).T).reshape(-1, len(s))
        for i in range(0, n, ROWS):
            part, T = Z[i : i + ROWS].T, self.T[i : i + ROWS].T
            own, R = f @ (part * part), (sides @ part).reshape(len(lams), C, -1)
            if self.dual:
                own -= self.free / (n * (self.apart + lams))
            else:
                own, R = 1 - own - self.free / n, T - R
            found[:, :, i : i + ROWS] = self.Y[i : i + ROWS].T - R / own[:, None]
        return found


def _solve(A, B):
    with Tape(mode="eval"):
        return ops.solve_spd(A, B).numpy()


def _dense(G):
    return G.toarray() if sparse.issparse(G) else G
