"""Reverse-mode automatic differentiation through solvers: the Python interface of libmochi.

>>> import mochi, numpy as np
>>> W = mochi.parameter(np.ones((2, 3)))
>>> with mochi.Tape() as tape:
...     loss = (W * W).sum()
>>> tape.grad(loss, [W])[0].numpy()
array([[2., 2., 2.],
       [2., 2., 2.]])

A line or two for every name whose own docstring has none.

Tensors, tapes, gradients:

>>> W = mochi.parameter([[1.0, 2.0]], name="W", dtype="float64")     # a leaf with a gradient
>>> x = mochi.constant(np.array([3.0, 4.0]))                         # a window onto the array
>>> with mochi.Tape() as tape:
...     y = (W * x).sum()
...     mochi.current_tape() is tape, isinstance(y, mochi.Tensor), float(y)
(True, True, 11.0)
>>> tape.grad(y, W)[0].numpy()
array([[3., 4.]])
>>> with mochi.Tape("eval"):
...     mochi.einsum("ij,j->i", W, x).numpy(), mochi.ops.softmax(np.zeros((1, 2))).numpy()
(array([11.]), array([[0.5, 0.5]]))
>>> with mochi.Tape() as tape:                                       # backward runs the function again
...     z = mochi.recompute(lambda w: mochi.ops.tanh(w), W).sum()
>>> tape.grad(z, W)[0].shape
(1, 2)
>>> mochi.default_context().device, mochi.Context(threads=1).threads
('cpu', 1)
>>> before = mochi.set_default_context(mochi.Context(threads=1))
>>> with mochi.Tape():
...     mochi.ops.dropout(np.ones((2, 2)), 0.5, mochi.Random(7)).shape
(2, 2)
>>> S = mochi.Sparse((np.array([0, 1, 2]), np.array([1, 0]), None), shape=(2, 2))
>>> with mochi.Tape("eval"):
...     (S @ np.array([[1.0], [2.0]], "float32")).numpy()
array([[2.],
       [1.]], dtype=float32)

Solvers, checks, training by hand:

>>> mochi.gradcheck(mochi.ops.tanh, [np.ones(2)]).passed, mochi.Check.__name__
(True, 'Check')
>>> report = mochi.Report()
>>> with mochi.Tape() as tape:                                       # x^2 = a by Newton's method
...     a = mochi.parameter(np.array([4.0, 9.0]))
...     x = mochi.root(lambda x, a: x * x - a, np.ones(2), [a], report=report)
>>> np.round(x.numpy(), 6), report.converged
(array([2., 3.]), True)
>>> with mochi.Tape("eval"):
...     A, B = np.eye(2) * 2, np.ones((2, 1))
...     health = mochi.solve_check(A, B, mochi.ops.solve(A, B))
...     health.rcond.item(), type(health) is mochi.Health
(1.0, True)
>>> w = mochi.parameter(np.ones(1))
>>> step = mochi.SGD([w])
>>> with mochi.Tape() as tape:
...     gradients = tape.grad((w * w).sum(), [w])
>>> step.step(gradients, lr=mochi.cosine(0.1, 0.0, 0, 10))           # the norm of the gradients
2.0
>>> w.numpy().tolist()
[0.8]
>>> try:
...     mochi.head("no such head")
... except mochi.InvalidError as error:
...     isinstance(error, mochi.Error), isinstance(error, ValueError)
(True, True)
>>> [issubclass(w, UserWarning) for w in (mochi.DataWarning, mochi.EstimateWarning)]
[True, True]
>>> [issubclass(e, mochi.Error) for e in (mochi.BusyError, mochi.FileError, mochi.ForkError, mochi.FormatError, mochi.MismatchError,
...     mochi.NumericalError, mochi.OutOfMemoryError, mochi.StateError, mochi.UnsupportedError)].count(True)
9
>>> mochi.head_names()[:3], mochi.head("ridge").parameters
(['ridge', 'mixture', 'ridge_intercept'], {'lam': 10.0})

Graphs:

>>> g = mochi.graph([("a", "b"), ("b", "c"), ("c", "d")], y=["left", None, None, "right"])
>>> isinstance(g, mochi.Graph), g.names, g.edges
(True, ['a', 'b', 'c', 'd'], 3)
>>> mochi.graph_set([[[0, 1]], [[0, 1], [1, 2]]], y=[0, 1]).graphs
2
>>> mochi.features(g, hop=1).shape[0]
4
>>> import pandas
>>> rows = mochi.rows(pandas.DataFrame({"age": [20, 31, 46], "buys": ["tea", "milk", None]}), label="buys")
>>> isinstance(rows, mochi.Rows), rows.y.tolist()
(True, [1, 0, -1])
>>> model = mochi.load("best")
>>> isinstance(model, mochi.Trained)
True
>>> fit = model.few_shot(g, {"a": "left", "d": "right"})
>>> isinstance(fit, mochi.FewShot), fit.predict(["a"]).tolist(), isinstance(fit.estimate, mochi.Estimate)
(True, ['left'], True)
>>> mochi.train.__name__, mochi.Run("runs/a").finished, mochi.Step.__name__  # README: Training
('train', False, 'Step')
"""

from . import losses, ops
from ._library import ffi as _ffi
from ._library import lib as _lib
from .context import Context, default_context, set_default_context
from .errors import (
    BusyError,
    DataWarning,
    Error,
    EstimateWarning,
    FileError,
    ForkError,
    FormatError,
    InvalidError,
    MismatchError,
    NumericalError,
    OutOfMemoryError,
    StateError,
    UnsupportedError,
)
from .graphs.few_shot import Estimate, Explanation, FewShot
from .graphs.targets import FewShotTargets, TargetEstimate
from .graphs.graph import Graph, graph, graph_set
from .graphs.rows import Rows, rows
from .fit import diagnose, few_shot_score
from .functions import Op, recompute
from .heads import Head, head, head_names
from .numpy_names import einsum
from .operators import attach as _attach
from .optimizers import SGD, AdamW, cosine
from .random import Random
from .solvers import Check, Health, Report, gradcheck, implicit, implicit_solve, minimize, root, solve_check
from .sparse import Sparse
from .tape import Tape, current_tape
from .tensor import Tensor, constant, parameter
from .transforms import grad, value_and_grad
from .graphs.training import Run, Step, train
from .graphs.trained import Trained, features, load

_attach()
__version__ = _ffi.string(_lib.binding_version()).decode()

__all__ = [
    "AdamW", "BusyError", "Check", "Context", "DataWarning", "Error", "Estimate", "EstimateWarning", "Explanation", "FewShot",
    "FewShotTargets", "TargetEstimate",
    "FileError", "ForkError", "FormatError",
    "Graph", "Head", "Health", "InvalidError", "MismatchError", "NumericalError", "Op", "OutOfMemoryError", "Random",
    "Report", "Rows", "Run", "SGD", "Sparse", "StateError", "Step", "Tape", "Tensor", "Trained", "UnsupportedError", "constant",
    "cosine", "current_tape", "default_context", "diagnose", "einsum", "features", "few_shot_score", "grad", "gradcheck", "graph",
    "graph_set", "head", "head_names", "implicit", "implicit_solve", "load", "losses", "minimize", "ops", "parameter", "recompute", "root",
    "rows", "set_default_context", "solve_check", "train", "value_and_grad",
]  # fmt: skip
