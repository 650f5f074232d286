"""Reverse-mode automatic differentiation through solvers: the Python interface of libmochi.

>>> import mochi, numpy as np
>>> W = mochi.parameter(np.ones((2, 3)))
>>> with mochi.Tape() as tape:
...     loss = (W * W).sum()
>>> tape.grad(loss, [W])[0].numpy()
array([[2., 2., 2.],
       [2., 2., 2.]])
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
