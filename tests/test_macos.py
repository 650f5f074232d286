#!/usr/bin/env python3
"""Compiles the sources of the library and the program for macOS: for Apple's own processors, and tensor/ for Intel's
too. clang checks them against Apple's C headers, which the PyPI package ziglang contains; nothing is linked or run.
Headers of other libraries are this machine's.

Usage: tests/test_macos.py BUILD     skipped (77) without clang or those headers (pip install ziglang)"""
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOMS = ("tensor/", "autograd/", "ops/", "models/", "train/", "tools/")
TARGETS = {"arm64-apple-macos13": ([], ROOMS), "x86_64-apple-macos13": (["-march=x86-64-v3"], ("tensor/",))}  # flags, and the rooms to compile
OTHERS = ["zip.h", "zipconf.h", "xxhash.h", "csv.h", "jansson.h", "jansson_config.h", "argp.h", "Random123", "stb"]


def sources(build):
    """The sources of the library and the program, by the macros they are compiled with."""
    found = {(): {"tensor/platform.c"}}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = os.path.relpath(os.path.join(entry["directory"], entry["file"]), ROOT)
        ours = re.match(r"(libmochi\.so|tensor/cpu/lib|tools/libprogram|tools/mochi\.p)", entry["output"])
        if ours and path.startswith(ROOMS) and path.endswith(".c") and path != "tensor/cpu/fast/blas_guard.c":
            found.setdefault(tuple(re.findall(r"-DMO_\w+=\d+", entry["command"])), set()).add(path)
    return found


def links_to_others(folder):
    """Links to the headers of other libraries, without this machine's C library."""
    for name in OTHERS:
        (folder / name).symlink_to(pathlib.Path("/usr/include") / name)
    (folder / "cblas.h").symlink_to(ROOT / "tools/web/wasi/cblas.h")
    (folder / "omp.h").symlink_to(subprocess.run(["gcc", "-print-file-name=include/omp.h"], capture_output=True, text=True).stdout.strip())
    (folder / "bits").mkdir()
    (folder / "bits/floatn.h").touch()  # which glibc's argp.h includes; that of argp-standalone does not


def main():
    build, clang, zig = pathlib.Path(sys.argv[1]).resolve(), shutil.which("clang"), importlib.util.find_spec("ziglang")
    apple = zig and sorted(pathlib.Path(zig.submodule_search_locations[0]).glob("lib/libc/include/any-*[msd]*-any/mach-o"))
    if not clang or not apple:
        print("skipped: no", "Apple's headers: pip install ziglang" if clang else "clang")
        return SKIPPED
    failed, n = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        links_to_others(pathlib.Path(folder))
        for target, (own, rooms) in TARGETS.items():
            for macros, paths in sources(build).items():
                paths = sorted(path for path in paths if path.startswith(rooms))
                n += len(paths)
                failed |= subprocess.run(
                    [clang, f"--target={target}", *own, *macros, "-fsyntax-only", "-nostdlibinc", "-fopenmp", "-std=gnu11", "-D_GNU_SOURCE", "-D__THROW=", "-D__malloc__(release)=",
                     "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-Wno-missing-field-initializers", "-Wno-pass-failed", "-Wno-psabi", "-I.",
                     f"-I{build}", "-isystem", apple[0].parent, "-isystem", folder, *paths], cwd=ROOT).returncode
    print(f"{n} compilations for {', '.join(TARGETS)}: {'failed' if failed else 'no error'}")
    return bool(failed) or n < 450


sys.exit(main())
