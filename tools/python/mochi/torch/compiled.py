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
    y = Call.apply(name, " ".join([*learned, *fixed]), tuple(float(value) for value in fixed.values()), *wide, *tensors)
    return y if given is None else y.to(given)


def _run(name, tensors, names, numbers):
    """names: of the parameters whose values end `tensors`, then of those whose values are `numbers`."""
    from . import eager

    keys = names.split()
    n = len(tensors) - (len(keys) - len(numbers))
    return eager(name, tensors[:n], dict(zip(keys, [*tensors[n:], *numbers], strict=True)))


# The schemas are written out, as PyTorch before 2.6 does not read annotations that are texts.
@torch.library.custom_op("mochi::call", mutates_args=(), schema="(str name, Tensor[] tensors, str names, float[] numbers) -> Tensor")
def _call(name: str, tensors: list[torch.Tensor], names: str, numbers: list[float]) -> torch.Tensor:
    return _run(name, tensors, names, numbers)


@_call.register_fake
def _shape(name, tensors, names, numbers):
    if name.startswith("solve"):
        return tensors[1].new_empty(tensors[1].shape)
    return tensors[2].new_empty((*tensors[2].shape[:-1], tensors[1].shape[-1]))


@torch.library.custom_op(
    "mochi::adjoint", mutates_args=(),
    schema="(Tensor bar, str name, Tensor[] tensors, bool[] needs, str names, float[] numbers) -> Tensor[]")
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


class Call(torch.autograd.Function):
    """`mochi::call` with its adjoint, which torch.func takes under torch.compile too; an op registered with an adjoint it refuses."""

    generate_vmap_rule = True

    @staticmethod
    def forward(name, names, numbers, *tensors):
        """The value."""
        return _call(name, list(tensors), names, list(numbers))

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Keeps the tensors."""
        ctx.name, ctx.names, ctx.numbers, *tensors = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx, bar):
        """The adjoints of the tensors that need one."""
        needs = list(ctx.needs_input_grad[3:])
        found = iter(_adjoint(bar, ctx.name, list(ctx.saved_tensors), needs, ctx.names, list(ctx.numbers)))
        return None, None, None, *[next(found) if need else None for need in needs]


def _item(tensors, dims, i):
    """The tensors of item i of a map."""
    return [x if d is None else x.select(d, i) for x, d in zip(tensors, dims, strict=True)]


def _stacked(tensors, dims, size):
    """The tensors of all items, with a leading axis."""
    return [x.expand(size, *x.shape) if d is None else x.movedim(d, 0) for x, d in zip(tensors, dims, strict=True)]


def _map_call(info, dims, name, tensors, names, numbers):
    """A call under vmap: at once, if only rows and labels are mapped, else item by item."""
    size, of, n = info.batch_size, dims[1], len(tensors) - (len(names.split()) - len(numbers))  # n: before the parameters
    if not any(d is not None for d in of[n:]):
        return _call(name, [*_stacked(tensors[:n], of[:n], size), *tensors[n:]], names, numbers), 0
    return torch.stack([_call(name, _item(tensors, of, i), names, numbers) for i in range(size)]), 0


def _map_adjoint(info, dims, bar, name, tensors, needs, names, numbers):
    """Adjoints under vmap; those of parameters are each item's own."""
    size, of, n = info.batch_size, dims[2], len(tensors) - (len(names.split()) - len(numbers))
    if not any(d is not None for d in of[n:]) and not any(needs[n:]):
        (bars,), rows = _stacked([bar], dims[:1], size), _stacked(tensors[:n], of[:n], size)
        return _adjoint(bars, name, [*rows, *tensors[n:]], needs, names, numbers), [0] * sum(needs)
    each = [_item([bar, *tensors], [dims[0], *of], i) for i in range(size)]
    found = [_adjoint(bar, name, given, needs, names, numbers) for bar, *given in each]
    return [torch.stack(g) for g in zip(*found, strict=True)], [0] * sum(needs)


_call.register_vmap(_map_call)
_adjoint.register_vmap(_map_adjoint)
