"""Types: a user's code and the package itself pass `mypy --strict`; mypy's stubtest compares the stubs with the
modules."""

import pathlib
import re
import subprocess
import sys

import mochi
import pytest

pytest.importorskip("mypy")
HERE = pathlib.Path(__file__).resolve().parent
# Names whose signatures a stub cannot repeat or need not, as patterns.
ALLOWED = r"""
mochi\.(?!tensor\b).*
mochi\.tensor\.(Tensor|Leaf|Data)\.__(slots|init_subclass|class_getitem)__
"""


def run(arguments, folder):
    return subprocess.run([sys.executable, "-m", *arguments], cwd=folder, capture_output=True, text=True)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return str(tmp_path_factory.mktemp("mypy"))


def test_a_users_code_is_checked_strictly(tmp_path, cache):
    done = run(["mypy", "--strict", "--cache-dir", cache, str(HERE / "typed.py")], tmp_path)
    assert done.returncode == 0, done.stdout


def test_the_package_means_what_it_declares(tmp_path, cache):
    """The installed package passes mypy with the settings of its pyproject.toml."""
    settings = HERE.parents[1] / "tools/python/pyproject.toml"
    done = run(["mypy", "--config-file", str(settings), "--cache-dir", cache], tmp_path)
    assert done.returncode == 0, done.stdout
    checked = int(re.search(r"no issues found in (\d+) source files", done.stdout).group(1))
    files = pathlib.Path(mochi.__file__).parent.rglob("*.py*")
    assert checked >= len({p.with_suffix("") for p in files if p.suffix in (".py", ".pyi")})  # a module and its stub count as one


def test_the_stubs_describe_what_is_there(tmp_path):
    (tmp_path / "allowed").write_text(ALLOWED)
    options = ["--allowlist", "allowed", "--ignore-unused-allowlist", "--concise"]
    done = run(["mypy.stubtest", "mochi.tensor", *options], tmp_path)
    assert done.returncode == 0, done.stdout
