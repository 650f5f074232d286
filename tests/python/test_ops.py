"""Every sample of every op, computed from Python, equals C's result bit by bit: through the op's descriptor and, if it
has one, its Python function."""

import os
import pathlib
import struct
import subprocess

import mochi
import numpy as np
import pytest
from mochi import ops
from mochi._library import ffi, lib

BUILD = os.environ.get("MOCHI_TEST_BUILD")
REALS = {"float32": lib.MO_F32, "float64": lib.MO_F64}


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """What op_samples writes, {(op, number, dtype): {"in0": array, ..}}, on the same CPU kernels that Python uses."""
    if not BUILD:
        pytest.skip("MOCHI_TEST_BUILD names no build folder")
    file = tmp_path_factory.mktemp("samples") / "samples.npz"
    subprocess.run([pathlib.Path(BUILD) / "tests" / "op_samples", file], check=True, capture_output=True)
    found = {}
    with np.load(file) as arrays:
        for name in arrays.files:
            op, number, real, part = name.split("|")
            found.setdefault((op, int(number), real), {})[part] = arrays[name]
    return found


@pytest.fixture(scope="module")
def context():
    return mochi.Context(threads=1)


class Sample:
    """One sample: the op's descriptor, its attributes, and its inputs as Python tensors."""

    def __init__(self, context, key, parts):
        self.name, number, real = key
        self.context, self.parts, self.real = context, parts, real
        self.op = lib.mo_find_op(context._pointer, self.name.encode())
        self.sample = self.op.samples[number]
        self.attributes = ffi.new("char[1024]")
        if self.sample.prepare:
            self.sample.prepare(context._pointer, REALS[real], self.attributes)
        elif self.sample.attributes != ffi.NULL:
            ffi.memmove(self.attributes, self.sample.attributes, self.op.attributes_size)
        self.inputs = []
        for i in range(sum(part.startswith("in") for part in parts)):
            make = mochi.parameter if f"grad{i}" in parts else mochi.constant
            self.inputs.append(make(parts[f"in{i}"], context=context))

    def close(self):
        if self.sample.finish:
            self.sample.finish(self.context._pointer, self.attributes)

    def unpack(self, layout):
        return struct.unpack_from("=" + layout, bytes(ffi.buffer(self.attributes)))

    def apply(self, tape):
        """Applies the op through its descriptor; returns the results."""
        inputs = ffi.new("mo_tensor *[]", [x._live() for x in self.inputs] or [ffi.NULL])
        out = ffi.new("mo_tensor *[4]")
        given = (self.op, inputs, len(self.inputs), self.attributes, out)
        self.context.call(lib.gate_mo_apply_all, tape._pointer, *given)
        return [mochi.Tensor(out[i], tape) for i in range(self.op.n_out or 1)]

    def compare(self, tape, results, what):
        """The results and their gradients must equal C's bit by bit."""
        for i, y in enumerate(results):
            same(y.numpy(), self.parts[f"out{i}"], f"{what}, output {i}")
        xs = [x for i, x in enumerate(self.inputs) if f"grad{i}" in self.parts]
        used = [i for i in range(len(results)) if f"bar{i}" in self.parts]
        if xs and self.op.vjp and used:
            bars = [mochi.constant(self.parts[f"bar{i}"], context=self.context) for i in used]
            grads = iter(tape.grad([results[i] for i in used], xs, gs=bars, allow_unused=True))
            for i in range(len(self.inputs)):
                if f"grad{i}" in self.parts:
                    same(next(grads).numpy(), self.parts[f"grad{i}"], f"{what}, gradient of input {i}")


def same(got, expected, what):
    assert got.shape == expected.shape and got.dtype == expected.dtype, what
    assert got.tobytes() == expected.tobytes(), f"{what}: {got} instead of {expected}"


def axes(bits):
    return tuple(i for i in range(6) if bits >> i & 1)


def of_shape(s):
    n, *sizes = s.unpack("ixxxx6q")
    return sizes[:n]


