"""The library's heads as classifiers and regressors of scikit-learn.

>>> import mochi.sklearn, numpy as np
>>> Z, y = np.array([[0.0, 1], [0, 2], [1, 0], [2, 0]]), np.array(["up", "up", "right", "right"])
>>> mochi.sklearn.RidgeHead(lam=1.0).fit(Z, y).predict([[3.0, 0]]).tolist()
['right']
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data

from . import checked, errors, ops
from ._library import ffi, lib
from .context import default_context
from .fit import embeddings_of, few_shot_score
from .graphs.sources import is_missing
from .handle import struct
from .heads import FOLLOWED, MOST_COLUMN, head
from .regressors import KernelMixtureRegressor, RidgeRegressor, RidgeRegressorCV
from .ridges import Ridges
from .tape import Tape, idle
from .tensor import constant

MOST_DENSE = 2**31  # if X is sparse: the most bytes of dense rows that a fit may make from it
MOST_KEPT = 2**24  # bytes of rows up to which a fit's tape keeps its memory for the next fit
FOLDS = 5  # of sparse rows, for a temperature
SAME = 1e-6  # cross-entropies that differ by less than this share are equal: a larger penalty can just scale the logits
SVM_SHARE = 0.9  # of the rows' scale: the penalty of a support vector machine that follows it
MANY = 2**20  # numbers in the rows of a logistic fit, from which on it is tried in float32
MOST_FACTORED = 1024  # if X is sparse: the most rows or columns for which a ridge factors a matrix


class _HeadClassifier(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, BaseEstimator):
    """A head as a classifier: fitted once, in float64; its fitted state consists of arrays. As a transformer it gives the logits.

    Attributes
    ----------
    classes_ : numpy.ndarray
        The labels, rising [C]; with several labels per row, their numbers.
    coef_, intercept_ : numpy.ndarray
        W [C, d] and b [C] of the decision function; for two classes [1, d] and [1], as in scikit-learn.
    temperature_ : float
        For the probabilities: 1, or calibrated; with several labels per row an array [L].
    lam_ : float
        Of a ridge, an SVM and the estimators that choose it: the penalty of the fit, if C is not given.
    n_iter_ : numpy.ndarray or None
        Iterations of the fit [1]: conjugate gradients of logistic, passes over the kernel of the SVM; None for a head in closed form.
    n_features_in_ : int
        d.
    """

    # The head's name; or an argument of the estimator, and the head's name for each value of that argument.
    _name: str | tuple[str, dict[str, str]]
    # {a parameter of the head: the estimator's argument that gives its value}
    _parameters: dict[str, str] = {"lam": "lam"}
    _scaling = lib.MO_SCALING_NONE  # applied to the rows before a fit
    _sparse: Any = True  # takes sparse rows
    _several = False  # accepts several labels per row
    class_weight: Any = None
    weights_: Any
    n_iter_: Any = None
    _iterates = False
    _labels: Any = None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._sparse
        tags.classifier_tags.multi_label = self._several
        return tags

    def _head(self):
        """(the name of the head, its parameters by name)."""
        name = self._name if isinstance(self._name, str) else _chosen(self, *self._name)
        found = {parameter: getattr(self, argument) for parameter, argument in self._parameters.items()}
        if getattr(self, "C", None) is not None:
            found["lam"] = 1 / checked.real(f"{type(self).__name__}: C", self.C, 1e-300)
        return name, found

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        """Fits the readout.

        Parameters
        ----------
        X : array_like or sparse matrix
            Embeddings [n, d]. For sparse rows a ridge stores min(n, d)^2 numbers, at most 1,024^2; another head n min(n, d).
        y : array_like
            Labels [n] of any type, of two classes or more. None and NaN are refused; "" and -1 are classes, as everywhere
            in scikit-learn. For ridge and logistic also [n, L] of 0 and 1: several labels per row.
        sample_weight : array_like
            Weights of the rows [n], 0 or more: a row of weight 2 counts as two rows. A calibrated temperature and a chosen
            penalty count each distinct row of a weight above 0 once, in an order that does not depend on that of the rows.
        """
        checked.flag(f"{type(self).__name__}: calibrated", self.calibrated)
        if getattr(self, "centred", None) is not None:
            checked.flag(f"{type(self).__name__}: centred", self.centred)
        _refuse_unlabelled(self, y)
        X, y = validate_data(self, X, y, dtype=np.float64, accept_sparse=self._sparse and "csr", multi_output=self._several)
        weight = sample_weight
        if weight is not None:
            weight = _check_sample_weight(weight, X, dtype=np.float64, ensure_non_negative=True)
        self._labels = None
        if y.ndim > 1 or y.dtype.kind not in "biuUS":  # others are classes; the check would take half of a small fit
            check_classification_targets(y)
            if type_of_target(y) == "multilabel-indicator":
                return self._fit_several(X, np.asarray(y), weight)
            y = column_or_1d(y, warn=True)
        self.classes_, label = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise errors.InvalidError(f"{type(self).__name__}: labels of one class, expected two classes or more")
        if self.class_weight is not None:
            weight = compute_sample_weight(self.class_weight, y) * (1.0 if weight is None else weight)
        Y = np.eye(len(self.classes_))[label]
        if weight is not None and not np.all(weight @ Y > 0):
            lost = self.classes_[np.argmin(weight @ Y)]
            raise errors.InvalidError(f"{type(self).__name__}: the rows of class {lost!r} have no weight; leave them out")
        self._tune(X, label, weight)
        self._fit(X, Y, weight)
        self.temperature_ = self._temperature(X, label, weight) if self.calibrated else 1.0
        return self

    def _fit_several(self, X, Y, weight):
        """Fits each label as a problem of two classes: without it, and with it."""
        if self.class_weight is not None:
            raise errors.InvalidError(f"{type(self).__name__}: class_weight is for one label a row")
        self.classes_ = np.arange(Y.shape[1])
        columns, steps, temperatures = [], [], []
        for label in (Y != 0).astype(int).T:
            self._tune(X, label, weight)
            self._fit(X, np.eye(2)[label], weight)
            columns.append(self.weights_[:, 1:] - self.weights_[:, :1])
            steps.append(self.n_iter_)
            temperatures.append(self._temperature(X, label, weight) if self.calibrated else 1.0)
        self.weights_, self.temperature_, self._labels = np.concatenate(columns, 1), np.array(temperatures), Y.dtype
        self.n_iter_ = np.concatenate(steps) if self._iterates else None
        return self

    def _fit(self, X, Y, weight):
        """Takes the fit, and its number of iterations."""
        before = default_context().counters["fit_steps"] if self._iterates else 0
        self._take(X, Y, weight)
        if self._iterates:
            self.n_iter_ = np.array([default_context().counters["fit_steps"] - before])

    def _tune(self, X, label, weight):
        """Chooses the estimator's penalty, if it was not given."""

    def _take(self, X, Y, weight):
        """Keeps W [d, C] above b: logits = [x | 1] weights_."""
        self.weights_ = np.concatenate(self._fitted(X, Y, weight))

    def _fitted(self, X, Y, weight):
        """(W, b) of the head. Sparse rows X are replaced by R with X = R Q^T, Q orthonormal: every head here is equivariant to
        such a rotation."""
        if not sparse.issparse(X):
            return _fit_dense(self._head(), X, Y, weight)
        n, d = X.shape
        if 8 * n * min(n, d) > MOST_DENSE:
            raise errors.InvalidError(
                f"{type(self).__name__}: sparse rows [{n}, {d}] take {n} x {min(n, d)} dense numbers; RidgeHead takes less"
            )
        if n > d:
            return _fit_dense(self._head(), X.toarray(), Y, weight)
        U, size = _rotated(X)
        W, b = _fit_dense(self._head(), U * size, Y, weight)
        return X.T @ ((U / size) @ W), b

    def _of_rows(self, X):
        W = self.weights_.astype(X.dtype, copy=False)
        return X @ W[:-1] + W[-1]

    def _temperature(self, X, label, weight):
        if self._by_folds(X):
            return self._temperature_of_folds(X, label, weight)
        return self._readout(X, label, weight).temperature

    def _by_folds(self, X):
        """Whether the temperature comes from refits without each fold: X is too large for what a readout holds."""
        return sparse.issparse(X) and 8 * X.shape[0] * min(X.shape) > MOST_DENSE

    def _temperature_of_folds(self, X, label, weight):
        """The temperature for rows that are too many to be dense: each fold is predicted by a fit of the others."""
        kept = _distinct(X, label, weight)
        X, label = X[kept], label[kept]
        Y = np.eye(label.max() + 1)[label]

        def without(rows):
            others = np.setdiff1d(np.arange(len(label)), rows)
            W, b = self._fitted(X[others], Y[others], None)
            return X[rows] @ W + b

        parts = _folds(label)
        return _temperature_of(label, parts, [without(rows) for rows in parts])

    def _readout(self, X, label, weight, tune=False):
        """The readout of `mochi fit` on the distinct rows: its temperature, and the regularisation it chooses."""
        kept = _distinct(X, label, weight)
        X, label = X[kept], label[kept]
        if sparse.issparse(X):
            X = np.multiply(*_rotated(X)) if X.shape[0] <= X.shape[1] else X.toarray()
        name, parameters = self._head()
        context, readout = default_context(), ffi.new("mo_row_readout *")
        chosen = head(name).at(**parameters)
        candidate = struct("mo_candidate", head=chosen._pointer, scaling=self._scaling)[0]
        with embeddings_of(context, X, label.astype(np.int64), name) as E:
            try:
                context.call(lib.gate_mo_row_readout_fit, E._live(), candidate, ffi.NULL, tune, readout)
                return ffi.new("mo_row_readout *", readout[0])  # its numbers; what it points to is released
            finally:
                context.call(lib.gate_mo_row_readout_release, readout)

    @property
    def coef_(self) -> np.ndarray:
        """W [C, d], or [1, d] for two classes."""
        return self._decision_weights()[:-1].T

    @property
    def intercept_(self) -> np.ndarray:
        """b [C], or [1] for two classes."""
        return self._decision_weights()[-1]

    def _decision_weights(self):
        if not hasattr(self, "weights_"):
            raise AttributeError(f"{type(self).__name__} is not fitted, or not linear: it has no coef_ and intercept_")
        two = self._labels is None and len(self.classes_) == 2
        return self.weights_[:, 1:] - self.weights_[:, :1] if two else self.weights_

    def logits(self, X: Any) -> np.ndarray:
        """Logits of the classes [n, C], up to a constant per row, float32 for rows of float32, else float64; with several labels per
        row, logits of each label."""
        check_is_fitted(self)
        return self._of_rows(validate_data(self, X, dtype=[np.float64, np.float32], reset=False, accept_sparse=self._sparse and "csr"))

    transform = logits

    @property
    def _n_features_out(self):
        return len(self.classes_)

    def decision_function(self, X: Any) -> np.ndarray:
        """Logits [n, C]; for two classes the second's minus the first's, [n], as in scikit-learn."""
        logits = self.logits(X)
        return logits if self._labels is not None or len(self.classes_) > 2 else logits[:, 1] - logits[:, 0]

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithms of `predict_proba`, without its underflow."""
        scaled = self.logits(X) / self.temperature_
        if self._labels is not None:
            return -np.logaddexp(0, -scaled)
        return scaled - np.logaddexp.reduce(scaled, 1)[:, None]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities softmax(logits / temperature_), [n, C]; with several labels per row, each label's probability."""
        found = np.exp(self.predict_log_proba(X))
        return found if self._labels is not None else found / found.sum(1, keepdims=True)

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row, [n]; with several labels per row, 0 and 1, [n, L]."""
        logits = self.logits(X)
        return self.classes_[np.argmax(logits, 1)] if self._labels is None else (logits > 0).astype(self._labels)


class RidgeHead(_HeadClassifier):
    """Ridge regression on one-hot labels.

    Parameters
    ----------
    lam : float
        The penalty, 0 or more: scikit-learn's alpha. None: it follows the scale of the rows, lam = 0.3 sum_j min(s_j, 100 s),
        where s_j is the variance of column j and s the (lower) median of those above 0: 0.3 times a row's mean squared distance
        to the mean row, in which no column counts more than 100 times the median one. For rows of norm 10 whose mean row has norm
        7 it is 15; for the same rows at norm 1, 0.15. If no column varies, 10.
    intercept : str
        "penalised", as the other weights; or "free".
    calibrated : bool
        Fit a temperature of the probabilities to held-out rows of the training set, in closed form.
    class_weight : dict or "balanced"
        Weights of the classes; "balanced": inverse to their rows.

    Source: models/heads/ridge.c

    Examples
    --------
    >>> Z, y = np.array([[0.0, 1], [0, 2], [1, 0], [2, 0]]), [1, 1, 0, 0]
    >>> RidgeHead(lam=1.0).fit(Z, y).coef_.shape
    (1, 2)
    """

    _name = "intercept", {"penalised": "ridge", "free": "ridge_intercept"}
    _parameters = {"lam": "lam_"}
    _several = True
    _ridges: Any = None
    lam_: float

    def __init__(
        self, lam: float | None = None, intercept: str = "penalised", calibrated: bool = True, class_weight: Any = None
    ):
        self.lam = lam
        self.intercept = intercept
        self.calibrated = calibrated
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        try:
            return super().fit(X, y, sample_weight)
        finally:
            self._ridges = None

    fit.__doc__ = _HeadClassifier.fit.__doc__

    def _tune(self, X, label, weight):
        self._tune_to(X, label, weight, _penalty(X, weight) if self.lam is None else self.lam)

    def _tune_to(self, X, label, weight, lam):
        self.lam_ = lam
        if self.calibrated and not self._by_folds(X):
            self._take_ridges(X, label, weight)

    def _take_ridges(self, X, label, weight):
        """Keeps the ridges of the distinct rows for the rest of the fit; returns these rows."""
        name, parameters = self._head()
        head(name).at(**parameters)  # checks lam
        kept = _distinct(X, label, weight)
        whole, X, label = len(kept) == X.shape[0] and weight is None, X[kept], label[kept]
        if sparse.issparse(X) and 8 * X.shape[0] * min(X.shape) > MOST_DENSE:
            raise errors.InvalidError(
                f"{type(self).__name__}: sparse rows {list(X.shape)} take {X.shape[0]} x {min(X.shape)} dense numbers; "
                "RidgeHead takes less"
            )
        parts = _folds(label) if self.calibrated else []
        ridges = Ridges(X, np.eye(max(2, label.max() + 1))[label], self.intercept == "free", parts)
        self._ridges = ridges, label, whole
        return X

    def _temperature(self, X, label, weight):
        if self._ridges is None:
            return self._temperature_of_folds(X, label, weight)
        ridges, label, _ = self._ridges
        return _temperature_of(label, ridges.parts, ridges.without(self.lam_))

    def _fitted(self, X, Y, weight):
        """More than d sparse rows are fitted by X^T X [d, d], the primal system of models/heads/ridge.c; many rows of many columns
        by conjugate gradients, without a matrix of either size."""
        if self._ridges is not None and self._ridges[2] and self.lam_ > 0:  # lam 0 needs rows of full rank, which a fit checks
            return self._ridges[0].weights(self.lam_)
        if not sparse.issparse(X) or (X.shape[0] <= X.shape[1] and min(X.shape) <= MOST_FACTORED):
            return super()._fitted(X, Y, weight)
        name, parameters = self._head()
        head(name).at(**parameters)  # checks lam
        lam, w = parameters["lam"], np.ones(len(Y)) if weight is None else weight
        if min(X.shape) > MOST_FACTORED and lam > 0:
            return _ridge_of_many(X, Y, w, lam, name == "ridge_intercept")
        Xw = X.T.multiply(w).tocsr()
        G, B, s, total = (Xw @ X).toarray(), Xw @ Y, Xw @ np.ones(len(Y)), w.sum()
        if name == "ridge":
            G, B = np.block([[G, s[:, None]], [s, total]]), np.concatenate([B, [w @ Y]])
        else:
            G, B = G - np.outer(s, s / total), B - np.outer(s, w @ Y / total)
        with Tape(mode="eval"):
            W = ops.solve_spd(G + lam * np.eye(len(G)), B).numpy()
        return (W[:-1], W[-1:]) if name == "ridge" else (W, (w @ Y - s @ W)[None] / total)

    def _by_folds(self, X):
        return super()._by_folds(X) or (sparse.issparse(X) and min(X.shape) > MOST_FACTORED)


class LogisticHead(_HeadClassifier):
    """Multinomial logistic regression with a quadratic penalty.

    Parameters
    ----------
    lam : float
        The penalty, 0 or more.
    intercept : str
        "free", or "penalised" as the other weights.
    calibrated : bool
        Fit a temperature of the probabilities to held-out rows of the training set.
    C : float
        1 / lam, as scikit-learn names it; lam is not read then.
    class_weight : dict or "balanced"
        Weights of the classes; "balanced": inverse to their rows.
    tol : float
        The largest entry of the gradient of the mean loss with which a fit may end. A fit of 2^20 numbers or more is tried in
        float32, at half the time or less, and done again in float64 if its gradient in float64 is larger; smaller fits, and all if
        tol is 0, end at the rounding of float64. scikit-learn's fits often end above their own tol, at max_iter.
    max_iter, random_state
        Taken for calls written for scikit-learn, and not read: a fit ends at its optimum, and nothing is drawn.

    Source: models/heads/logistic.c

    Examples
    --------
    >>> Z, y = np.array([[0.0, 1], [0, 2], [1, 0], [2, 0]]), [1, 1, 0, 0]
    >>> LogisticHead(C=10.0).fit(Z, y, sample_weight=[1, 2, 1, 2]).predict([[3.0, 0]])
    array([0])
    """

    _name = "intercept", {"free": "logistic", "penalised": "logistic_penalised"}
    _several = True
    _iterates = True

    def __init__(
        self,
        lam: float = 1.0,
        intercept: str = "free",
        calibrated: bool = False,
        C: Any = None,
        class_weight: Any = None,
        tol: float = 1e-5,
        max_iter: int | None = None,
        random_state: Any = None,
    ):
        self.lam = lam
        self.intercept = intercept
        self.calibrated = calibrated
        self.C = C
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _fitted(self, X, Y, weight):
        tol = checked.real(f"{type(self).__name__}: tol", self.tol, 0)
        if tol > 0 and not sparse.issparse(X) and X.size >= MANY:
            W, b = self._fitted_in_float32(X, Y, weight)
            if W is not None and self._gradient(X, Y, weight, W, b) <= tol:
                return W, b
        return super()._fitted(X, Y, weight)

    def _fitted_in_float32(self, X, Y, weight):
        """(W, b) in float64 of a fit in float32; None without one."""
        narrow = (None if x is None else x.astype(np.float32) for x in (X, Y, weight))
        try:
            with np.errstate(over="ignore"):
                return (x.astype(np.float64) for x in _fit_dense(self._head(), *narrow))
        except errors.NumericalError:  # float64 is wider, and names what it finds
            return None, None

    def _gradient(self, X, Y, weight, W, b):
        """The largest entry of the gradient of the mean loss."""
        w, F = np.ones(len(X)) if weight is None else weight, X @ W + b
        P = np.exp(F - F.max(1, keepdims=True))
        R, lam = (P / P.sum(1, keepdims=True) - Y) * w[:, None], self._head()[1]["lam"]
        of_b = R.sum(0) + (lam * b if self.intercept == "penalised" else 0)
        return max(np.abs(X.T @ R + lam * W).max(), np.abs(of_b).max()) / w.sum()


class _Chooses(_HeadClassifier):
    """Chooses its penalty as scikit-learn's estimators do, by refits without the folds of `cv`, if cv or scoring is given."""

    cv: Any = None
    scoring: Any = None
    _groups: Any = None
    _one: type  # the estimator of one penalty

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None):
        """Fits the readout, as `RidgeHead.fit`; groups: the group of each row [n], which cv reads."""
        self._groups = groups
        if groups is not None and self.cv is None:
            raise errors.InvalidError(f"{type(self).__name__}: groups, which only cv reads, such as GroupKFold()")
        try:
            return super().fit(X, y, sample_weight)
        finally:
            self._groups = None

    def _choose(self, X, label, weight, lams):
        """The penalty with the best mean score of the rows of each fold by a fit of the others; of equal ones the largest."""
        given = {name: value for name, value in self.get_params().items() if name in self._one().get_params()}
        given.update(calibrated=False, class_weight=None)
        scorer = check_scoring(self._one(), scoring=self.scoring) if self.scoring is not None else _log_likelihood
        y = self.classes_[label] if len(self.classes_) > label.max() else label  # of several labels per row: 0 and 1
        folds = list(check_cv(self.cv, y, classifier=True).split(X, y, self._groups))
        self.scores_ = np.empty((len(folds), len(lams)))
        for i, (inside, outside) in enumerate(folds):
            for j, lam in enumerate(lams):
                one = self._one(**{**given, "lam": float(lam)})
                one.fit(X[inside], y[inside], None if weight is None else weight[inside])
                self.scores_[i, j] = scorer(one, X[outside], y[outside])
        mean = self.scores_.mean(0)
        return float(np.max(lams[mean >= mean.max() - SAME * abs(mean.max())]))

    def _listed(self, name, values):
        """Penalties, or their inverses, as the user gave them."""
        found = [checked.real(f"{type(self).__name__}: {name}", value, 1e-300) for value in np.ravel(values).tolist()]
        if not found:
            raise errors.InvalidError(f"{type(self).__name__}: {name}, expected one penalty or more, found none")
        return np.array(found)


