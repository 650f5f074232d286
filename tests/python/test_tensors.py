"""Tensors and arrays: no copy where none is needed, and no crash in whatever order objects are freed."""

import gc
import pickle

import mochi
import numpy as np
import pytest
from mochi import ops


def address(array):
    return np.asarray(array).__array_interface__["data"][0]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8", "float16"])
def test_an_array_comes_in_and_goes_out_at_its_address(dtype):
    x = np.arange(12).reshape(3, 4).astype(dtype)
    X = mochi.constant(x)
    assert X.shape == (3, 4) and X.dtype == dtype
    assert address(X) == address(x)
    assert np.array_equal(np.asarray(X), x)


def test_a_number_stays_without_axes():
    assert mochi.constant(np.array(2.5)).shape == mochi.constant(3.0).shape == mochi.parameter(1.0).shape == ()
    with mochi.Tape():
        assert mochi.ops.exp(np.array(0.0)).shape == ()


def test_strides_of_an_array_are_read_as_they_are():
    x = np.arange(24.0).reshape(4, 6)
    for part in (x[::2, 1::2], x.T, x[:, 3], np.broadcast_to(x[0], (5, 6))):
        X = mochi.constant(part)
        assert address(X) == address(part)
        assert np.array_equal(X.numpy(), part)


@pytest.mark.parametrize(
    "x",
    [
        np.arange(5.0)[::-1], np.arange(5, dtype=">f8"), np.arange(5, dtype=np.int16), np.array([True, False]),
        np.frombuffer(bytes(41), np.float64, offset=1),  # not aligned
    ],  # fmt: skip
)
def test_other_memory_is_copied(x):
    assert np.array_equal(mochi.constant(x).numpy(), x)


def test_what_is_no_array_of_numbers_is_refused():
    for thing in (np.array([1j]), np.array(["a"]), object(), "text", np.array([object()])):
        with pytest.raises((TypeError, mochi.Error)):
            mochi.constant(thing)
    with pytest.raises(ValueError, match="7 axes"):
        mochi.constant(np.zeros((1,) * 7))
    with pytest.raises(TypeError, match="uint64"):
        mochi.constant(np.zeros(2, np.uint64))


def test_a_buffer_comes_in_without_a_copy():
    buffer = bytearray(b"\x01\x02\x03")
    X = mochi.constant(buffer)
    buffer[1] = 9
    assert X.numpy().tolist() == [1, 9, 3]


def test_an_array_lives_as_long_as_the_tensor():
    x = np.ones(1000)
    X = mochi.constant(x)
    del x
    gc.collect()
    assert X.numpy().sum() == 1000


def test_an_array_onto_a_result_outlives_tape_and_tensor():
    W = mochi.parameter(np.arange(1000.0))
    with mochi.Tape() as tape:
        y = W * 2.0
    view = np.asarray(y)
    tape.reset()
    with tape:
        others = [W * 3.0 for _ in range(100)]
    assert view[999] == 1998 and not view.flags.writeable
    tape.release()
    del tape, y, others, W
    gc.collect()
    assert view.sum() == 999000


def test_a_constant_that_python_let_go_is_there_for_backward():
    W = mochi.parameter(np.ones(3))
    with mochi.Tape() as tape:
        loss = (mochi.constant(np.array([1.0, 2.0, 3.0])) * W).sum()
    gc.collect()
    assert tape.grad(loss, [W])[0].numpy().tolist() == [1, 2, 3]


def test_a_tensor_of_a_reset_or_released_tape_raises():
    W = mochi.parameter(np.ones(3))
    with mochi.Tape() as tape:
        y = W * 2.0
        tape.reset()
        for use in (lambda: y + 1, lambda: y.numpy(), lambda: y.shape, lambda: np.asarray(y), lambda: tape.grad(y, [W])):
            with pytest.raises(mochi.StateError, match="gone"):
                use()
        assert "gone" in repr(y)
        tape.release()
        with pytest.raises(mochi.StateError, match="released"):
            W * 2.0
        for use in (
            tape.reset,
            tape.release,
            lambda: tape.grad(W, [W]),
            lambda: tape.jvp([W], [W], [W]),
            lambda: tape.backward(W),
        ):
            with pytest.raises(mochi.StateError, match="released"):
                use()


