"""AdamW, SGD with momentum, and the cosine schedule of a rate."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from . import checked, errors
from ._library import ffi, lib
from .handle import Handle
from .tape import tensors_in
from .tensor import Leaf, Tensor, constant

FIRST, SECOND = 1, 2  # moments


class Optimizer(Handle):
    """The base of AdamW and SGD, which update their parameters in place.

    A pickle keeps its parameters, moments and number of steps, so that the loaded optimiser continues with the same bits;
    parameters pickled together with it stay linked to it.
    """

    release = lib.gate_mo_optimizer_release

    def __init__(self, make: Any, kind: str, parameters: Iterable[Leaf], lr: float, given: dict[str, float | None]) -> None:
        leaves = tensors_in(f"{type(self).__name__}: parameters", parameters)
        if not leaves:
            raise errors.InvalidError(f"{type(self).__name__}: expected a parameter at least")
        context = leaves[0].context
        options = ffi.new(f"{kind} *", {name: value for name, value in given.items() if value is not None})
        pointers = ffi.new("mo_tensor *[]", [p._live() for p in leaves])
        made = context.call(make, context._pointer, pointers, len(leaves), options)
        super().__init__(context, made, keep=leaves)
        self.lr = lr
        self._options = given

    def step(self, gradients: Iterable[ArrayLike], lr: float | None = None) -> float:
        """Takes a step with gradients in the order of the parameters; returns their norm before clipping."""
        pointer = self._live()
        gradients = [gradients] if isinstance(gradients, Tensor) else list(gradients)
        if len(gradients) != len(self._keep):
            raise errors.InvalidError(f"step: {len(gradients)} gradients, expected one for each of {len(self._keep)} parameters")
        given = [g if isinstance(g, Tensor) else constant(g, p.dtype) for g, p in zip(gradients, self._keep, strict=True)]
        pointers = ffi.new("mo_tensor *[]", [g._live() for g in given])
        norm = ffi.new("double *")
        rate = self.lr if lr is None else lr
        self.context.call(lib.gate_mo_optimizer_step, pointer, pointers, rate, norm)
        return norm[0]

    @property
    def parameters(self) -> list[Leaf]:
        """The leaves that each step writes."""
        self._live()
        return list(self._keep)

    @property
    def steps(self) -> int:
        """The number of steps taken."""
        return lib.mo_optimizer_steps(self._live())

    def _moments(self, order):
        """The tensors of the first or second moments, which the optimiser owns."""
        pointers = [lib.mo_optimizer_moment(self._live(), i, order) for i in range(len(self.parameters))]
        return [Leaf(pointer, self.context, borrowed=True) for pointer in pointers]

    def __reduce__(self) -> tuple[Any, ...]:
        moments = [[m.numpy() for m in self._moments(order)] for order in (FIRST, SECOND)]
        return _remade, (type(self), self.parameters, {"lr": self.lr, **self._options}, self.steps, *moments)


class AdamW(Optimizer):
    """AdamW with decoupled decay (Loshchilov and Hutter 2019).

    Parameters
    ----------
    parameters : sequence of Tensor
        Leaves; each step writes them.
    clip : float
        The largest gradient norm, or None.

    Examples
    --------
    >>> w = mochi.parameter([3.0], dtype="float64")
    >>> optimizer = mochi.AdamW([w], lr=0.1)
    >>> for _ in range(100):
    ...     with mochi.Tape() as tape:
    ...         norm = optimizer.step(tape.grad((w * w).sum(), [w]))
    >>> abs(w.item()) < 0.1
    True
    """

    def __init__(
        self, parameters: Iterable[Leaf], lr: float = 1e-3, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8,
        weight_decay: float = 0.0, clip: float | None = None,
    ) -> None:  # fmt: skip
        given = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon, "weight_decay": weight_decay, "clip": clip}
        super().__init__(lib.gate_mo_adamw_create, "mo_adamw_options", parameters, lr, given)


class SGD(Optimizer):
    """Gradient descent with momentum: m <- momentum m + g, p <- p - lr m, after the decay p <- (1 - lr weight_decay) p.

    Parameters
    ----------
    parameters : sequence of Tensor
        Leaves; each step writes them.
    clip : float
        The largest gradient norm, or None.
    """

    def __init__(
        self, parameters: Iterable[Leaf], lr: float = 1e-2, momentum: float = 0.0, weight_decay: float = 0.0,
        clip: float | None = None,
    ) -> None:  # fmt: skip
        given = {"momentum": momentum, "weight_decay": weight_decay, "clip": clip}
        super().__init__(lib.gate_mo_sgd_create, "mo_sgd_options", parameters, lr, given)


def _remade(kind, parameters, options, steps, *moments):
    made = kind(parameters, **options)
    for order, values in zip((FIRST, SECOND), moments, strict=True):
        for tensor, array in zip(made._moments(order), values, strict=True):
            tensor.write(array)
    made.context.call(lib.gate_mo_optimizer_set_steps, made._live(), steps)
    return made


def cosine(lr: float, lr_min: float, step: int, steps: int) -> float:
    """lr_min + (lr - lr_min) (1 + cos(pi step / steps)) / 2, for step = 0 .. steps."""
    lr, lr_min = checked.real("cosine: lr", lr, 0), checked.real("cosine: lr_min", lr_min, 0)
    steps = checked.whole("cosine: steps", steps, 1)
    step = checked.whole("cosine: step", step, 0, steps)
    return lib.mo_cosine(lr, lr_min, step, steps)
