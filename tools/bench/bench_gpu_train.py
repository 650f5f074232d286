"""Whole training runs on a device, for tools/bench/bench_gpu."""
import hashlib
import json
import os
import re
import shutil
import tempfile

STEPS, FEW, WARM = 10000, 2000, 50
FIRST, LATER = ("taken", "again", "replayed"), ("one", "device", "three", "host", "disk")
CACHE = os.path.join(tempfile.gettempdir(), "bench_gpu-features")  # kept, so that a second call on the machine finds it
ONE_SHAPE = ["--pool", "citeseer:nc,photo:nc", "--k", "16", "--q", "32"]
RUNS = {  # name: steps, episodes per step, options
    "one": (STEPS, 1, []),
    "three": (STEPS, 3, []),
    "device": (FEW, 1, ["--features", "device"]),
    "host": (FEW, 1, ["--features", "host"]),
    "disk": (FEW, 1, ["--features", "disk"]),
    "taken": (FEW, 1, ONE_SHAPE + ["--replay=no"]),
    "again": (FEW, 1, ONE_SHAPE + ["--replay=no"]),
    "replayed": (FEW, 1, ONE_SHAPE),
}


def one_run(bench, folder, name):
    """Trains once. Returns the milliseconds per step after the first steps, a digest of the weights, and more."""
    steps, episodes, more = RUNS[name]
    if bench.dry:
        steps, more = 60, more + ["--dim", "16", *(["--pool", "citeseer:nc", "--k", "2", "--q", "2"] if more[:1] != ["--pool"] else [])]
    out, maker = os.path.join(folder, name), "cpu" if name in ("host", "disk") else "device"  # maker: the device that computes the features
    status, text, seconds = bench.run(
        [bench.program, "train", "--device", "cuda", "--math", "tf32", "--recipe", "paper",
         "--steps", str(steps), "--episodes-per-step", str(episodes), "--cache", os.path.join(CACHE, maker),
         *more, "--out", out], 75)
    log, weights = os.path.join(out, "log.jsonl"), os.path.join(out, "weights.safetensors")
    taken = [json.loads(line)["seconds"] for line in open(log)] if os.path.exists(log) else []
    said = re.search(r"(\d+) of (\d+) episodes replayed", text)
    row = {"steps": len(taken), "seconds": round(seconds, 1),
           "ms": 1e3 * sum(taken[WARM:]) / len(taken[WARM:]) if taken[WARM:] else None,
           "slowest_ms": 1e3 * max(taken[WARM:]) if taken[WARM:] else None,
           "replayed": [int(n) for n in said.groups()] if said else None,
           "weights": hashlib.sha256(open(weights, "rb").read()).hexdigest() if os.path.exists(weights) else None}
    bench.say("train", run=name, episodes=episodes, trouble=None if status == 0 else text[-600:], **row)
    return row


def measure(bench, names):
    """These runs, by name."""
    folder = tempfile.mkdtemp(prefix="bench_gpu-run-")
    found = {name: one_run(bench, folder, name) for name in names}
    shutil.rmtree(folder, ignore_errors=True)
    return found


def profile(bench):
    small = ["--dim", "16", "--warmup", "1", "--runs", "1"] if bench.dry else []
    _, text, _ = bench.run([bench.bench, "step", "lp" if bench.dry else "nc15", *small, "--device", "cuda", "--math", "tf32",
                            "--profile"], 30)
    bench.say("profile", table=text[-4000:])
