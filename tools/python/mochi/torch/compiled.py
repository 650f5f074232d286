"""Heads and solves as registered ops of PyTorch, so that torch.compile keeps them in its graph."""

from __future__ import annotations

from typing import Any

import torch

from .nodes import widened


def call(name: str, inputs: list[torch.Tensor], parameters: dict[str, Any]) -> torch.Tensor:
    """A function of mochi.torch by name; parameters are numbers, or tensors to which gradients flow.

    Inputs are widened here, so that all tensors of the op, its result and its adjoint have one dtype. A real number becomes a
    tensor: as a constant of the graph, a number that changes would compile the function anew.
    """
    wide, given = widened(inputs)
    like = wide[0]
    fixed = {key: value for key, value in parameters.items() if isinstance(value, int)}
    learned = {key: value for key, value in parameters.items() if key not in fixed}
    tensors = [
        x.to(like.dtype) if isinstance(x, torch.Tensor) else torch.full((), x, dtype=like.dtype, device=like.device)
        for x in learned.values()
    ]
    y = _call(name, [*wide, *tensors], " ".join([*learned, *fixed]), [float(value) for value in fixed.values()])
    return y if given is None else y.to(given)


def _run(name, tensors, names, numbers):
    """names: of the parameters whose values end `tensors`, then of those whose values are `numbers`."""
    from . import eager

    keys = names.split()
    n = len(tensors) - (len(keys) - len(numbers))
    return eager(name, tensors[:n], dict(zip(keys, [*tensors[n:], *numbers], strict=True)))


@torch.library.custom_op("mochi::call", mutates_args=())
def _call(name: str, tensors: list[torch.Tensor], names: str, numbers: list[float]) -> torch.Tensor:
    return _run(name, tensors, names, numbers)


@_call.register_fake
def _shape(name, tensors, names, numbers):
    if name.startswith("solve"):
        return tensors[1].new_empty(tensors[1].shape)
    return tensors[2].new_empty((*tensors[2].shape[:-1], tensors[1].shape[-1]))


@torch.library.custom_op("mochi::adjoint", mutates_args=())
def _adjoint(
    bar: torch.Tensor, name: str, tensors: list[torch.Tensor], needs: list[bool], names: str, numbers: list[float]
) -> list[torch.Tensor]:
    leaves = [x.detach().requires_grad_(need) for x, need in zip(tensors, needs, strict=True)]
    with torch.enable_grad():
        y = _run(name, leaves, names, numbers)
    return [g.contiguous() for g in torch.autograd.grad(y, [x for x in leaves if x.requires_grad], bar)]


@_adjoint.register_fake
def _shapes(bar, name, tensors, needs, names, numbers):
    return [x.new_empty(x.shape) for x, need in zip(tensors, needs, strict=True) if need]


def _keep(ctx, inputs, output):
    ctx.name, tensors, ctx.names, ctx.numbers = inputs
    ctx.needs = [x.requires_grad for x in tensors]
    ctx.save_for_backward(*tensors)


def _backward(ctx, bar):
    found = iter(_adjoint(bar, ctx.name, list(ctx.saved_tensors), ctx.needs, ctx.names, ctx.numbers))
    return None, [next(found) if need else None for need in ctx.needs], None, None if ctx.numbers else []


_call.register_autograd(_backward, setup_context=_keep)