class RidgeHeadCV(_Chooses, RidgeHead):
    """`RidgeHead` that chooses its penalty by leave-one-out in closed form.

    It takes the penalty with the least cross-entropy of left-out rows at their temperature. One eigendecomposition serves all
    penalties.

    Parameters
    ----------
    alphas : array_like
        The penalties to try, above 0. None: those of ``mochi fit --tune``, 1e-4 to 100 times the rows' scale (`RidgeHead`).
    intercept, calibrated, class_weight
        As of `RidgeHead`.
    cv : int, splitter of scikit-learn or iterable
        Folds that are left out together, whose rows are refitted. None: single rows, in closed form.
    scoring : str or callable
        A scorer of scikit-learn, for the folds; None: the mean log-probability of the rows' labels. Needs cv.

    Attributes
    ----------
    lam_ : float
        The penalty; with several labels per row, the last label's.
    scores_ : numpy.ndarray
        With cv, of each fold and penalty [folds, values]; with several labels per row, the last label's.

    Source: tools/python/mochi/ridges.py

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(30) % 3
    >>> RidgeHeadCV().fit(np.eye(3)[y] + rng.normal(size=(30, 3)), y).lam_ > 0
    True
    """

    _one = RidgeHead

    def __init__(
        self,
        intercept: str = "penalised",
        calibrated: bool = True,
        class_weight: Any = None,
        alphas: Any = None,
        cv: Any = None,
        scoring: Any = None,
    ):
        self.intercept = intercept
        self.calibrated = calibrated
        self.class_weight = class_weight
        self.alphas = alphas
        self.cv = cv
        self.scoring = scoring

    def _tune(self, X, label, weight):
        if self.scoring is not None and self.cv is None:
            raise errors.InvalidError("RidgeHeadCV: scoring, which needs cv, as single rows are left out by cross-entropy")
        scale = _scale(X, weight)
        lams = None if self.alphas is None else np.sort(self._listed("alphas", self.alphas))
        if self.cv is not None:
            lams = (scale or 1.0) * 10.0 ** np.arange(-4, 2.5, 0.5) if lams is None else lams
            self._tune_to(X, label, weight, self._choose(X, label, weight, lams))
            return
        self.lam_ = FOLLOWED * scale or 10.0  # if no penalty does better than chance
        rows = self._take_ridges(X, label, weight)
        ridges, label, _ = self._ridges
        least = (1 - SAME) * np.log(ridges.Y.shape[1])
        if lams is None:
            scale = scale if rows.shape[0] == X.shape[0] and weight is None else _scale(rows, None)
            lams = (scale or 1.0) * 10.0 ** np.arange(-4, 2.5, 0.5)
        if np.bincount(label).max() < 2:
            return
        for lam, logits in zip(lams, ridges.alone(lams), strict=True):
            nll = _at_temperature(logits.T, label)[1] if np.isfinite(logits).all() else np.inf
            if nll <= least * (1 + SAME):  # of penalties that do equally well, the largest
                self.lam_, least = float(lam), min(least, nll)


