"""Contexts: errors as exceptions, use by one thread at a time, forks, and the tensors and tapes of a context."""

import asyncio
import copy
import gc
import importlib.util
import json
import os
import pickle
import subprocess
import sys
import threading

import mochi
import numpy as np
import pytest
from mochi import ops


def test_an_error_is_an_exception_and_leaves_nothing_behind():
    with mochi.Tape() as tape:
        with pytest.raises(ValueError, match=r"matmul: inner sizes 3 and 2.*got \[2, 3\] float64") as caught:
            ops.matmul(np.ones((2, 3)), np.ones((2, 3)))
        assert isinstance(caught.value, mochi.InvalidError) and caught.value.code == "invalid"
        assert "autograd" in caught.value.where or "ops" in caught.value.where
        with pytest.raises(TypeError, match="differ in dtype"):
            ops.add(np.ones(2), np.ones(2, np.float32))
        with pytest.raises(FloatingPointError, match="positive definite"):
            ops.solve_spd(-np.eye(2), np.ones((2, 1)))
        with pytest.raises(MemoryError):
            ops.broadcast_to(np.ones(1), (2**40, 2**30))
        with pytest.raises(mochi.InvalidError, match="None"):
            ops.add(np.ones(2), None)
        with pytest.raises(mochi.MismatchError, match="bfloat"):
            ops.cast(np.ones(2), "complex64")
        assert ops.add(np.ones(2), 1.0).numpy().tolist() == [2, 2]
    assert tape.nodes == 0


def test_tensors_of_another_context_or_tape_are_refused():
    one, two = mochi.Context(threads=1), mochi.Context(threads=1)
    X, Y = mochi.constant(np.ones(2), context=one), mochi.constant(np.ones(2), context=two)
    with mochi.Tape(context=one), pytest.raises(mochi.MismatchError, match="another context"):
        X + Y
    with mochi.Tape(context=one):
        a = X * 2.0
    with mochi.Tape(context=one):
        b = X * 2.0
    with pytest.raises(mochi.MismatchError, match="another tape"):
        a + b
    with pytest.raises(mochi.StateError, match="no tape"):
        X + X


def test_a_context_is_pickled_with_all_that_it_was_made_with():
    made = mochi.Context(threads=2)
    for again in (pickle.loads(pickle.dumps(made)), copy.copy(made), copy.deepcopy(made)):
        assert (again.threads, again.device, again.math, again.device_memory) == (2, "cpu", "fp32", None)
        assert repr(again) == repr(made) == "mochi.Context(threads=2, device='cpu')"
    made.math, made.device_memory, made.device = "tf32", 1 << 30, "cuda:1"  # settings of a context on a GPU
    assert made.__reduce__() == (mochi.Context, (2, "cuda:1", "tf32", 1 << 30, None))
    assert repr(made) == "mochi.Context(threads=2, device='cuda:1', math='tf32', device_memory=1073741824)"
    bound = pickle.loads(pickle.dumps(mochi.Context(threads=2, memory=1 << 20)))
    assert bound.memory == 1 << 20 and repr(bound) == "mochi.Context(threads=2, device='cpu', memory=1048576)"
    low = mochi.Context(threads=1, math="bf16")
    X = np.random.default_rng(0).normal(size=(64, 64)).astype("float32")
    products = []
    for context in (low, pickle.loads(pickle.dumps(low))):
        with mochi.Tape(context=context):
            products.append((mochi.constant(X, context=context) @ X).numpy())
    assert np.array_equal(*products)


def test_wrong_options_are_refused():
    for options in ({"threads": -1}, {"device": "tpu"}, {"math": "fp8"}, {"math": "tf32"}):
        with pytest.raises(mochi.Error):
            mochi.Context(**options)
    with pytest.raises(ValueError, match="mode"):
        mochi.Tape(mode="write")
    for options in (
        {"threads": 1.5}, {"threads": True}, {"threads": "x"}, {"threads": 2000}, {"device": "cuda:x"}, {"device": "cpu:1"},
        {"device": 0}, {"device": "cpu:"}, {"math": None}, {"device_memory": -1}, {"device_memory": float("nan")},
        {"memory": -1}, {"memory": 0.5},
    ):  # fmt: skip
        with pytest.raises(mochi.InvalidError, match="[Cc]ontext"):
            mochi.Context(**options)
    for wrong in ("x", 2, float("nan"), None):
        with pytest.raises(mochi.InvalidError, match="anomaly"):
            mochi.Tape(anomaly=wrong)


