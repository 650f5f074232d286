#!/usr/bin/env python3
"""An archive of tools/bench/bench_gpu_pack needs nothing else of a machine: every library is in it,
programs run in a root that holds nothing else, and bench_gpu uses its C library if the machine's is too old.

Usage: test_pack.py BUILD    a build with the emulated device"""
import json
import os
import re
import subprocess
import sys
import tempfile

BENCH = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "tools", "bench")
sys.path.insert(0, BENCH)
sys.dont_write_bytecode = True
from bench_gpu_unpack import set_loader, take_own_libc, unpack  # noqa: E402

FOLDERS = ("lib/libc", "lib/fallback", "lib")
PROGRAMS = ("tools/mochi", "tools/gpu_probe", "tests/test_capture", "tests/test_parity")


def library_path(root):
    return ":".join(os.path.join(root, name) for name in FOLDERS)


def check_libraries(folder):
    """The archive's loader finds every library in the archive, and all of glibc in one folder."""
    loader = os.path.join(folder, "lib", "libc", "ld-linux-x86-64.so.2")
    for program in PROGRAMS:
        said = subprocess.run([loader, "--inhibit-cache", "--library-path", library_path(folder), "--list", os.path.join(folder, program)],
                              capture_output=True, text=True, check=True).stdout
        paths = dict(re.findall(r"^\s*(\S+) => (\S+) \(", said, re.M))
        outside = {name: path for name, path in paths.items() if not path.startswith(folder + os.sep)}
        assert paths and not outside and "not found" not in said, (program, outside, said)
    of_libc = re.compile(r"lib(c|m|dl|rt|pthread|resolv)\.so|ld-linux")
    assert not [name for name in os.listdir(os.path.join(folder, "lib")) if of_libc.match(name)]
    assert {"libc.so.6", "libpthread.so.0", "libdl.so.2"} <= set(os.listdir(os.path.join(folder, "lib", "libc")))


def change_root(folder):
    """Returns the command that runs a program with the folder as root; None if this user cannot."""
    for command in (["chroot", folder], ["unshare", "--user", "--map-root-user", "chroot", folder]):
        try:  # without a loader a program exits with 127 inside the root, and with 125 or 1 before it
            if subprocess.run([*command, "/none"], capture_output=True).returncode == 127:
                return command
        except OSError:
            continue
    return None


def check_bare_root(folder):
    """Runs programs in a root that holds only the archive."""
    take_own_libc(folder, seen_as="/")
    root = change_root(folder)
    if not root:
        print("skipped the bare root: this user may not change it")
        return
    environment = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": library_path("/"), "MOCHI_DEVICE": "cuda", "LC_ALL": "C.UTF-8"}
    for command, expected in ((["/tools/mochi", "doctor"], "emulated device"), (["/tools/gpu_probe", "--dry-run"], '"potrf 9 upper"'), (["/tests/test_capture"], "[  PASSED  ]")):
        done = subprocess.run([*root, *command], env=environment, capture_output=True, text=True)
        assert done.returncode == 0 and expected in done.stdout + done.stderr, (command, done)
    with open(os.path.join(folder, "lib", "libmochi-cuda.so"), "w") as backend:
        backend.write("no library")
    done = subprocess.run([*root, "/tests/test_capture"], env=environment, capture_output=True, text=True)
    reason = "cuda: the backend could not be opened: /lib/libmochi-cuda.so: file too short"
    assert done.returncode == 77 and reason in done.stdout, done  # the message is not that the backend is missing


def check_other_machine(archive):
    """Runs on a machine that has no loader at the programs' path."""
    folder = unpack(archive)
    for room in ("tests", "tools"):
        for name in os.listdir(os.path.join(folder, room)):
            set_loader(os.path.join(folder, room, name), "/lib64/none")
    with tempfile.TemporaryDirectory() as other:
        foreign = os.path.join(other, "pack.tar")
        subprocess.run(["tar", "-cf", foreign, "-C", folder, "."], check=True)
        done = subprocess.run([sys.executable, os.path.join(BENCH, "bench_gpu"), "--prebuilt", foreign, "--dry-run", "--only", "probe,suite"],
                              capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0]["fine"] and lines[0]["libc"] == "the archive's" and "No such file" in lines[0]["machine_says"], lines[0]
    probed = [line for line in lines if line["part"] == "probe"]
    assert len(probed) > 40 and not any("trouble" in line for line in probed), probed
    suite = next(line for line in lines if line["part"] == "suite")
    assert not suite["missing"] and all(result["fine"] for result in suite["results"].values()), suite
    return folder


def main(build):
    if os.path.exists(os.path.join(build, "tensor", "cuda", "libmochi-cuda.so")):
        print("skipped: this build has the device's own backend, whose libraries are CUDA's; -Dcuda=disabled packs the emulation")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="pack-") as folder:
        os.environ["GCOV_PREFIX"] = os.path.join(folder, "counted")  # these runs must not count for coverage
        archive = os.path.join(folder, "pack.tar")
        subprocess.run([os.path.join(BENCH, "bench_gpu_pack"), archive, "--of", build], check=True)
        unpacked = unpack(archive)
        try:
            check_libraries(unpacked)
            check_bare_root(unpacked)
            subprocess.run(["rm", "-rf", check_other_machine(archive)], check=True)
        finally:
            subprocess.run(["rm", "-rf", unpacked], check=True)
    print("libraries, a bare root, a machine without a loader")


if not os.path.exists("/lib64/ld-linux-x86-64.so.2"):
    print("skipped: archives are of x86-64 and glibc")
    sys.exit(77)
main(sys.argv[1])
