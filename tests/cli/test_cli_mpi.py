#!/usr/bin/env python3
"""Runs of `mochi train` under mpirun. Any number of processes gives the result of one, bit by bit; a run may resume
with another number of processes. A signal or a kill of one process ends all; the resumed run equals one that was never
stopped. Wrong settings and failures of single processes are tested in tests/train/test_ranks.c.

Usage: test_cli_mpi.py MOCHI [many] [TEST...]. `many`: 200 steps, 20 kills. TEST: only these tests. Skipped (77) without
mpirun or in a build without MPI."""
import hashlib
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
CHOSEN = [word for word in sys.argv[2:] if word != "many"]
ENGINE = pathlib.Path(MOCHI).parent / "ranks_mpi.so"
WORDS = ["--pool", "mutag", "--dim", "8", "--k", "2:4", "--q", "2:4", "--checkpoint-every", "5", "--episodes-per-step",
         "5", "--quiet"]
STEPS = "200" if MANY else "20"
LIMIT = 3600 if MANY else 120  # seconds, after which a run fails as hanging
# After a process has ended, one line of the program is followed by lines of mpirun; this is the start of ours.
OURS = "mochi"


def environment(**more):
    """MPI itself holds memory at its end, which the leak checker of a sanitized build would report. A core type is set,
    as otherwise the program would start itself again without the preloaded library."""
    asan = os.environ.get("ASAN_OPTIONS", "")
    core = os.environ.get("OPENBLAS_CORETYPE", "Haswell")
    return dict(os.environ, OPENBLAS_CORETYPE=core, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                ASAN_OPTIONS=asan + (":" if asan else "") + "detect_leaks=0", **more)


def mpirun(*parts):
    """An mpirun command line. A part is (processes, words of the program...); it may begin with options in a list."""
    line = ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
    for i, (size, options, words) in enumerate(parts):
        line += ([":"] if i else []) + ["-n", str(size), *options, *words]
    return line


def call(line, **more):
    return subprocess.run(line, capture_output=True, text=True, timeout=LIMIT, env=environment(**more), check=False)


def train(folder, size, *words, steps=STEPS, **more):
    run = call(mpirun((size, [], [MOCHI, "train", "--out", str(folder), "--steps", steps, *WORDS, *words])), **more)
    assert run.returncode == 0, f"{size} processes ended with {run.returncode}: {run.stderr}"


def resume(folder, size):
    words = [MOCHI, "train", "--out", str(folder), "--resume", "--quiet"]
    run = call(mpirun((size, [], words)) if size > 1 else words)
    assert run.returncode == 0, f"resumed on {size} processes, it ended with {run.returncode}: {run.stderr}"


def expect_line(run, *parts):
    """The run must fail, with one line of the program that holds these parts."""
    said = [line for line in run.stderr.splitlines() if line.startswith(OURS)]
    assert run.returncode == 1, f"exit code {run.returncode}, expected 1: {run.stderr}"
    assert len(said) == 1 and all(part in said[0] for part in parts), f"expected one line with {parts}: {run.stderr}"


def log_of(folder):
    return [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in open(folder / "log.jsonl")]


def expect_same(one, other):
    for name in ("weights.safetensors", "checkpoint.safetensors"):
        assert (one / name).read_bytes() == (other / name).read_bytes(), f"{other / name} differs"
    assert log_of(one) == log_of(other), f"{other}/log.jsonl differs"


def weights_of(folder):
    return hashlib.sha256((folder / "weights.safetensors").read_bytes()).hexdigest()[:16]


def any_number_of_processes_gives_the_bits_of_one(place, one):
    for size in (2, 3, 4):
        train(place / f"on{size}", size)
        expect_same(one, place / f"on{size}")
        ranks = json.load(open(place / f"on{size}" / "run.json"))["ranks"]
        assert ranks["size"] == len(ranks["hosts"]) == size, ranks
    return f"{STEPS} steps of 5 episodes on 1, 2, 3 and 4 processes: weights {weights_of(one)}"


