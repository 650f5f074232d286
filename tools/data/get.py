#!/usr/bin/env python3
"""mochi data get: downloads data sets of the paper into the data folder.

Every download is compared with the SHA-256 of the manifest (train/data/manifest.json) before anything reads it. The files of a
set are assembled in a folder beside their final place, `mochi data verify` checks them there, and only then are they moved.
Downloads stay in mochi/downloads/ of the user's cache folder until the set is in place.
"""

import argparse
import hashlib
import json
import lzma
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib

try:
    import pooch
    import requests
except ImportError:
    # The first python3 in PATH need not be Debian's, which has the package.
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3", "-B", *sys.argv])
    sys.exit("mochi: data get: expected the Python package pooch, found none: apt-get install python3-pooch, or pip install pooch")

PIECE = 1 << 16  # bytes


HERE = pathlib.Path(__file__).resolve().parent
FOLDER = pathlib.Path(os.environ.get("MOCHI_DATA") or pathlib.Path.home() / ".local/share/mochi")
PROGRAM = os.environ.get("MOCHI_PROGRAM", "mochi")  # the mochi that started this script
DOWNLOADS = pathlib.Path(pooch.os_cache("mochi")) / "downloads"
pooch.get_logger().setLevel("ERROR")


class Refused(Exception):
    """Raised if a data set cannot be obtained; the text gives the reason in one line."""


def arguments():
    parser = argparse.ArgumentParser(
        prog="mochi data get", description="Downloads data sets of the paper into the data folder, verifies, unpacks, and checks "
        "their counts.", epilog="Examples: mochi data get enron; mochi data get nci1 --accept-unverified")
    parser.add_argument("names", metavar="NAME", nargs="+", help="a name of `mochi data list --all`")
    unknown = parser.add_mutually_exclusive_group()
    unknown.add_argument("--accept-unverified", action="store_true", help="accept a download whose SHA-256 is unknown; its counts "
                         "are still checked")
    unknown.add_argument("--sha256", metavar="HEX", type=digits, help="the SHA-256 that such a download must have")
    parser.add_argument("--timeout", metavar="SECONDS", type=positive, default=60, help="give up after this long without "
                        "data (default: 60)")
    parser.add_argument("--limit", metavar="GIB", type=positive, default=16, help="largest download, and largest "
                        "unpacked file (default: 16)")
    parser.add_argument("--json", action="store_true", help="one JSON object per data set on standard output")
    parser.add_argument("--max-expand", metavar="RATIO", help="compressed files may unfold to 64 MiB and RATIO times their size "
                        "(default: 32)")
    return parser.parse_args()


def digits(text):
    if len(text) != 64 or set(text) - set("0123456789abcdef"):
        raise argparse.ArgumentTypeError(f"expected 64 lower-case hexadecimal digits, found '{text}'")
    return text


def positive(text):
    value = float(text)
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"expected a number above 0, found '{text}'")
    return value


def verify(name, options, folder):
    """Runs `mochi data verify` on a data set in a folder. Returns whether it is complete, a line for each path, and the
    errors."""
    more = ["--max-expand", options.max_expand] * bool(options.max_expand)
    ran = subprocess.run([PROGRAM, "data", "verify", name, "--json", *more], capture_output=True, text=True,
                         env={**os.environ, "MOCHI_DATA": str(folder)})
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    errors = [line.removeprefix("mochi: ") for line in ran.stderr.splitlines()]
    if ran.returncode and not lines:  # an unreadable manifest, or a name that it lacks
        raise Refused(errors[0] if errors else f"{PROGRAM}: ended with {ran.returncode}")
    return ran.returncode == 0, {line["path"]: line for line in lines}, errors


def known_digits(file):
    """The SHA-256 of what is downloaded for a file; for a member of an archive, the archive's."""
    return None if "member" in file else file.get("sha256")