def test_backward_releases_the_values_that_python_does_not_hold():
    W = mochi.parameter(np.ones(3))
    with mochi.Tape() as tape:
        y = W * W
        z = y * y
        tape.grad(z.sum(), [W])
        assert y.numpy().tolist() == z.numpy().tolist() == [1, 1, 1]
        with pytest.raises(mochi.StateError, match="retain|released|consumed"):
            tape.grad(z, [W])
    big = mochi.parameter(np.ones(1 << 18))
    held = []
    for hold in (False, True):
        with mochi.Tape() as tape:
            x, kept = big * 1.0, []
            for _ in range(8):
                x = (x * 1.0).tanh()
                kept.append(x if hold else None)
            tape.grad(x.sum(), [big])
            held.append(mochi._library.lib.mo_context_counters(tape.context._pointer).tape_live)
            del x, kept
    assert held[1] - held[0] >= 6 * 8 << 18


def test_an_array_onto_a_value_outlives_backward():
    W = mochi.parameter(np.ones(1000))
    with mochi.Tape() as tape:
        y = W * 2.0
        loss = (y * y).sum()
        view, other = np.asarray(y), np.from_dlpack(y)
        del y
        tape.grad(loss, [W])
        more = [W * 5.0 for _ in range(20)]
        assert (view == 2).all() and (other == 2).all() and len(more) == 20


def test_an_array_of_a_callback_is_a_copy():
    seen = []

    def residual(w, a):
        seen.extend([np.asarray(w * 0.0 + 3.0), np.from_dlpack(w * 0.0 + 3.0)])
        return w - a

    with mochi.Tape() as tape:
        mochi.root(residual, np.zeros(100), [mochi.parameter(np.ones(100))])
        tape.reset()
        more = [mochi.constant(np.ones(100)) * 5.0 for _ in range(50)]
    assert mochi.gradcheck(lambda x: (seen.append(np.asarray(x * 0.0 + 3.0)), x * x)[1], [np.ones(3)])
    gc.collect()
    assert all((array == 3).all() for array in seen) and len(more) == 50


def test_objects_may_go_in_any_order():
    rng = np.random.default_rng(0)
    for _ in range(200):
        context = mochi.Context(threads=1)
        W = mochi.parameter(rng.normal(size=(4, 3)), context=context)
        tape = mochi.Tape(context=context)
        with tape:
            y = (W @ rng.normal(size=(3, 2))).sum()
        things = [context, W, tape, y, np.asarray(y)]
        del context, W, tape, y
        while things:
            things.pop(rng.integers(len(things)))
    gc.collect()


def test_a_parameter_is_written_as_a_whole():
    W = mochi.parameter([[1, 2], [3, 4]], name="W")
    assert W.dtype == "float32" and W.name == "W" and W.requires_grad
    W[...] = np.zeros((2, 2))
    assert W.numpy().tolist() == [[0, 0], [0, 0]]
    W.write(5)
    assert W.numpy().tolist() == [[5, 5], [5, 5]]
    with pytest.raises(ValueError):
        W.write(np.zeros(3))
    fixed = np.zeros(2)
    fixed.flags.writeable = False
    with pytest.raises(mochi.StateError, match="read-only"):
        mochi.constant(fixed).write(1)


def test_a_detached_parameter_is_data():
    W = mochi.parameter(np.array([1.0, 2.0]))
    data = W.detach()  # needs no tape
    assert not data.requires_grad and data.dtype == "float64" and data.tolist() == [1, 2]
    W.write(np.zeros(2))
    assert data.tolist() == [1, 2]
    with mochi.Tape() as tape:
        (gradient,) = tape.grad((W * W.detach() + W).sum(), [W])
    assert gradient.tolist() == [1, 1]