class LogisticHeadCV(_Chooses, LogisticHead):
    """`LogisticHead` that chooses its penalty by cross-validation in five folds; as `RidgeHeadCV` otherwise.

    Parameters
    ----------
    Cs : int or array_like
        The 1 / lam to try: so many from 1e-4 to 1e4, or those listed. None: those of ``mochi fit --tune``.
    intercept, calibrated, class_weight, tol, max_iter, random_state
        As of `LogisticHead`.
    cv, scoring
        As of `RidgeHeadCV`; with Cs, or scoring, cv None is five folds, and scoring does not need it.

    Attributes
    ----------
    C_ : float
        The inverse of the penalty.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(30) % 3
    >>> LogisticHeadCV().fit(np.eye(3)[y] + rng.normal(size=(30, 3)), y).lam_ > 0
    True
    """

    _parameters, _one = {"lam": "lam_"}, LogisticHead
    lam_: float

    def __init__(
        self,
        intercept: str = "free",
        calibrated: bool = False,
        class_weight: Any = None,
        tol: float = 1e-5,
        Cs: Any = None,
        cv: Any = None,
        scoring: Any = None,
        max_iter: int | None = None,
        random_state: Any = None,
    ):
        self.intercept = intercept
        self.calibrated = calibrated
        self.class_weight = class_weight
        self.tol = tol
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.max_iter = max_iter
        self.random_state = random_state

    @property
    def C_(self) -> float:
        """The inverse of the penalty."""
        return 1 / self.lam_

    def _tune(self, X, label, weight):
        if not (self.Cs is None and self.cv is None and self.scoring is None):
            whole = isinstance(self.Cs, (int, np.integer))
            Cs = np.logspace(-4, 4, checked.whole("LogisticHeadCV: Cs", self.Cs, 1)) if whole else self.Cs
            lams = (_scale(X, weight) or 1.0) * 10.0 ** np.arange(-4, 3) if Cs is None else 1 / self._listed("Cs", Cs)
            self.lam_ = self._choose(X, label, weight, np.sort(lams))
            return
        self.lam_ = 1.0  # if no penalty does better than chance
        value = self._readout(X, label, weight, tune=True).value
        self.lam_ = value if value == value else self.lam_


