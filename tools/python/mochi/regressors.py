"""Ridges of real targets as regressors of scikit-learn; `mochi.sklearn` has them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from . import checked
from .heads import head

MOST_CENTRES = 1024  # rows of a mixture of kernels, each of which is a column of its system
CLIP = 4  # standard deviations, as of the columns of graphs (train/features/target_columns.c)
BLOCK = 4096  # rows that are predicted at once


class _OfTargets(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """A head of real targets, on standardised columns; a constant column has no weight.

    Attributes
    ----------
    n_features_in_ : int
        d.
    """

    _name: str
    lam: float

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        """Fits the regressor.

        Parameters
        ----------
        X : array_like
            Rows [n, d].
        y : array_like
            Targets [n] or [n, m].
        sample_weight : array_like
            Weights of the rows [n], 0 or more: a row of weight 2 counts as two rows.
        """
        lam = checked.real(f"{type(self).__name__}: lam", self.lam, 1e-300)
        X, y = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True, ensure_min_samples=self._least)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        Y = np.asarray(y, np.float64).reshape(len(X), -1)
        kept, at = np.unique(np.hstack([X, Y])[weight > 0], axis=0, return_inverse=True)  # copies are left out together
        weight = np.bincount(at.ravel(), weight[weight > 0])
        X, Y = kept[:, : X.shape[1]], kept[:, X.shape[1] :]
        mean = np.average(X, 0, weight)
        spread = np.sqrt(np.average((X - mean) ** 2, 0, weight))
        spread = np.where(spread > 1e-12 * np.maximum(1, abs(mean)), spread, np.inf)
        self._several = y.ndim > 1
        self._take(X, Y, weight, mean, spread, lam)
        return self

    _least = 1


class _Linear(_OfTargets):
    """A head that is linear in the rows.

    Attributes
    ----------
    coef_, intercept_ : numpy.ndarray or float
        W [d] or, for several targets, [m, d]; b, a number or [m].
    """

    coef_: Any
    intercept_: Any

    def _take(self, X, Y, weight, mean, spread, lam):
        center = np.average(Y, 0, weight)
        fitted = head(self._name).fitted((X - mean) / spread, Y - center, weight=weight, targets=True, lam=lam)
        unit = np.concatenate([np.zeros((1, X.shape[1])), np.eye(X.shape[1])])
        told = fitted(unit)
        W = (told[1:] - told[0]) / spread[:, None]
        b = center + told[0] - mean @ W
        self.coef_, self.intercept_ = (W.T, b) if self._several else (W[:, 0], float(b[0]))

    def predict(self, X: Any) -> np.ndarray:
        """Predictions [n] or [n, m]."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return X @ self.coef_.T + self.intercept_


class RidgeRegressor(_Linear):
    """Ridge regression on standardised columns, the intercept not penalised: the head "ridge_intercept" of real targets.

    Parameters
    ----------
    lam : float
        The penalty, above 0.

    Source: models/heads/ridge.c

    Examples
    --------
    >>> import mochi.sklearn
    >>> X = np.arange(12.0).reshape(6, 2) ** 2
    >>> mochi.sklearn.RidgeRegressor(lam=1e-9).fit(X, X @ [2.0, -1.0] + 5).predict([[1.0, 1.0]]).round(3)
    array([6.])
    """

    _name = "ridge_intercept"

    def __init__(self, lam: float = 1.0):
        self.lam = lam


class RidgeRegressorCV(_Linear):
    """Ridges of five penalties, lam / 100 to 100 lam, mixed by the density of left-out targets in closed form: the head
    "mixture" of real targets.

    Parameters
    ----------
    lam : float
        The middle penalty, above 0.

    Source: models/heads/mixture_targets.c

    Examples
    --------
    >>> import mochi.sklearn
    >>> X = np.random.default_rng(0).normal(size=(30, 3))
    >>> y = X @ [2.0, -1.0, 0.0] + 5
    >>> mochi.sklearn.RidgeRegressorCV().fit(X, y).score(X, y) > 0.999
    True
    """

    _name = "mixture"

    def __init__(self, lam: float = 1.0):
        self.lam = lam