def test_backward_adds_up():
    W = mochi.parameter(np.ones(2))
    assert W.grad is None
    for _ in range(2):
        with mochi.Tape() as tape:
            tape.backward((W * 3.0).sum())
    assert W.grad.tolist() == [6, 6]
    W.zero_grad()
    assert W.grad.tolist() == [0, 0]


def test_tensors_are_pickled_by_their_values():
    W = mochi.parameter(np.arange(3.0), name="W")
    V = pickle.loads(pickle.dumps(W))
    assert V.name == "W" and V.requires_grad and V.numpy().tolist() == [0, 1, 2]
    with mochi.Tape():
        y = pickle.loads(pickle.dumps(W * 2.0))
    assert y.numpy().tolist() == [0, 2, 4] and not y.requires_grad
    assert repr(pickle.loads(pickle.dumps(mochi.Context(threads=1)))) == "mochi.Context(threads=1, device='cpu')"


def test_indices_that_no_axis_has_are_refused():
    with mochi.Tape():
        X = mochi.constant(np.zeros((2, 3, 4)))
        for wrong in (2, (0, 0, 0, 0), "a", (0, 3)):
            with pytest.raises(IndexError):
                X[wrong]
        assert len(X) == 2 and X.mT.shape == (2, 4, 3)
        with pytest.raises(mochi.InvalidError, match="mT swaps the last two"):
            X.T  # noqa: B018  NumPy reverses all axes, PyTorch swaps two


def test_a_tensor_says_what_it_is_in_words_of_numpy():
    x = mochi.constant(np.ones((2, 2), np.float32))
    assert x.dtype == "float32" == x.dtype and x.dtype == np.float32 and np.dtype("float32") == x.dtype and x.dtype != np.float64
    assert np.zeros(1, x.dtype).dtype == np.float32 and {x.dtype: 1}["float32"] and x.dtype != 3
    assert x.tolist() == [[1, 1], [1, 1]] and x.device == "cpu"
    with mochi.Tape():
        assert x.T.shape == (2, 2) and x[0].T.shape == (2,)


def test_a_context_is_the_default_inside_with():
    before = mochi.default_context()
    with mochi.Context(threads=1) as one:
        assert mochi.default_context() is one and mochi.constant(np.ones(2)).context is one
        with mochi.Context(threads=1) as two, one:
            assert mochi.default_context() is one is not two
        assert mochi.default_context() is one
    assert mochi.default_context() is before
    for wrong in ({"threads": 0}, {"memory": 0}, {"device_memory": -1}):
        with pytest.raises(mochi.InvalidError, match=next(iter(wrong))):
            mochi.Context(**wrong)


def test_a_mask_as_index_takes_its_true_rows():
    """Taken as row numbers, [True, False, True] would select rows 1, 0, 1."""
    X = np.arange(12.0).reshape(3, 4)
    A, mask = mochi.parameter(X, dtype="float64"), np.array([True, False, True])
    forms = [mask, mask.tolist(), mask.astype(object).tolist()]
    try:
        import pandas

        forms += [pandas.Series(mask), pandas.Series(mask, dtype="boolean")]
        with mochi.Tape():
            assert np.array_equal(A[pandas.Series([0, 2], dtype="Int64")].numpy(), X[[0, 2]])
    except ImportError:
        pass
    with mochi.Tape() as tape:
        for form in forms:
            assert np.array_equal(A[form].numpy(), X[mask])
        assert A[[False] * 3].shape == A[np.zeros(3, bool)].shape == A[[]].shape == (0, 4)
        (gradient,) = tape.grad(A[mask].sum(), [A])
        assert np.array_equal(gradient.numpy(), np.outer(mask, np.ones(4)))
        for wrong in (mask[:2], [True] * 4, X > 3, np.array(True), np.zeros(0, bool), (slice(None), mask)):
            with pytest.raises(IndexError, match="a mask"):
                A[wrong]
        for wrong in (True, np.True_, 1.0):
            with pytest.raises(IndexError, match="an index of type"):
                A[wrong]
        for wrong in ([0.0, 1.0], [0.5], [3], np.array([2**64 - 1], np.uint64), np.ma.array([0, 1], mask=[0, 1]), ["a"]):
            with pytest.raises((ValueError, TypeError)):
                A[wrong]
        for op in (lambda i: ops.gather_rows(A, i), lambda i: ops.scatter_add_rows(A, i, 3), lambda i: ops.segment_sum(A, i)):
            with pytest.raises(ValueError, match="an index of bool"):
                op(mask)
        assert np.array_equal(ops.one_hot(mask, 2, "float32").numpy(), [[0, 1], [1, 0], [0, 1]])  # as labels, False is 0, True 1