def get(entry, options, states):
    """Completes a data set of the manifest and returns its counts. states: the state of each of its files."""
    name, files, downloads = entry["name"], [file for file in entry["files"] if "url" in file], {}
    may_download(entry, files, options)
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".get-", dir=FOLDER) as stage:
        stage = pathlib.Path(stage)
        try:
            for file in files:
                kept, place, url = FOLDER / file["path"], stage / file["path"], file["url"]
                place.parent.mkdir(parents=True, exist_ok=True)
                if states[file["path"]]["state"] == "ok" and kept.exists():
                    link(kept, place)
                    continue
                if url not in downloads:  # an archive with several members is one download
                    downloads[url] = DOWNLOADS / hashlib.sha256(url.encode()).hexdigest()[:32]
                    download(name, file, downloads[url], options)
                unpack(downloads[url], file, place, options.limit) if "member" in file else link(downloads[url], place)
            counts = complete(entry, options, stage)
        finally:  # after a failure, discard it: the next attempt must download again
            for path in downloads.values():
                path.unlink(missing_ok=True)
        for path in sorted(stage.rglob("*")):
            place = FOLDER / path.relative_to(stage)
            place.mkdir(exist_ok=True) if path.is_dir() else path.replace(place)
    return counts


def may_download(entry, files, options):
    """Refuses downloads without a known SHA-256, unless the user allows them."""
    name, unknown = entry["name"], sorted({file["url"] for file in files if not known_digits(file)})
    if not files:
        note = entry.get("note")
        raise Refused(f"{name}: no address to get it from; see {entry['page']}" + (f": {note}" if note else ""))
    if options.sha256 and len(unknown) != 1:
        raise Refused(f"{name}: expected one download without a SHA-256 for --sha256, found {len(unknown)}")
    if unknown and not options.sha256 and not options.accept_unverified:
        raise Refused(f"{name}: the SHA-256 of {unknown[0]} is not known: give --sha256 HEX, or --accept-unverified to take what comes")


def download(name, file, path, options):
    """Downloads and verifies the file at an address, unless it is already here."""
    url, known = file["url"], known_digits(file) or options.sha256
    limit = file["bytes"] if known_digits(file) and "bytes" in file else int(options.limit * 2**30)

    def fetch(url, output, _):
        with requests.get(url, stream=True, timeout=options.timeout, headers={"Accept-Encoding": "identity"}) as answer:
            if answer.status_code != 200:
                raise Refused(f"{url}: expected a file, found the answer {answer.status_code}")
            write(answer, url, output, limit)

    try:
        pooch.retrieve(url, known and f"sha256:{known}", fname=path.name, path=DOWNLOADS, downloader=fetch)
    except requests.RequestException as error:
        late = isinstance(error, requests.Timeout) or "Read timed out" in str(error)
        raise Refused(f"{url}: " + (f"nothing came for {options.timeout:g} s" if late else reason(error))) from None
    except ValueError as error:  # pooch raises ValueError if the hash differs
        raise Refused(f"{url}: expected SHA-256 {known}, found {str(error).partition('but got ')[2][:64]}") from None
    if not known and not options.json:
        print(f"{name}: {url} has SHA-256 {pooch.file_hash(str(path))}, which is not verified")


def complete(entry, options, stage):
    """Converts the staged files if the set needs it; returns the counts by `mochi data verify`."""
    name = entry["name"]
    if "convert" in entry:
        package = next(path for path in (HERE / "convert", HERE / "../python/mochi/convert") if path.exists())
        if subprocess.run(["python3", "-B", package, *(stage / path for path in entry["convert"])]).returncode:
            raise Refused(f"{name}: {package} could not convert the files")
    whole, states, errors = verify(name, options, stage)
    if whole:
        return next((line["counts"] for line in states.values() if "counts" in line), {})
    for line in states.values():
        if line["state"] == "differs" and "counts" not in line:
            raise Refused(f"{name}: {line['path']}: expected SHA-256 {line['expected']}, found {line['found']}")
    raise Refused(errors[0] if errors else f"{name}: expected {entry['path']} to be there now, found nothing")


