"""A function written with the library's ops as a PyTorch function: its node holds a tape that computes the adjoint."""

import math
import threading
from typing import Any

import torch
from torch.autograd import forward_ad

from .. import errors
from .._library import ffi, lib
from ..arrays import copied, number_of
from ..context import Context, default_context
from ..dlpack import device_named
from ..tape import current_tape, idle
from ..tensor import Tensor, constant


DEVICES = ("cpu", "cuda")


class _Devices(threading.local):
    """The contexts of this thread on GPUs, by name."""

    def __init__(self):
        self.contexts = {}

    def context_of(self, x):
        """The context for a PyTorch tensor: the thread's default, or one on the tensor's GPU."""
        if x.device.type == "cpu":
            return default_context()
        if x.device.type not in DEVICES:
            raise errors.UnsupportedError(f"a tensor of PyTorch on {x.device}, expected one on the CPU or on cuda")
        name = f"cuda:{x.device.index or 0}"
        if device_named(default_context().device) == device_named(name):
            return default_context()
        if name not in self.contexts or self.contexts[name].forked:
            self.contexts[name] = Context(device=name)
        return self.contexts[name]


_devices = _Devices()


SMALL = 1 << 19  # bytes below which a copy on the tape costs less than sharing the memory


def leaf_of(x, needs, tape):
    """A tensor that shares a PyTorch tensor's memory; a copy if it is small, or the context is on a GPU and it is not."""
    x, context = x.detach(), tape.context
    array = x.numpy() if x.device.type == "cpu" else None
    if array is not None and array.nbytes < SMALL:
        leaf = Tensor(copied(tape, array), tape)
    else:
        leaf = constant(x if array is None else array, context=context)
    if needs:
        context.call(lib.gate_mo_require_grad, leaf._live())
    return leaf


REALS = {torch.float32: number_of("float32"), torch.float64: number_of("float64")}


def leaves_of(inputs, needs, tape):
    """`leaf_of` each input; the small ones of one dtype in one call."""
    dtype = inputs[0].dtype
    each: list[Any] = []
    wanted: list[bool] = []
    small = [dtype in REALS and x.dtype is dtype and x.nbytes < SMALL and _is_plain(x) for x in inputs]
    for x, need, one in zip(inputs, needs, small, strict=True):
        if one:
            each += (x.data_ptr(), x.dim(), *x.shape)
            wanted.append(need)
    out = ffi.new("mo_tensor *[]", len(wanted))
    if wanted:
        tape.context.call(lib.binding_copy_in, tape._pointer, REALS[dtype], len(wanted), each, wanted, out)
    made = iter(out)
    return [
        Tensor(next(made), tape) if one else leaf_of(x, need, tape) for x, need, one in zip(inputs, needs, small, strict=True)
    ]


def _is_plain(x):
    """Whether a tensor's memory on the host holds its values in order."""
    return x.is_cpu and x.is_contiguous() and not x.is_neg()


