"""Runs on_device.py in a process that loads the emulated CUDA backend, if the build has one."""

import os
import pathlib
import subprocess
import sys

import mochi
import pytest

FOLDER = pathlib.Path(os.environ.get("MOCHI_TEST_BUILD", "build")) / "tests" / "cuda_host"


def test_tensors_on_the_emulated_device():
    if not (FOLDER / "libmochi-cuda.so").exists():
        pytest.skip(f"no libmochi-cuda.so in {FOLDER}")
    tests = pathlib.Path(__file__).with_name("on_device.py")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", tests]
    done = subprocess.run(command, env={**os.environ, "LD_LIBRARY_PATH": str(FOLDER)}, capture_output=True, text=True)
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout + done.stderr


def test_the_stream_of_the_cpu_is_none():
    assert mochi.Context(threads=1).stream == 0