class SVMHead(_HeadClassifier):
    """The support vector machine of several classes of Crammer and Singer (2001).

    A column whose variance is more than 100 times the median column's is scaled down to that for the fit: a column in other units
    than the rest would take part in nearly every kernel and make the fit slow. `coef_` is for the rows as given.

    Parameters
    ----------
    lam : float
        The penalty, above 0. None: it follows the scale of the rows, three times that of `RidgeHead`.
    centred : bool
        Fit the rows minus their mean; False: as they are. The intercept is penalised like the weights, so without centring, rows
        far from 0 are fitted worse and more slowly, and with it, few rows that share a direction by 1% worse. None: minus the part
        of the mean that is longer than the rows' spread, the root of their mean squared distance to it; sparse rows as they are.
    calibrated : bool
        Fit a temperature of the probabilities to held-out rows of the training set.
    C : float
        1 / lam, as scikit-learn names it; lam is not read then. Weights of rows and classes multiply it.
    class_weight : dict or "balanced"
        Weights of the classes; "balanced": inverse to their rows.
    max_iter : int
        The most passes over the kernel of the rows before `NumericalError` is raised; 0: as many as take a few seconds.
    random_state
        Taken for calls written for scikit-learn, and not read: nothing is drawn.

    Source: models/heads/svm.c

    Examples
    --------
    >>> SVMHead(C=1.0).fit([[0.0, 1], [0, 2], [1, 0], [2, 0]], [1, 1, 0, 0]).predict([[3.0, 0]])
    array([0])
    """

    _name = "svm"
    _iterates = True

    _parameters = {"lam": "lam_", "max_iter": "max_iter"}
    lam_: float

    def __init__(
        self,
        lam: float | None = None,
        centred: bool | None = None,
        calibrated: bool = False,
        C: float | None = None,
        class_weight: Any = None,
        max_iter: int = 0,
        random_state: Any = None,
    ):
        self.lam = lam
        self.centred = centred
        self.calibrated = calibrated
        self.C = C
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.random_state = random_state

    def _tune(self, X, label, weight):
        self.lam_ = SVM_SHARE * _scale(X, weight) or 10.0 if self.lam is None else self.lam

    @property
    def _scaling(self):
        return lib.MO_SCALING_CENTRE if self.centred else lib.MO_SCALING_NONE

    @property
    def _sparse(self):
        return not self.centred  # centred rows are dense

    def _placed(self, X, weight):
        """(the rows as they are fitted, what was subtracted from them [d] or None, what their columns were multiplied by or None)."""
        s, most = _variances(X, weight)
        factor = np.sqrt(most / np.maximum(s, most)) if (s > most).any() else None
        center = None if sparse.issparse(X) or self.centred is False else np.average(X, 0, weight)
        if self.centred is None and center is not None:
            length, spread = np.linalg.norm(center), np.sqrt(np.minimum(s, most).sum())
            center = center * (1 - spread / length) if length > spread else None
        X = X if center is None else X - center
        if factor is not None:
            X = X.multiply(factor).tocsr() if sparse.issparse(X) else X * factor
        return X, center, factor

    def _fitted(self, X, Y, weight):
        X, center, factor = self._placed(X, weight)
        W, b = super()._fitted(X, Y, weight)
        W = W if factor is None else W * factor[:, None]
        return W, b if center is None else b - center[None] @ W

    def _readout(self, X, label, weight, tune=False):
        return super()._readout(self._placed(X, weight)[0], label, weight, tune)


