"""A function written with the library's ops as a function of PyTorch: its node holds a tape, and asks it for the adjoint."""

import collections
import contextlib
import threading

import torch
from torch.autograd.function import once_differentiable

from .. import errors
from ..context import Context, default_context
from ..dlpack import device_named
from ..tape import Tape
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
        while self.tapes:
            tape = self.tapes.pop()
            with contextlib.suppress(errors.Error):  # one from before a fork, or that backward is in
                if tape.context is context:
                    tape.reset()
                    return tape
        return Tape(context=context)


_idle = _Idle()


class Record:
    """A function recorded on a tape of its own, which lives as long as PyTorch's node."""

    def __init__(self, f, inputs, needs):
        self.context = _devices.context_of(inputs[0])
        self.tape, self.home = _idle.take(self.context), _idle.tapes
        self.leaves = self.leaves_of(inputs, needs)
        with self.tape:
            self.y = f(*self.leaves)

    def leaves_of(self, inputs, needs):
        """The inputs of f on the tape."""
        return [leaf_of(x, need, self.context) for x, need in zip(inputs, needs, strict=True)]

    def __del__(self):
        if hasattr(self, "home"):
            self.home.append(self.tape)  # reset by the thread that takes it

    def gradients(self, needs, bar, create_graph=False):
        """The adjoints of the inputs that need one, from that of the result."""
        xs = [leaf for leaf, need in zip(self.leaves, needs, strict=True) if need]
        return self.tape.grad(self.y, xs, [bar], create_graph=create_graph, retain=True, allow_unused=True)


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


class Function(torch.autograd.Function):
    """y = f(*inputs). `f.record`, if there, is the class that records it."""

    @staticmethod
    def forward(ctx, f, *inputs):
        """Records f, and gives its value."""
        ctx.f = f
        ctx.record = getattr(f, "record", Record)(f, inputs, ctx.needs_input_grad[1:])
        ctx.save_for_backward(*inputs)
        return tensor_of(ctx.record.y, inputs[0])

    @staticmethod
    def backward(ctx, bar):
        """The adjoints of the inputs, as a node of its own."""
        needs = ctx.needs_input_grad[1:]
        return None, *_spread(Adjoint.apply(ctx.f, needs, ctx.record, bar, *ctx.saved_tensors), needs)


class Adjoint(torch.autograd.Function):
    """The gradients of f in the inputs that need one, as a function of the adjoint of its result and of all inputs."""

    @staticmethod
    def forward(ctx, f, needs, record, bar, *inputs):
        """Asks the tape of the record."""
        ctx.f, ctx.needs = f, needs
        ctx.save_for_backward(bar, *inputs)
        return tensors_of(record.gradients(needs, leaf_of(bar, context=record.context)), inputs, needs)

    @staticmethod
    @once_differentiable
    def backward(ctx, *directions):
        """Records f and its gradients anew, and differentiates them along the directions."""
        bar, *inputs = ctx.saved_tensors
        wanted = ctx.needs_input_grad[3:]
        record = Record(ctx.f, inputs, [a or b for a, b in zip(ctx.needs, wanted[1:], strict=True)])
        leaf = leaf_of(bar, True, record.context)
        gradients = record.gradients(ctx.needs, leaf, create_graph=True)
        xs = [x for x, want in zip([leaf, *record.leaves], wanted, strict=True) if want]
        second = record.tape.grad(gradients, xs, [leaf_of(v, context=record.context) for v in directions], allow_unused=True)
        return None, None, None, *_spread(tensors_of(second, [bar, *inputs], wanted), wanted)
