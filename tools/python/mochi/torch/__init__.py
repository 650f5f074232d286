"""Heads and solvers as PyTorch functions that can be differentiated repeatedly.

They replace ``torch.linalg.solve`` or a loop over episodes: PyTorch tensors go in without a copy, on the CPU or on
a GPU that the library can open; tensors of PyTorch come out; `torch.autograd` asks the library's tape for the adjoint.

>>> import mochi.torch, torch
>>> Zs, Zq = torch.randn(64, 50, 32, requires_grad=True), torch.randn(64, 75, 32)
>>> label = torch.arange(5).repeat_interleave(10).expand(64, 50)
>>> logits = mochi.torch.ridge(Zs, label, Zq, lam=1.0)  # 64 episodes in one call
>>> logits.shape
torch.Size([64, 75, 5])
>>> logits.square().mean().backward()

Derivatives of every order exist, except for `svm`, which has only the first. As for every function that saves its inputs, an
input must not be changed in place before backward; PyTorch then raises. Every thread computes in its own default context
(`mochi.set_default_context`), whose threads are separate from PyTorch's.

A line for every name:

>>> import mochi, mochi.torch as mt
>>> Zs, label, Zq = torch.randn(10, 8), torch.arange(10) % 5, torch.randn(3, 8)
>>> [f(Zs, label, Zq).shape == (3, 5) for f in (mt.ridge, mt.logistic, mt.svm, mt.lda, mt.prototype)].count(True)
5
>>> mt.readout("prototype_cosine", Zs, label, Zq, scale=5.0).shape
torch.Size([3, 5])
>>> A = Zs.mT @ Zs + torch.eye(8)
>>> torch.allclose(mt.solve(A, Zs.mT), mt.solve_spd(A, Zs.mT), atol=1e-4)
True
>>> root = mt.root(lambda x, a: x * x - a, torch.ones(2), torch.tensor([4.0, 9.0]))
>>> torch.round(root).tolist()
[2.0, 3.0]
>>> mt.implicit(lambda x, a: x * x - a, root, torch.tensor([4.0, 9.0])).shape  # a root found by any means
torch.Size([2])
>>> sampler = mt.EpisodeSampler(label, ways=2, shots=1, queries=1, episodes=3)
>>> [len(rows) for rows in sampler]
[4, 4, 4]
>>> mt.function(lambda x, k: mochi.ops.tanh(x) * k)(torch.zeros(2), 3.0)
tensor([0., 0.])
>>> [head(Zs, label, Zq).shape == (3, 5) for head in (mt.RidgeHead(), mt.LogisticHead(), mt.SVMHead(), mt.ProtoHead())].count(True)
4
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from .. import checked, errors
from .. import ops as _ops
from .._library import lib
from ..heads import FOLLOWED, MOST_COLUMN, Head
from ..heads import head as _head
from ..solvers import implicit as _implicit
from ..solvers import root as _root
from ..tape import current_tape
from ..tensor import Tensor

try:
    from . import compiled
except AttributeError as error:
    raise ImportError(f"mochi.torch expected PyTorch 2.5 or newer, whose custom ops have a rule for vmap; found {torch.__version__}") from error
from .episodes import EpisodeSampler
from .nodes import DEVICES, LOW, apply, value_of

__all__ = [
    "EpisodeSampler", "LogisticHead", "ProtoHead", "RidgeHead", "SVMHead", "function", "implicit", "lda", "logistic", "prototype", "readout", "root",
    "ridge", "solve", "solve_spd", "svm",
]  # fmt: skip


def function(f: Callable) -> Callable[..., Any]:
    """A PyTorch function from a function written with `mochi.ops`.

    Parameters
    ----------
    f : callable
        f(*tensors, **options) -> a `mochi.Tensor`, or a tuple of several. It is called again for higher derivatives and must then
        return the same. Numbers, texts and keywords are passed on unchanged.

    Returns
    -------
    callable
        Takes and returns PyTorch tensors, float32 or float64 if gradients flow, all on the device of the first.
    """

    def applied(*inputs: Any, **options: Any) -> Any:
        tensors = [x for x in inputs if isinstance(x, torch.Tensor)]

        def given(*leaves):
            values = iter(leaves)
            return f(*(next(values) if isinstance(x, torch.Tensor) else x for x in inputs), **options)

        return apply(given, *tensors)

    applied.__doc__ = f.__doc__
    return applied


def _batched(f):
    """Marks a function that accepts leading axes of episodes; torch.func.vmap then passes it batches."""
    f.batches = True
    return f


UNCOUNTED = (
    "mochi.torch: integer labels do not tell a compiled function the number of classes; give ways=C, or one-hot rows, "
    "torch.nn.functional.one_hot(Ys, C)"
)


def _one_hot(Ys, Zs, ways=None, weight=None):
    """One-hot rows of labels, unless they are that; integers are classes 0 .. ways - 1, without `ways` the largest being the last.

    Labels of padding are 0.
    """
    if Zs.device.type not in DEVICES:
        raise errors.UnsupportedError(f"a tensor of PyTorch on {Zs.device}, expected one on the CPU or on cuda")
    if not Zs.is_floating_point():
        raise errors.MismatchError(f"rows of {Zs.dtype}, expected real numbers")
    if Ys.is_floating_point() or (Ys.dim() == Zs.dim() and Ys.shape[-2] == Zs.shape[-2]):
        if ways is not None and Ys.shape[-1] != ways:
            raise errors.InvalidError(f"labels {list(Ys.shape)}, expected {ways} columns, one for each of the ways")
        return Ys if Ys.is_floating_point() else Ys.to(Zs.dtype)
    if ways is None and torch.compiler.is_compiling():
        torch._dynamo.graph_break(msg=UNCOUNTED)
    labels = Ys.long() if weight is None else torch.where(weight > 0, Ys.long(), 0)
    return torch.nn.functional.one_hot(labels, -1 if ways is None else checked.whole("ways", ways, 1)).to(Zs.dtype)


def _targets(Ys, Zs, ways):
    """Real targets in the dtype of the rows."""
    if ways is not None or Ys.dim() != Zs.dim() or Ys.shape[-2] != Zs.shape[-2]:
        beside = "" if ways is None else f" and ways {ways}"
        raise errors.InvalidError(f"targets {list(Ys.shape)}{beside} of rows {list(Zs.shape)}, expected [.., n_s, C] and no ways")
    return Ys.to(Zs.dtype)


def _checked(h, parameters):
    """Refuses a tensor out of a parameter's bounds as the number would be; under torch.compile the op does when it runs."""
    given = parameters and {name: x for name, x in parameters.items() if isinstance(x, torch.Tensor) and x.numel()}
    if not given or torch.compiler.is_compiling():
        return
    for i, name in enumerate(h.parameters):
        if name in given:
            value = value_of(given[name])
            for bound in {float(value.min()), float(value.max())}:
                h._checked(i, name, bound)