class LDAHead(_HeadClassifier):
    """Linear discriminant analysis with a shrunken covariance, on the rows minus their mean.

    Parameters
    ----------
    shrinkage : float or "auto"
        The share of the covariance that is replaced by a multiple of the identity, 0 to 1; "auto": by Ledoit and Wolf (2004), for
        the rows minus their class means.
    calibrated : bool
        Fit a temperature of the probabilities to held-out rows of the training set.
    class_weight : dict or "balanced"
        Weights of the classes; "balanced": inverse to their rows, so that the classes are equally likely.

    Attributes
    ----------
    shrinkage_ : float
        The value that was used.

    Source: models/heads/lda.c

    Examples
    --------
    >>> LDAHead("auto").fit([[0.0, 1], [0, 2], [1, 0], [2, 0]], [1, 1, 0, 0]).predict([[3.0, 0]])
    array([0])
    """

    _name, _parameters, _sparse = "lda", {"shrinkage": "shrinkage_"}, False

    def __init__(self, shrinkage: float | str = 0.1, calibrated: bool = False, class_weight: Any = None):
        self.shrinkage = shrinkage
        self.calibrated = calibrated
        self.class_weight = class_weight

    def _take(self, X, Y, weight):
        self.shrinkage_ = self.shrinkage
        if isinstance(self.shrinkage, str) and self.shrinkage == "auto":
            w = np.ones(len(X)) if weight is None else weight
            own = Y * w[:, None]
            self.shrinkage_ = _ledoit_wolf(X - Y @ (own.T @ X / own.sum(0)[:, None]), w)
        super()._take(X, Y, weight)


