"""Ridges of real targets as regressors of scikit-learn; `mochi.sklearn` has them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from . import checked
from .heads import head


class _Linear(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """A head that is linear in the rows, on standardised columns.

    Attributes
    ----------
    coef_, intercept_ : numpy.ndarray or float
        W [d] or, for several targets, [m, d]; b, a number or [m].
    n_features_in_ : int
        d.
    """

    _name: str
    lam: float
    coef_: Any
    intercept_: Any

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
        X, y = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        Y = np.asarray(y, np.float64).reshape(len(X), -1)
        kept, at = np.unique(np.hstack([X, Y])[weight > 0], axis=0, return_inverse=True)  # copies are left out together
        weight = np.bincount(at.ravel(), weight[weight > 0])
        X, Y = kept[:, : X.shape[1]], kept[:, X.shape[1] :]
        mean, center = np.average(X, 0, weight), np.average(Y, 0, weight)
        spread = np.sqrt(np.average((X - mean) ** 2, 0, weight))
        spread = np.where(spread > 1e-12 * np.maximum(1, abs(mean)), spread, np.inf)  # a constant column has no weight
        fitted = head(self._name).fitted((X - mean) / spread, Y - center, weight=weight, targets=True, lam=lam)
        unit = np.concatenate([np.zeros((1, X.shape[1])), np.eye(X.shape[1])])
        told = fitted(unit)
        W = (told[1:] - told[0]) / spread[:, None]
        b = center + told[0] - mean @ W
        self.coef_, self.intercept_ = (W[:, 0], float(b[0])) if y.ndim == 1 else (W.T, b)
        return self

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
    >>> X = np.random.default_rng(0).normal(size=(30, 3))
    >>> y = X @ [2.0, -1.0, 0.0] + 5
    >>> mochi.sklearn.RidgeRegressorCV().fit(X, y).score(X, y) > 0.999
    True
    """

    _name = "mixture"

    def __init__(self, lam: float = 1.0):
        self.lam = lam
