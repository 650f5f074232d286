#!/usr/bin/env python3
"""Our ops against PyTorch's on random shapes, in float64: values, gradients, and gradients of gradients.

Usage: tests/ops/compare_torch.py LIBMOCHI [CASES] [--seed N]      LIBMOCHI is build/libmochi.so; default: 20 cases an op

Inputs are drawn contiguous or as transposed views. PyTorch computes the same by its own ops, or from formulas. Ends with 77, saying so, where there is no PyTorch (MOCHI_PYTHON names a Python that
has it: the script then starts that one)."""
import argparse
import ctypes
import os
import random
import sys

try:
    import torch
except ImportError:
    other = os.environ.get("MOCHI_PYTHON")
    if other and "MOCHI_TORCH_TRIED" not in os.environ:
        os.environ["MOCHI_TORCH_TRIED"] = "yes"
        os.execvp(other, [other, *sys.argv])
    print("skipped: no PyTorch; MOCHI_PYTHON names a Python that has it")
    sys.exit(77)

F64, I64, U8 = 1, 3, 4
CREATE_GRAPH, ALLOW_UNUSED = 1, 4
# Relative to the largest value of an array, at least 1: rounding, times the condition of drawn systems (below 100) in
# each of the solves of a second derivative.
TOLERANCE = {"value": 1e-12, "gradient": 1e-11, "gradient of the gradient": 1e-9}
P, D, I, L = ctypes.c_void_p, ctypes.c_double, ctypes.c_int, ctypes.c_int64


class Library:
    """The functions that are needed, by name, on one context and tape."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.mo_context_create.restype = self.lib.mo_tape_create.restype = P
        self.lib.mo_context_status.restype = ctypes.POINTER(Status)
        self.context = P(self.lib.mo_context_create(None))
        self.tape = P(self.lib.mo_tape_create(self.context, 0))
        self.lib.mo_dim.restype = L

    def check(self, what):
        status = self.lib.mo_context_status(self.context).contents
        if status.code:
            raise RuntimeError(f"{what}: {status.message.decode()}")

    def __call__(self, name, *args):
        """An op: tensors are c_void_p, numbers are converted by their type."""
        f = getattr(self.lib, "mo_" + name)
        f.restype = P
        return P(f(self.tape, *(D(a) if isinstance(a, float) else L(a) if isinstance(a, int) else a for a in args)))

    def tensor(self, X):
        """A leaf of the context's tape with the values of a PyTorch tensor."""
        kind = {torch.float64: F64, torch.int64: I64, torch.uint8: U8}[X.dtype]
        X = X.detach().contiguous()
        shape = (L * max(X.dim(), 1))(*X.shape)
        self.lib.mo_from.restype = P
        return P(self.lib.mo_from(self.tape, kind, X.dim(), shape, P(X.data_ptr() if X.numel() else 0)))

    def leaf(self, X):
        T = self.tensor(X)
        self.lib.mo_require_grad.restype = P
        return P(self.lib.mo_require_grad(T))

    def read(self, T):
        shape = [self.lib.mo_dim(T, i) for i in range(self.lib.mo_ndim(T))]
        X = torch.empty(shape, dtype=torch.float64)
        self.lib.mo_tensor_read(T, P(X.data_ptr()), ctypes.c_size_t(X.numel() * 8))
        self.check("read")
        return X

    def grad(self, ys, gs, xs):
        out = (P * len(xs))()
        self.lib.mo_grad(self.tape, (P * len(ys))(*ys), (P * len(gs))(*gs), len(ys), (P * len(xs))(*xs), out, len(xs),
                         CREATE_GRAPH | ALLOW_UNUSED)
        self.check("grad")
        return [P(g) for g in out]


class Status(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("file", ctypes.c_char_p), ("line", ctypes.c_int), ("message", ctypes.c_char * 1024)]


# ---- drawing ----