def _beside(x, Zs):
    """A parameter on the device of the rows, in the dtype in which they are computed."""
    return x.to(Zs.device, torch.float32 if Zs.dtype in LOW else Zs.dtype)


def _penalty(Zs, Ys, weight=None):
    """The penalty [..] that follows the scale of each episode's support, as that of `mochi.sklearn.RidgeHead`.

    Rows without a label, and rows of weight 0, are padding and change nothing.
    """
    Zs = Zs.float() if Zs.dtype in LOW else Zs
    counts = (Ys != 0).any(-1).to(Zs.dtype)
    if weight is not None:
        counts = torch.where(counts > 0, weight.to(Zs.dtype), 0.0)
    Zs = torch.where(counts[..., None] > 0, Zs, 0.0)
    share = (counts / counts.sum(-1, keepdim=True))[..., None]
    mean = (share * Zs).sum(-2, keepdim=True)
    s = (share * (Zs - mean).square()).sum(-2)
    varies = s > 1e-12 * (s + mean.squeeze(-2).square())
    count = varies.sum(-1, keepdim=True)
    rising = torch.where(varies, s, torch.inf).sort(-1).values
    bound = MOST_COLUMN * rising.gather(-1, (count - 1).clamp(min=0) // 2)
    return torch.where(count.squeeze(-1) > 0, FOLLOWED * torch.minimum(s, bound).sum(-1), 10.0)




def readout(
    head: str | Head,
    Zs: torch.Tensor,
    Ys: torch.Tensor,
    Zq: torch.Tensor,
    *,
    ways: int | None = None,
    weight: torch.Tensor | None = None,
    targets: bool = False,
    **parameters: Any,
) -> torch.Tensor:
    """Logits of the queries by a head fitted on each episode's support.

    Parameters
    ----------
    head : str or Head
        One of `mochi.head_names()`, or your own head.
    Zs : Tensor [.., n_s, d]
        Embeddings of the support; leading axes are episodes.
    Ys : Tensor [.., n_s] or [.., n_s, C]
        Classes 0 .. C - 1 as integers, or one-hot rows of the dtype of Zs or of integers.
    Zq : Tensor [.., n_q, d]
        Embeddings of the queries.
    ways : int
        C, for labels that are integers; None: the largest label + 1. A class without a support row in an episode gets the
        logit -inf there, and no gradient flows through it.
    weight : Tensor [.., n_s]
        Weights of the rows, 0 or more, or a mask; None: ones. A row of weight 2 counts as two rows. A row of weight 0 changes
        nothing, whatever its embedding and label are: with `weight` and `ways` episodes of unlike shots and ways make one batch.
        A one-hot row of zeros has the same effect.
    targets : bool
        Ys [.., n_s, C] are C real targets of each row, of which zeros mean nothing special, and the result predicts them; for
        the heads "ridge" and "ridge_intercept".
    **parameters
        The head's parameters by name: numbers, or tensors, to which gradients flow; default: their initial values.

    Returns
    -------
    Tensor [.., n_q, C]
        Of the dtype of Zs. float16 and bfloat16 are computed in float32; under autocast the logits are float32.

    Raises
    ------
    NumericalError
        If an episode cannot be fitted, for example rows with NaN; the message names the first such episode of the batch.
    """
    Ys = _targets(Ys, Zs, ways) if targets else _one_hot(Ys, Zs, ways, weight)
    inputs = [Zs, Ys, Zq] if weight is None else [Zs, Ys, Zq, weight.to(Zs.dtype)]
    if torch.compiler.is_compiling() and isinstance(head, str):
        return compiled.call(f"{'targets' if targets else 'head'} {head}", inputs, parameters)
    h = _head(head)
    _checked(h, parameters)
    names = [name for name, value in parameters.items() if isinstance(value, torch.Tensor)]
    numbers = {name: value for name, value in parameters.items() if name not in names}

    @_batched
    def fit(*given):
        found = dict(zip(names, given[len(inputs) :], strict=True))
        Zs, Ys, Zq, *rows = given[: len(inputs)]
        return h(Zs, Ys, Zq, weight=rows[0] if rows else None, targets=targets, **numbers, **found)

    name = h.name
    fit.penalties = name.startswith("ridge")
    if weight is None and name == "prototype_euclidean":
        fit.readout = (False, False, False, None)
    return apply(fit, *inputs, *(_beside(parameters[name], Zs) for name in names))


def _ridge(bias, targets=False):
    """The ridge of X = Z, or [Z | 1] by the dual system, in which the ones add 1 to every entry of Zs Zs^T.

    As models/head.c does for every head, it computes in float64 where float32 rows lie far from 0, takes rows of zeros as
    labels for padding, and gives -inf for a class without a support row.
    """

    def primal(Zs, Ys, Zq, lam):
        return Zq @ _ops.solve_spd(_ops.add_diag(_ops.gram(Zs.mT), lam), Zs.mT @ Ys)

    def dual(K, Zs, Ys, Zq, lam):
        D = _ops.solve_spd(_ops.add_diag(K + 1.0 if bias else K, lam), Ys)
        logits = Zq @ (Zs.mT @ D)
        return logits + D.sum(-2, keepdims=True) if bias else logits

    def fit(Zs, Ys, Zq, lam, weight=None):
        labels: Any = np.ones(Ys.shape) if targets else Ys.numpy()
        if weight is not None or not labels.any(-1).all():
            w = labels.any(-1) * (1.0 if weight is None else weight.numpy())
            if bias:
                return _head("ridge")(Zs, Ys, Zq, weight=weight, targets=targets, lam=lam)
            labels = (labels != 0) & (w > 0)[..., None]
            used = _ops.cast(w > 0, Zs.dtype)
            root = used if weight is None else _ops.where(used, _ops.sqrt(_ops.where(used, weight, 1.0)), 0.0)
            Zs, Ys = (_ops.where(used[..., None], X, 0.0) * root[..., None] for X in (Zs, Ys))
        real, by_rows = Zs.dtype, Zs.shape[-2] <= Zs.shape[-1]
        K: Any = _ops.gram(Zs) if by_rows else None
        far = (lib.gate_mo_gram_lies_far, K) if by_rows else (lib.gate_mo_rows_lie_far, Zs)
        if real == "float32" and Zs.context.call(far[0], current_tape()._pointer, far[1]._live()):
            Zs, Ys, Zq = (_ops.cast(X, "float64") for X in (Zs, Ys, Zq))
            lam = _ops.cast(lam, "float64") if isinstance(lam, Tensor) else lam
            K = _ops.gram(Zs) if by_rows else None
        logits = dual(K, Zs, Ys, Zq, lam) if by_rows else primal(Zs, Ys, Zq, lam)
        logits = logits if logits.dtype == real else _ops.cast(logits, real)
        present = labels.any(-2, keepdims=True)
        return logits if present.all() else _ops.where(present.astype(real), logits, -math.inf)

    return _batched(fit)


def ridge(
    Zs: torch.Tensor,
    Ys: torch.Tensor,
    Zq: torch.Tensor,
    lam: float | torch.Tensor | None = None,
    bias: str | None = "penalised",
    *,
    ways: int | None = None,
    weight: torch.Tensor | None = None,
    targets: bool = False,
) -> torch.Tensor:
    """X_q A with A = argmin |X_s A - Ys|^2 + lam |A|^2, of the episodes' embeddings as in `readout`.

    Parameters
    ----------
    lam : float or Tensor
        0 or more; a tensor [] or, for each episode, [..]. None: it follows the scale of each episode's rows by the formula of
        `mochi.sklearn.RidgeHead`, through which gradients flow too.
    bias : str
        "penalised": X = [Z | 1], the head ridge; "free": an intercept without penalty, the head ridge_intercept; None: X = Z, as
        in R2-D2.
    ways, weight, targets
        Of `readout`: with targets=True, Ys [.., n_s, C] are real.

    Source: models/heads/ridge.c; Bertinetto et al. 2019 (R2-D2)

    Examples
    --------
    >>> Z, w = torch.randn(8, 20, 3, requires_grad=True), torch.tensor([[1.0], [-2.0], [0.0]])  # 8 episodes of 20 rows
    >>> Y = (Z @ w + 5).detach()
    >>> found = mochi.torch.ridge(Z[:, :16], Y[:, :16], Z[:, 16:], lam=1e-3, bias="free", targets=True)
    >>> loss = torch.nn.functional.mse_loss(found, Y[:, 16:])
    >>> loss.backward()  # through the fit, into the rows
    >>> bool(loss < 1e-4), Z.grad.shape
    (True, torch.Size([8, 20, 3]))
    """
    heads = {"penalised": "ridge", "free": "ridge_intercept"}
    if bias is not None and bias not in heads:
        raise errors.InvalidError(f"ridge: bias {bias!r}, expected 'penalised', 'free' or None")
    Ys = _targets(Ys, Zs, ways) if targets else _one_hot(Ys, Zs, ways, weight)
    if lam is None:
        lam = _penalty(Zs, torch.ones_like(Ys) if targets else Ys, weight)
    elif not isinstance(lam, torch.Tensor) and not torch.compiler.is_compiling():
        lam = checked.real("ridge: lam", lam, 0)
    if torch.compiler.is_compiling():
        inputs = [Zs, Ys, Zq] + ([] if weight is None else [weight.to(Zs.dtype)])
        return compiled.call(f"ridge {bias} {'targets' if targets else ''}", inputs, {"lam": lam})
    if bias == "free" or (bias is not None and (weight is not None or Zs.shape[-2] > Zs.shape[-1])):
        return readout(heads[bias], Zs, Ys, Zq, lam=lam, weight=weight, targets=targets)
    f = of_tensors = _ridge(bias is not None, targets)
    rows = [] if weight is None else [weight.to(Zs.dtype)]
    if isinstance(lam, torch.Tensor):
        _checked(_head("ridge"), {"lam": lam})
        f.penalties, given = True, [_beside(lam, Zs)]
    else:
        f, given = _batched(lambda Zs, Ys, Zq, *weight: of_tensors(Zs, Ys, Zq, lam, *weight)), []
    if not rows:
        f.readout = (True, bias is not None, targets, None if given else lam)
    return apply(f, Zs, Ys, Zq, *given, *rows)


def logistic(
    Zs: torch.Tensor, Ys: torch.Tensor, Zq: torch.Tensor, lam: float | torch.Tensor = 1.0, **options: Any
) -> torch.Tensor:
    """Logits of the softmax regression with penalty lam / 2 |W|^2 and a free intercept: `readout` of the head logistic.

    options: `ways` and `weight` of `readout`. Differentiated at the optimum by the implicit function theorem.
    Source: models/heads, ops/fits; Lee et al. 2019
    """
    return readout("logistic", Zs, Ys, Zq, lam=lam, **options)


def svm(
    Zs: torch.Tensor, Ys: torch.Tensor, Zq: torch.Tensor, lam: float | torch.Tensor = 1.0, max_iter: int | None = None,
    **options: Any,
) -> torch.Tensor:
    """Scores of the multi-class support vector machine: `readout` of the head svm, of first order.

    Parameters
    ----------
    max_iter : int
        The most passes over the kernel of the rows before `NumericalError` is raised; None: as many as take a few seconds.
        Columns of unlike size take many: standardise them.
    **options
        `ways` and `weight` of `readout`.

    Source: Crammer and Singer 2001; Lee et al. 2019 (MetaOptNet)
    """
    return readout("svm", Zs, Ys, Zq, lam=lam, max_iter=max_iter or 0, **options)


def lda(
    Zs: torch.Tensor, Ys: torch.Tensor, Zq: torch.Tensor, shrinkage: float | torch.Tensor = 0.1, **options: Any
) -> torch.Tensor:
    """Scores of linear discriminant analysis with a covariance shrunk to a multiple of I: `readout` of the head lda.

    options: `ways` and `weight` of `readout`.
    """
    return readout("lda", Zs, Ys, Zq, shrinkage=shrinkage, **options)


def prototype(Zs: torch.Tensor, Ys: torch.Tensor, Zq: torch.Tensor, kind: str = "euclidean", **options: Any) -> torch.Tensor:
    """Scores by class means: kind is "euclidean" (minus the squared distance), "inner", "cosine" or "centred".

    options: `ways` and `weight` of `readout`. Source: Snell et al. 2017
    """
    return readout(f"prototype_{kind}", Zs, Ys, Zq, **options)


def solve_spd(A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
    """A^-1 B for symmetric positive definite A [.., n, n] and B [.., n, m], batched; one factorization serves all orders."""
    return compiled.call("solve_spd", [A, B], {}) if torch.compiler.is_compiling() else apply(_batched(_ops.solve_spd), A, B)


def solve(A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
    """A^-1 B for A [.., n, n] and B [.., n, m], batched; one factorization serves all orders."""
    return compiled.call("solve", [A, B], {}) if torch.compiler.is_compiling() else apply(_batched(_ops.solve), A, B)


def root(residual: Callable, w0: torch.Tensor, *theta: torch.Tensor, **options: Any) -> torch.Tensor:
    """The w with residual(w, *theta) = 0 near w0, differentiable in theta: `mochi.root` for tensors of PyTorch.

    Parameters
    ----------
    residual : callable
        F(w, *theta), of the shape of w, written with the ops of `mochi.ops`.
    w0 : Tensor
        Where the solver starts; no gradient flows to it.
    theta : Tensor
        The tensors that F depends on.
    **options
        Of `mochi.root`.
    """
    return apply(lambda w0, *theta: _root(residual, w0, theta, **options), w0.detach(), *theta)


def implicit(residual: Callable, solution: torch.Tensor, *theta: torch.Tensor, **options: Any) -> torch.Tensor:
    """A w with residual(w, *theta) = 0, found by any means, as a function of theta: `mochi.implicit` for tensors of PyTorch."""
    return apply(lambda w, *theta: _implicit(residual, w, theta, **options), solution.detach(), *theta)


class _Head(torch.nn.Module):
    """A head as a module: forward(Zs, Ys, Zq) -> logits; its penalty is exp(log_lam), a parameter if it is learned."""

    _logits: Callable[..., torch.Tensor]

    def __init__(self, lam: float | None = 1.0, learned: bool = False):
        super().__init__()
        self._lam = None if lam is None else float(lam)
        first = 10.0 if self._lam is None else self._lam
        self.log_lam = torch.nn.Parameter(torch.tensor(first).log()) if learned else None

    @property
    def lam(self) -> Any:
        """The penalty: a number, None, or a tensor if it is learned."""
        return self._lam if self.log_lam is None else self.log_lam.exp()

    def forward(self, Zs: torch.Tensor, Ys: torch.Tensor, Zq: torch.Tensor, **options: Any) -> torch.Tensor:
        """Logits [.., n_q, C]; options: `ways` and `weight` of `readout`."""
        return self._logits(Zs, Ys, Zq, self.lam, **options)

    def extra_repr(self) -> str:
        lam = "None" if self.lam is None else f"{float(torch.as_tensor(self.lam).detach()):.4g}"
        return f"lam={lam}, learned={self.log_lam is not None}"


class RidgeHead(_Head):
    """`ridge` as a module.

    Parameters
    ----------
    lam : float
        The penalty; the initial value if it is learned. None: as in `ridge`, or 10 if it is learned.
    learned : bool
        Whether log(lam) is a parameter (R2-D2, Bertinetto et al. 2019).
    bias : str
        Of `ridge`.

    Examples
    --------
    >>> head = mochi.torch.RidgeHead(lam=1.0, learned=True, bias=None)
    >>> logits = head(torch.randn(10, 8), torch.arange(10) % 5, torch.randn(3, 8))
    >>> logits.shape, [name for name, _ in head.named_parameters()]
    (torch.Size([3, 5]), ['log_lam'])
    """

    def __init__(self, lam: float | None = None, learned: bool = False, bias: str | None = "penalised"):
        super().__init__(lam, learned)
        self.bias = bias

    def _logits(self, Zs, Ys, Zq, lam, **options):
        return ridge(Zs, Ys, Zq, lam, self.bias, **options)


class LogisticHead(_Head):
    """`logistic` as a module."""

    _logits = staticmethod(logistic)


class SVMHead(_Head):
    """`svm` as a module (MetaOptNet, Lee et al. 2019)."""

    _logits = staticmethod(svm)


class ProtoHead(torch.nn.Module):
    """`prototype` as a module (Snell et al. 2017)."""

    def __init__(self, kind: str = "euclidean"):
        super().__init__()
        self.kind = kind

    def forward(self, Zs: torch.Tensor, Ys: torch.Tensor, Zq: torch.Tensor, **options: Any) -> torch.Tensor:
        """Scores [.., n_q, C]; options: `ways` and `weight` of `readout`."""
        return prototype(Zs, Ys, Zq, self.kind, **options)


def eager(name: str, inputs: Any, parameters: dict[str, Any]) -> torch.Tensor:
    """The function that `compiled.call` represents: "solve", "solve_spd", "ridge BIAS", "head NAME", or these of "targets"."""
    kind, _, which = name.partition(" ")
    if kind in ("solve", "solve_spd"):
        return solve(*inputs) if kind == "solve" else solve_spd(*inputs)
    Zs, Ys, Zq, *rows = inputs
    weight = rows[0] if rows else None
    if kind in ("head", "targets"):
        return readout(which, Zs, Ys, Zq, weight=weight, targets=kind == "targets", **parameters)
    bias, _, targets = which.partition(" ")
    return ridge(Zs, Ys, Zq, parameters["lam"], None if bias == "None" else bias, weight=weight, targets=bool(targets))