def test_equality_is_entry_by_entry_and_identity_in_sets():
    X = np.array([[0.5, 1.0], [np.nan, 0.5]])
    A = mochi.parameter(X, dtype="float64")
    with mochi.Tape() as tape:
        for other in (0.5, np.float64(0.5), np.array([0.5, 1.0]), X, mochi.constant(X)):
            theirs = np.asarray(other)
            assert np.array_equal((A == other).numpy(), X == theirs) and np.array_equal((A != other).numpy(), X != theirs)
            assert np.array_equal((other == A).numpy(), X == theirs)
        loss = (A * (A == 1.0)).sum()
        assert np.array_equal(tape.grad(loss, [A])[0].numpy(), [[0, 1], [0, 0]])
        with pytest.raises(ValueError, match="one element"):
            bool(A == A)
        for wrong, error in (("x", TypeError), (np.ones(3), ValueError)):
            for compare in (lambda: A == wrong, lambda: A != wrong):  # noqa: B023
                with pytest.raises(error):
                    compare()
        assert bool(mochi.constant(2.0) == 2.0) and not bool(mochi.constant(2.0) != 2.0)
    with pytest.raises(mochi.StateError, match="no tape"):
        A == A  # noqa: B015
    assert (A == None) is False and (A != None) is True  # noqa: E711
    assert 0.5 in A and 0.25 not in A and np.nan not in A
    B = mochi.constant(X)
    assert len({A, B, A}) == 2 and A in {A, B} and {A: 1, B: 2}[B] == 2 and A in [A, B]
    with pytest.raises(mochi.Error):
        assert B in [A]  # `in` compares entries by ==, whose result is a tensor with no single truth value


def test_a_result_goes_out_by_dlpack_at_its_address():
    W = mochi.parameter(np.arange(6.0).reshape(2, 3))
    with mochi.Tape() as tape:
        y = (W * 2.0).T
    assert y.__dlpack_device__() == (1, 0)
    view = np.from_dlpack(y)
    assert address(view) == address(y) and view.tolist() == [[0, 6], [2, 8], [4, 10]] and not view.flags.writeable
    tape.reset()
    del tape, y, W
    gc.collect()
    assert view.tolist() == [[0, 6], [2, 8], [4, 10]]
    capsule = mochi.constant(np.ones(2)).__dlpack__()
    assert "dltensor" in repr(capsule)
    del capsule
    with pytest.raises(BufferError):
        mochi.constant(np.ones(2)).__dlpack__(copy=True)


def test_whatever_speaks_dlpack_comes_in_without_a_copy():
    class Other:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    x = np.arange(4, dtype=np.float32)
    assert address(mochi.constant(Other(x))) == address(x)
    with mochi.Tape():
        assert (mochi.constant(x) + Other(x)).numpy().tolist() == [0, 2, 4, 6]


def test_a_tape_that_a_finalizer_revives_raises():
    revived = []

    class Holder:
        def __init__(self):
            self.tape, self.me = mochi.Tape(), self
            with self.tape:
                self.y = mochi.parameter(np.ones(3)) * 2.0

        def __del__(self):
            revived.extend((self.tape, self.y))

    Holder()
    gc.collect()  # in a garbage cycle Python runs every finalizer before it finds that one has made an object reachable again
    tape, y = revived
    for use in (tape.reset, y.numpy, lambda: y + y, lambda: tape.grad(y, []), tape.__enter__):
        with pytest.raises(mochi.StateError):
            use()
