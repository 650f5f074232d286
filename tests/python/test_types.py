"""Types: a user's code under `mypy --strict`, and the stubs beside what they describe, by mypy's stubtest."""

import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("mypy")
HERE = pathlib.Path(__file__).resolve().parent
# Signatures that a stub cannot or need not repeat, as patterns of names.
ALLOWED = r"""
mochi\.(?!ops\b|tensor\b).*
mochi\.tensor\.(Tensor|Leaf|Data)\.__(slots|init_subclass|class_getitem)__
mochi\.ops\.METHODS
"""


def run(arguments, folder):
    return subprocess.run([sys.executable, "-m", *arguments], cwd=folder, capture_output=True, text=True)


def test_a_users_code_is_checked_strictly(tmp_path):
    done = run(["mypy", "--strict", "--cache-dir", str(tmp_path), str(HERE / "typed.py")], tmp_path)
    assert done.returncode == 0, done.stdout


def test_the_stubs_describe_what_is_there(tmp_path):
    (tmp_path / "allowed").write_text(ALLOWED)
    options = ["--allowlist", "allowed", "--ignore-unused-allowlist", "--concise"]
    done = run(["mypy.stubtest", "mochi.ops", "mochi.tensor", *options], tmp_path)
    assert done.returncode == 0, done.stdout