def test_a_bound_of_memory_refuses_what_exceeds_it():
    context = mochi.Context(threads=1, memory=1 << 20)
    with mochi.Tape(context=context):
        X = mochi.constant(np.ones(1000), context=context)
        with pytest.raises(mochi.OutOfMemoryError, match=r"asked, .* held, 1\.0M allowed"):
            X.reshape(1000, 1) * X
        assert (X * 2.0).numpy()[0] == 2


def test_the_second_thread_in_a_context_raises():
    context = mochi.Context(threads=1)
    A = mochi.constant(np.random.default_rng(0).normal(size=(1500, 1500)), context=context)
    inside, refused, done = threading.Event(), [], threading.Event()

    def work():
        while not done.is_set():
            try:
                tape = mochi.Tape(context=context, mode="eval")
                with tape:
                    inside.set()
                    ops.matmul(A, A)
            except mochi.BusyError:
                pass

    def call():
        inside.wait()
        for _ in range(10000):
            try:
                mochi.Tape(context=context)
            except mochi.BusyError as error:
                refused.append(str(error))
                return

    threads = [threading.Thread(target=work), threading.Thread(target=call)]
    threads[0].start()
    threads[1].start()
    threads[1].join()
    done.set()
    threads[0].join()
    assert refused and "another thread" in refused[0]
    with mochi.Tape(context=context):
        assert (A[0, 0] * 0.0).item() == 0


def test_threads_have_contexts_of_their_own():
    found = []

    def work():
        with mochi.Tape():
            found.append((mochi.default_context(), mochi.ops.matmul(np.eye(3), np.eye(3)).numpy()))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(context) for context, _ in found}) == 4
    assert all(np.array_equal(value, np.eye(3)) for _, value in found)


def threads_in(code, **environment):
    """What a fresh process prints."""
    command, environment = [sys.executable, "-c", code], {**os.environ, **environment}
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


def test_threads_follow_openmp_and_what_the_main_thread_has_set():
    """A new context, thread or process took every processor, whatever was set."""
    everywhere = """
import json, os, threading, mochi
found = []
def see(): found.append(mochi.default_context().threads)
{}
see()
thread = threading.Thread(target=see); thread.start(); thread.join()
reading, writing = os.pipe()
if os.fork() == 0:
    os.write(writing, bytes([mochi.default_context().threads])); os._exit(0)
os.wait()
print(json.dumps([*found, os.read(reading, 1)[0], mochi.Context().threads]))
"""
    assert threads_in(everywhere.format(""), OMP_NUM_THREADS="1") == [1, 1, 1, 1]
    one = "mochi.set_default_context(mochi.Context(threads=1))"
    processors = threads_in(everywhere.format(one), OMP_NUM_THREADS="2")
    assert processors[:3] == [1, 1, 1] and processors[3] == min(2, len(os.sched_getaffinity(0)))
    limited = "import mochi, json, threadpoolctl; threadpoolctl.threadpool_limits(1); print(json.dumps(mochi.Context().threads))"
    if importlib.util.find_spec("threadpoolctl"):
        assert threads_in(limited, OMP_NUM_THREADS="2") == 1


def test_a_forked_process_raises_and_has_a_context_of_its_own():
    W = mochi.parameter(np.ones(3))
    tape = mochi.Tape()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            try:
                with tape:
                    W * 2.0
            except mochi.ForkError:
                with mochi.Tape():
                    status = 0 if (mochi.parameter(np.ones(2)) * 2.0).sum().item() == 4 else 2
                del W, tape
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with tape:
        assert (W * 2.0).sum().item() == 6


