"""The gradient and head checkers, with default settings, find each planted mistake and accept the same rule without
it. tests/models/test_wrong_rules.c has more mistakes; here are those that Python's door could hide."""

import mochi
import numpy as np
import pytest
from mochi import ops

rng = np.random.default_rng(4)
A, B = rng.normal(size=(3, 4)), rng.normal(size=(4, 2))
x = np.array([1.0, 2.0, -0.5])
ONES = np.ones((3, 3))


def cube(vjp):
    return mochi.Op(lambda x: x**3, vjp, name="cube")


def product(vjp):
    return mochi.Op(lambda A, B: A @ B, vjp, name="product")


def two(vjp):
    return mochi.Op(lambda x: (1e6 * x, x**2), vjp, name="two", outputs=2)


def exponential(vjp):
    return mochi.Op(np.exp, vjp, name="exponential")


def two_bars(gs, scale):
    bars = [gs[0] * 1e6] if gs[0] is not None else []
    return bars + ([gs[1] * scale] if gs[1] is not None else [])


class Memory:
    """An op that keeps the input of its last forward pass."""

    def __init__(self):
        self.op = mochi.Op(self.forward, self.vjp, name="memory")

    def forward(self, x):
        self.x = x.copy()
        return x**3

    def vjp(self, g, y, x):
        return (g * (3.0 * self.x**2),)


RIGHT = {
    "cube": (cube(lambda g, y, x: (g * 3.0 * x * x,)), [x]),
    "product": (product(lambda g, y, A, B: (g @ B.T, A.T @ g)), [A, B]),
    "two": (two(lambda gs, ys, x: (sum(two_bars(gs, 2.0 * x), x * 0.0),)), [x]),
    "exponential": (exponential(lambda g, y, x: (g * y,)), [x]),
}
WRONG = {
    "a factor of 1 + 1e-5": (cube(lambda g, y, x: (g * (3.0 + 3e-5) * x * x,)), [x]),
    "no cotangent": (cube(lambda g, y, x: (3.0 * x * x,)), [x]),
    "nothing": (cube(lambda g, y, x: (None,)), [x]),
    "the power, at ones": (cube(lambda g, y, x: (g * 3.0 * x,)), [ONES]),
    "right at order 1 alone": (cube(lambda g, y, x: (g * 3.0 * x.detach() * x,)), [x]),
    "a cut cotangent": (cube(lambda g, y, x: (g.detach() * 3.0 * x * x,)), [x]),
    "a rule of NumPy": (cube(lambda g, y, x: (np.asarray(g) * 3.0 * np.asarray(x) ** 2,)), [x]),
    "a value of another call": (Memory().op, [x]),
    "wrong in a batch": (cube(lambda g, y, x: (g * 3.0 * x * x * (0.5 if len(x.shape) > 1 else 1.0),)), [x]),
    "the input for the output": (exponential(lambda g, y, x: (g * x,)), [x]),
    "a forgotten input": (product(lambda g, y, A, B: (None, A.T @ g)), [A, B]),
    "a forgotten output": (two(lambda gs, ys, x: (gs[0] * 1e6 if gs[0] is not None else None,)), [x]),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_rules_pass(name):
    op, xs = RIGHT[name]
    check = mochi.gradcheck(op, xs)
    assert check, check.worst


@pytest.mark.parametrize("name", WRONG)
def test_wrong_rules_are_caught(name):
    op, xs = WRONG[name]
    check = mochi.gradcheck(op, xs)
    assert not check and check.worst


def test_nothing_to_check_is_no_pass():
    check = mochi.gradcheck(RIGHT["cube"][0], [np.arange(3)])
    assert not check and "nothing was compared" in check.worst


def test_what_a_function_raises_where_it_is_tried_is_forgotten():
    seen = []

    def of_vectors(v):
        if len(v.shape) != 1:
            seen.append(v.shape)
            raise LookupError("mine")
        return v * v

    assert mochi.gradcheck(of_vectors, [x]) and (2, 3) in seen
    with mochi.Tape(), pytest.raises(mochi.InvalidError, match="matmul"):  # not the LookupError raised before
        ops.matmul(A, A)


def test_an_interrupt_in_a_function_comes_out():
    calls = []

    def interrupted(v):
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return v * v

    with pytest.raises(KeyboardInterrupt):
        mochi.gradcheck(interrupted, [x])


def test_a_head_that_is_right_at_order_1_alone_is_caught():
    def means(Zs, Ys, Zq, lam):
        return (Zq @ (Ys.mT @ Zs).mT) * lam

    right = mochi.Head("means", logits=means, parameters={"lambda": 1.0}).check()
    assert right, right.worst
    wrong = lambda Zs, Ys, Zq, lam: means(Zs, Ys, Zq + ops.square(Zq - Zq.detach()), lam)  # noqa: E731
    check = mochi.Head("sabotaged", logits=wrong, parameters={"lambda": 1.0}).check()
    assert not check and check.worst
