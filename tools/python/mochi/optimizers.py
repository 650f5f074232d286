"""AdamW, and the cosine of its rate."""

from ._library import ffi, lib
from .handle import Handle
from .tensor import Tensor, constant


class AdamW(Handle):
    """AdamW with decoupled decay (Loshchilov and Hutter 2019).

    Parameters
    ----------
    parameters : sequence of Tensor
        Leaves; each step writes them.
    clip : float
        The largest gradient norm; 0: no clipping.
    """

    release = lib.gate_mo_optimizer_release

    def __init__(self, parameters, lr=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8, weight_decay=0.0, clip=0.0):
        parameters = list(parameters)
        context = parameters[0].context
        options = ffi.new("mo_adamw_options *")
        options.lr, options.beta1, options.beta2, options.epsilon = lr, beta1, beta2, epsilon
        options.weight_decay, options.clip = weight_decay, clip
        pointers = ffi.new("mo_tensor *[]", [p.pointer() for p in parameters])
        made = context.call(lib.gate_mo_optimizer_create, context.pointer, pointers, len(parameters), options)
        super().__init__(context, made, keep=parameters)
        self.lr = lr

    def step(self, gradients, lr=None):
        """Takes a step with gradients in the order of the parameters; returns their norm before clipping."""
        pointer = self.pointer()
        given = [g if isinstance(g, Tensor) else constant(g, p.dtype) for g, p in zip(gradients, self._keep, strict=True)]
        pointers = ffi.new("mo_tensor *[]", [g.pointer() for g in given])
        norm = ffi.new("double *")
        rate = self.lr if lr is None else lr
        self.context.call(lib.gate_mo_optimizer_step, pointer, pointers, rate, norm)
        return norm[0]


def cosine(lr, lr_min, step, steps):
    """lr_min + (lr - lr_min) (1 + cos(pi step / steps)) / 2, for step = 0 .. steps - 1."""
    return lib.mo_cosine(lr, lr_min, step, steps)