class PrototypeHead(_HeadClassifier):
    """The nearest class mean (Snell et al. 2017).

    Parameters
    ----------
    metric : str
        "euclidean": minus the squared distance; "inner": the inner product, under which a prototype inside the hull of the
        others never wins; "centred": the inner product about the mean of the training set; "cosine".
    scale : float
        Factor of the cosine.
    calibrated : bool
        Fit a temperature of the probabilities to held-out rows of the training set.

    Attributes
    ----------
    means_ : numpy.ndarray
        [C, d].

    Source: models/heads/prototype.c

    Examples
    --------
    >>> PrototypeHead().fit([[0.0, 1], [0, 2], [1, 0], [2, 0]], [1, 1, 0, 0]).means_
    array([[1.5, 0. ],
           [0. , 1.5]])
    """

    def __init__(self, metric: str = "euclidean", scale: float = 10.0, calibrated: bool = False):
        self.metric = metric
        self.scale = scale
        self.calibrated = calibrated

    def _head(self):
        names = {m: f"prototype_{m}" for m in ("euclidean", "inner", "centred", "cosine")}
        scale = checked.real("PrototypeHead: scale", self.scale, 1e-12)
        return _chosen(self, "metric", names), {"scale": scale} if self.metric == "cosine" else {}

    def _take(self, X, Y, weight):
        """Keeps the class means and the mean of all rows: no metric needs more. All metrics but the cosine are linear."""
        self._head()
        own = Y if weight is None else Y * weight[:, None]
        total = own.sum(0)
        self.means_ = (X.T @ own / total).T
        if self.metric == "cosine":
            return
        center = total @ self.means_ / total.sum() if self.metric == "centred" else np.zeros(X.shape[1])
        P = (2.0 if self.metric == "euclidean" else 1.0) * (self.means_ - center)
        b = -(self.means_**2).sum(1) if self.metric == "euclidean" else -P @ center
        self.weights_ = np.concatenate([P.T, b[None]])

    def _of_rows(self, X):
        if self.metric != "cosine":
            return super()._of_rows(X)
        length = sparse.linalg.norm(X, axis=1) if sparse.issparse(X) else np.sqrt(np.einsum("ij,ij->i", X, X))  # no copy of X
        means = self.means_.astype(X.dtype, copy=False)
        of_means = np.linalg.norm(means, axis=1)
        return self.scale * (X @ means.T) / np.maximum(np.outer(length, of_means), np.finfo(X.dtype).tiny)


