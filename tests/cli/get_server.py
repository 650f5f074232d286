"""The server of tests/cli/get.cases, which misbehaves, and what it serves. Serves as long as the process that imports it lives."""
import hashlib
import http.server
import io
import os
import pathlib
import tarfile
import threading
import warnings
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("MOCHI_SHARED", ROOT / "../shared")) / "data"
RING = "".join(f"{i} {(i + 1) % 3000}\n" for i in range(3000)).encode()
TWO = b"0 1\n1 2\n"


def digest(content):
    return hashlib.sha256(content).hexdigest()


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
PLANETOID = (SHARED if SHARED.is_dir() else ROOT / "tests/sources") / "cora/planetoid"
FILES.update({path.name: path.read_bytes() for path in PLANETOID.iterdir()})
# get URL MEMBERS [OPTIONS]: HOST in the URL is this server; gets the file of a manifest with these members (`known`: its digest), or of the manifest that is there if
# the URL is -. If that is refused with 1 and something is left, exits with 99.
GET = f"""#!/bin/bash
. ./env
members=", ${{2/known/\\"sha256\\": \\"{digest(RING)}\\"}}"
[ "$1" = - ] || cat >manifest.json <<END
{{"datasets": [{{"name": "ring", "licence": "none", "page": "https://x.org/", "path": "p/edges.txt", "counts": {{"edges": ${{EDGES:-3000}}}},
  "files": [{{"path": "p/edges.txt", "url": "${{1/HOST/{HOST}}}"${{2:+$members}}}}]}}]}}
END
mochi data get "${{NAME:-ring}}" --timeout 1 --limit 0.01 "${{@:3}}" || {{
    code=$?
    find . -type f ! -name env ! -name manifest.json | grep . && exit $((98 + code))
    exit $code
}}
"""
