#!/usr/bin/env python3
"""Runs of `mochi train` under mpirun: any number of processes gives the bits of one; a run goes on with other numbers of
them; what does not fit is refused in one line; a signal, a full disk or a kill of one process ends all of them, and the
run goes on to the bits of one that was never stopped.

Usage: test_cli_mpi.py MOCHI [many]. `many`: 200 steps, the recipe paper++ at d = 512, 20 kills. Skipped (77) without
mpirun or in a build without MPI."""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
MOCHI, MANY = sys.argv[1], "many" in sys.argv[2:]
PLUGINS = os.environ.get("MOCHI_PLUGINS", "")
WORDS = ["--pool", "mutag", "--dim", "8", "--k", "2:4", "--q", "2:4", "--checkpoint-every", "5", "--episodes-per-step",
         "5", "--quiet"]
STEPS = "200" if MANY else "20"
LIMIT = 600 if MANY else 120  # seconds; a run that hangs fails
# A process that ends is followed by one line of ours, and by lines of mpirun.
OURS = "mochi"


def environment(**more):
    """MPI itself holds memory at its end, which the leak checker of a sanitized build would report. Without a core type
    the program would start itself again, without the preloaded library."""
    asan = os.environ.get("ASAN_OPTIONS", "")
    core = os.environ.get("OPENBLAS_CORETYPE", "Haswell")
    return dict(os.environ, OPENBLAS_CORETYPE=core, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                ASAN_OPTIONS=asan + (":" if asan else "") + "detect_leaks=0", **more)


def mpirun(*parts):
    """A command line of mpirun; a part is (processes, words of the program...) and may begin with options in a list."""
    line = ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
    for i, (size, options, words) in enumerate(parts):
        line += ([":"] if i else []) + ["-n", str(size), *options, *words]
    return line


def call(line, **more):
    return subprocess.run(line, capture_output=True, text=True, timeout=LIMIT, env=environment(**more), check=False)


def train(folder, size, *words, steps=STEPS):
    run = call(mpirun((size, [], [MOCHI, "train", "--out", str(folder), "--steps", steps, *WORDS, *words])))
    assert run.returncode == 0, f"{size} processes ended with {run.returncode}: {run.stderr}"


def resume(folder, size):
    words = [MOCHI, "train", "--out", str(folder), "--resume", "--quiet"]
    run = call(mpirun((size, [], words)) if size > 1 else words)
    assert run.returncode == 0, f"resumed on {size} processes, it ended with {run.returncode}: {run.stderr}"


def expect_line(run, *parts):
    """The run failed, and the program said one line, which holds these parts."""
    said = [line for line in run.stderr.splitlines() if line.startswith(OURS)]
    assert run.returncode == 1, f"exit code {run.returncode}, expected 1: {run.stderr}"
    assert len(said) == 1 and all(part in said[0] for part in parts), f"expected one line with {parts}: {run.stderr}"


def log_of(folder):
    return [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in open(folder / "log.jsonl")]


def expect_same(one, other):
    for name in ("weights.safetensors", "checkpoint.safetensors"):
        assert (one / name).read_bytes() == (other / name).read_bytes(), f"{other / name} differs"
    assert log_of(one) == log_of(other), f"{other}/log.jsonl differs"


def any_number_of_processes_gives_the_bits_of_one(place, one):
    for size in (2, 4):
        train(place / f"on{size}", size)
        expect_same(one, place / f"on{size}")
        ranks = json.load(open(place / f"on{size}" / "run.json"))["ranks"]
        assert ranks["size"] == len(ranks["hosts"]) == size, ranks


def a_wide_model_has_them_too(place, one):
    del one
    if not MANY:
        return
    words = ["--recipe", "paper++", "--dim", "512", "--pool", "mutag,citeseer", "--k", "4:8", "--q", "4:8",
             "--episodes-per-step", "4"]
    for size in (1, 2, 4):
        train(place / f"wide{size}", size, *words, steps="20")
    expect_same(place / "wide1", place / "wide2")
    expect_same(place / "wide1", place / "wide4")


def what_does_not_fit_is_refused(place, one):
    del one
    words = [MOCHI, "train", "--out", str(place / "none"), "--steps", "2", *WORDS]
    expect_line(call(mpirun((6, [], words))), "6 processes share a step of 5 episodes")
    other = mpirun((1, [], words), (1, [], [*words, "--k", "2:5"]))
    expect_line(call(other), "rank 1 of 2", "k.1 = 4", "found 5")
    for side in ("a", "b"):
        (place / side).mkdir()
        edges = [(i, (i + step) % 60) for i in range(60) for step in (1, 7)][side == "b":]
        (place / side / "ring.txt").write_text("".join(f"{u} {v}\n" for u, v in edges))
    other = mpirun(*((1, [], [*words, "--pool", f"{place / side}/ring.txt:lp"]) for side in ("a", "b")))
    expect_line(call(other), "rank 1 of 2", "as rank 0 has it")
    other = mpirun((1, [], words), (1, [], [*words, "--pool", str(place / "missing.gml")]))
    expect_line(call(other), "rank 1 of 2", "missing.gml")
    run = call(words, PMI_SIZE="2")
    expect_line(run, "one of 2 processes (PMI_SIZE)", "MPI")
    assert not (place / "none").exists() or not list((place / "none").iterdir())


