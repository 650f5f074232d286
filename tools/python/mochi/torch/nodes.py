"""A function written with the library's ops as a function of PyTorch: its node holds a tape, and asks it for the adjoint."""

import collections
import contextlib
import threading

import torch

from .. import errors
from ..context import Context, default_context
from ..dlpack import device_named
from ..tape import Tape, current_tape
from ..tensor import constant


class _Devices(threading.local):
    """The contexts of this thread on GPUs, by name."""

    def __init__(self):
        self.contexts = {}

    def context_of(self, x):
        """The context for a tensor of PyTorch: the thread's default one, or one on the tensor's GPU."""
        if x.device.type == "cpu":
            return default_context()
        if x.device.type != "cuda":
            raise errors.UnsupportedError(f"a tensor of PyTorch on {x.device}, expected one on the CPU or on cuda")
        name = f"cuda:{x.device.index or 0}"
        if device_named(default_context().device) == device_named(name):
            return default_context()
        if name not in self.contexts or self.contexts[name].forked:
            self.contexts[name] = Context(device=name)
        return self.contexts[name]


_devices = _Devices()


def leaf_of(x, needs=False, context=None):
    """A leaf onto the memory of a tensor of PyTorch; a copy where the context is on a GPU and the tensor is not."""
    x = x.detach()
    leaf = constant(x.numpy() if x.device.type == "cpu" else x, context=context)
    return leaf.require_grad() if needs else leaf


class _Idle(threading.local):
    """Tapes whose nodes PyTorch has freed, for the next calls of the thread: their memory is there already."""

    def __init__(self):
        self.tapes: collections.deque[Tape] = collections.deque(maxlen=4)

    def take(self, context):
        """An empty tape. The others are emptied too: their nodes would keep every leaf that has died since from being freed."""
        empty = []
        while self.tapes:
            tape = self.tapes.pop()
            with contextlib.suppress(errors.Error):  # one from before a fork, or that backward is in
                if tape.context is context:
                    tape.reset()
                    empty.append(tape)
        self.tapes.extend(empty[1:])
        return empty[0] if empty else Tape(context=context)


_idle = _Idle()


class Record:
    """A function recorded on a tape of its own, which lives as long as PyTorch's node."""

    def __init__(self, f, inputs, needs):
        self.context = _devices.context_of(inputs[0])
        self.tape, self.home = _idle.take(self.context), _idle.tapes
        self.leaves = [leaf_of(x, need, self.context) for x, need in zip(inputs, needs, strict=True)]
        with self.tape:
            self.y = f(*self.leaves)  # or a list of several

    def __del__(self):
        if hasattr(self, "home"):
            self.home.append(self.tape)  # reset by the thread that takes it

    def gradients(self, needs, bars):
        """The adjoints of the inputs that need one, from those of the results."""
        xs = [leaf for leaf, need in zip(self.leaves, needs, strict=True) if need]
        return self.tape.grad(self.y, xs, bars, retain=True, allow_unused=True)


def tensor_of(x, like):
    """A tensor of PyTorch with the values of one of ours, on the device of `like`."""
    if like.device.type == "cpu":
        return torch.from_numpy(x.numpy())
    return torch.from_dlpack(x).clone()  # in PyTorch's stream, which is behind ours


def tensors_of(xs, likes, needs):
    """The values in the order of those that are needed."""
    wanted = [like for like, need in zip(likes, needs, strict=True) if need]
    return tuple(tensor_of(x, like) for x, like in zip(xs, wanted, strict=True))


def _spread(values, needs):
    """One value for each that is needed, None for the others."""
    values = iter(values)
    return tuple(next(values) if need else None for need in needs)


class Gradient:
    """The gradients of f in the inputs that need one, as a function of the adjoints of its n results and of all inputs."""

    def __init__(self, f, needs, n):
        self.f, self.needs, self.n = f, needs, n
        inner = getattr(f, "leaves", [False] * len(needs))
        # Whose adjoints it asks for itself, in its own inputs.
        self.leaves = [False] * n + [a or b for a, b in zip(needs, inner, strict=True)]

    def __call__(self, *given):
        """The gradients, on the open tape."""
        bars, inputs = given[: self.n], given[self.n :]
        xs = [x for x, need in zip(inputs, self.needs, strict=True) if need]
        return current_tape().grad(self.f(*inputs), xs, bars, create_graph=True, allow_unused=True)


class Function(torch.autograd.Function):
    """y = f(*inputs)."""

    @staticmethod
    def forward(ctx, f, *inputs):
        """Records f, and gives its value."""
        ctx.f = f
        ctx.record = Record(f, inputs, ctx.needs_input_grad[1:])
        ctx.save_for_backward(*inputs)
        return tensor_of(ctx.record.y, inputs[0])

    @staticmethod
    def backward(ctx, bar):
        """The adjoints of the inputs, as a node of its own."""
        needs = ctx.needs_input_grad[1:]
        return None, *_spread(Adjoint.apply(ctx.f, needs, ctx.record, bar, *ctx.saved_tensors), needs)


class Adjoint(torch.autograd.Function):
    """`Gradient` of f by the tape of a record of f; its own adjoint is that of the gradient, and so on to any order."""

    @staticmethod
    def forward(ctx, f, needs, record, *given):
        """Asks the tape of the record; given: the adjoints of the results, and all inputs."""
        n = len(given) - len(needs)
        ctx.gradient = Gradient(f, needs, n)
        ctx.save_for_backward(*given)
        bars = [leaf_of(bar, context=record.context) for bar in given[:n]]
        return tensors_of(record.gradients(needs, bars), given[n:], needs)

    @staticmethod
    def backward(ctx, *directions):
        """Records f and its gradients anew, and differentiates them along the directions."""
        given, wanted = ctx.saved_tensors, ctx.needs_input_grad[3:]
        record = Record(ctx.gradient, given, [a or b for a, b in zip(ctx.gradient.leaves, wanted, strict=True)])
        found = Adjoint.apply(ctx.gradient, wanted, record, *directions, *given)
        return None, None, None, *_spread(found, wanted)
