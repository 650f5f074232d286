"""Unpacks an archive of tools/bench/bench_gpu_pack; if this machine's C library is too old, its programs use the archive's."""
import os
import struct
import tarfile
import tempfile

PT_INTERP = 3
LOADER = "ld-linux-x86-64.so.2"


def unpack(path):
    """Unpacks an archive into a new folder. Its name is short, as the loader's path must fit into the programs."""
    folder = tempfile.mkdtemp(prefix="bg-", dir="/tmp")
    with tarfile.open(path) as archive:
        archive.extractall(folder)
    return folder


def set_loader(program, loader):
    """Makes a program ask for this loader, whose path must be shorter than the room for it in the program."""
    with open(program, "r+b") as file:
        header = file.read(64)
        (offset,), (size, count) = struct.unpack_from("<Q", header, 32), struct.unpack_from("<HH", header, 54)
        for i in range(count):
            file.seek(offset + i * size)
            kind, _, begin, _, _, room = struct.unpack("<IIQQQQ", file.read(40))
            if kind == PT_INTERP:
                name = os.fsencode(loader)
                if len(name) >= room:
                    raise ValueError(f"{loader}: expected at most {room - 1} characters")
                file.seek(begin)
                file.write(name.ljust(room, b"\0"))


def take_own_libc(folder, seen_as=None):
    """Makes the programs of an unpacked archive start by its loader. Returns the folder of its C library, which must
    come first in LD_LIBRARY_PATH for these programs, and only for them. seen_as: the folder's path where the programs
    run."""
    libc, link = os.path.join(folder, "lib", "libc"), os.path.join(folder, "ld")
    if not os.path.lexists(link):
        os.symlink(os.path.join("lib", "libc", LOADER), link)
    for room in ("tests", "tools"):
        for name in os.listdir(os.path.join(folder, room)):
            set_loader(os.path.join(folder, room, name), os.path.join(folder if seen_as is None else seen_as, "ld"))
    return libc
