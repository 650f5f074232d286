"""The library's heads as classifiers of scikit-learn.

>>> import mochi.sklearn, numpy as np
>>> Z, y = np.array([[0.0, 1], [0, 2], [1, 0], [2, 0]]), np.array(["up", "up", "right", "right"])
>>> mochi.sklearn.RidgeHead(lam=1.0).fit(Z, y).predict([[3.0, 0]]).tolist()
['right']
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from . import checked, errors
from ._library import ffi, lib
from .context import default_context
from .fit import few_shot_score
from .graphs.sources import is_missing
from .handle import Handle, struct
from .heads import head
from .tape import Tape
from .tensor import constant


class _HeadClassifier(ClassifierMixin, BaseEstimator):
    """A head as a classifier: fitted once, in float64; what it is fitted to are arrays alone.

    Attributes
    ----------
    classes_ : numpy.ndarray
        The labels, rising [C].
    temperature_ : float
        Of the probabilities: 1, or calibrated.
    n_features_in_ : int
        d.
    """

    # The head's name, or the argument that chooses it with the names; arguments by the head's parameters.
    _name: str | tuple[str, dict[str, str]]
    _parameters: dict[str, str] = {"lambda": "lam"}
    _scaling = lib.MO_SCALING_NONE  # of the rows that a fit is given

    def _head(self):
        """(the name of the head, its parameters by name)."""
        name = self._name if isinstance(self._name, str) else _chosen(self, *self._name)
        return name, {parameter: getattr(self, argument) for parameter, argument in self._parameters.items()}

    def fit(self, X: Any, y: Any):
        """Fits the readout.

        Parameters
        ----------
        X : array_like
            Embeddings [n, d].
        y : array_like
            Labels [n] of any type, of two classes or more. None and NaN are refused; "" and -1 are classes, as everywhere
            in scikit-learn.
        """
        for name in ("calibrated", "centred"):
            checked.flag(f"{type(self).__name__}: {name}", getattr(self, name, False))
        _refuse_unlabelled(self, y)
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, label = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise errors.InvalidError(f"{type(self).__name__}: labels of one class, expected two classes or more")
        Y = np.eye(len(self.classes_))[label]
        self._take(X, Y)
        self.temperature_ = self._calibrate(X, label) if self.calibrated else 1.0
        return self

    def _take(self, X, Y):
        """Keeps the fit as logits = [x | 1] weights_, read off the head at the axes' unit vectors and at 0."""
        d = X.shape[1]
        logits = self._logits(X, Y, np.concatenate([np.eye(d), np.zeros((1, d))]))
        self.weights_ = np.concatenate([logits[:d] - logits[d], logits[d:]])

    def _logits(self, Zs, Ys, Zq):
        name, parameters = self._head()
        with Tape(mode="eval"):
            return head(name)(Zs, Ys, Zq, **parameters).numpy()

    def _of_rows(self, X):
        return X @ self.weights_[:-1] + self.weights_[-1]

    def _calibrate(self, X, label):
        """The temperature of `mochi fit`: held-out rows have the least cross-entropy at it, with Platt's targets."""
        name, parameters = self._head()
        context, readout = default_context(), ffi.new("mo_row_readout *")
        options, chosen = struct("mo_fit_options", scaling=self._scaling)[0], head(name).at(**parameters)
        rows, labels = constant(X, context=context), constant(label.astype(np.int64), context=context)
        made = context.call(lib.gate_mo_embeddings_create, rows.pointer(), labels.pointer(), name.encode())
        with Handle(context, made, release=lib.gate_mo_embeddings_release) as E:
            try:
                context.call(lib.gate_mo_row_readout_fit, E.pointer(), chosen.pointer, options, readout)
                return readout.temperature
            finally:
                context.call(lib.gate_mo_row_readout_release, readout)

    def logits(self, X: Any) -> np.ndarray:
        """Logits of the classes, float64 [n, C], up to a number for each row."""
        check_is_fitted(self)
        return self._of_rows(validate_data(self, X, dtype=np.float64, reset=False))

    def decision_function(self, X: Any) -> np.ndarray:
        """Logits [n, C]; of two classes the second's less the first's, [n], as scikit-learn has it."""
        logits = self.logits(X)
        return logits if len(self.classes_) > 2 else logits[:, 1] - logits[:, 0]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities softmax(logits / temperature_), [n, C]."""
        scaled = self.logits(X) / self.temperature_
        scaled = np.exp(scaled - scaled.max(1, keepdims=True))
        return scaled / scaled.sum(1, keepdims=True)

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row, [n]."""
        logits = self.logits(X)
        return self.classes_[np.argmax(logits, 1)]


