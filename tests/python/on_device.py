"""Tests of tensors on a GPU and DLPack: which stream an import or export waits for, how long memory lives, and which
requests are refused. test_device.py runs this file on the emulated device. That device runs queued work only when
something waits for it, so a result that is read without an order between the streams is wrong there every time."""

import gc

import mochi
import numpy as np
import pytest
from mochi import dlpack
from mochi._library import ffi, lib

X = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.fixture
def writer():
    return mochi.Context(device="cuda", threads=1)


@pytest.fixture
def reader():
    return mochi.Context(device="cuda", threads=1)


class Producer:
    """An array of another library on the GPU, made from a tensor of another context; `asked` records the arguments of
    each request for it."""

    def __init__(self, tensor, old=False):
        self.tensor, self.old, self.asked = tensor, old, []

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **options):
        if self.old and "max_version" in options:
            raise TypeError("max_version")
        self.asked.append(options)
        return self.tensor.__dlpack__(**options)


def product(context):
    with mochi.Tape(context=context):
        return mochi.constant(X, context=context) * 3.0


@pytest.mark.parametrize("old", [False, True])
def test_memory_of_a_gpu_comes_in_behind_its_owners_stream(writer, reader, old):
    y = product(writer)
    producer = Producer(y, old)
    leaf = mochi.constant(producer, context=reader)
    assert producer.asked[0]["stream"] == reader.stream != 0 and ("max_version" in producer.asked[0]) != old
    assert address(leaf) == address(y)
    with mochi.Tape(context=reader):
        z = leaf + 1.0
    assert np.array_equal(z.numpy(), 3 * X + 1)


def address(tensor):
    view = tensor.context.call(lib.gate_mo_tensor_view, tensor._live())
    return int(ffi.cast("uintptr_t", view.data))


def test_a_tensor_of_another_context_of_the_device_is_taken_as_it_is(writer, reader):
    y = product(writer)
    leaf = mochi.constant(y, context=reader)
    assert address(leaf) == address(y) and leaf.__dlpack_device__() == (2, 0)
    assert np.array_equal(leaf.numpy(), 3 * X)
    assert np.array_equal(mochi.constant(y, context=mochi.Context(threads=1)).numpy(), 3 * X)  # read by a copy to the CPU


def test_an_array_is_copied_to_the_gpu_and_gradients_come_back(reader):
    W = mochi.constant(X, context=reader).require_grad()
    with mochi.Tape(context=reader) as tape:
        (g,) = tape.grad((W * W).sum(), [W])
    assert np.array_equal(g.numpy(), 2 * X)


def test_the_owner_gets_its_memory_back_once(writer, reader):
    given = []

    class Counted(Producer):
        def __dlpack__(self, **options):
            capsule = super().__dlpack__(**options)
            given.append(options["stream"])
            return capsule

    with mochi.Tape(context=writer) as tape:
        y = mochi.constant(X, context=writer) * 3.0
    before = tape._core.lent
    leaf = mochi.constant(Counted(y), context=reader)
    assert given == [reader.stream] and tape._core.lent == before + 1
    del leaf
    gc.collect()
    reader._drain()
    assert tape._core.lent == before


@pytest.mark.parametrize("stream", [None, 1, 2])
def test_a_default_stream_of_a_consumer_is_behind_ours(writer, stream):
    capsule = product(writer).__dlpack__(stream=stream)
    assert "dltensor" in repr(capsule)
    del capsule
    gc.collect()


def test_a_consumer_that_sees_to_the_order_itself(writer, reader):
    y = product(writer)
    capsule = y.__dlpack__(stream=-1)
    del capsule
    assert np.array_equal(y.numpy(), 3 * X)


def test_our_stream_is_behind_a_consumer_that_lets_go(writer, reader):
    class Unordered(Producer):
        def __dlpack__(self, **options):
            return self.tensor.__dlpack__(stream=-1)

    read = product(reader)  # queued in the consumer's stream
    capsule = product(writer).__dlpack__(stream=reader.stream)
    del capsule
    gc.collect()
    writer._drain()
    assert np.array_equal(mochi.constant(Unordered(read), context=writer).numpy(), 3 * X)


def test_what_is_refused(writer, reader):
    y = product(writer)
    with pytest.raises(BufferError, match="stream 0"):
        y.__dlpack__(stream=0)
    with pytest.raises(BufferError, match="no other device"):
        y.__dlpack__(dl_device=(1, 0))
    with pytest.raises(mochi.MismatchError, match="cuda:0, expected the context's: cpu"):
        mochi.constant(Producer(y), context=mochi.Context(threads=1))
    with pytest.raises(mochi.MismatchError, match="taken as it is"):
        mochi.constant(Producer(y), dtype="float64", context=reader)
    with pytest.raises(mochi.Error, match="cuda:7"):
        mochi.Context(device="cuda:7")

    class Elsewhere(Producer):
        def __dlpack_device__(self):
            return 2, 1

    with pytest.raises(mochi.MismatchError, match="cuda:1, expected the context's: cuda"):
        mochi.constant(Elsewhere(y), context=reader)


def test_heads_and_features_of_the_door_run_there(reader):
    rng = np.random.default_rng(0)
    Zs, Zq, Ys = rng.normal(size=(6, 4)), rng.normal(size=(3, 4)), np.eye(2)[np.arange(6) % 2]
    logits = []
    for context in (mochi.Context(threads=1), reader):
        given = [mochi.constant(x, context=context) for x in (Zs, Ys, Zq)]
        with mochi.Tape(context=context):
            logits.append(mochi.head("ridge")(*given).numpy())
    np.testing.assert_allclose(*logits, rtol=1e-12)
    assert dlpack.is_on_gpu(given[0]) and not dlpack.is_on_gpu(X)