class Record:
    """A function recorded on a tape of its own, which lives as long as PyTorch's node."""

    def __init__(self, f, inputs, needs):
        self.context = _devices.context_of(inputs[0])
        self.tape, self.home = idle.take(self.context), idle.tapes
        self.needs, self.shapes = tuple(needs), [x.shape for x in inputs]
        self.leaves = leaves_of(inputs, self.needs, self.tape)
        with self.tape:
            self.y = f(*self.leaves)  # or a list or tuple of several

    def __del__(self):
        if hasattr(self, "home"):
            self.home.append(self.tape)  # the thread that takes the tape resets it

    def result(self, like):
        """The value of f as a tensor of PyTorch, or a tuple of several, on the device of `like`."""
        several = isinstance(self.y, (list, tuple))
        return tuple(tensor_of(y, like) for y in self.y) if several else tensor_of(self.y, like)

    def serves(self, inputs, needs):
        """Whether the record fits these inputs; under torch.func a node can be called for part of a batch or for the whole."""
        return [x.shape for x in inputs] == self.shapes and all(a or not b for a, b in zip(self.needs, needs, strict=True))

    def gradients(self, needs, bars, inputs):
        """The adjoints of the inputs that need one, from those of the results, as tensors of PyTorch."""
        xs = [leaf for leaf, need in zip(self.leaves, needs, strict=True) if need]
        likes = [x for x, need in zip(inputs, needs, strict=True) if need]
        bar = bars[0].contiguous()
        if not isinstance(self.y, Tensor) or not all(x.dtype in REALS and x.is_cpu for x in (bar, *likes)):
            given = [leaf_of(bar, False, self.tape) for bar in bars]
            told = self.tape.grad(self.y, xs, given, retain=True, allow_unused=True)
            return tuple(tensor_of(x, like) for x, like in zip(told, likes, strict=True))
        found: Any = tuple(torch.empty_like(x, memory_format=torch.contiguous_format) for x in likes)
        self.context.call(
            lib.binding_pull, self.tape._pointer, self.y._live(), (bar.data_ptr(), bar.dim(), *bar.shape),
            [x._live() for x in xs], len(xs), ffi.new("mo_tensor *[]", len(xs)), [x.data_ptr() for x in found],
        )  # fmt: skip
        return found


def _at(x):
    """The address of a PyTorch tensor's memory for the library."""
    return ffi.cast("void *", x.data_ptr())


class Readout:
    """A ridge or prototypes of episodes in one call of the library without a tape, in place of a Record."""

    r: Any
    context: Context
    shapes: list[torch.Size]
    kept: torch.Tensor
    y: Any

    @classmethod
    def of(cls, kind, inputs, needs):
        """The readout at the inputs (Zs, Ys, Zq), or these and lam; None if it must be computed by ops.

        kind: (ridge, bias, targets, lam or None if it is an input), the attribute `readout` of a function.
        """
        Zs, Ys, Zq, *lam = inputs
        of_support, of_queries, of_labels, real = Zs.shape, Zq.shape, Ys.shape, Zs.dtype
        if len(of_support) < 2 or of_support[:-1] != of_labels[:-1] or of_support[:-2] != of_queries[:-2]:
            return None
        if not (Zs.is_cpu and real in REALS and Ys.dtype is Zq.dtype is real and of_support[-1] == of_queries[-1]):
            return None
        if Zs.is_neg() or Ys.is_neg() or Zq.is_neg() or (needs[1] and not kind[0]):
            return None
        *batch, n, d = of_support
        if lam and (lam[0].dtype is not real or lam[0].shape not in ((), tuple(batch))):
            return None
        self, r = cls(), ffi.new("mo_readout *")
        self.r, self.context, self.shapes = r, default_context(), [x.shape for x in inputs]
        r.ridge, r.bias, r.targets, lam_number = kind
        r.dtype, r.fixed_lambda = REALS[real], lam_number or 0.0
        r.B, r.n, r.n_q, r.d, r.C = math.prod(batch), n, of_queries[-2], d, of_labels[-1]
        given = self._given(inputs)  # lives until the call has read it
        self.kept, y = Zs.new_empty(lib.mo_readout_kept(r)), Zs.new_empty((*of_queries[:-1], r.C))
        r.kept, r.logits = _at(self.kept), _at(y)
        self.y = y
        return self if self._run(given) else None

    def _given(self, inputs):
        """Points r to the inputs, which it returns as they lie in memory."""
        r, given = self.r, [x if x.is_contiguous() else x.contiguous() for x in inputs]
        r.Zs, r.Ys, r.Zq = _at(given[0]), _at(given[1]), _at(given[2])
        if len(given) > 3:
            r.lambdas, r.lam = given[3].numel(), _at(given[3])
        return given

    def _run(self, given):
        """Makes the call; given: the tensors whose memory it reads."""
        return self.context.call(lib.gate_mo_readout_run, self.context._pointer, self.r)

    def result(self, like):
        """As of a Record; once, since PyTorch's result points to the record."""
        y, self.y = self.y, None
        return y

    def serves(self, inputs, needs):
        """As of a Record."""
        return [x.shape for x in inputs] == self.shapes and (self.r.ridge or not needs[1])

    def gradients(self, needs, bars, inputs):
        """As of a Record."""
        again = Readout()
        again.context, again.r = self.context, ffi.new("mo_readout *", self.r[0])
        r, bar, given = again.r, bars[0].contiguous(), again._given(inputs)
        r.logits, r.logits_bar = ffi.NULL, _at(bar)
        found: list[Any] = [torch.empty_like(x) if need else None for x, need in zip(given, needs, strict=True)]
        r.Zs_bar, r.Ys_bar, r.Zq_bar = (ffi.NULL if x is None else _at(x) for x in found[:3])
        if needs[3:] == (True,):
            each = given[3].new_empty(r.B)
            r.lam_bar = _at(each)
        again._run(given)
        if needs[3:] == (True,):
            found[3] = each.sum() if not given[3].dim() else each.reshape(given[3].shape)
        return tuple(x for x in found if x is not None)