def copy_program(folder):
    """Makes another installation. Returns two of its files: the program, which contains the library, and the module
    that calls MPI."""
    files = [folder / "tools" / "mochi", folder / "tools" / ENGINE.name]
    files[0].parent.mkdir(parents=True)
    for source, file in zip((MOCHI, ENGINE), files):
        shutil.copy(source, file)
    return files


def other_code_is_refused(place, one):
    del one
    words = ["train", "--out", str(place / "code"), "--steps", "2", *WORDS]
    same = copy_program(place / "same")[0]
    run = call(mpirun((1, [], [MOCHI, *words]), (1, [], [same, *words])))
    assert run.returncode == 0, run.stderr
    shutil.rmtree(place / "code")
    for which in range(2):
        files = copy_program(place / f"other{which}")
        with open(files[which], "ab") as file:
            file.write(b"another build")
        run = call(mpirun((1, [], [MOCHI, *words]), (1, [], [files[0], *words])))
        expect_line(run, "rank 1 of 2", "program", "as rank 0 has it")
        assert not (place / "code").exists() or not list((place / "code").iterdir())
    return "another program or plug-in on rank 1 of 2 is refused, an equal copy is not"


def one_process_needs_no_mpi(place, one):
    """Installations that can neither start nor train; each of several processes says what is missing."""
    said = subprocess.run(["ldd", MOCHI], capture_output=True, text=True, check=True).stdout
    assert "libmpi" not in said and "open-rte" not in said, said
    words = ["train", "--out", str(place / "alone"), "--steps", STEPS, "--threads", "1", *WORDS]
    without = copy_program(place / "without")
    without[1].unlink()
    expect_line(call([without[0], *words], PMI_SIZE="2"), "one of 2 processes (PMI_SIZE)", "without MPI")
    expect_line(call([without[0], *words], PMIX_RANK="1", SLURM_STEP_NUM_TASKS="3"), "one of 3 processes (SLURM_STEP")
    said = subprocess.run(["ldd", ENGINE], capture_output=True, text=True, check=True).stdout
    name = next(word for word in said.split() if word.startswith("libmpi"))
    (place / "nothing").mkdir()
    (place / "nothing" / name).touch()
    found = str(place / "nothing") + ":" + os.environ.get("LD_LIBRARY_PATH", "")
    expect_line(call([MOCHI, *words], PMI_SIZE="2", LD_LIBRARY_PATH=found), "MPI cannot be loaded", name)
    for more in ({}, {"PMIX_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"}):
        run = call([MOCHI, *words], LD_LIBRARY_PATH=found, **more)
        assert run.returncode == 0, run.stderr
        expect_same(one, place / "alone")
        shutil.rmtree(place / "alone")
    return "it trains where MPI cannot be loaded"


def start(folder, place, size, *words):
    """Starts a run in the background; its processes write their process numbers to a file."""
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
    """Sends a signal to a process once the run's log has that many lines. Returns the run's exit code and messages, or
    None if it ended before."""
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
    return "SIGTERM to rank 1 of 2, resumed on 1 and 3 processes"


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
    return f"{kills} of {runs} runs of {STEPS} steps on 2 and 3 processes killed, resumed on 1 to 3: {weights_of(one)}"


TESTS = (any_number_of_processes_gives_the_bits_of_one, other_code_is_refused, one_process_needs_no_mpi, a_signal_to_one_stops_all_at_one_step,
         a_killed_process_ends_all_and_the_run_goes_on)


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
        for test in TESTS:
            if CHOSEN and test.__name__ not in CHOSEN:
                continue
            begin = time.monotonic()
            ran = test(place, one)
            print(f"{test.__name__}: ok, {time.monotonic() - begin:.1f} s: {ran}", flush=True)
    return 0


sys.exit(main())
