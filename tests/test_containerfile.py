#!/usr/bin/env python3
"""tools/Containerfile without a container engine: what it copies is there and is enough to configure a build, its RUN lines are shell
that names programs of the tree and packages of Debian, and the files that they copy are among those that a build installs.

Usage: tests/test_containerfile.py
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
KNOWN = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "EXPOSE", "CMD"}


def instructions(text):
    """[(instruction, its words as one line)]; comments and continued lines as an engine reads them."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    whole = "\n".join(lines).replace("\\\n", " ")
    return [tuple(line.split(maxsplit=1)) for line in whole.splitlines()]


def output(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, **options)
    if done.returncode:
        raise AssertionError(f"{' '.join(map(str, words))}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def packages(command):
    """The Debian packages that tools/install is given, or has by itself."""
    listed = (ROOT / "tools/packages.txt").read_text().split()
    return [name for words in re.findall(r"tools/install((?: [a-z0-9.+-]+)*)", command) for name in (words.split() or listed)]


def main():
    found = instructions((ROOT / "tools/Containerfile").read_text())
    assert found[0][0] == "FROM" and {word for word, _ in found} <= KNOWN, found
    device = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())["build"]
    assert (ROOT / ".devcontainer" / device["dockerfile"]).resolve() == ROOT / "tools/Containerfile"
    known = set(output("apt-cache", "pkgnames").split()) if shutil.which("apt-cache") else set()
    runs = [text for word, text in found if word == "RUN"]
    for text in runs:
        output("bash", "-n", "-c", text)
        for program in re.findall(r"(?:^|&& )(?:\./)?(tools/\w+)", text):
            assert (ROOT / program).is_file(), program
        strangers = set(packages(text)) - known if "meson" in known else ()  # elsewhere than on Debian, or without its lists
        assert not strangers, f"no packages of Debian: {strangers}"
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder) / "libmochi"
        for text in (text for word, text in found if word == "COPY"):
            *sources, to = text.split()
            for source in sources:
                target = tree / to / pathlib.Path(source).name if to.endswith("/") else tree / to
                target.parent.mkdir(parents=True, exist_ok=True)
                (shutil.copytree if (ROOT / source).is_dir() else shutil.copy)(ROOT / source, target)
        setup = re.search(r"meson setup build ([^&]*)", " ".join(runs))[1].split()
        output("meson", "setup", "build", *setup, cwd=tree)
        installed = json.loads(output("meson", "introspect", "--installed", "build", cwd=tree)).values()
        for path in re.findall(r"/usr/local/share/doc/\S+", " ".join(runs)):
            assert any(f"{place}/".startswith(path + "/") for place in installed), f"{path}: not installed"
        for path in re.findall(r"pip install [^&]*?\./(\S+)", " ".join(runs)):
            assert (tree / path / "pyproject.toml").is_file(), path
    print(f"{len(found)} instructions, {len(runs)} of them RUN, against this tree")


if __name__ == "__main__":
    sys.exit(main())