def tensor_of(x, like):
    """A PyTorch tensor with the values of one of ours, on the device of `like`."""
    if like.device.type == "cpu":
        return torch.from_numpy(x.numpy())
    return torch.from_dlpack(x).clone()  # in PyTorch's stream, which is behind ours


def _spread(values, needs):
    """Puts the values, in order, at the needed places; None at the others."""
    values = iter(values)
    return tuple(next(values) if need else None for need in needs)


class Gradient:
    """The gradients of f in the inputs that need one, as a function of the adjoints of its n results and of all inputs."""

    def __init__(self, f, needs, n):
        self.f, self.needs, self.n = f, needs, n
        self.batches, self.penalties = getattr(f, "batches", False), getattr(f, "penalties", False)
        inner = getattr(f, "leaves", [False] * len(needs))
        # The inputs of this Gradient that need an adjoint: those by which it differentiates f and, if f is a Gradient
        # too, those by which f differentiates its own function.
        self.leaves = [False] * n + [a or b for a, b in zip(needs, inner, strict=True)]

    def __call__(self, *given):
        """The gradients, on the open tape."""
        bars, inputs = given[: self.n], given[self.n :]
        xs = [x for x, need in zip(inputs, self.needs, strict=True) if need]
        return current_tape().grad(self.f(*inputs), xs, bars, create_graph=True, allow_unused=True)


class Asked:
    """What a node needs: f, which inputs need an adjoint, the number of results, and the record once it exists."""

    def __init__(self, f, needs, n=1, record=None):
        self.f, self.needs, self.n, self.record = f, tuple(needs), n, record

    def recorded(self, inputs):
        """A record of f at the inputs."""
        kind = getattr(self.f, "readout", None)
        found = kind and Readout.of(kind, inputs, self.needs)
        if found:
            return found
        inner = getattr(self.f, "leaves", self.needs)
        return Record(self.f, inputs, [a or b for a, b in zip(inner, self.needs, strict=True)])


def apply(f, *inputs):
    """Applies f to PyTorch tensors; returns a tensor or a tuple."""
    tracked = torch.is_grad_enabled()
    inputs, given = widened(inputs)
    y = Function.apply(Asked(f, [tracked and _is_tracked(x) for x in inputs]), *inputs)
    if given is None:
        return y
    return tuple(x.to(given) for x in y) if isinstance(y, tuple) else y.to(given)


LOW = (torch.float16, torch.bfloat16)