def linear(s, x):
    (relu,) = s.unpack("?")
    return None if relu else ops.linear(*x)


def dropout(s, x):
    rate, *position = s.unpack("dQIxxxxQQ")
    random = mochi.Random(0)
    random.__setstate__(tuple(position))
    return ops.dropout(x[0], rate, random)


class Matrix:
    """The sparse matrix of a sample of spmm."""

    def __init__(self, s):
        (self.number,) = s.unpack("Q")

    def _live(self):
        return ffi.cast("mo_csr *", self.number)


def reduction(function):
    def call(s, x):
        bits, keep = s.unpack("I?")
        return function(x[0], axes(bits), keep)

    return call


# For each Python function, its call on a sample's attributes and inputs; None as a result: the function cannot express
# that sample.
CALLS = {
    "broadcast_to": lambda s, x: ops.broadcast_to(x[0], of_shape(s)),
    "cast": lambda s, x: ops.cast(x[0], mochi.arrays.NAMES[s.unpack("i")[0]]),
    "clamp": lambda s, x: ops.clamp(x[0], *s.unpack("dd")),
    "concat": lambda s, x: ops.concat(x, *s.unpack("i")),
    "cumsum": lambda s, x: None if s.unpack("?")[0] else ops.cumsum(x[0]),
    "dropout": dropout,
    "gelu": lambda s, x: None if s.unpack("i")[0] else ops.gelu(x[0]),
    "l2_normalize": lambda s, x: ops.l2_normalize(x[0], *s.unpack("d")),
    "layer_norm": lambda s, x: ops.layer_norm(x[0], *s.unpack("d")),
    "logistic": lambda s, x: ops.logistic(*x, s.unpack("?")[0]),
    "leaky_relu": lambda s, x: ops.leaky_relu(x[0], s.unpack("dd")[0]),
    "least_squares": lambda s, x: None if any(s.unpack("??xxxxxxd")[:2]) else ops.least_squares(*x, s.unpack("??xxxxxxd")[2]),
    "linear": linear,
    "logsumexp": lambda s, x: ops.logsumexp(x[0], -1),
    "max": lambda s, x: ops.max(x[0], -1),
    "one_hot": lambda s, x: ops.one_hot(x[0], s.unpack("qi")[0], mochi.arrays.NAMES[s.unpack("qi")[1]]),
    "pad": lambda s, x: ops.pad(x[0], *s.unpack("ixxxxqq")),
    "permute": lambda s, x: ops.permute(x[0], s.unpack("6i")[: x[0].ndim]),
    "pow": lambda s, x: ops.pow(x[0], *s.unpack("d")),
    "put_along": lambda s, x: ops.put_along(x[0], x[1], *s.unpack("q")),
    "reshape": lambda s, x: ops.reshape(x[0], of_shape(s)),
    "scale": lambda s, x: ops.scale(x[0], *s.unpack("dd")),
    "segment_spread": lambda s, x: None if s.unpack("?xxxxxxxq")[0] else ops.segment_spread(x[0], x[1], s.unpack("?xxxxxxxq")[1]),
    "scatter_add_rows": lambda s, x: ops.scatter_add_rows(x[0], x[1], *s.unpack("q")),
    "slice": lambda s, x: ops.slice(x[0], *s.unpack("ixxxxqq")),
    "softmax_cross_entropy": lambda s, x: ops.softmax_cross_entropy(x[0], x[1], *s.unpack("d")),
    "solve": lambda s, x: None if any(s.unpack("?xxxi")) else ops.solve(*x),
    "solve_spd": lambda s, x: None if s.unpack("i")[0] else ops.solve_spd(*x),
    "solve_triangular": lambda s, x: ops.solve_triangular(*x, list(mochi.inputs.CHOICES["mo_triangle"])[s.unpack("i")[0]]),
    "spmm": lambda s, x: ops.spmm(Matrix(s), x[0]),
    "sum": reduction(ops.sum),
    "top_k": lambda s, x: ops.sort(x[0]) if s.unpack("q")[0] < 0 else ops.top_k(x[0], *s.unpack("q")),
}
# Ops without a Python function: steps of other ops, or their gradients.
INTERNAL = {
    "accumulate", "hop_attention", "hop_layers", "implicit_solve", "logistic_solve",
    "recompute", "relu_mask", "scale_unit", "svm_dual", "implicit",
}  # fmt: skip