class KernelMixtureRegressor(_OfTargets):
    """Gaussian processes of three kernels and five noises, mixed by the density of left-out targets in closed form, with
    intervals: the head "mixture" of real targets.

    The kernels of rows x, y, standardised, of 4 standard deviations at most, with p columns that vary, are 1 + <x, y> / p,
    1 + exp(-|x - y|^2 / (2 p)) and their mean.
    More than 1,024 different rows are fitted by that many, evenly spaced in the order of their targets (Nystroem).

    Parameters
    ----------
    lam : float
        The middle noise, in units of the kernels: lam / 100 to 100 lam are mixed.

    Source: models/heads/mixture_targets.c

    Examples
    --------
    >>> import mochi.sklearn
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.sin(X[:, 0]) + X[:, 1]
    >>> fit = mochi.sklearn.KernelMixtureRegressor().fit(X[:40], y[:40])
    >>> low, high = fit.predict_interval(X[40:], 0.9).T
    >>> fit.score(X[40:], y[40:]) > 0.9, 14 <= np.sum((low <= y[40:]) & (y[40:] <= high)).item()
    (True, True)
    """

    _name, _least = "mixture", 2

    def __init__(self, lam: float = 0.3):
        self.lam = lam

    def _take(self, X, Y, weight, mean, spread, lam):
        self._place = mean, spread, max(1, np.isfinite(spread).sum())
        Z, at = self._placed(X), None
        if len(Z) > MOST_CENTRES:
            at = np.sort(np.argsort(Y[:, 0], kind="stable")[np.linspace(0, len(Z) - 1, MOST_CENTRES).astype(np.int64)])
        self._centres = Z if at is None else Z[at]
        Y = np.where(np.ptp(Y, 0) > 1e-12 * abs(Y).max(0), Y, Y[:1])  # a target that varies by rounding is constant
        self.fitted_ = head(self._name).fitted(Z, Y, weight, targets=True, kernels=self._kernels(Z), centres=at, lam=lam)
        Y, self._weight = (Y, weight) if at is None else (Y[at], weight[at])
        off, unit = abs(Y - self.fitted_["left out"]), self.fitted_["left spread"]
        self._score = np.divide(off, unit, out=np.zeros_like(off), where=unit > 0)

    def _placed(self, X):
        mean, spread, p = self._place
        return np.clip((X - mean) / spread, -CLIP, CLIP) / p**0.5

    def _kernels(self, Z):
        """The Gaussian kernel with the centres [1, n, m]."""
        squares = (Z**2).sum(1)[:, None] + (self._centres**2).sum(1) - 2 * Z @ self._centres.T
        return 1 + np.exp(-np.maximum(squares, 0) / 2)[None]

    def _of(self, X, function):
        """function(rows, their kernels), for a block of rows at a time."""
        check_is_fitted(self)
        Z = self._placed(validate_data(self, X, dtype=np.float64, reset=False))
        blocks = [Z[i : i + BLOCK] for i in range(0, len(Z), BLOCK)]
        found = np.concatenate([function(rows, self._kernels(rows)) for rows in blocks])
        return found if self._several else found[:, 0]

    def predict(self, X: Any) -> np.ndarray:
        """Predictions [n] or [n, m]."""
        return self._of(X, lambda Z, K: self.fitted_(Z, K))

    def predict_interval(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """Low and high [n, 2] or [n, m, 2], between which a row's target lies with probability `coverage`.

        From the errors of rows left out in turn, each in units of its predicted standard deviation; NaN with fewer than
        coverage / (1 - coverage) rows.
        """
        share = checked.real("predict_interval: coverage", coverage, 0, 1)
        spread = self._of(X, lambda Z, K: self.fitted_.spread(Z, K, np.full((1, len(Z)), 2.0)))
        times, rank = np.full(self._score.shape[1], np.nan), np.ceil((self._weight.sum() + 1) * share - 1e-9)
        for j, score in enumerate(self._score.T):
            order = np.argsort(score)
            reached = np.cumsum(self._weight[order]) >= rank
            times[j] = score[order][reached][0] if reached.any() else np.nan
        half = spread * (times if self._several else times[0])
        return np.stack([self.predict(X) - half, self.predict(X) + half], -1)