def widened(inputs):
    """(the inputs, those of 16 bits as float32; the dtype of the results: of 16 bits too, or None).

    Under autocast the results stay float32, as by torch.amp.custom_fwd(cast_inputs=torch.float32).
    """
    first = inputs[0]
    for x in inputs:
        if x.device != first.device:
            raise errors.InvalidError(f"tensors of PyTorch on {first.device} and on {x.device}, expected one device")
    if not any(x.dtype in LOW for x in inputs):
        return inputs, None
    kind = first.device.type
    kept = first.dtype not in LOW or (kind in DEVICES and torch.is_autocast_enabled(kind))
    return tuple(x.float() if x.dtype in LOW else x for x in inputs), None if kept else first.dtype


def value_of(x):
    """The tensor below the wrappers of torch.func."""
    inside = torch._C._functorch
    while inside.is_functorch_wrapped_tensor(x):
        x = inside.get_unwrapped(x)
    return x.detach()


def _is_tracked(x):
    """Whether an adjoint can be requested, at any level of torch.func."""
    inside = torch._C._functorch
    while inside.is_functorch_wrapped_tensor(x):
        if inside.is_gradtrackingtensor(x):
            return True
        x = inside.get_unwrapped(x)
    return x.requires_grad or (forward_ad._current_level >= 0 and forward_ad.unpack_dual(x).tangent is not None)


def _pushed(f, n, inputs, tangents):
    """J v for the n results of f: the gradient of <J^T u, v> in the results' adjoints u; the same for every u."""
    needs = [v is not None for v in tangents]
    with torch.no_grad():
        shapes = Function.apply(Asked(f, [False] * len(inputs)), *inputs)
    bars = [torch.zeros_like(y) for y in (shapes if isinstance(shapes, tuple) else (shapes,))]
    pulled = Gradient(f, needs, n)
    asked = Asked(pulled, [True] * n + [False] * len(inputs), sum(needs))
    return Adjoint.apply(asked, *(v for v in tangents if v is not None), *bars, *inputs)


def _mapped(node, asked, dims, given, inputs, size):
    """A node under torch.func.vmap: at once, if f takes a leading axis of episodes, else item by item."""
    moved = [x if d is None else x.movedim(d, 0) for d, x in zip(dims, given, strict=True)]
    own = list(zip(dims[-inputs:], given[-inputs:], asked.needs, strict=True))
    axes = [x.dim() - (d is not None) for d, x, _ in own]  # without the axis of the map
    each = max(axes) - 2 if getattr(asked.f, "penalties", False) else -1  # axes of one penalty for each episode
    scalar = any((d is not None or need) and n < 2 and n != each for (d, _, need), n in zip(own, axes, strict=True))
    of_one = all(d is None for d, _, _ in own)  # the same inputs for all items: one fit, differentiated along several directions
    if getattr(asked.f, "batches", False) and not of_one and not scalar:
        shared = [d is not None or (x.dim() < 2 and x.dim() != each) for d, x in zip(dims, moved, strict=True)]
        whole = [x if one else x.expand(size, *x.shape) for one, x in zip(shared, moved, strict=True)]
        found = node.apply(asked, *whole)
    else:
        alone = [Asked(asked.f, asked.needs, asked.n, asked.record) for _ in range(size)]
        each = [node.apply(a, *(x if d is None else x[i] for d, x in zip(dims, moved, strict=True))) for i, a in enumerate(alone)]
        found = tuple(map(torch.stack, zip(*each, strict=True))) if isinstance(each[0], tuple) else torch.stack(each)
    return found, tuple(0 for _ in found) if isinstance(found, tuple) else 0


