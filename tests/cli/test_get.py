#!/usr/bin/env python3
"""tests/cli/test_get.py - runs `mochi data get` against a server that misbehaves. Each failure gives one line and
leaves nothing behind, either in the data folder or for the next attempt.

Usage: test_get.py PROGRAM      skipped (77) if no Python has pooch"""
import hashlib
import http.server
import io
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import unittest
import warnings
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.path.abspath(sys.argv.pop(1))
if all(subprocess.run([python, "-c", "import pooch"], stderr=subprocess.DEVNULL).returncode for python in ("python3", "/usr/bin/python3")
       if shutil.which(python)):
    print("skipped: no Python with pooch (Debian package python3-pooch)")
    sys.exit(77)

RING = "".join(f"{i} {(i + 1) % 3000}\n" for i in range(3000)).encode()
TWO = b"0 1\n1 2\n"


def digest(content):
    return hashlib.sha256(content).hexdigest()


# ---- the server ----

class Handler(http.server.BaseHTTPRequestHandler):
    """Serves FILES[NAME] at /HOW/NAME, where HOW is the misbehaviour: plain, half, corrupt, corrupt-once, stall,
    endless, to, away or loop."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        how, _, name = self.path[1:].partition("/")
        content = FILES.get(name)
        earlier = self.path in ASKED
        ASKED.append(self.path)
        if how in ("to", "away", "loop"):
            self.send_response(302)
            self.send_header("Location", {"to": f"/plain/{name}", "away": "file:///etc/hostname", "loop": self.path}[how])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if content is None:
            self.send_error(404)
            return
        if how == "corrupt" or (how == "corrupt-once" and not earlier):
            content = bytes([content[0] ^ 1]) + content[1:]
        self.send_response(200)
        if how == "endless":
            self.send_header("Connection", "close")
        else:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.close_connection = how in ("half", "stall", "endless")
        try:
            self.wfile.write(content[:len(content) // 2] if how in ("half", "stall") else content)
            self.wfile.flush()
            while how == "endless":
                self.wfile.write(content)
        except OSError:
            pass
        if how == "stall":
            RELEASE.wait(20)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):  # tests disconnect clients on purpose
        pass


def archives():
    """Returns archives with set/edges.txt and a second member, which decides whether they may be unpacked."""
    def packed(members):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for member, content in members:
                archive.writestr(member, content)
        return file.getvalue()

    def tarred(change=None):
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode="w:gz") as archive:
            info = tarfile.TarInfo("./set/edges.txt")
            info.size = len(TWO)
            if change:
                info.type, info.linkname = change
            archive.addfile(info, io.BytesIO(TWO) if info.isreg() else None)
        return file.getvalue()

    edges = ("set/edges.txt", TWO)
    good = packed([edges, ("set/README", b"read me")])
    at = good.index(b"set/edges.txt") + len("set/edges.txt")
    return {"good.zip": good, "good.tar.gz": tarred(), "without.zip": packed([("set/README", b"")]), "twice.zip": packed([edges, edges]),
            "bomb.zip": packed([("set/edges.txt", bytes(1 << 24))]), "up.zip": packed([edges, ("set/../../evil.txt", TWO)]),
            "symlink.tar.gz": tarred((tarfile.SYMTYPE, "/etc/passwd")), "hardlink.tar.gz": tarred((tarfile.LNKTYPE, "other")),
            "device.tar.gz": tarred((tarfile.CHRTYPE, "")), "text.zip": b"no archive at all\n" * 40,
            "truncated.zip": good[:len(good) // 2], "damaged.zip": good[:at] + bytes([good[at] ^ 0x55]) + good[at + 1:]}


FILES, ASKED, RELEASE = {"edges.txt": RING, "two.txt": TWO, **archives()}, [], threading.Event()
SERVER = Server(("127.0.0.1", 0), Handler)
HOST = f"http://127.0.0.1:{SERVER.server_address[1]}"
threading.Thread(target=SERVER.serve_forever, daemon=True).start()


class Get(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.environment = {**os.environ, "MOCHI_DATA": str(self.folder / "data"), "XDG_CACHE_HOME": str(self.folder / "cache"),
                            "no_proxy": "127.0.0.1"}
        (self.folder / "get.py").symlink_to(ROOT / "tools" / "data" / "get.py")  # beside the manifest, as the program's own files are
        ASKED.clear()

    def manifest(self, how, edges=3000, url=None, **more):
        file = {"path": "p/edges.txt", "url": url or f"{HOST}/{how}", **more}
        return self.write([{"name": "ring", "licence": "none", "page": "https://x.org/", "path": "p/edges.txt",
                            "counts": {"edges": edges}, "files": [file]}])

    def write(self, sets):
        path = self.folder / "manifest.json"
        path.write_text(json.dumps({"datasets": sets}))
        return path

    def run_get(self, manifest, *options, name="ring", before=()):
        return subprocess.run([*before, PROGRAM, "data", "get", name, "--timeout", "1", "--limit", "0.01", *options],
                              env={**self.environment, "MOCHI_EMBEDDED": manifest.parent}, capture_output=True, text=True, timeout=60)

    def left(self, where="data"):
        return sorted(str(path.relative_to(self.folder / where)) for path in (self.folder / where).rglob("*") if path.is_file())

    def got(self, ran, found="ring: 1 graphs, 3000 nodes, 3000 edges"):
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertIn(found, ran.stdout)
        self.assertEqual((self.left(), self.left("cache")), (["p/edges.txt"], []))

    def refused(self, ran, line):
        """The download must fail with one line and leave no file in either folder."""
        self.assertEqual(ran.returncode, 1, ran)
        self.assertIn(line, ran.stderr)
        self.assertEqual(len(ran.stderr.splitlines()), 1, ran.stderr)
        self.assertEqual((self.left(), self.left("cache")), ([], []))

    def known(self, how, **more):
        return self.manifest(how, sha256=digest(RING), **more)

    def test_a_set_is_downloaded_once(self):
        manifest = self.known("plain/edges.txt")
        self.got(self.run_get(manifest))
        self.assertIn("ring: complete below ", self.run_get(manifest).stdout)
        self.assertEqual(ASKED, ["/plain/edges.txt"])

    def test_truncated_files_are_refused_and_the_next_attempt_is_free_of_them(self):
        for _ in range(2):
            self.refused(self.run_get(self.known("half/edges.txt")), "the connection ended after ")
        self.refused(self.run_get(self.manifest("half/edges.txt"), "--accept-unverified"), "the connection ended after ")
        self.got(self.run_get(self.known("plain/edges.txt")))

    def test_corrupted_files_are_deleted(self):
        corrupt = bytes([RING[0] ^ 1]) + RING[1:]
        self.refused(self.run_get(self.known("corrupt/edges.txt")), f"expected SHA-256 {digest(RING)}, found {digest(corrupt)}")
        manifest = self.known("corrupt-once/edges.txt")
        self.refused(self.run_get(manifest), "expected SHA-256 ")
        self.got(self.run_get(manifest))

    def test_what_is_there_stays_when_its_replacement_fails(self):
        place = self.folder / "data/p/edges.txt"
        place.parent.mkdir(parents=True)
        place.write_text("0 1\n")
        self.assertIn("expected SHA-256 ", self.run_get(self.known("corrupt/edges.txt")).stderr)
        self.assertEqual((place.read_text(), self.left()), ("0 1\n", ["p/edges.txt"]))
        self.got(self.run_get(self.known("plain/edges.txt")))

    def test_a_stalled_server_is_given_up(self):
        start = time.monotonic()
        self.refused(self.run_get(self.known("stall/edges.txt")), "nothing came for 1 s")
        self.assertLess(time.monotonic() - start, 15)

    def test_redirects_stay_on_the_web(self):
        self.got(self.run_get(self.known("to/edges.txt")))
        shutil.rmtree(self.folder / "data")
        self.refused(self.run_get(self.known("away/edges.txt")), "file:///etc/hostname")
        self.refused(self.run_get(self.known("loop/edges.txt")), "redirects")

    def test_missing_files_servers_and_names_are_named(self):
        self.refused(self.run_get(self.known("plain/no_such.txt")), "/plain/no_such.txt: expected a file, found the answer 404")
        self.refused(self.run_get(self.known("", url="http://127.0.0.1:1/edges.txt")), "http://127.0.0.1:1/edges.txt: ")
        self.refused(self.run_get(self.known("plain/edges.txt"), name="rign"), "'rign': expected a name of the manifest")
        self.refused(self.run_get(self.write("no list")), "expected a manifest: no list")

    def test_downloads_have_a_limit(self):
        self.refused(self.run_get(self.known("endless/edges.txt")), "expected at most 10737418 bytes, found more")
        self.refused(self.run_get(self.known("plain/edges.txt", bytes=100)), "expected at most 100 bytes, found more")

    def test_unverified_downloads_ask(self):
        manifest = self.manifest("plain/edges.txt")
        self.refused(self.run_get(manifest), "give --sha256 HEX, or --accept-unverified")
        self.assertEqual(ASKED, [])
        self.refused(self.run_get(manifest, "--sha256", "0" * 64), "expected SHA-256 00000000")
        self.refused(self.run_get(self.known("plain/edges.txt"), "--sha256", "0" * 64),
                     "expected one download without a SHA-256 for --sha256, found 0")
        ran = self.run_get(self.manifest("plain/edges.txt"), "--accept-unverified", "--json")
        self.assertEqual(json.loads(ran.stdout), {"name": "ring", "folder": str(self.folder / "data"), "graphs": 1, "nodes": 3000,
                                                  "edges": 3000, "features": 0, "classes": 0})
        shutil.rmtree(self.folder / "data")
        ran = self.run_get(manifest, "--accept-unverified")
        self.assertIn(f"has SHA-256 {digest(RING)}, which is not verified", ran.stdout)
        self.got(ran)

    def test_options_without_effect_are_refused(self):
        for options in (["--sha256", "xyz"], ["--limit", "0"], ["--timeout", "-1"],
                        ["--sha256", "0" * 64, "--accept-unverified"], ["--nonsense"]):
            ran = self.run_get(self.known("plain/edges.txt"), *options)  # the options are --timeout and --limit
            self.assertEqual(ran.returncode, 2, ran)
            self.assertIn(options[0] if options[0] != "--sha256" else "", ran.stderr)
        self.assertEqual(self.left(), [])

    def test_wrong_counts_are_refused(self):
        self.refused(self.run_get(self.known("plain/edges.txt", edges=7)), "ring: expected 7 edges, found 3000")

    def test_an_interruption_leaves_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            ASKED.clear()
            self.known("stall/edges.txt")
            child = subprocess.Popen([PROGRAM, "data", "get", "ring"], env={**self.environment, "MOCHI_EMBEDDED": str(self.folder)},
                                     stderr=subprocess.PIPE, text=True)
            while not ASKED:
                time.sleep(.02)
            time.sleep(.2)
            child.send_signal(number)
            _, errors = child.communicate(timeout=30)
            self.assertEqual(child.returncode, 128 + number)
            self.assertIn("interrupted", errors)
            self.assertEqual((self.left(), self.left("cache")), ([], []))

    def test_a_full_disk_leaves_nothing(self):
        manifest = self.known("plain/edges.txt")  # a limit on file sizes stands for a full disk
        full = ["sh", "-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "sh"]
        self.refused(self.run_get(manifest, before=full), "File too large")
        self.got(self.run_get(manifest))
        shutil.rmtree(self.folder / "data")
        (self.folder / "data").write_text("")  # a file where the data folder should be
        self.assertEqual(self.run_get(manifest).returncode, 1)

    # ---- archives ----

    def archive(self, name):
        return self.run_get(self.manifest(f"plain/{name}", edges=2, member="set/edges.txt"), "--accept-unverified")

    def test_single_members_are_unpacked(self):
        for name in ("good.zip", "good.tar.gz", "up.zip"):
            self.got(self.archive(name), "ring: 1 graphs, 3 nodes, 2 edges")
            self.assertEqual([str(path) for path in self.folder.rglob("evil*")], [])
            shutil.rmtree(self.folder / "data")

    def test_archives_that_hold_something_else_are_refused(self):
        for name, line in (("bomb.zip", "expected less to unpack than the limit, found more"),
                           ("without.zip", "expected one member 'set/edges.txt', found none among 1"),
                           ("twice.zip", "expected one member 'set/edges.txt', found 2"),
                           ("symlink.tar.gz", "found a link, a folder or a device"), ("hardlink.tar.gz", "found a link"),
                           ("device.tar.gz", "found a link, a folder or a device"), ("text.zip", "text.zip: cannot unpack"),
                           ("truncated.zip", "truncated.zip: cannot unpack"), ("damaged.zip", "damaged.zip: cannot unpack")):
            with self.subTest(name):
                self.refused(self.archive(name), line)

    def test_right_files_are_kept_and_others_replaced(self):
        archive = {"url": f"{HOST}/plain/good.zip"}
        manifest = self.write([{"name": "ring", "licence": "none", "page": "https://x.org/", "path": "p/edges.txt", "files": [
            {"path": "p/edges.txt", "sha256": digest(TWO), "member": "set/edges.txt", **archive},
            {"path": "p/README", "member": "set/README", **archive}]}])
        self.assertEqual(self.run_get(manifest, "--accept-unverified").returncode, 0)
        self.assertEqual(self.left(), ["p/README", "p/edges.txt"])
        before = (self.folder / "data/p/edges.txt").stat().st_ino
        (self.folder / "data/p/README").unlink()
        self.assertEqual(self.run_get(manifest, "--accept-unverified").returncode, 0)
        self.assertEqual(self.left(), ["p/README", "p/edges.txt"])
        self.assertEqual((self.folder / "data/p/edges.txt").stat().st_ino, before)
        self.assertEqual(ASKED, ["/plain/good.zip"] * 2)

    def test_pickles_are_converted_on_arrival(self):
        """With the real manifest's checksums, Planetoid's pickles become a graph."""
        shared = pathlib.Path(os.environ.get("MOCHI_SHARED", ROOT / "../shared")) / "data"
        sources = shared if shared.is_dir() else ROOT / "tests/sources"
        FILES.update({path.name: path.read_bytes() for path in (sources / "cora/planetoid").iterdir()})
        manifest = self.folder / "manifest.json"
        manifest.write_text(re.sub(r'https://raw[^"]*/data/ind', f"{HOST}/plain/ind", (ROOT / "train/data/manifest.json").read_text()))
        ran = self.run_get(manifest, "--json", name="cora")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual(json.loads(ran.stdout)["features"], 1433)
        self.assertEqual(len(self.left()), 9)


if __name__ == "__main__":
    unittest.main(verbosity=1)
