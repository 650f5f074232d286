#!/usr/bin/env python3
"""Makes allocations (failing_memory.c, preloaded) and calls on files (failing_disk_preload.c) of the program fail one
by one. The program must give its normal result, or one line and exit code 1. Each output file is then the former one,
the new one, or absent, and no other file is left. tests/train/test_run_faults.c kills runs at such calls.

Usage: test_cli_failing.py memory|disk MOCHI LIBRARIES [every]

For each line, the first FIRST allocations fail and DRAWN others, chosen by a fixed seed; with `every` all, or MANY
chosen ones if there are more than MOST. Each kind of disk fault occurs at CALLS chosen calls on files; with `every` at
all."""
import collections
import os
import pathlib
import random
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile

FIRST, DRAWN, MANY, MOST, CALLS, SECONDS = 16, 20, 200, 2000, 3, 60
EIO, ENOSPC, EINTR, SHORT = 1, 2, 3, 4  # the faults of failing_disk.h
FAULTS = ((EIO, 0), (EIO, 1), (ENOSPC, 1), (EINTR, 1), (SHORT, 1))
TRAIN = "train --pool mutag --dim 8 --k 2:3 --q 2:3 --threads 1 --steps 2 --out @/run"
RESUME = ("train --resume --threads 1 --out @/run --json", "cp -r $/stopped @/run")
# @ is a folder, before a run empty except for what the second column writes; $ is the folder of input files.
MEMORY = (
    ("data list --json", ""),
    ("data info mutag --json", ""),
    ("data info $/run/weights.safetensors --json", ""),
    (TRAIN + " --json", ""),
    RESUME,
    ("eval --weights $/run/weights.safetensors --data mutag --shots 4 --seeds 2 --threads 1 --json --quiet", ""),
    ("embed --weights $/run/weights.safetensors --data mutag --out @/Z.npy --threads 1", ""),
    ("readouts $/Z.npy $/y.npy --head ridge,svm,prototype_inner --shots 2,4 --episodes 2 --queries 4 --threads 1 --json", ""),
    ("fit $/people.csv --label kind --head lda --out @/p.csv --threads 1", ""),
    ("gradcheck solve_spd --json", ""),
    ("predict --data mutag --labels $/seeds.csv --out @/p.jsonl --save @/readout.safetensors --threads 1", ""),
    ("predict --data mutag --readout $/readout.safetensors --threads 1 --quiet", ""),
    ("suggest --data mutag --n 4 --out @/next.csv --threads 2", ""),  # here threads end during the run
)
DISK = (
    ("embed --weights $/run/weights.safetensors --data mutag --out @/Z.npy --labels @/y.npy --threads 1 --quiet",
     "cp $/Z.npy @/Z.npy; cp $/y.npy @/y.npy"),
    ("predict --data mutag --labels $/seeds.csv --out @/p.csv --save @/r.safetensors --threads 1 --quiet",
     "cp $/seeds.csv @/p.csv; cp $/readout.safetensors @/r.safetensors"),
    ("predict --data mutag --readout $/readout.safetensors --out @/p.npy --threads 1 --quiet", "cp $/y.npy @/p.npy"),
    ("predict --data mutag --readout $/readout.safetensors --out @/p.jsonl --threads 1 --quiet", ""),
    ("suggest --data mutag --n 4 --out @/next.csv --threads 1", "cp $/seeds.csv @/next.csv"),
    ("fit $/Z.npy $/y.npy --head ridge --save @/r.safetensors --threads 1 --quiet", ""),
    ("readouts $/Z.npy $/y.npy --head ridge --shots 2 --episodes 2 --queries 4 --threads 1 --json", ""),
    ("eval --weights $/run/weights.safetensors --data mutag --shots 4 --seeds 1 --draws @/draws --threads 1 --json --quiet", ""),
    ("data convert $/run/weights.safetensors @/w.safetensors", ""),
    ("data info $/run/weights.safetensors --json", ""),
    ("data convert tests/graphs/club.npz @/club.npz", ""),
    (TRAIN + " --checkpoint-every 1 --quiet", ""),
    RESUME,
)
Outcome = collections.namedtuple("Outcome", "code out err files")