def start(folder, place, size, *words):
    """A run in the background, and where its processes write their numbers."""
    pids = place / "pids"
    shutil.rmtree(pids, ignore_errors=True)
    pids.mkdir()
    shell = ["sh", "-c", f'echo $$ >"{pids}/$OMPI_COMM_WORLD_RANK"; exec "$@"', "sh"]
    line = mpirun((size, [], [*shell, MOCHI, "train", "--out", str(folder), *words]))
    return subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=environment()), pids


def lines_of_log(folder):
    log = folder / "log.jsonl"
    return log.read_bytes().count(b"\n") if log.exists() else 0


def wait_for(what):
    end = time.monotonic() + LIMIT
    while not what():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.001)


def disturb(folder, place, size, rank, number, lines):
    """Sends a signal to a process of a run whose log has that many lines. Returns the run's exit code and what it said,
    or None where the run had come to its end before."""
    run, pids = start(folder, place, size, "--steps", STEPS, *WORDS)
    wait_for(lambda: lines_of_log(folder) >= lines or run.poll() is not None)
    try:
        os.kill(int((pids / str(rank)).read_text()), number)
    except ProcessLookupError:
        pass
    begin = time.monotonic()
    said = run.communicate(timeout=LIMIT)[1]
    assert time.monotonic() - begin < 30, "the job outlived the signal by 30 s"
    return (run.returncode, said) if run.returncode else None


def a_signal_to_one_stops_all_at_one_step(place, one):
    stopped = place / "stopped"
    for _ in range(5):
        shutil.rmtree(stopped, ignore_errors=True)
        ended = disturb(stopped, place, 2, 1, signal.SIGTERM, 1)
        if ended:
            break
    assert ended, "five runs came to their end before the signal"
    assert ended[0] == 143 and ended[1].count("mochi: interrupted after step") == 1, ended
    for size in (1, 3):
        again = place / f"again{size}"
        shutil.copytree(stopped, again)
        resume(again, size)
        expect_same(one, again)


def a_killed_process_ends_all_and_the_run_goes_on(place, one):
    draw, kills, runs, wanted = random.Random(1), 0, 0, 20 if MANY else 1
    while kills < wanted:
        runs += 1
        assert runs <= 5 * wanted, f"{kills} of {runs} kills came before the end of their run"
        folder = place / "killed"
        size = draw.choice((2, 3))
        kills += disturb(folder, place, size, draw.randrange(size), signal.SIGKILL,
                         draw.randrange(int(STEPS) * 3 // 4)) is not None
        resume(folder, 1 + runs % 3)
        expect_same(one, folder)
        shutil.rmtree(folder)
    print(f"{kills} of {runs} runs killed")


def a_full_disk_stops_all(place, one):
    library = pathlib.Path(PLUGINS) / "failing_disk.so"
    if not PLUGINS or not library.exists():
        print("a_full_disk_stops_all: skipped, no failing_disk.so (a sanitized build)")
        return
    for at in (30, 90):  # DISK_ENOSPC of tests/failing_disk.h, from that call on
        folder = place / f"full{at}"
        faults = {"LD_PRELOAD": library, "DISK_UNDER": place, "DISK_CALLS": f"{place}-calls", "DISK_FAULT": "2",
                  "DISK_AT": at, "DISK_ALWAYS": "1"}
        options = [word for name, value in faults.items() for word in ("-x", f"{name}={value}")]
        words = [MOCHI, "train", "--out", str(folder), "--steps", STEPS, *WORDS]
        run = call(mpirun((1, options, words), (1, [], words)))
        expect_line(run, str(folder))
        if (folder / "run.json").exists():
            resume(folder, 2)
            expect_same(one, folder)


def main():
    if not shutil.which("mpirun"):
        print("skipped: no mpirun (Debian packages openmpi-bin, libopenmpi-dev)")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="mochi-mpi-") as folder:
        place = pathlib.Path(folder)
        probe = call([MOCHI, "train", "--out", str(place / "probe"), "--quiet"], PMI_SIZE="2")
        if "without MPI" in probe.stderr:
            print("skipped: built without MPI (Debian package libopenmpi-dev)")
            return SKIPPED
        one = place / "one"
        run = call([MOCHI, "train", "--out", str(one), "--steps", STEPS, "--threads", "1", *WORDS])
        assert run.returncode == 0, run.stderr
        for test in (any_number_of_processes_gives_the_bits_of_one, a_wide_model_has_them_too,
                     what_does_not_fit_is_refused, a_signal_to_one_stops_all_at_one_step,
                     a_killed_process_ends_all_and_the_run_goes_on, a_full_disk_stops_all):
            begin = time.monotonic()
            test(place, one)
            print(f"{test.__name__}: ok, {time.monotonic() - begin:.1f} s", flush=True)
    return 0


sys.exit(main())
