#!/usr/bin/env python3
"""How much of the library two short trips execute: functions, static ones too, and the files that they are in, by gcov
at -O0. The trips are those of trips.c: mo_solve_spd with its gradients, and one training step of the weights best.

Usage: tests/trips.py SOURCES [OTHER SOURCES]     the second, an older checkout, is shown beside the first
"""

import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOMS = ("tensor/", "autograd/", "ops/", "models/", "train/")
TRIPS = {"mo_solve_spd forward and backward": ["solve_spd"], "one training step of best": ["step", "run"]}
HERE = pathlib.Path(__file__).resolve().parent


def run(command, folder, environment=None):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def executed(sources, build):
    """{(file, function)} of what ran since the counters were reset; the counters are removed."""
    found, counters = set(), list(build.rglob("*.gcda"))
    with tempfile.TemporaryDirectory() as folder:
        run(["gcov", "--json-format", *counters], folder)
        for report in pathlib.Path(folder).glob("*.json.gz"):
            for file in json.load(gzip.open(report))["files"]:
                path = (build / file["file"]).resolve()
                name = str(path.relative_to(sources)) if path.is_relative_to(sources) else ""
                found |= {(name, f["name"]) for f in file["functions"] if f["execution_count"] and name.startswith(ROOMS)}
    for counter in counters:
        counter.unlink()
    return found


def measured(sources):
    """{trip: (functions, files)} of a checkout."""
    with tempfile.TemporaryDirectory() as folder:
        build = pathlib.Path(folder).resolve()
        options = ["-Dbuildtype=plain", "-Db_coverage=true", "-Dcuda=disabled", "-Dmpi=disabled"]
        run(["meson", "setup", build, sources, *options], sources)
        run(["ninja", "-C", build, "libmochi.a"], sources)
        folders = {**os.environ, "PKG_CONFIG_PATH": str(build / "meson-private")}
        libraries = run(["pkg-config", "--static", "--libs", "mochi"], build, folders).replace("-lmochi", "").split()
        program = [*"cc -std=gnu11 --coverage -o trips".split(), HERE / "trips.c", f"-I{sources}", "libmochi.a", *libraries]
        run(program, build)
        for counter in build.rglob("*.gcda"):
            counter.unlink()
        result = {}
        for trip, arguments in TRIPS.items():
            run([build / "trips", *arguments], build)
            ran = executed(sources, build)
            result[trip] = (len(ran), len({file for file, _ in ran}))
        return result


def main():
    checkouts = [pathlib.Path(path).resolve() for path in sys.argv[1:]]
    if not 1 <= len(checkouts) <= 2:
        sys.exit(__doc__)
    figures = [measured(sources) for sources in checkouts]
    for trip in TRIPS:
        functions, files = figures[0][trip]
        line = f"{trip}: {functions} functions in {files} files"
        if len(figures) == 2:
            old = figures[1][trip]
            line += f"; before {old[0]} in {old[1]}: {functions / old[0]:.2f}, {files / old[1]:.2f}"
        print(line)


if __name__ == "__main__":
    main()