def _log_likelihood(one, X, y):
    """The mean log-probability of the labels; those that the fit has not seen say nothing about its penalty."""
    seen = np.isin(y, one.classes_)
    told = one.predict_log_proba(X[seen])[np.arange(seen.sum()), np.searchsorted(one.classes_, y[seen])]
    return told.mean() if len(told) else 0.0


def _penalty(X, weight):
    """The penalty of a ridge that follows the rows' scale (`RidgeHead`)."""
    return FOLLOWED * _scale(X, weight) or 10.0


def _scale(X, weight):
    """The sum of the variances of the columns, in which none counts more than `_variances` says; 0 if none varies."""
    s, most = _variances(X, weight)
    return float(np.minimum(s, most).sum())


def _variances(X, weight):
    """(the variances of the columns, MOST_COLUMN times the lower median of those above rounding), 0 in columns below it."""
    w = np.ones(X.shape[0]) if weight is None else weight
    mean = (w @ X) / w.sum()
    if sparse.issparse(X):
        s = np.maximum(w @ X.multiply(X) / w.sum() - mean**2, 0)
    else:
        s = np.zeros(X.shape[1])
        for i in range(0, len(X), 256):  # rows at a time, so that no copy of X is made
            part = X[i : i + 256] - mean
            s += w[i : i + 256] @ (part * part) / w.sum()
    s[s <= 1e-12 * (s + mean**2)] = 0
    varying = np.sort(s[s > 0])
    return s, MOST_COLUMN * varying[(len(varying) - 1) // 2] if len(varying) else 0.0


def _folds(label):
    """The rows of each fold, to which the rows of a class go in turn; the row of a class of one is in every fit."""
    fold = np.full(len(label), -1)
    for c in range(label.max() + 1):
        rows = np.flatnonzero(label == c)
        fold[rows] = np.arange(len(rows)) % FOLDS if len(rows) > 1 else -1
    return [rows for rows in (np.flatnonzero(fold == k) for k in range(FOLDS)) if len(rows)]


def _temperature_of(label, parts, logits):
    """The temperature from the logits of the rows of each part by a fit of the others; 1 if there are no parts."""
    return _at_temperature(np.concatenate(logits), label[np.concatenate(parts)])[0] if parts else 1.0


def _at_temperature(logits, label):
    """(the temperature that fits these logits best, their mean cross-entropy at it)."""
    nll, (n, C) = ffi.new("double *"), logits.shape
    given = ffi.from_buffer("double[]", np.ascontiguousarray(logits)), ffi.from_buffer("int64_t[]", label.astype(np.int64))
    return lib.mo_fit_temperature(*given, n, C, lib.mo_platt_smoothing(n, C), nll), nll[0]


def _ridge_of_many(X, Y, w, lam, free):
    """(W, b) of a ridge of sparse rows [n, d] with weights w, by conjugate gradients for (Phi^T w Phi + lam) W = Phi^T w Y, where
    Phi = [X | 1] with the intercept's column penalised too or, if it is free, X minus its mean (Hestenes and Stiefel 1952)."""
    total, ones = w.sum(), np.ones((len(w), 1))
    mean, target = (w @ X) / total, w @ Y / total

    def logits(V):
        return X @ V - mean @ V if free else X @ V[:-1] + V[-1]

    def pull(R):
        R = R * w[:, None]
        return X.T @ R - np.outer(mean, R.sum(0)) if free else np.concatenate([X.T @ R, ones.T @ R])

    R = pull(Y - target if free else Y)
    V, P, square = np.zeros_like(R), R, (R * R).sum(0)
    least = 1e-20 * square
    for _ in range(10 * len(R)):
        active = square > least
        if not active.any():
            break
        H = pull(logits(P)) + lam * P
        step = np.where(active, square, 0) / np.where(active, (P * H).sum(0), 1)
        V, R = V + step * P, R - step * H
        square, before = (R * R).sum(0), square
        P = R + np.where(active, square / np.where(active, before, 1), 0) * P
    return (V, (target - mean @ V)[None]) if free else (V[:-1], V[-1:])


def _distinct(X, label, weight):
    """Positions of the rows of a weight above 0, each pair of row and label once, in an order that depends on values alone."""
    kept = np.arange(X.shape[0]) if weight is None else np.flatnonzero(weight > 0)
    if sparse.issparse(X):
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        ends = X.indptr
        texts = [X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in zip(ends[:-1], ends[1:], strict=True)]
        first = {(label[i], texts[i]): i for i in reversed(kept)}
        return np.array([first[key] for key in sorted(first)])
    bytes_of = np.ascontiguousarray(X).view(np.dtype((np.void, X.dtype.itemsize * X.shape[1]))).ravel()
    kept = kept[np.argsort(bytes_of[kept], kind="stable")]
    kept = kept[np.argsort(label[kept], kind="stable")]
    again = np.zeros(len(kept), bool)
    alike = 1 + np.flatnonzero(X[kept[1:], 0] == X[kept[:-1], 0])
    again[alike] = (label[kept[alike]] == label[kept[alike - 1]]) & (X[kept[alike]] == X[kept[alike - 1]]).all(1)
    return kept[~again]


def _rotated(X):
    """(U, size) of sparse rows X [n, d], n <= d: X = U size Q^T with Q orthonormal."""
    square, U = np.linalg.eigh((X @ X.T).toarray())
    kept = square > max(square[-1], 0) * len(square) * np.finfo(float).eps
    if not kept.any():
        return np.eye(len(square), 1), np.ones(1)
    return U[:, kept], np.sqrt(square[kept])


def _ledoit_wolf(R, w):
    """The best shrinkage of S = sum_i w_i R_i R_i^T / n, n = sum w, as estimated by Ledoit and Wolf (2004)."""
    n, d = w.sum(), R.shape[1]
    scaled = R * np.sqrt(w)[:, None]
    gram = scaled @ scaled.T if len(R) < d else scaled.T @ scaled
    squares, trace = (gram**2).sum() / n**2, np.trace(gram) / n
    spread = squares - trace**2 / d  # |S - mu I|^2
    noise = ((w @ (R**2).sum(1) ** 2) / n - squares) / n
    return float(min(max(noise, 1e-8 * spread), spread) / spread) if spread > 0 else 1.0  # above 0, as S may be singular


def _fit_dense(named, X, Y, weight):
    name, parameters = named
    tape, kept = idle.take(default_context()), X.nbytes <= MOST_KEPT
    X, Y, weight = (None if x is None else constant(x) for x in (X, Y, weight))  # share memory; an op would copy
    with tape:
        found = tuple(x.numpy() for x in head(name).fit(X, Y, weight, **parameters))
    if kept:
        idle.tapes.append(tape)
    return found


def _refuse_unlabelled(self, y):
    """Refuses missing labels: NumPy would turn NaN in a list of texts into "nan", and drop masks."""
    masked = checked.is_masked(y)
    if (isinstance(y, np.ndarray) and not masked and y.dtype != object) or sparse.issparse(y):
        return
    values = np.array(y.tolist(), object) if masked else np.asarray(y, object)
    for i, value in enumerate(values if values.ndim == 1 else ()):
        if is_missing(value):
            raise errors.InvalidError(f"{type(self).__name__}: label {i} is {value!r}; leave rows without a label out")


def _chosen(self, name, choices):
    value = getattr(self, name)
    if value not in choices:
        raise errors.InvalidError(f"{type(self).__name__}: {name} {value!r}, expected one of {', '.join(choices)}")
    return choices[value]


__all__ = [
    "KernelMixtureRegressor", "LDAHead", "LogisticHead", "LogisticHeadCV", "PrototypeHead", "RidgeHead", "RidgeHeadCV", "RidgeRegressor",
    "RidgeRegressorCV", "SVMHead", "few_shot_score",
]  # fmt: skip
