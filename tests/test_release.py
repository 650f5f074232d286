#!/usr/bin/env python3
"""A release has the same bytes at every run and in every folder: tools/release makes it in two clones of the last commit, whose
names differ in length, and every file is compared; and meson takes the library from the Python package's sources.

Usage: test_release.py      without the tests that a release runs; about ten minutes"""

import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(*words, cwd=ROOT):
    done = subprocess.run([str(w) for w in words], cwd=cwd, text=True, capture_output=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: exit status {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def sums_in(folder, version):
    """The sums of a release that is made in a new clone, by name."""
    run("git", "clone", "-q", "--shared", ROOT, folder)
    run("tools/release", version, "--untested", cwd=folder)
    run("tar", "xf", folder / f"dist/mochi-python-{version}.tar.gz", "-C", folder / "dist")
    (library,) = (folder / "dist").glob("libmochi-*/library")
    run("meson", "setup", folder / "build-sources", library, "-Dcuda=disabled", "-Dmpi=disabled", "-Dwasm=disabled")
    return dict(line.split()[::-1] for line in (folder / "dist/SHA256SUMS").read_text().splitlines())


def main():
    if subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True).returncode:
        print("skipped: no clone")
        sys.exit(77)
    version = re.search(r'MO_VERSION "([^"]+)"', (ROOT / "tensor/tensor.h").read_text())[1]
    with tempfile.TemporaryDirectory() as name:
        first, second = (sums_in(pathlib.Path(name, part), version) for part in ("one", "another-one"))
    for file in sorted(first.keys() | second.keys()):
        print(f"{'equal ' if first.get(file) == second.get(file) else 'DIFFERS'} {file}")
    sys.exit(first != second or len(first) < 6)


if __name__ == "__main__":
    main()