def test_every_sample_has_the_bits_of_c_by_its_descriptor(samples, context):
    for key, parts in samples.items():
        s = Sample(context, key, parts)
        with mochi.Tape(context=context) as tape:
            s.compare(tape, s.apply(tape), str(key))
        del tape
        s.close()
    print(len(samples), "samples")
    assert len(samples) > 300


def test_every_sample_has_the_bits_of_c_by_its_function(samples, context):
    called, functions = 0, set()
    for key, parts in samples.items():
        name = key[0]
        if name in INTERNAL:
            continue
        s = Sample(context, key, parts)
        with mochi.Tape(context=context) as tape:
            call = CALLS.get(name) or (lambda s, x, name=name: getattr(ops, name)(*x))
            results = call(s, s.inputs)
            if results is not None:
                s.compare(tape, list(results) if isinstance(results, tuple) else [results], str(key))
                called += 1
                functions.add(name)
            del results
        del tape
        s.close()
    print(called, "samples of", len(functions), "functions")
    registered = {ffi.string(lib.mo_op_at(context._pointer, i).name).decode() for i in range(lib.mo_n_ops(context._pointer))}
    assert functions == registered - INTERNAL


def test_every_op_has_a_docstring_and_every_method_is_one():
    for name in ops.__all__:
        assert len(getattr(ops, name).__doc__) > 20, name
    for name in set(ops.METHODS) - {"reshape"}:  # this method also takes sizes as separate arguments
        assert getattr(mochi.Tensor, name) is getattr(ops, name)


def test_composed_functions_are_numpys():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 4))
    with mochi.Tape():
        A = x @ x.T + np.eye(3)
        for got, expected in [
            (ops.var(x, 0, correction=1), x.var(0, ddof=1)),
            (ops.trace(A), np.trace(A)),
            (ops.eye(3), np.eye(3)),
            (ops.sort(x), -np.sort(-x)),
            (ops.stack([x, x], 1), np.stack([x, x], 1)),
            (ops.with_axis(x, 1, 2), np.repeat(x[:, None], 2, 1)),
            (ops.cholesky_solve(np.linalg.cholesky(A), x), np.linalg.solve(A, x)),
            (ops.least_squares(x.T, x.T[:, :1]), np.linalg.lstsq(x.T, x.T[:, :1], rcond=None)[0]),
            (ops.sum_to(x, (1, 4)), x.sum(0, keepdims=True)),
            (ops.argmax(x, 0), x.argmax(0)),
            (ops.max(x, (0, 1)), x.max()),
            (ops.linear(x, x, np.ones(3)), x @ x.T + 1),
            (ops.mse(x, 2 * x), (x**2).mean()),
            (ops.binary_cross_entropy(x, np.ones((3, 4))), np.log1p(np.exp(-x)).mean()),
            (ops.accuracy(x, x.argmax(-1)), 1.0),
            (ops.segment_max(x, [0, 2, 2, 3]), np.stack([x[:2].max(0), np.zeros(4), x[2]])),
            (ops.segment_softmax(x, [0, 3]), np.exp(x) / np.exp(x).sum(0)),
            (ops.spmm_values(mochi.Sparse(([0, 1, 2, 3], [2, 1, 0], None), (3, 3)), np.ones(3), x), x[::-1]),
        ]:
            np.testing.assert_allclose(got.numpy(), expected, rtol=1e-12, atol=1e-12)
        p = ops.simplex_project(x).numpy()
        assert np.allclose(p.sum(-1), 1) and (p >= 0).all()