class Lines:
    def __init__(self, folder, program, libraries, library):
        self.folder, self.report = pathlib.Path(folder) / "files", pathlib.Path(folder) / "report"
        self.program, self.library = program, pathlib.Path(libraries) / library
        self.environment = {k: v for k, v in os.environ.items() if k != "MOCHI_CACHE"}
        self.environment |= {"OMP_NUM_THREADS": "1"}
        self.random = random.Random(1)

    def filled(self, text):
        return text.replace("@", f"{self.folder}/out").replace("$", f"{self.folder}/in")

    def prepare(self, before):
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        (self.folder / "out").mkdir()
        subprocess.run(self.filled(before), shell=True, check=True)

    def files(self):
        found = {str(f.relative_to(self.folder / "out")): f.read_bytes() for f in (self.folder / "out").rglob("*") if f.is_file()}
        return {name: re.sub(rb'"seconds":[^,}]*', b"", data) if ".jsonl" in name else data for name, data in found.items()}

    def run(self, words, limit=None, **settings):
        """Runs a line in the folder as it is; with settings, the failing library is preloaded."""
        env = self.environment | ({"LD_PRELOAD": str(self.library)} if settings else {}) | {k: str(v) for k, v in settings.items()}
        done = subprocess.run([self.program, *self.filled(words).split()], env=env, stdin=subprocess.DEVNULL, capture_output=True,
                              errors="replace", timeout=SECONDS, preexec_fn=limit)
        said = re.sub(r'"seconds":[^,}]*', "", done.stdout)
        return Outcome(done.returncode, said, re.sub(r"^mochi [^\n]*, \d+ s\n", "", done.stderr, flags=re.M), self.files())

    def make_inputs(self):
        """Makes the input files: a finished run, the same run before it wrote its last file, its evaluation, rows with
        labels, a few labels, and a readout."""
        source = self.folder / "in"
        source.mkdir(parents=True)
        rows = [(i % 4 == i // 4 % 3) + self.random.random() for i in range(360)]
        label = [i % 3 for i in range(90)]
        for name, kind, shape, data in (("Z", "<f4", "(90, 4)", struct.pack("<360f", *rows)), ("y", "<i8", "(90,)", struct.pack("<90q", *label))):
            header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
            (source / f"{name}.npy").write_bytes(b"\x93NUMPY\x01\x00\x76\x00" + f"{header:117}\n".encode() + data)
        rows = (f"p{i},{i * 7 % 20 or ''},{('Rome', 'Oslo')[i % 3 > 0]},{('yes', 'no')[i % 2]},{'abc?'[i % 4]}\n" for i in range(24))
        (source / "people.csv").write_text("name,age,city,member,kind\n" + "".join(rows))
        (source / "seeds.csv").write_text("graph,kind\n0,yes\n1,no\n2,no\n3,yes\n")
        for words in (TRAIN.replace("@", "$") + " --quiet",
                      "predict --data mutag --labels $/seeds.csv --save $/readout.safetensors --quiet"):
            done = self.run(words)
            assert done.code == 0, done
        shutil.copytree(source / "run", source / "stopped")
        (source / "stopped/weights.safetensors").unlink()

    def drawn(self, n, how_many):
        return [self.random.randint(1, n) for _ in range(how_many)]


def expect_same(what, whole, o):
    assert o.out == whole.out, f"{what}: exit code 0 and another output: {o.out}\nexpected: {whole.out}"
    for name, data in whole.files.items():
        assert o.files.get(name) == data, f"{what}: exit code 0 and {'another' if name in o.files else 'no'} {name}"


def expect_no_others(what, whole, files):
    others = set(files) - set(whole.files)
    assert not others, f"{what}: left {others}"


def fail_allocations(lines, every):
    """The program reports that memory is short, or succeeds. A temporary file that a killed run left is removed by the
    next save."""
    for words, before in MEMORY:
        lines.prepare(before)
        whole = lines.run(words, COUNT_TO=lines.report)
        n = int(lines.report.read_text())
        assert whole.code == 0 and n > 50, whole
        ks = range(1, n + 1) if every and n <= MOST else [*range(1, FIRST + 1), *lines.drawn(n, MANY if every else DRAWN)]
        for k in ks:
            for always in ({}, {"FAIL_ALWAYS": 1}):
                what = f"{words}, allocation {k}{' and all behind it' if always else ''}"
                lines.prepare(before)
                o = lines.run(words, FAIL_AT=k, **always)
                expect_no_others(what, whole, [name for name in o.files if ".mochi-" not in name])
                if o.code == 0:
                    expect_same(what, whole, o)
                else:
                    assert o.code == 1 and "memory" in o.err.lower(), f"{what}: exit code {o.code}, no line about memory: {o.err}"
        print(f"{len(ks):5} of {n:5} allocations failed: mochi {words}", flush=True)


def limit_addresses(lines):
    """At any memory limit (ulimit -v) the program succeeds or ends with one line. Otherwise OpenBLAS would wait for a
    buffer for ever and OpenMP would end the process."""
    refused = 0
    lines.environment.pop("OMP_NUM_THREADS")
    for mebibytes in (160, 200, 300, 500, 1000, 1500):
        for threads in (1, 4, 64):
            lines.prepare("")
            most = resource.getrlimit(resource.RLIMIT_AS)[1]
            o = lines.run(TRAIN.replace("--threads 1", f"--threads {threads}") + " --quiet",
                          limit=lambda: resource.setrlimit(resource.RLIMIT_AS, (mebibytes << 20, most)))
            refused += o.code == 1
            assert o.code == 0 or (o.code == 1 and o.err.count("\n") == 1 and "memory" in o.err.lower()), (mebibytes, threads, o)
    print(f"{refused} of 18 runs refused")
    assert 0 < refused < 18


def fault_once(lines, words, former, whole, fault, at, always):
    """Whether the fault occurred and was reported."""
    what = f"mochi {words}, fault {fault} at call {at}{' and later' if always else ''}"
    o = lines.run(words, DISK_UNDER=lines.folder, DISK_CALLS=lines.report, DISK_FAULT=fault, DISK_AT=at, DISK_ALWAYS=always)
    n, met = map(int, lines.report.read_text().split("\n")[0].split())
    if fault and met:
        expect_no_others(what, whole, o.files)
        if o.code == 0:
            expect_same(what, whole, o)
        else:
            for name, data in o.files.items():  # a log may end early
                assert "log.jsonl" in name or "checkpoint" in name or data in (former.get(name), whole.files.get(name)), \
                    f"{what}: {name} is neither the former file nor the next"
            assert not set(former) - set(o.files), f"{what}: lost {set(former) - set(o.files)}"
            said = [line for line in o.err.splitlines() if line not in whole.err.splitlines()]  # a notice appears only once
            assert o.code == 1 and len(said) == 1 and str(lines.folder) in said[0] and fault != SHORT, \
                f"{what}: expected one line that names a file, found exit code {o.code}: {o.err}"
    return o, n, o.code if met else None


def fail_calls(lines, every):
    told = same = 0
    for words, before in DISK:
        lines.prepare(before)
        former = lines.files()
        whole, n, _ = fault_once(lines, words, former, None, 0, 0, 0)
        assert whole.code == 0 and n >= 3, whole
        for fault, always in FAULTS:
            for at in range(1, n + 1) if every else lines.drawn(n, CALLS):
                lines.prepare(before)
                code = fault_once(lines, words, former, whole, fault, at, always)[2]
                told += code == 1
                same += code == 0
        print(f"{n:4} calls: mochi {words}", flush=True)
    print(f"{told + same} faults: {same} changed nothing, {told} were told")
    assert told > 20 and same > 20


def main(kind, program, libraries, every=""):
    if not os.path.exists(f"{libraries}/failing_{kind}.so"):
        print("skipped: no library to preload (a sanitizer has its own allocator)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        lines = Lines(folder, program, libraries, f"failing_{kind}.so")
        lines.make_inputs()
        if kind == "memory":
            fail_allocations(lines, every)
            limit_addresses(lines)
        else:
            fail_calls(lines, every)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
