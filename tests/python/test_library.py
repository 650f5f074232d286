"""The Python module binds every function of the headers, the wheel has what its metadata promises, and Ctrl-C
interrupts calls."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

import mochi
import numpy as np
import pytest
from mochi import _library, ops
from mochi._library import ffi, lib
from mochi.sklearn import SVMHead

ROOT = pathlib.Path(__file__).resolve().parents[2]
PUBLIC = ("tensor/tensor.h", "autograd/autograd.h", "ops/ops.h", "models/head.h", "models/models.h", "train/train.h")
# These functions are called without a gate_ wrapper: they make or free a context, or take a variable number of
# arguments.
WITHOUT_GATE = {"mo_context_create", "mo_context_release", "mo_fail_at", "mo_call_fail"}


def declared(header):
    text = re.sub(r"/\*.*?\*/|#define[^\n]*", " ", (ROOT / header).read_text(), flags=re.S)
    return set(re.findall(r"MO_API [^;(]*?\b(mo_\w+)\(", text))


@pytest.mark.parametrize("header", PUBLIC)
def test_every_function_of_the_headers_has_a_gate(header):
    names = declared(header)
    assert len(names) > 4
    for name in names:
        assert hasattr(lib, name), name
        assert hasattr(lib, f"gate_{name}") or name in WITHOUT_GATE, name


def test_the_package_calls_what_the_library_has():
    """mochi.torch is tested where PyTorch is alone: a name that is gone would be found by its users."""
    package = ROOT / "tools/python/mochi"
    used = {name for path in package.rglob("*.py") for name in re.findall(r"\blib\.((?:gate_|mo_|MO_|binding_)\w+)", path.read_text())}
    assert len(used) > 150 and {name for name in used if not hasattr(lib, name)} == {"gate_mo_x"}  # in a docstring


def test_every_op_of_the_header_has_a_function():
    by_hand = {"register_ops", "recompute", "implicit", "implicit_solve", "newton_krylov", "lbfgs"}
    by_hand |= {"projected_gradient", "solve_check"}
    assert {name[3:] for name in declared("ops/ops.h")} == set(ops.__all__) | by_hand


def test_structs_and_numbers_are_those_of_the_compiler():
    assert ffi.sizeof("mo_head") == mochi.head("ridge")._pointer.size
    assert lib.MO_MAX_AXES == mochi.arrays.MAX_AXES and lib.MO_MAX_INPUTS == 40
    assert re.search(rf'MO_VERSION "{re.escape(mochi.__version__)}"', (ROOT / "tensor/tensor.h").read_text())


def test_the_extension_has_the_stable_interface():
    assert ".abi3." in sys.modules[_library.EXTENSION].__file__


def interrupted_after(seconds, call):
    """Sends SIGINT while a call runs; the call must end in KeyboardInterrupt."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(seconds, lambda: signal.raise_signal(signal.SIGINT))
    start = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            while time.monotonic() - start < 60:
                call()
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    return time.monotonic() - start


def test_control_c_in_a_long_call():
    A = mochi.constant(np.random.default_rng(0).normal(size=(700, 700)))
    tape = mochi.Tape()
    with tape:
        interrupted_after(0.2, lambda: (ops.eigh(A @ A.T), tape.reset()))
        assert ops.add(np.ones(2), 1.0).numpy().tolist() == [2, 2]


def test_control_c_ends_a_solve_whose_function_is_pythons():
    tape = mochi.Tape()

    def never(x, a):
        return (x * x).sum() + (x * a).sum() * np.random.default_rng().normal()

    a = mochi.parameter(np.ones(4))
    options = {"iterations": 10**7, "tolerance": 1e-300, "accept": True}
    with tape:
        assert interrupted_after(0.2, lambda: mochi.minimize(never, np.ones(4), [a], **options)) < 5
        assert ops.add(np.ones(2), 1.0).numpy().tolist() == [2, 2]


def test_control_c_leaves_everything_usable_wherever_it_strikes():
    a = mochi.parameter(np.ones(4))
    tape = mochi.Tape()
    for i in range(25):
        with tape:

            def work():
                w = mochi.root(lambda w, a: w * w * w - a, np.ones(4), [a])
                tape.grad(w.sum(), [a])
                tape.reset()

            interrupted_after(0.002 + 0.0011 * i, work)
            assert ops.add(np.ones(2), 1.0).numpy().tolist() == [2, 2]
            tape.reset()
    with pytest.raises(mochi.StateError, match="no tape"):
        a + a


def test_control_c_ends_long_calls_of_c_within_seconds():
    draw = np.random.default_rng(0)
    X, y = draw.normal(size=(2500, 300)), draw.integers(0, 20, 2500)
    u, v = draw.integers(0, 20000, (2, 1_000_000))
    dense = mochi.graph(np.stack([u, v], 1), nodes=20000)
    Y = np.eye(20)[y]
    calls = {
        "svm": lambda: SVMHead(lam=1e-6).fit(X[:, :30], y),
        "logistic": lambda: ops.logistic(X, Y, 1e-9, "free"),
        "few-shot": lambda: mochi.Trained("best").few_shot(dense),
    }
    for name, call in calls.items():
        with mochi.Tape():
            assert interrupted_after(0.5, call) < 6, name  # 1.5 s on a machine that does nothing else
            assert ops.add(np.ones(2), 1.0).numpy().tolist() == [2, 2]


def test_control_c_in_few_shot_score_is_never_lost():
    draw = np.random.default_rng(0)
    Z, y = draw.normal(size=(300, 8)), draw.integers(0, 3, 300)
    for i in range(20):  # the call takes .4 s, if nothing else runs
        interrupted_after(0.003 + 0.0041 * i, lambda: mochi.few_shot_score(Z, y, ["ridge"], shots=(4, 8), episodes=2000))
    assert len(mochi.few_shot_score(Z, y, ["ridge"], shots=(4, 8), episodes=20)) == 2


def test_control_c_in_a_finalizer_comes_out_behind_it(monkeypatch):
    bury, struck = mochi.Context._bury, []

    def strike(self, pointer):
        bury(self, pointer)
        if not struck:
            struck.append(1)
            signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(mochi.Context, "_bury", strike)
    try:
        with mochi.Tape(), pytest.raises(KeyboardInterrupt):
            for _ in range(500):
                ops.add(mochi.parameter(np.ones(4)), 1.0)
                time.sleep(0.001)
    finally:
        signal.signal(signal.SIGINT, before)
    assert struck


def test_the_guides_first_lines_run():
    guide = (ROOT / "tools/python/README.md").read_text()
    block = re.search(r"```python\n(.*?)```", guide, re.S).group(1)
    names = {}
    exec(block, names)
    assert names["gradient"].shape == (4, 32) and names["loss"].item() > 0


def test_program_and_module_take_the_same_kernels():
    build = os.environ.get("MOCHI_TEST_BUILD")
    if not build:
        pytest.skip("MOCHI_TEST_BUILD names no build folder")
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    program = pathlib.Path(build) / "tools" / "mochi"
    said = json.loads(subprocess.run([program, "doctor", "--json"], check=True, env=environment, capture_output=True).stdout)
    own = """
import ctypes, mochi
name = ctypes.CDLL("libopenblas.so.0").openblas_get_corename
name.restype = ctypes.c_char_p
print(name().decode())
"""
    module = subprocess.run([sys.executable, "-c", own], env=environment, capture_output=True, text=True)
    if "libopenblas" in module.stderr:
        pytest.skip("the module is linked with no libopenblas.so.0")
    assert module.stdout.strip() == said["core"], module.stderr
