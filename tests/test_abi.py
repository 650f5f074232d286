#!/usr/bin/env python3
"""A program linked with the last release's libmochi.so.0 runs with this one: abidiff compares the functions, and the types that the
public headers declare.

Usage: test_abi.py [RELEASE]      RELEASE: a tag or commit; default: the last tag v*. Without one there is nothing to keep (77).

Both libraries are built here, with debugging information, which has the types. What may change (tools/guides/changes.md): new
functions, and members at the end of a struct. Needs abigail-tools, and a clone that has the release."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
ALLOWED = "[suppress_type]\ntype_kind = struct\nhas_data_member_inserted_at = end\n"


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def run(*words, **options):
    return subprocess.run([str(w) for w in words], text=True, capture_output=True, **options)


def built(source, folder):
    """(the library of a source tree, a folder with its public headers)."""
    options = ["-Dbuildtype=debugoptimized", "-Dcuda=disabled", "-Dmpi=disabled", "-Dwasm=disabled"]
    for words in (["meson", "setup", folder / "build", source, *options], ["meson", "compile", "-C", folder / "build", "mochi:shared_library"]):
        done = run(*words)
        if done.returncode:
            sys.exit(f"{source}: {' '.join(map(str, words))}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    public = re.search(r"public_headers = \[(.*?)\]", (source / "meson.build").read_text(), re.S)[1]
    headers = folder / "headers"
    headers.mkdir()
    for header in re.findall(r"'([^']+)'", public):
        shutil.copy(source / header, headers)
    return folder / "build/libmochi.so.0", headers


def main():
    if not shutil.which("abidiff"):
        skip("no abidiff (abigail-tools)")
    last = sys.argv[1] if len(sys.argv) > 1 else run("git", "describe", "--tags", "--abbrev=0", "--match", "v*", cwd=ROOT).stdout.strip()
    if not last:
        skip("no release is tagged yet")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for part in ("old", "new"):
            (folder / part).mkdir()
        clone = folder / "source"
        for words in (["clone", "-q", "--shared", "--no-checkout", ROOT, clone], ["-C", clone, "checkout", "-q", last]):
            done = run("git", *words)
            if done.returncode:
                sys.exit(f"git {words[0]}: {done.stderr}")
        old, old_headers = built(clone, folder / "old")
        new, new_headers = built(ROOT, folder / "new")
        (folder / "allowed").write_text(ALLOWED)
        functions = len(re.findall(r" T mo_", run("nm", "-D", "--defined-only", old).stdout))
        done = run("abidiff", "--no-added-syms", "--suppressions", folder / "allowed", "--hd1", old_headers, "--hd2", new_headers, old, new)
    print(f"{functions} functions of {last}; abidiff says {done.returncode}\n{done.stdout}{done.stderr}")
    sys.exit(done.returncode != 0)


if __name__ == "__main__":
    main()
