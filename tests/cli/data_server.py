#!/usr/bin/env python3
"""A web server on the loopback address that misbehaves as its tests ask, for test_cli_get.c.

    data_server.py FOLDER PORT_FILE LOG      serves FOLDER/NAME as /HOW/NAME until it is killed
    data_server.py --archives FOLDER         writes the archives of the tests

HOW: plain (with ranges), cut (half, unless a range is asked for), changed (the same, but by then another version), half
(always half), corrupt-once, corrupt, stall, to, away, loop, endless, other-part. Each request is a line of LOG: the path,
a blank, the range that was asked for.
"""

import hashlib
import http.server
import io
import os
import pathlib
import sys
import tarfile
import time
import warnings
import zipfile


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        how, _, name = self.path[1:].partition("/")
        asked = self.headers.get("Range", "")
        with open(LOG, "a") as log:
            log.write(f"{self.path} {asked}\n")
        path = FOLDER / name
        if how in ("to", "away", "loop"):
            self.send_response(302)
            self.send_header("Location", {"to": f"/plain/{name}", "away": "file:///etc/hostname", "loop": self.path}[how])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if not path.is_file():
            self.send_error(404)
            return
        self.send_file(how, path, asked)

    def send_file(self, how, path, asked):
        content = path.read_bytes()
        earlier = how in SEEN
        SEEN.add(how)
        if how == "changed" and not earlier:
            content = b"9 8\n" * 100
        if how == "corrupt" or (how == "corrupt-once" and not earlier):
            content = bytes([content[0] ^ 1]) + content[1:]
        tag = '"' + hashlib.sha1(content).hexdigest() + '"'
        start = int(asked[len("bytes="):-1]) if asked and self.headers.get("If-Range") == tag else 0
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start - (how == 'other-part')}-{len(content) - 1}/{len(content)}")
        self.send_header("ETag", tag)
        if how == "endless":
            self.send_header("Connection", "close")
        else:
            self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        self.send_body(how, content[start:], start)

    def send_body(self, how, content, start):
        short = how in ("half", "stall") or (how in ("cut", "changed", "other-part") and not start)
        if how == "changed" and content[:4] != b"9 8\n":
            short = False
        self.wfile.write(content[:len(content) // 2] if short else content)
        self.wfile.flush()
        try:
            while how == "endless":
                self.wfile.write(content)
        except OSError:
            pass
        if how == "stall":
            time.sleep(20)
        self.close_connection = short or how == "endless"

    def log_message(self, *_):
        pass


def write_archives(folder):
    """Archives that hold edges.txt in set/, and something else that decides whether they may be unpacked."""
    edges = b"0 1\n1 2\n"

    def write_zip(name, members):
        with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, content in members:
                archive.writestr(member, content)

    def write_tar(name, change):
        with tarfile.open(folder / name, "w:gz") as archive:
            for member, special in (("set/edges.txt", False), ("set/other", True)):
                info = tarfile.TarInfo(member)
                info.size = len(edges)
                if special:
                    change(info)
                archive.addfile(info, io.BytesIO(edges) if info.isreg() else None)

    good = ("set/edges.txt", edges)
    write_zip("good.zip", [good, ("set/README", b"read me")])
    write_zip("without.zip", [("set/README", b"read me")])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write_zip("twice.zip", [good, good])
    write_zip("up.zip", [good, ("set/../../evil.txt", edges)])
    write_zip("up_first.zip", [("../edges.txt", edges), good])
    write_zip("absolute.zip", [good, ("/tmp/evil.txt", edges)])
    write_zip("backslash.zip", [good, ("..\\evil.txt", edges)])
    write_zip("bomb.zip", [good, ("set/zeros", bytes(1 << 24))])
    write_tar("good.tar.gz", lambda info: None)
    write_tar("symlink.tar.gz", lambda info: (setattr(info, "type", tarfile.SYMTYPE), setattr(info, "linkname", "/etc/passwd")))
    write_tar("hardlink.tar.gz", lambda info: (setattr(info, "type", tarfile.LNKTYPE), setattr(info, "linkname", "set/edges.txt")))
    write_tar("device.tar.gz", lambda info: setattr(info, "type", tarfile.CHRTYPE))
    write_tar("pipe.tar.gz", lambda info: setattr(info, "type", tarfile.FIFOTYPE))
    write_tar("up.tar.gz", lambda info: setattr(info, "name", "set/../../evil.txt"))
    (folder / "text.zip").write_bytes(b"this is no archive at all\n" * 40)
    whole = (folder / "good.zip").read_bytes()
    (folder / "truncated.zip").write_bytes(whole[:len(whole) // 2])
    at = whole.index(b"set/edges.txt") + len("set/edges.txt")
    (folder / "damaged.zip").write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1:])


if sys.argv[1] == "--archives":
    write_archives(pathlib.Path(sys.argv[2]))
    sys.exit(0)
FOLDER, LOG, SEEN = pathlib.Path(sys.argv[1]), sys.argv[3], set()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):  # tests disconnect clients on purpose
        pass


server = Server(("127.0.0.1", 0), Handler)
pathlib.Path(sys.argv[2] + ".new").write_text(str(server.server_address[1]))
os.rename(sys.argv[2] + ".new", sys.argv[2])
server.serve_forever()