class Node(torch.autograd.Function):
    """A PyTorch function for torch.func, which needs setup_context.

    For every call of such a function PyTorch binds its signature, which takes a fifth of a small episode's time. So
    outside torch.func `plain`, a function without setup_context, takes its place.
    """

    plain: Any

    def __init_subclass__(cls):
        if cls.__bases__ == (Node,):

            class Plain(torch.autograd.Function):
                @staticmethod
                def forward(ctx, *inputs):
                    output = cls.forward(*inputs)
                    cls.setup_context(ctx, inputs, output)
                    return output

                backward, jvp = staticmethod(cls.backward), staticmethod(cls.jvp)

            cls.plain = Plain

    @classmethod
    def apply(cls, *inputs):
        """Outside torch.func, calls PyTorch's own apply directly."""
        if torch._C._are_functorch_transforms_active():
            return super().apply(*inputs)
        return super(torch.autograd.Function, cls.plain).apply(*inputs)  # type: ignore[misc]  # of PyTorch's C base


def _untraced(f):
    """f, which PyTorch's compiler leaves alone where it meets it, as in a function that vmap calls.

    torch.compiler.disable at the definition would import the compiler with this module.
    """

    def called(*inputs):
        return (torch.compiler.disable(f) if torch.compiler.is_dynamo_compiling() else f)(*inputs)

    called.__doc__ = f.__doc__
    return called


class Function(Node):
    """y = f(*inputs)."""

    @staticmethod
    @_untraced
    def forward(asked, *inputs):
        """Records f, and gives its value."""
        asked.record = record = asked.recorded(inputs)
        return record.result(inputs[0])

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Keeps the record and the inputs."""
        asked, *given = inputs
        ctx.f, ctx.record, ctx.n = asked.f, asked.record, len(output) if isinstance(output, tuple) else 1
        asked.record = None
        ctx.save_for_backward(*given)
        ctx.save_for_forward(*given)

    @staticmethod
    def backward(ctx, *bars):
        """The adjoints of the inputs, as a node of its own."""
        needs = ctx.needs_input_grad[1:]
        asked = Asked(ctx.f, needs, ctx.n, ctx.record)
        last = not (torch.is_grad_enabled() or torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0)
        return None, *_spread((Adjoint.forward if last else Adjoint.apply)(asked, *bars, *ctx.saved_tensors), needs)

    @staticmethod
    def jvp(ctx, _, *tangents):
        """The derivative of the results along the tangents."""
        found = _pushed(ctx.f, ctx.n, ctx.saved_tensors, tangents)
        return found if ctx.n > 1 else found[0]

    @staticmethod
    def vmap(info, dims, asked, *inputs):
        """A leading axis of episodes."""
        return _mapped(Function, asked, dims[1:], inputs, len(inputs), info.batch_size)


class Adjoint(Node):
    """`Gradient` of f by the tape of a record of f; its own adjoint is that of the gradient, and so on to any order."""

    @staticmethod
    @_untraced
    def forward(asked, *given):
        """Asks the tape of the record; given: the adjoints of the results, and all inputs."""
        n, inputs = asked.n, given[asked.n :]
        record = asked.record
        if record is None or not record.serves(inputs, asked.needs):
            record = asked.recorded(inputs)
        return record.gradients(asked.needs, given[:n], inputs)

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Keeps what is differentiated again."""
        asked, *given = inputs
        ctx.gradient = Gradient(asked.f, asked.needs, asked.n)
        ctx.save_for_backward(*given)
        ctx.save_for_forward(*given)

    @staticmethod
    def backward(ctx, *directions):
        """Records f and its gradients anew, and differentiates them along the directions."""
        wanted = ctx.needs_input_grad[1:]
        asked = Asked(ctx.gradient, wanted, len(directions))
        return None, *_spread(Adjoint.apply(asked, *directions, *ctx.saved_tensors), wanted)

    @staticmethod
    def jvp(ctx, _, *tangents):
        """The derivative of the gradients along the tangents."""
        return _pushed(ctx.gradient, sum(ctx.gradient.needs), ctx.saved_tensors, tangents)

    @staticmethod
    def vmap(info, dims, asked, *given):
        """A leading axis of episodes, or several directions at the same inputs."""
        return _mapped(Adjoint, asked, dims[1:], given, len(given) - asked.n, info.batch_size)
