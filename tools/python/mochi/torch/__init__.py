"""Heads and solvers as functions of PyTorch, whose gradients have gradients of their own.

They stand where ``torch.linalg.solve`` or a loop over episodes stood: tensors of PyTorch go in without a copy, on the CPU or on
a GPU that the library can open; tensors of PyTorch come out; `torch.autograd` asks the library's tape for the adjoint.

>>> import mochi.torch, torch
>>> Zs, Zq = torch.randn(64, 50, 32, requires_grad=True), torch.randn(64, 75, 32)
>>> label = torch.arange(5).repeat_interleave(10).expand(64, 50)
>>> logits = mochi.torch.ridge(Zs, label, Zq, lam=1.0)  # 64 episodes in one call
>>> logits.shape
torch.Size([64, 75, 5])
>>> logits.square().mean().backward()

Derivatives of every order exist, but for `svm`, which promises the first. An input must not be changed in place before backward,
as of every function that saves its inputs: PyTorch says so. Every thread computes in its own default context
(`mochi.set_default_context`), whose threads live beside those of PyTorch.
"""

from collections.abc import Callable
from typing import Any

import torch

from .. import checked, errors
from .. import ops as _ops
from ..heads import Head
from ..heads import head as _head
from ..solvers import implicit as _implicit
from .nodes import Function, Record, leaf_of

__all__ = ["function", "implicit", "lda", "logistic", "prototype", "readout", "ridge", "solve", "solve_spd", "svm"]


def function(f: Callable) -> Callable[..., torch.Tensor]:
    """A function of PyTorch from one that is written with the ops of `mochi.ops`.

    Parameters
    ----------
    f : callable
        f(*tensors) -> Tensor, of `mochi.Tensor`. It is called again for higher derivatives: it must give the same.

    Returns
    -------
    callable
        Takes and gives tensors of PyTorch, float32 or float64 where gradients flow, all on the device of the first.
    """

    def apply(*inputs: torch.Tensor) -> torch.Tensor:
        return Function.apply(f, *inputs)

    apply.__doc__ = f.__doc__
    return apply


def _one_hot(Ys, Zs):
    """Rows of labels; integers are classes, of which the largest is the last."""
    return Ys if Ys.is_floating_point() else torch.nn.functional.one_hot(Ys.long()).to(Zs.dtype)


def readout(head: str | Head, Zs: torch.Tensor, Ys: torch.Tensor, Zq: torch.Tensor, **parameters: Any) -> torch.Tensor:
    """Logits of queries by a head that is fitted on the support of each episode.

    Parameters
    ----------
    head : str or Head
        One of `mochi.head_names()`, or a head of one's own.
    Zs : Tensor [.., n_s, d]
        Embeddings of the support; leading axes are episodes.
    Ys : Tensor [.., n_s] or [.., n_s, C]
        Classes 0 .. C - 1 as integers, or one-hot rows of the dtype of Zs.
    Zq : Tensor [.., n_q, d]
        Embeddings of the queries.
    **parameters
        The head's own by name, numbers or tensors, to which gradients flow; its first values otherwise.

    Returns
    -------
    Tensor [.., n_q, C]
    """
    h = _head(head)
    Ys = _one_hot(Ys, Zs)
    names = [name for name, value in parameters.items() if isinstance(value, torch.Tensor)]
    numbers = {name: value for name, value in parameters.items() if name not in names}

    def fit(Zs, Ys, Zq, *given):
        return h(Zs, Ys, Zq, **numbers, **dict(zip(names, given, strict=True)))

    return Function.apply(fit, Zs, Ys, Zq, *(parameters[name].to(Zs.dtype) for name in names))


def _primal(Zs, Ys, Zq, lam):
    """Zq A without a bias by the system Zs^T Zs + lam I, the smaller one of more rows than columns."""
    return Zq @ _ops.solve_spd(_ops.add_diag(_ops.gram(Zs.T), lam), Zs.T @ Ys)


class _DualRecord(Record):
    """The ridge by its dual system K D = Ys, K = Zs Zs^T (+ 1) + lam I; the logits are Zq W (+ 1^T D), W = Zs^T D.

    With B the adjoint of the logits and G = Zq^T B that of W, the adjoint of D is Zs G (+ 1 1^T B), and V = K^-1 of it is
    that of Ys. The adjoint of K is -V D^T, of rank C: the tape would make an n_s x n_s matrix of it and multiply that by
    Zs, while its products with Zs need none. As K is symmetric, Zs gets D G^T - V (Zs^T D)^T - D (Zs^T V)^T, and lam
    -<V, D>. The factor of K is what the tape keeps; only Ys is recorded.
    """

    def __init__(self, f, inputs, needs):
        self.system = f
        super().__init__(self.fit, inputs, needs)

    def leaves_of(self, inputs, needs):
        return [leaf_of(x, i == 1, self.context) for i, x in enumerate(inputs)]

    def fit(self, Zs, Ys, Zq, lam):
        self.D = _ops.solve_spd(self.system.gram(Zs, lam), Ys)
        D = self.D.detach()
        self.W = Zs.T @ D
        return self.system.logits(Zq, self.W, D)

    def gradients(self, needs, bars):
        """Of first order: `Adjoint` records the function anew, as a `Record`, for gradients of gradients."""
        Zs, Ys, Zq, _ = self.leaves
        (bar,) = bars
        with self.tape:
            D, W, G = self.D.detach(), self.W, Zq.T @ bar
            V: Any = None
            if any(need for i, need in enumerate(needs) if i != 2):
                (V,) = self.tape.grad(self.D, [Ys], [self.system.adjoint(Zs, G, bar)], retain=True)
            formulas = (
                lambda: D @ (G - Zs.T @ V).T - V @ W.T,
                lambda: V,
                lambda: bar @ W.T,
                lambda: -(V * D).sum(),
            )
            return [formula() for formula, need in zip(formulas, needs, strict=True) if need]