def in_a_child(calls):
    """How a call ends in a forked process: the name of its exception, or its result."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            for call in calls:
                try:
                    said = repr(call())
                except BaseException as error:
                    said = type(error).__name__
                os.write(writing, (said + "\n").encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        said = file.read().splitlines()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    return said


def test_whatever_was_made_before_a_fork_raises_behind_it():
    W = mochi.parameter(np.ones(3))
    adamw = mochi.AdamW([W], lr=0.1)
    adamw.step([np.ones(3)])
    kept = pickle.dumps(adamw)
    with mochi.Tape() as tape:
        y = (W * 2.0).sum()
    X, V = mochi.constant(np.ones((2, 2))), mochi.parameter(np.ones(2))
    with mochi.Tape() as other:
        other.backward((V * V).sum())
    graph = mochi.graph(np.array([[0, 1], [1, 2]]), x=np.ones((3, 2)))
    calls = [
        lambda: W.numpy(), lambda: W.write(0.0), lambda: V.grad, lambda: W.zero_grad(), lambda: y.item(),
        lambda: tape.grad(y, [W]), lambda: tape.backward(y), lambda: adamw.step([np.ones(3)]), lambda: pickle.dumps(adamw),
        lambda: mochi.AdamW([W]), lambda: np.asarray(y), lambda: np.from_dlpack(X),
        lambda: mochi.features(graph, hop=1), lambda: tape.reset(),
    ]  # fmt: skip
    said = in_a_child(calls)
    assert said == ["ForkError"] * len(calls), said
    assert in_a_child([lambda: pickle.loads(kept).step([np.ones(3)]) > 1, lambda: pickle.loads(kept).steps]) == ["True", "1"]
    assert adamw.step([np.ones(3)]) == pytest.approx(3**0.5) and V.grad.tolist() == [2, 2]


def test_anomaly_names_the_op():
    with mochi.Tape(anomaly=True), pytest.raises(mochi.NumericalError, match="log"):
        ops.log(np.array([-1.0]))


def test_counters_count_factorizations_and_bytes():
    context = mochi.Context(threads=1)
    A = mochi.parameter(np.eye(64), context=context)
    assert context.counters["factorizations"] == 0
    with mochi.Tape(context=context) as tape:
        tape.grad(ops.solve_spd(A, np.ones((64, 1))).sum(), [A])
        counters = context.counters
        assert counters["factorizations"] == 1 and counters["tape_peak"] >= counters["tape_live"] > 0
    tape.reset()
    context.reset_peaks()
    assert context.counters["tape_peak"] == context.counters["tape_live"] < counters["tape_peak"]


@pytest.mark.parametrize(
    "make",
    [
        lambda c: mochi.parameter(np.ones(3), context=c),
        lambda c: mochi.AdamW([mochi.parameter(np.ones(3), context=c)]),
        lambda c: mochi.Tape(context=c),
        lambda c: mochi.graph("mutag", context=c),
    ],
)
def test_a_cycle_may_take_its_context_before_what_was_made_there(make):
    context = mochi.Context(threads=1)
    address, cycle = context.address, [context]
    cycle += [make(context), cycle]
    del context, cycle
    gc.collect()
    assert address not in mochi.context._contexts


def test_an_inherited_leaf_among_the_inputs_of_a_forked_process_raises():
    W = mochi.parameter(np.ones(3))

    def call():
        with mochi.Tape():
            return mochi.ops.add(W, np.ones(3))

    assert in_a_child([call]) == ["ForkError"]


def test_each_task_of_asyncio_has_open_tapes_of_its_own():
    async def work(n, steps):
        with mochi.Tape() as tape:
            for _ in range(steps):
                await asyncio.sleep(0)
                assert mochi.current_tape() is tape
                assert ops.add(np.full(2, float(n)), 1.0).numpy().tolist() == [n + 1.0] * 2

    async def both():
        with mochi.Tape() as outer:
            await asyncio.gather(work(1, 5), work(2, 9), work(3, 1))
            assert mochi.current_tape() is outer

    asyncio.run(both())
    with pytest.raises(mochi.StateError, match="no tape"):
        mochi.current_tape()


def test_what_cannot_be_copied_or_pickled_says_so():
    A = mochi.Sparse((np.array([0, 1]), np.array([0]), None), (1, 1))
    for thing in (A, mochi.Tape()):
        for copied in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(mochi.UnsupportedError, match=f"a {type(thing).__name__} cannot be pickled or copied"):
                copied(thing)
    with mochi.Tape():
        assert (A @ np.ones((1, 1), np.float32)).item() == 1
    report = mochi.Report()
    with mochi.Tape():
        mochi.root(lambda x: x * x - 2.0, np.ones(2), [], report=report)
    again = pickle.loads(pickle.dumps(report))
    assert repr(again) == repr(copy.copy(report)) == repr(report) and again.iterations == report.iterations > 0


def test_only_a_context_is_the_default():
    before = mochi.default_context()
    with pytest.raises(mochi.InvalidError, match="set_default_context: 3, expected a Context or None"):
        mochi.set_default_context(3)
    assert mochi.default_context() is before
