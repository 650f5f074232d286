#!/usr/bin/env python3
"""tests/cli/test_packages.py - checks that each library in a link line belongs to a package of tools/packages.txt or to
a dependency of one, so that an empty machine can link after tools/install.

Usage: test_packages.py BUILD     skipped (77) if no dpkg knows to which package a file belongs"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(sys.argv[1]).resolve()


def output(*command, **environment):
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}).stdout


def installed_by(packages):
    """The installed packages among these, with all that they depend on."""
    depends = {}
    for line in output("dpkg-query", "-W", "-f", "${Package}\t${Provides}\t${Pre-Depends}, ${Depends}\n").splitlines():
        name, provides, needs = line.split("\t")
        words = set(re.findall(r"(?:^|,)\s*([a-z0-9][a-z0-9.+-]+)", needs))  # apt installs the first of several alternatives
        for provided in [name, *re.findall(r"(?:^|,)\s*([a-z0-9][a-z0-9.+-]+)", provides)]:
            depends.setdefault(provided, set()).update(words | {name})
    found, open_names = set(), list(packages)
    while open_names:
        name = open_names.pop()
        if name not in found:
            found.add(name)
            open_names += depends.get(name, ())
    return found


def places(library, folders):
    """The files that the linker may find for -lLIBRARY, in the order of its search."""
    for suffix in ("so", "a"):
        yield from (f"{folder}/lib{library}.{suffix}" for folder in folders)
        yield output("cc", f"-print-file-name=lib{library}.{suffix}").strip()


def package_of(paths):
    """The package that owns the first of these files that exists, or None."""
    path = next((path for path in paths if os.path.isabs(path) and os.path.exists(path)), None)
    if path is None:
        return None
    real = os.path.realpath(path)  # /lib is a link to /usr/lib; Debian lists a file under either
    for place in (os.path.normpath(path), real, real.removeprefix("/usr"), "/usr" + real):
        owner = output("dpkg", "-S", place).split(":")[0]
        if owner:
            return owner
    return None


def link_lines():
    """(origin, flags) for each link line of a user or of the build."""
    beside = {"PKG_CONFIG_PATH": f"{BUILD}/meson-private"}
    yield "pkg-config --libs mochi", output("pkg-config", "--libs", "mochi", **beside)
    yield "pkg-config --libs --static mochi", output("pkg-config", "--libs", "--static", "mochi", **beside)
    target = None
    for line in (BUILD / "build.ninja").read_text().splitlines():
        if line.startswith("build "):
            target = line.split()[1].rstrip(":")
        elif line.startswith(" LINK_ARGS =") and (target.startswith("libmochi.so") or target == "tools/mochi"):
            yield target, line


def main():
    if not shutil.which("dpkg-query"):
        print("skipped: no dpkg here, which knows the package of a library")
        return 77
    packages = (ROOT / "tools/packages.txt").read_text().split()
    have, lines, faults = installed_by(packages), list(link_lines()), []
    for whose, flags in lines:
        folders = re.findall(r"(?:^|\s)-L(\S+)", flags)
        wanted = {f"-l{name}": places(name, folders) for name in re.findall(r"(?:^|\s)-l(\S+)", flags) if name != "mochi"}
        wanted.update({path: [path] for path in re.findall(r"(?:^|\s)(/\S+\.(?:so|a))(?=\s|$)", flags)})
        for name, paths in sorted(wanted.items()):
            owner = package_of(paths)
            if owner is None or owner not in have:
                faults.append(f"{whose}: {name} is of {owner}, which tools/packages.txt does not install")
        for flag in ("-fopenmp", "-pthread"):
            if whose.startswith("pkg-config") and flags.split().count(flag) > 1:
                faults.append(f"{whose}: {flag} more than once")
        if whose.startswith("pkg-config") and "-lmochi" not in flags:
            faults.append(f"{whose}: no -lmochi")
    print(*faults, f"{len(lines)} link lines, {len(packages)} packages, {len(faults)} faults", sep="\n")
    return 1 if faults or len(lines) < 4 else 0


sys.exit(main())
