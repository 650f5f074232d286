"""Heads and solves as registered ops of PyTorch, so that torch.compile keeps them in its graph."""

from __future__ import annotations

from typing import Any

import torch


def call(name: str, inputs: list[torch.Tensor], parameters: dict[str, Any]) -> torch.Tensor:
    """A function of mochi.torch by name; parameters are numbers, or tensors to which gradients flow."""
    learned = [key for key, value in parameters.items() if isinstance(value, torch.Tensor)]
    fixed = [key for key in parameters if key not in learned]
    tensors = [*inputs, *(parameters[key].to(inputs[0].dtype) for key in learned)]
    return _call(name, tensors, " ".join([*learned, *fixed]), [float(parameters[key]) for key in fixed])


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