class Draw:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.g = torch.Generator().manual_seed(seed)

    def size(self, least=1):
        return self.r.randint(least, 6)

    def shape(self, least=1, most=3):
        return tuple(self.size() for _ in range(self.r.randint(least, most)))

    def batch(self):
        return tuple(self.r.randint(1, 3) for _ in range(self.r.choice((0, 0, 1, 2))))

    def normal(self, *shape):
        return torch.randn(shape, generator=self.g, dtype=torch.float64)

    def positive(self, *shape):
        return 0.5 + 1.5 * torch.rand(shape, generator=self.g, dtype=torch.float64)

    def distinct(self, *shape):
        """No ties, none near a kink at 0 or at halves."""
        n = torch.Size(shape).numel()
        return ((torch.randperm(n, generator=self.g).double() - n // 2) * 0.1 + 0.033).reshape(shape)

    def general(self, *batch, n):
        return self.normal(*batch, n, n) * 0.5 + 3 * torch.eye(n, dtype=torch.float64)

    def spd(self, *batch, n):
        A = self.normal(*batch, n, n)
        return A @ A.mT / n + torch.eye(n, dtype=torch.float64)

    def pair(self):
        """Two shapes that broadcast."""
        full = self.shape(1, 4)
        less = lambda: tuple(1 if self.r.random() < 0.25 else n for n in full)[self.r.choice((0, 0, 0, 1)):]
        return less(), less()

    def integers(self, high, *shape):
        return torch.randint(0, high, shape, generator=self.g)

    def axes(self, ndim):
        return sorted(self.r.sample(range(ndim), self.r.randint(1, ndim)))


# ---- the ops: draw -> (inputs, ours, PyTorch's); ours may give a tuple ----

def unary(name, draw, f, *numbers):
    def case(d):
        X = getattr(d, draw)(*d.shape())
        return [X], lambda m, X: m(name, X, *numbers), f
    return name, case


def binary(name, draw, f):
    def case(d):
        a, b = d.pair()
        return [getattr(d, draw)(*a), getattr(d, draw)(*b)], lambda m, A, B: m(name, A, B), f
    return name, case


def reduction(name, draw, f):
    def case(d):
        X = getattr(d, draw)(*d.shape(1, 4))
        axes, keep = d.axes(X.dim()), d.r.random() < 0.5
        bits = sum(1 << a for a in axes)
        return [X], lambda m, X: m(name, X, ctypes.c_uint(bits), I(keep)), lambda X: f(X, axes, keep)
    return name, case


def along(name, draw, f):
    def case(d):
        X = getattr(d, draw)(*d.shape(1, 4))
        axis = d.r.randrange(-X.dim(), X.dim())
        return [X], lambda m, X: m(name, X, I(axis)), lambda X: f(X, axis)
    return name, case


def matrices(name, inputs, f, *extra):
    """inputs(d, batch, n) -> tensors; extra arguments of ours."""
    def case(d):
        drawn = inputs(d, d.batch(), d.size())
        return drawn, lambda m, *X: m(name, *X, *extra), f
    return name, case


def two_outputs(name, inputs, f):
    def ours(m, X):
        a, b = P(), P()
        getattr(m.lib, "mo_" + name)(m.tape, X, ctypes.byref(a), ctypes.byref(b))
        return a, b
    return name, lambda d: (inputs(d, d.batch(), d.size()), ours, f)


def sym(A):
    return (A + A.mT) / 2


def amax(X, axes, keep):
    return torch.amax(X, axes, keepdim=keep)


def qr(A):
    """The one with a positive diagonal of R."""
    Q, R = torch.linalg.qr(A)
    s = torch.sign(torch.diagonal(R, dim1=-2, dim2=-1)).detach()
    return Q * s.unsqueeze(-2), R * s.unsqueeze(-1)


def eigh(A):
    w, V = torch.linalg.eigh(sym(A))
    s = torch.gather(V, -2, V.abs().argmax(-2, keepdim=True)).sign().detach()
    return w, V * s


def segment(name):
    def case(d):
        n, S = d.size(), d.size()
        X = d.normal(n, d.size())
        stops = sorted(d.r.randint(0, n) for _ in range(S - 1))
        offset = torch.tensor([0, *stops, n])
        count = (offset[1:] - offset[:-1])
        row = torch.repeat_interleave(torch.arange(S), count)
        divide = count.clamp(min=1).double().unsqueeze(1) if name == "segment_mean" else 1.0
        return [X], lambda m, X: m(name, X, m.tensor(offset)), \
            lambda X: torch.zeros(S, X.shape[1], dtype=X.dtype).index_add(0, row, X) / divide
    return name, case


def gather_rows(d):
    X = d.normal(*d.shape(1, 3))
    index = d.integers(X.shape[0], d.size())
    return [X], lambda m, X: m("gather_rows", X, m.tensor(index)), lambda X: X[index]


def scatter_add_rows(d):
    X, n = d.normal(*d.shape(1, 3)), d.size()
    index = d.integers(n, X.shape[0])
    return [X], lambda m, X: m("scatter_add_rows", X, m.tensor(index), n), \
        lambda X: torch.zeros(n, *X.shape[1:], dtype=X.dtype).index_add(0, index, X)


def take_along(d):
    X = d.normal(*d.shape(1, 3))
    index = d.integers(X.shape[-1], *X.shape[:-1], d.size())
    return [X], lambda m, X: m("take_along", X, m.tensor(index)), lambda X: torch.gather(X, -1, index)


def put_along(d):
    X, n = d.normal(*d.shape(1, 3)), d.size()
    index = d.integers(n, *X.shape)
    return [X], lambda m, X: m("put_along", X, m.tensor(index), n), \
        lambda X: torch.zeros(*X.shape[:-1], n, dtype=X.dtype).scatter_add(-1, index, X)


def where(d):
    a, b = d.pair()
    A, B = d.normal(*a), d.normal(*b)
    C = d.integers(2, *torch.broadcast_shapes(a, b)).to(torch.uint8)
    return [A, B], lambda m, A, B: m("where", m.tensor(C), A, B), lambda A, B: torch.where(C.bool(), A, B)


def linear(d):
    X = d.normal(*d.shape(1, 3))
    W = d.normal(d.size(), X.shape[-1])
    b = d.normal(W.shape[0])
    return [X, W, b], lambda m, X, W, b: m("linear", X, W, b), lambda X, W, b: X @ W.mT + b


def matmul(d):
    full = d.batch()
    less = lambda: tuple(1 if d.r.random() < 0.3 else s for s in full)[d.r.choice((0, 0, len(full))):]
    m, k, n = d.size(), d.size(), d.size()
    return [d.normal(*less(), m, k), d.normal(*less(), k, n)], lambda lib, A, B: lib("matmul", A, B), lambda A, B: A @ B


def cross_entropy(d):
    n, C, smoothing = d.size(), d.size(2), d.r.choice((0.0, 0.1))
    y = d.integers(C, n)
    return [d.normal(n, C) * 3], lambda m, X: m("softmax_cross_entropy", X, m.tensor(y), smoothing), \
        lambda X: torch.nn.functional.cross_entropy(X, y, label_smoothing=smoothing)


def concat(d):
    X = d.normal(*d.shape(1, 3))
    axis, n = d.r.randrange(X.dim()), d.r.randint(1, 4)
    parts = [d.normal(*(d.size() if a == axis else s for a, s in enumerate(X.shape))) for _ in range(n)]
    return parts, lambda m, *X: m("concat", (P * n)(*X), I(n), I(axis)), lambda *X: torch.cat(X, axis)


def stack(d):
    shape, n = d.shape(1, 3), d.r.randint(1, 4)
    axis = d.r.randint(0, len(shape))
    return [d.normal(*shape) for _ in range(n)], lambda m, *X: m("stack", (P * n)(*X), I(n), I(axis)), \
        lambda *X: torch.stack(X, axis)


def slice_case(d):
    X = d.normal(*d.shape(1, 4))
    axis = d.r.randrange(X.dim())
    a, b = sorted((d.r.randint(0, X.shape[axis]), d.r.randint(0, X.shape[axis])))
    return [X], lambda m, X: m("slice", X, I(axis), a, b), lambda X: X.narrow(axis, a, b - a)


def pad(d):
    X = d.normal(*d.shape(1, 4))
    axis, a, b = d.r.randrange(X.dim()), d.r.randint(0, 3), d.r.randint(0, 3)
    return [X], lambda m, X: m("pad", X, I(axis), a, b), \
        lambda X: torch.nn.functional.pad(X, [0, 0] * (X.dim() - 1 - axis) + [a, b])


def permute(d):
    X = d.normal(*d.shape(1, 4))
    order = d.r.sample(range(X.dim()), X.dim())
    return [X], lambda m, X: m("permute", X, (I * len(order))(*order)), lambda X: X.permute(order)


def reshape(d):
    X = d.normal(*d.shape(1, 3))
    return [X], lambda m, X: m("reshape", m("contiguous", X), I(2), (L * 2)(-1, 1)), lambda X: X.reshape(-1, 1)


def broadcast_to(d):
    full = d.shape(1, 4)
    X = d.normal(*(1 if d.r.random() < 0.4 else s for s in full))
    return [X], lambda m, X: m("broadcast_to", X, I(len(full)), (L * len(full))(*full)), lambda X: X.expand(full)


def sum_to(d):
    full = d.shape(1, 4)
    less = tuple(1 if d.r.random() < 0.4 else s for s in full)[d.r.choice((0, 0, 1)):]
    return [d.normal(*full)], lambda m, X: m("sum_to", X, I(len(less)), (L * max(len(less), 1))(*less)), \
        lambda X: X.sum_to_size(less)


def top_k(d):
    X = d.distinct(*d.shape(1, 3))
    axis = d.r.randrange(X.dim())
    k = d.r.randint(1, X.shape[axis])
    return [X], lambda m, X: m("top_k", X, k, I(axis)), lambda X: torch.topk(X, k, axis).values


def variance(d):
    X = d.normal(*(d.size(2) for _ in range(d.r.randint(1, 3))))
    axes, keep, c = d.axes(X.dim()), d.r.random() < 0.5, d.r.choice((0, 1))
    bits = sum(1 << a for a in axes)
    return [X], lambda m, X: m("var", X, ctypes.c_uint(bits), I(keep), c), lambda X: X.var(axes, correction=c, keepdim=keep)


def tall(d, b, n):
    return torch.cat([d.general(*b, n=n), d.normal(*b, d.size(), n)], -2)


def least_squares(d):
    b = d.batch()
    A = tall(d, b, d.size())
    return [A, d.normal(*b, A.shape[-2], d.size())], lambda m, A, B: m("least_squares", A, B), \
        lambda A, B: torch.linalg.solve(A.mT @ A, A.mT @ B)


def add_diag(d):
    batch, n = d.batch(), d.size()
    lam = d.normal(*(batch if d.r.random() < 0.5 else ()))
    return [d.normal(*batch, n, n), lam], lambda m, A, l: m("add_diag", A, l), \
        lambda A, l: A + l.reshape(*l.shape, 1, 1) * torch.eye(n, dtype=A.dtype)


def normalise(X):
    return X / X.norm(dim=-1, keepdim=True).clamp(min=1e-12)


def layer_norm(X):
    return torch.nn.functional.layer_norm(X, X.shape[-1:], eps=1e-5)


def lower(d, b, n):
    return torch.tril(d.general(*b, n=n))


OPS = [
    unary("neg", "normal", torch.neg), unary("exp", "normal", torch.exp), unary("log", "positive", torch.log),
    unary("sqrt", "positive", torch.sqrt), unary("square", "normal", torch.square), unary("abs", "distinct", torch.abs),
    unary("relu", "distinct", torch.relu), unary("tanh", "normal", torch.tanh), unary("sigmoid", "normal", torch.sigmoid),
    unary("softplus", "normal", torch.nn.functional.softplus), unary("gelu", "normal", torch.nn.functional.gelu),
    unary("leaky_relu", "distinct", lambda X: torch.nn.functional.leaky_relu(X, 0.2), 0.2),
    unary("clamp", "distinct", lambda X: X.clamp(-0.3, 0.5), -0.3, 0.5), unary("scale", "normal", lambda X: 1.7 * X - 0.3, 1.7, -0.3),
    unary("pow", "positive", lambda X: X ** 2.5, 2.5), unary("layer_norm", "normal", layer_norm, 1e-5),
    unary("l2_normalize", "normal", normalise, 1e-12), unary("row_norm", "normal", lambda X: X.norm(dim=-1, keepdim=True)),
    unary("append_ones", "normal", lambda X: torch.cat([X, torch.ones_like(X[..., :1])], -1)),
    unary("diagonal_embed", "normal", torch.diag_embed), unary("contiguous", "normal", lambda X: X * 1),
    binary("add", "normal", torch.add), binary("sub", "normal", torch.sub), binary("mul", "normal", torch.mul),
    binary("div", "positive", torch.div), binary("div_or_zero", "positive", torch.div), binary("pow_entries", "positive", torch.pow),
    binary("larger", "normal", torch.maximum), binary("smaller", "normal", torch.minimum), ("where", where),
    reduction("sum", "normal", lambda X, a, k: X.sum(a, keepdim=k)), reduction("mean", "normal", lambda X, a, k: X.mean(a, keepdim=k)),
    reduction("max", "distinct", amax), reduction("logsumexp", "normal", lambda X, a, k: torch.logsumexp(X, a, keepdim=k)),
    ("var", variance), ("sum_to", sum_to), along("cumsum", "normal", torch.cumsum), along("softmax", "normal", torch.softmax),
    along("log_softmax", "normal", torch.log_softmax), along("sort", "distinct", lambda X, a: torch.sort(X, a, descending=True).values),
    ("top_k", top_k), ("matmul", matmul), ("linear", linear),
    ("softmax_cross_entropy", cross_entropy), ("add_diag", add_diag),
    matrices("gram", lambda d, b, n: [d.normal(*b, n, d.size())], lambda X: X @ X.mT),
    matrices("transpose", lambda d, b, n: [d.normal(*b, n, d.size())], lambda X: X.mT),
    matrices("tril", lambda d, b, n: [d.normal(*b, n, d.size())], torch.tril),
    matrices("triu", lambda d, b, n: [d.normal(*b, n, d.size())], torch.triu),
    matrices("diagonal", lambda d, b, n: [d.normal(*b, n, n)], lambda X: torch.diagonal(X, dim1=-2, dim2=-1)),
    matrices("trace", lambda d, b, n: [d.normal(*b, n, n)], lambda X: torch.diagonal(X, dim1=-2, dim2=-1).sum(-1)),
    matrices("solve", lambda d, b, n: [d.general(*b, n=n), d.normal(*b, n, d.size())], torch.linalg.solve),
    matrices("solve_spd", lambda d, b, n: [d.spd(*b, n=n), d.normal(*b, n, d.size())], lambda A, B: torch.linalg.solve(sym(A), B)),
    matrices("solve_triangular", lambda d, b, n: [lower(d, b, n), d.normal(*b, n, d.size())],
             lambda T, B: torch.linalg.solve_triangular(torch.tril(T), B, upper=False), I(0)),
    matrices("cholesky", lambda d, b, n: [d.spd(*b, n=n)], lambda A: torch.linalg.cholesky(sym(A))),
    matrices("cholesky_solve", lambda d, b, n: [torch.linalg.cholesky(d.spd(*b, n=n)), d.normal(*b, n, d.size())],
             lambda C, B: torch.linalg.solve(torch.tril(C) @ torch.tril(C).mT, B)),
    ("least_squares", least_squares),
    matrices("logdet", lambda d, b, n: [d.spd(*b, n=n)], lambda A: torch.logdet(sym(A))),
    matrices("log_abs_det", lambda d, b, n: [d.general(*b, n=n)], lambda A: torch.linalg.slogdet(A).logabsdet),
    two_outputs("qr", lambda d, b, n: [tall(d, b, n)], qr),
    two_outputs("eigh", lambda d, b, n: [d.spd(*b, n=n)], eigh),
    segment("segment_sum"), segment("segment_mean"), ("gather_rows", gather_rows), ("scatter_add_rows", scatter_add_rows),
    ("take_along", take_along), ("put_along", put_along), ("concat", concat), ("stack", stack), ("slice", slice_case), ("pad", pad),
    ("permute", permute), ("reshape", reshape), ("broadcast_to", broadcast_to),
]


# ---- comparing ----

def theirs(f, X, G, H):
    """[outputs], [gradients], [gradients of the gradients] by PyTorch."""
    X = [x.clone().requires_grad_() for x in X]
    Y = f(*X)
    Y = list(Y) if isinstance(Y, tuple) else [Y]
    first = torch.autograd.grad(Y, X, G(Y), create_graph=True, allow_unused=True, materialize_grads=True)
    live = [(g, h) for g, h in zip(first, H(first)) if g.requires_grad]
    second = [torch.zeros_like(x) for x in X]
    if live:
        second = torch.autograd.grad([g for g, _ in live], X, [h for _, h in live], allow_unused=True, materialize_grads=True)
    return [[y.detach() for y in part] for part in (Y, first, second)]


def ours(m, f, X, turned, G, H):
    leaves = [m.leaf(x.mT if t else x) for x, t in zip(X, turned)]
    views = [m("transpose", leaf) if t else leaf for leaf, t in zip(leaves, turned)]
    Y = f(m, *views)
    m.check("forward")
    Y = list(Y) if isinstance(Y, tuple) else [Y]
    values = [m.read(y) for y in Y]
    first = m.grad(Y, [m.tensor(g) for g in G(values)], leaves)
    gradients = [m.read(g) for g in first]
    weights = H([g.mT if t else g for g, t in zip(gradients, turned)])
    second = m.grad(first, [m.tensor(h.mT if t else h) for h, t in zip(weights, turned)], leaves)
    back = lambda part: [g.mT if t else g for g, t in zip(part, turned)]
    return [values, back(gradients), back([m.read(g) for g in second])]


def distance(a, b):
    if a.shape != b.shape:
        return float("inf")
    return float((a - b).abs().max() / b.abs().max().clamp(min=1)) if a.numel() else 0.0


def compare(m, name, case, seed, worst):
    """The faults of one drawn case, as lines."""
    d = Draw(seed)
    X, f, reference = case(d)
    turned = [x.dim() >= 2 and d.r.random() < 0.4 for x in X]

    def normals(which):
        return lambda like: [torch.randn(y.shape, generator=torch.Generator().manual_seed(seed + which + i), dtype=torch.float64)
                             for i, y in enumerate(like)]
    shapes = " ".join(str(list(x.shape)) for x in X)
    try:
        got = ours(m, f, X, turned, normals(1), normals(101))
    except RuntimeError as e:
        m.lib.mo_clear_error(m.context)
        return [f"{name}, case {seed}, {shapes}: {e}"]
    finally:
        m.lib.mo_tape_reset(m.tape)
    faults = []
    for what, a, b in zip(TOLERANCE, got, theirs(reference, X, normals(1), normals(101))):
        error = max((distance(x, y) for x, y in zip(a, b)), default=0.0)
        worst[what] = max(worst[what], error)
        if not error <= TOLERANCE[what]:
            faults.append(f"{name}, case {seed}, {shapes}: {what} differs by {error:.3g}, allowed {TOLERANCE[what]:g}")
    return faults


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("library")
    a.add_argument("cases", type=int, nargs="?", default=20)
    a.add_argument("--seed", type=int, default=1)
    a = a.parse_args()
    m, faults, run = Library(os.path.realpath(a.library)), [], 0
    worst = dict.fromkeys(TOLERANCE, 0.0)
    for name, case in OPS:
        for k in range(a.cases):
            faults += compare(m, name, case, 1000003 * a.seed + 1009 * k, worst)
            run += 1
    print(*faults[:50], sep="\n", end="\n" if faults else "")
    print(f"{len(OPS)} ops, {run} cases against PyTorch {torch.__version__}, {len(faults)} differ; largest errors: "
          + ", ".join(f"{what} {error:.2g}" for what, error in worst.items()))
    return 0 if run and not faults else 1


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(main())
