#!/usr/bin/env python3
"""`mochi train` under mpirun on the emulated device: each process has its own device, and the run equals that of one
process up to rounding, or bit for bit with --deterministic; more processes than devices are refused in one line.

Usage: test_device_ranks.py MOCHI. Skipped (77) without mpirun or in a build without MPI."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

MOCHI = sys.argv[1]
WORDS = ["--pool", "mutag", "--dim", "8", "--k", "2:3", "--q", "2:3", "--episodes-per-step", "5", "--steps", "6", "--quiet",
         "--device", "cuda"]
TOLERANCE = 1e-5


def run(folder, size, devices, *words):
    core = os.environ.get("OPENBLAS_CORETYPE", "Haswell") # else each program would execute itself again
    asan = os.environ.get("ASAN_OPTIONS", "") # leaks are ignored, as MPI holds memory at its end
    environment = dict(os.environ, OPENBLAS_CORETYPE=core, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       MOCHI_CUDA_HOST_DEVICES=str(devices), ASAN_OPTIONS=asan + (":" if asan else "") + "detect_leaks=0")
    line = ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-n", str(size)]
    return subprocess.run((line if size > 1 else []) + [MOCHI, "train", "--out", str(folder), *WORDS, *words],
                          capture_output=True, text=True, timeout=250, env=environment, check=False)


def train(folder, size, devices, *words):
    done = run(folder, size, devices, *words)
    assert done.returncode == 0, f"{size} processes ended with {done.returncode}: {done.stderr}"
    log = [json.loads(line) for line in open(folder / "log.jsonl")]
    ranks = json.load(open(folder / "run.json")).get("ranks", {})
    return [step["loss"] for step in log], (folder / "weights.safetensors").read_bytes(), ranks.get("sums")


def main():
    if not shutil.which("mpirun"):
        print("skipped: no mpirun (Debian packages openmpi-bin, libopenmpi-dev)")
        return 77
    with tempfile.TemporaryDirectory(prefix="mochi-device-ranks-") as name:
        folder = pathlib.Path(name)
        alone = dict(os.environ, PMI_SIZE="2")
        said = subprocess.run([MOCHI, "train", "--out", name + "/probe"], capture_output=True, text=True, env=alone, check=False)
        if "without MPI" in said.stderr:
            print("skipped: built without MPI (Debian package libopenmpi-dev)")
            return 77
        losses, weights, sums = train(folder / "one", 1, 2)
        assert sums is None
        on_devices, _, sums = train(folder / "devices", 2, 2)
        worst = max(abs(a - b) / abs(b) for a, b in zip(on_devices, losses))
        assert sums == "devices" and worst <= TOLERANCE, (sums, worst)
        in_order, same, sums = train(folder / "order", 2, 2, "--deterministic")
        assert sums == "messages" and in_order == losses and same == weights
        train(folder / "shared", 3, 2, "--deterministic")
        assert (folder / "shared" / "weights.safetensors").read_bytes() == weights
        refused = run(folder / "refused", 3, 2)
        lines = [line for line in refused.stderr.splitlines() if line.startswith("mochi")]
        assert refused.returncode == 1 and len(lines) == 1, refused.stderr
        assert "ranks 0 and 2 have the same device, expected one a rank" in lines[0], lines
        named = run(folder / "named", 2, 2, "--device", "cuda:1")
        assert named.returncode == 1 and "ranks 0 and 1 have the same device" in named.stderr, named.stderr
        print(f"{len(losses)} steps on 2 processes: losses differ by at most {worst:.2g} of themselves, by 0 with --deterministic")
    return 0


sys.exit(main())