class RidgeHead(_HeadClassifier):
    """Ridge regression on one-hot labels.

    Parameters
    ----------
    lam : float
        The penalty, 0 or more.
    intercept : str
        "penalised", as the other weights; or "free".
    calibrated : bool
        Fit a temperature of the probabilities to held-out rows of the training set.

    Source: models/heads/ridge.c
    """

    _name = "intercept", {"penalised": "ridge", "free": "ridge_intercept"}

    def __init__(self, lam: float = 10.0, intercept: str = "penalised", calibrated: bool = False):
        self.lam = lam
        self.intercept = intercept
        self.calibrated = calibrated


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

    Source: models/heads/logistic.c
    """

    _name = "intercept", {"free": "logistic", "penalised": "logistic_penalised"}

    def __init__(self, lam: float = 1.0, intercept: str = "free", calibrated: bool = False):
        self.lam = lam
        self.intercept = intercept
        self.calibrated = calibrated


class SVMHead(_HeadClassifier):
    """The support vector machine of several classes of Crammer and Singer (2001).

    Parameters
    ----------
    lam : float
        The penalty, above 0.
    centred : bool
        Fit the rows less their mean. The intercept is penalised like the weights, so rows far from 0 have a worse fit as
        they are, which takes longer to find.
    calibrated : bool
        Fit a temperature of the probabilities to held-out rows of the training set.

    Source: models/heads/svm.c
    """

    _name = "svm"

    def __init__(self, lam: float = 1.0, centred: bool = True, calibrated: bool = False):
        self.lam = lam
        self.centred = centred
        self.calibrated = calibrated

    @property
    def _scaling(self):
        return lib.MO_SCALING_CENTRE if self.centred else lib.MO_SCALING_NONE

    def _logits(self, Zs, Ys, Zq):
        center = Zs.mean(0) if self.centred else 0.0
        return super()._logits(Zs - center, Ys, Zq - center)


class LDAHead(_HeadClassifier):
    """Linear discriminant analysis with a shrunken covariance.

    Parameters
    ----------
    shrinkage : float
        The share of the covariance that is replaced by a multiple of the identity, 0 to 1.
    calibrated : bool
        Fit a temperature of the probabilities to held-out rows of the training set.

    Source: models/heads/lda.c
    """

    _name, _parameters = "lda", {"shrinkage": "shrinkage"}

    def __init__(self, shrinkage: float = 0.1, calibrated: bool = False):
        self.shrinkage = shrinkage
        self.calibrated = calibrated


class PrototypeHead(_HeadClassifier):
    """The nearest class mean (Snell et al. 2017).

    Parameters
    ----------
    metric : str
        "euclidean": minus the squared distance; "inner": the inner product, under which a prototype inside the hull of the
        others never wins; "centred": the inner product about the mean of the training set; "cosine".
    scale : float
        Of the cosine.
    calibrated : bool
        Fit a temperature of the probabilities to held-out rows of the training set.

    Source: models/heads/prototype.c
    """

    def __init__(self, metric: str = "euclidean", scale: float = 10.0, calibrated: bool = False):
        self.metric = metric
        self.scale = scale
        self.calibrated = calibrated

    def _head(self):
        names = {m: f"prototype_{m}" for m in ("euclidean", "inner", "centred", "cosine")}
        scale = checked.real("PrototypeHead: scale", self.scale, 1e-12)
        return _chosen(self, "metric", names), {"scale": scale} if self.metric == "cosine" else {}

    def _take(self, X, Y):
        """The means: every metric reads no more of the rows, but for their mean."""
        self.means_ = Y.T @ X / Y.sum(0)[:, None]
        self.center_ = X.mean(0) if self.metric == "centred" else np.zeros(X.shape[1])
        self._head()

    def _of_rows(self, X):
        if self.metric == "centred":
            return (X - self.center_) @ (self.means_ - self.center_).T
        return self._logits(self.means_, np.eye(len(self.means_)), X)


def _refuse_unlabelled(self, y):
    """NumPy would make a text "nan" of NaN in a list of texts, and forget what is masked."""
    masked = checked.is_masked(y)
    if isinstance(y, np.ndarray) and not masked and y.dtype != object:
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


__all__ = ["LDAHead", "LogisticHead", "PrototypeHead", "RidgeHead", "SVMHead", "few_shot_score"]