class _Dual:
    """X_q A by the system X_s X_s^T + lam I, X = Z or [Z | 1]: the column of ones adds 1 to every entry of Zs Zs^T."""

    def __init__(self, bias, same_batch):
        self.bias = bias
        self.record = _DualRecord if same_batch else Record  # whose gradients are summed over axes that were spread

    def __call__(self, Zs, Ys, Zq, lam):
        D = _ops.solve_spd(self.gram(Zs, lam), Ys)
        return self.logits(Zq, Zs.T @ D, D)

    def gram(self, Zs, lam):
        K = _ops.gram(Zs)
        return _ops.add_diag(K + 1.0 if self.bias else K, lam)

    def logits(self, Zq, W, D):
        return Zq @ W + D.sum(-2, keepdims=True) if self.bias else Zq @ W

    def adjoint(self, Zs, G, bar):
        """That of D: G and bar are those of W and of the logits."""
        return Zs @ G + bar.sum(-2, keepdims=True) if self.bias else Zs @ G


def ridge(
    Zs: torch.Tensor, Ys: torch.Tensor, Zq: torch.Tensor, lam: float | torch.Tensor = 10.0, bias: str | None = "penalised"
) -> torch.Tensor:
    """X_q A with A = argmin |X_s A - Ys|^2 + lam |A|^2, of the episodes' embeddings as in `readout`.

    Parameters
    ----------
    lam : float or Tensor
        Above 0.
    bias : str
        "penalised": X = [Z | 1], the head ridge; "free": an intercept without penalty, the head ridge_intercept; None: X = Z,
        as R2-D2 has it.

    Source: models/heads/ridge.c; Bertinetto et al. 2019 (R2-D2)
    """
    heads = {"penalised": "ridge", "free": "ridge_intercept"}
    if bias is not None and bias not in heads:
        raise errors.InvalidError(f"ridge: bias {bias!r}, expected 'penalised', 'free' or None")
    if not isinstance(lam, torch.Tensor):
        lam = checked.real("ridge: lam", lam, 0)
    dual = Zs.shape[-2] <= Zs.shape[-1]
    if bias == "free" or (bias is not None and not dual):
        return readout(heads[bias], Zs, Ys, Zq, **{"lambda": lam})
    Ys, lam = _one_hot(Ys, Zs), torch.as_tensor(lam, dtype=Zs.dtype)
    same_batch = Zs.shape[:-2] == Ys.shape[:-2] == Zq.shape[:-2] and lam.ndim == 0
    return Function.apply(_Dual(bias is not None, same_batch) if dual else _primal, Zs, Ys, Zq, lam)


def logistic(Zs: torch.Tensor, Ys: torch.Tensor, Zq: torch.Tensor, lam: float | torch.Tensor = 1.0) -> torch.Tensor:
    """Logits of the softmax regression with penalty lam / 2 |W|^2 and a free intercept: `readout` of the head logistic.

    Differentiated at the optimum by the implicit function theorem. Source: models/heads, ops/fits; Lee et al. 2019
    """
    return readout("logistic", Zs, Ys, Zq, **{"lambda": lam})


def svm(Zs: torch.Tensor, Ys: torch.Tensor, Zq: torch.Tensor, lam: float | torch.Tensor = 1.0) -> torch.Tensor:
    """Scores of the multi-class support vector machine: `readout` of the head svm, of first order.

    Source: Crammer and Singer 2001; Lee et al. 2019 (MetaOptNet)
    """
    return readout("svm", Zs, Ys, Zq, **{"lambda": lam})


def lda(Zs: torch.Tensor, Ys: torch.Tensor, Zq: torch.Tensor, shrinkage: float | torch.Tensor = 0.1) -> torch.Tensor:
    """Scores of linear discriminant analysis with a covariance shrunk to a multiple of I: `readout` of the head lda."""
    return readout("lda", Zs, Ys, Zq, shrinkage=shrinkage)


def prototype(Zs: torch.Tensor, Ys: torch.Tensor, Zq: torch.Tensor, kind: str = "euclidean") -> torch.Tensor:
    """Scores by class means: kind is "euclidean" (minus the squared distance), "inner", "cosine" or "centred".

    Source: Snell et al. 2017
    """
    return readout(f"prototype_{kind}", Zs, Ys, Zq)


def solve_spd(A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
    """A^-1 B for symmetric positive definite A [.., n, n] and B [.., n, m], batched; one factorization serves all orders."""
    return Function.apply(_ops.solve_spd, A, B)


def solve(A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
    """A^-1 B for A [.., n, n] and B [.., n, m], batched; one factorization serves all orders."""
    return Function.apply(_ops.solve, A, B)


def implicit(residual: Callable, w0: torch.Tensor, *theta: torch.Tensor, **options: Any) -> torch.Tensor:
    """The w with residual(w, *theta) = 0 near w0, differentiable in theta: `mochi.implicit` for tensors of PyTorch.

    Parameters
    ----------
    residual : callable
        F(w, *theta), of the shape of w, written with the ops of `mochi.ops`.
    w0 : Tensor
        Where the solver starts; no gradient flows to it.
    theta : Tensor
        What F depends on.
    **options
        Of `mochi.implicit`.
    """

    def at(w0, *theta):
        return _implicit(residual, w0, theta, **options)

    return Function.apply(at, w0.detach(), *theta)
