"""Random calls from four threads with four contexts and random lifetimes: no crash and no growth of memory.
MOCHI_STRESS: the number of calls."""

import gc
import os
import random
import threading

import mochi
import numpy as np
from mochi import ops
from mochi._library import lib

CALLS = int(os.environ.get("MOCHI_STRESS", "8000"))
THREADS = 4


def act(r, context, things):
    """Makes one random call; it adds an object or raises an error of mochi."""
    tapes = [t for t in things if isinstance(t, mochi.Tape)]
    tensors = [x for x in things if isinstance(x, mochi.Tensor)]
    kind = r.randrange(12)
    if kind == 0 or not tapes:
        return mochi.Tape(context=context)
    tape = r.choice(tapes)
    if kind == 1 or not tensors:
        return mochi.parameter(np.ones((3, 3)) * r.random(), context=context)
    if kind == 2:
        return mochi.constant(np.eye(3) + r.random(), context=context)
    x, y = r.choice(tensors), r.choice(tensors)
    with tape:
        if kind < 6:
            return r.choice([ops.add, ops.matmul, ops.mul, ops.solve])(x, y)
        if kind == 6:
            return r.choice([ops.exp, ops.tanh, ops.transpose, ops.softmax])(x)
        if kind == 7:
            return np.asarray(x)
        if kind == 8:
            leaves = [t for t in tensors if t.tape is None and t.requires_grad]
            return (tape.grad(x.sum(), leaves[:2], create_graph=r.random() < 0.5) or [None])[0]
        if kind == 9:
            return mochi.root(lambda w, a: w - a * 0.5, np.zeros((3, 3)), [y])
        if kind == 10:
            return np.from_dlpack(x)
    return r.choice([tape.reset, tape.reset, tape.release])()


def resident():
    """Bytes of memory that the process uses."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def work(seed, calls, outcome, held):
    r = random.Random(seed)
    context = mochi.Context(threads=1)
    things, errors, last = [], 0, None
    try:
        for i in range(calls):
            try:
                things.append(act(r, context, things))
            except (mochi.Error, BufferError):
                errors += 1
            while len(things) > r.randrange(1, 30):
                things.pop(r.randrange(len(things)))
            if i % 1000 == 999:
                things.clear()
                gc.collect()
                context._drain()
                last = lib.mo_context_counters(context._pointer).bytes_live
                held.append(resident())
        things.clear()
        gc.collect()
        context._drain()
        outcome.append((errors, last, lib.mo_context_counters(context._pointer).bytes_live))
    except BaseException as error:
        outcome.append(error)
        raise


def test_random_calls_from_four_threads_with_four_contexts():
    outcome, held = [], []
    threads = [threading.Thread(target=work, args=(seed, CALLS // THREADS, outcome, held)) for seed in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcome) == THREADS and not any(isinstance(o, BaseException) for o in outcome), outcome
    half = len(held) // 2
    early, late = max(held[:half]), max(held[half:])
    refused = sum(o[0] for o in outcome)
    print(f"{CALLS} calls, {refused} of them refused; {early >> 20} MiB held at most in one half, {late >> 20} in the other")
    assert late < 1.1 * early + (16 << 20)
    for errors, _, left in outcome:
        assert 0 < errors < CALLS // THREADS // 2
        assert left < 1 << 20, f"{left} bytes are left in a context without tensors"


def test_contexts_are_freed():
    import resource

    def use():
        context = mochi.Context(threads=1)
        W = mochi.parameter(np.ones((100, 100)), context=context)
        with mochi.Tape(context=context) as tape:
            tape.grad((W @ W).sum(), [W])

    for _ in range(20):
        use()
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(200):
        use()
    gc.collect()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20000


def once(i, X, Y, W, own, context):
    """One call: of every 20 eleven ops, a gradient, four heads (one new), two ops of one's own (one new), two fits."""
    kind = i % 20
    if kind == 11:
        with mochi.Tape(context=context) as tape:
            tape.grad(ops.tanh(W @ W.T).sum(), [W])
        return
    with mochi.Tape("eval", context=context):
        if kind < 11:
            (ops.exp, ops.softmax, ops.transpose, ops.square, ops.sqrt)[i % 5](X)
        elif kind < 15:
            mochi.head(("ridge", "logistic", "lda")[kind - 12])(X, Y, X)
        elif kind == 15:
            mochi.Head("own", logits=lambda Zs, Ys, Zq: Zq @ Zs.T @ Ys)(X, Y, X)
        elif kind == 16:
            own(X)
        elif kind == 17:
            mochi.Op(lambda x: x + 1, lambda y_bar, y, x: y_bar)(X)
        else:
            (mochi.sklearn.RidgeHead() if kind == 18 else mochi.sklearn.LogisticHead()).fit(X, Y.argmax(1))


def test_calls_of_ops_heads_and_fits_leave_nothing():
    import mochi.sklearn  # noqa: F401

    rng, context = np.random.default_rng(0), mochi.Context(threads=1)
    X, Y = np.abs(rng.normal(size=(12, 5))), np.eye(3)[np.arange(12) % 3]
    W, own = mochi.parameter(X, context=context), mochi.Op(lambda x: x * 2, lambda y_bar, y, x: y_bar * 2.0)
    before, held, live = mochi.set_default_context(context), [], []
    try:
        for i in range(CALLS):
            once(i, X, Y, W, own, context)
            if i * 10 // CALLS != (i + 1) * 10 // CALLS:
                gc.collect()
                context._drain()
                held.append(resident())
                live.append(context.counters["bytes_live"])
    finally:
        mochi.set_default_context(before)
    print(f"{CALLS} calls of ops, heads and fits: {[h >> 10 for h in held]} KiB resident after each tenth")
    assert live[-1] <= live[1], f"{live} bytes are held in the context"
    assert held[-1] - held[1] < (1 << 20) + 2 * CALLS, "2 bytes a call"