def write(answer, url, output, limit):
    """Writes the body of a response, with a progress line on a terminal."""
    expected, done, live = int(answer.headers.get("Content-Length", 0)), 0, sys.stderr.isatty()
    with open(output, "wb") as file:
        for piece in answer.iter_content(PIECE):
            done += len(piece)
            if done > limit:
                raise Refused(f"{url}: expected at most {limit} bytes, found more; see --limit")
            file.write(piece)
            if live:
                print(f"\r{url.rsplit('/', 1)[-1]}: {done / 1e6:.1f} of {expected / 1e6:.1f} MB", end="\033[K", file=sys.stderr)
    if live:
        print("\r\033[K", end="", file=sys.stderr)
    if done < expected:
        raise Refused(f"{url}: the connection ended after {done} bytes of {expected}")


def unpack(archive, file, place, limit):
    """Writes one member of a zip or tar under the manifest's file name, and nothing else of the archive."""
    url, member, left = file["url"], file["member"], int(limit * 2**30)
    try:
        with zipfile.ZipFile(archive) if zipfile.is_zipfile(archive) else tarfile.open(archive) as opened:
            packed = isinstance(opened, zipfile.ZipFile)
            names = [name.removeprefix("./") for name in (opened.namelist() if packed else opened.getnames())]
            if names.count(member) != 1:
                raise Refused(f"{url}: expected one member '{member}', found {names.count(member) or 'none'} among {len(names)}")
            at = (opened.infolist() if packed else opened.getmembers())[names.index(member)]
            source = opened.open(at) if packed else opened.extractfile(at) if at.isreg() else None
            if not source:
                raise Refused(f"{url}: expected a file '{member}', found a link, a folder or a device")
            with open(place, "wb") as output:
                while piece := source.read(PIECE):
                    left -= len(piece)
                    if left < 0:
                        raise Refused(f"{url}: expected less to unpack than the limit, found more; see --limit")
                    output.write(piece)
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, RuntimeError, EOFError) as error:
        raise Refused(f"{url}: cannot unpack: {str(error).splitlines()[0]}") from None


def link(source, place):
    try:
        os.link(source, place)
    except OSError:
        shutil.copyfile(source, place)


def reason(error):
    """The innermost reason of an error of requests, in one line."""
    while error.args and isinstance(error.args[0], Exception):
        error = error.args[0]
    return str(getattr(error, "reason", error)).splitlines()[0]


def interrupted(number, _):
    print("mochi: data get: interrupted", file=sys.stderr)
    raise SystemExit(128 + number)  # SystemExit removes the temporary folders


def main():
    options = arguments()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    own = [pathlib.Path(os.environ["MOCHI_EMBEDDED"])] if "MOCHI_EMBEDDED" in os.environ else [HERE, HERE / "../../train/data"]
    manifest = next((path / "manifest.json" for path in own if (path / "manifest.json").exists()), own[0] / "manifest.json")
    status = 0
    for name in options.names:  # a failure does not end the loop
        try:
            whole, states, _ = verify(name, options, FOLDER)
            entry = next(entry for entry in json.loads(manifest.read_text())["datasets"] if entry["name"].lower() == name.lower())
            counts = None if whole else get(entry, options, states)
            if whole and not options.json:
                print(f"{name}: complete below {FOLDER}")
            elif options.json and not whole:
                print(json.dumps({"name": entry["name"], "folder": str(FOLDER), **counts}))
            elif not whole:
                print(f"{entry['name']}: {', '.join(f'{n} {what}' for what, n in counts.items())} in {FOLDER}/{entry['path']}; "
                      f"licence: {entry['licence']}")
        except Refused as error:
            status = 1
            print(f"mochi: {error}", file=sys.stderr)
        except OSError as error:
            status = 1
            print(f"mochi: {error.filename or FOLDER}: {error.strerror or error}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
