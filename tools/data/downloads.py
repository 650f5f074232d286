#!/usr/bin/env python3
"""mochi data get, mochi data verify: downloads data sets of the paper into the data folder, and compares what is there with the
manifest (train/data/manifest.json).

Every download is compared with its SHA-256 before anything reads it. The files of a set are assembled in a folder beside their
final place, verified there, and only then moved. Downloads stay in mochi/downloads/ of the user's cache folder until the set is
in place.
"""

import argparse
import gzip
import hashlib
import json
import lzma
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib

try:
    import pooch
    import requests
    pooch.get_logger().setLevel("ERROR")
except ImportError:  # `verify` does without
    pooch = None

PIECE = 1 << 16  # bytes
HERE = pathlib.Path(__file__).resolve().parent
FOLDER = pathlib.Path(os.environ.get("MOCHI_DATA") or pathlib.Path.home() / ".local/share/mochi")
PROGRAM = os.environ.get("MOCHI_PROGRAM", "mochi")  # the mochi that started this script


class Refused(Exception):
    """Raised if a data set cannot be obtained or read; the text gives the reason in one line."""


def arguments():
    parser = argparse.ArgumentParser(prog="mochi data")
    actions = parser.add_subparsers(dest="action", required=True)
    getter = actions.add_parser(
        "get", description="Downloads data sets of the paper into the data folder, verifies, unpacks, and checks their counts.",
        epilog="Examples: mochi data get enron; mochi data get nci1 --accept-unverified")
    getter.add_argument("names", metavar="NAME", nargs="+", help="a name of `mochi data list --all`")
    unknown = getter.add_mutually_exclusive_group()
    unknown.add_argument("--accept-unverified", action="store_true", help="accept a download whose SHA-256 is unknown; its counts "
                         "are still checked")
    unknown.add_argument("--sha256", metavar="HEX", type=digits, help="the SHA-256 that such a download must have")
    getter.add_argument("--timeout", metavar="SECONDS", type=positive, default=60, help="give up after this long without "
                        "data (default: 60)")
    getter.add_argument("--limit", metavar="GIB", type=positive, default=16, help="largest download, and largest "
                        "unpacked file (default: 16)")
    verifier = actions.add_parser(
        "verify", description="Compares the files in the data folder with the manifest: their SHA-256, then the counts of what is "
        "read from them.", epilog="Example: mochi data verify")
    verifier.add_argument("names", metavar="NAME", nargs="*", help="a name of `mochi data list --all` (default: every data set "
                          "that has a file in the data folder)")
    for action, what in (getter, "data set"), (verifier, "file and data set"):
        action.add_argument("--json", action="store_true", help=f"one JSON object per {what} on standard output")
        action.add_argument("--max-expand", metavar="RATIO", help="compressed files may unfold to 64 MiB and RATIO times their size "
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


# ---- the manifest ----

def read_manifest():
    own = [pathlib.Path(os.environ["MOCHI_EMBEDDED"])] if "MOCHI_EMBEDDED" in os.environ else [HERE, HERE / "../../train/data"]
    path = next((path / "manifest.json" for path in own if (path / "manifest.json").exists()), own[0] / "manifest.json")
    try:
        entries = json.loads(path.read_text()).get("datasets")
    except (ValueError, AttributeError) as error:
        raise Refused(f"{path}: expected a manifest: {error}") from None
    if not isinstance(entries, list):
        raise Refused(f'{path}: expected a manifest: no list "datasets"')
    return entries


def find_entry(manifest, name):
    for entry in manifest:
        if entry["name"].lower() == name.lower():
            return entry
    raise Refused(f"'{name[:200]}': expected a name of the manifest; mochi data list --all shows them")


def place_of(folder, path):
    """The file of the manifest's path in a folder, plain or gzipped; None if there is none."""
    return next((place for place in (folder / path, folder / (path + ".gz")) if place.exists()), None)


# ---- verify ----

def digest(place, packed):
    """The SHA-256 of a file; if `packed`, of the text inside a gzipped file."""
    if not stat.S_ISREG(place.stat().st_mode):  # a pipe without a writer would be waited for
        raise Refused(f"{place}: expected a file, found something else")
    found = hashlib.sha256()
    try:
        with gzip.open(place) if packed else open(place, "rb") as file:
            while piece := file.read(PIECE):
                found.update(piece)
    except (OSError, EOFError, zlib.error) as error:  # gzip raises each of them on damaged files
        raise Refused(f"{place}: cannot read: {getattr(error, 'strerror', None) or error}") from None
    return found.hexdigest()


def verify_file(name, file, folder):
    """A line on a file of an entry: its state is ok, differs, absent, or unverified if the manifest has no SHA-256 of it. An
    error is there if the file cannot be read."""
    path, known, copy = file["path"], file.get("sha256"), file.get("copy_sha256")  # copy: other bytes of equal content
    line = {"name": name, "path": path, "state": "absent", "expected": known or copy, "found": None}
    place = place_of(folder, path)
    try:
        if place:
            line["found"] = digest(place, place.suffix == ".gz" and not path.endswith(".gz"))
            line["state"] = "ok" if line["found"] in (known, copy) else "differs" if known else "unverified"
    except Refused as error:
        return line, str(error)
    return line, None


def read_counts(entry, place, options):
    """The counts of the graph in a file, as `mochi data info` reads it. Raises Refused unless they are the manifest's."""
    more = ["--max-expand", options.max_expand] * bool(options.max_expand)
    ran = subprocess.run([PROGRAM, "data", "info", place, "--json", *more], capture_output=True, text=True)
    if ran.returncode:
        errors = ran.stderr.splitlines() or [f"{PROGRAM}: ended with {ran.returncode}"]
        raise Refused(errors[-1].removeprefix("mochi: "))
    graph = json.loads(ran.stdout)
    if graph["kind"] != "graph":
        raise Refused(f"{place}: expected a graph, found {graph['kind']}")
    # The attributes of a TU set are no features when the set is opened by name.
    found = {"graphs": graph["graphs"], "nodes": graph["nodes"], "edges": graph["edges"],
             "features": graph["features"] - graph["attributes"], "classes": len(graph["classes"])}
    for what, number in entry.get("counts", {}).items():
        if found[what] != number:
            raise Refused(f"{entry['name']}: expected {number} {what}, found {found[what]} in {place}")
    return found


def verify(entry, options, folder):
    """Compares an entry's files in a folder, and the counts of what is read from them, with the manifest. Returns whether all is
    well, a line for each path, and the errors."""
    name, lines, errors, fine = entry["name"], [], [], True
    loaded = place_of(folder, entry["path"]) if "path" in entry else None
    for file in entry["files"]:
        line, error = verify_file(name, file, folder)
        lines.append(line)
        errors += [error] * bool(error)
        # If the converted file is here, the files that it was made from can be absent.
        fine &= line["state"] in ("ok", "unverified") or (line["state"] == "absent" and bool(loaded) and "convert" in entry)
    if loaded:
        line = {"name": name, "path": str(loaded), "state": "ok"}
        try:
            line["counts"] = read_counts(entry, loaded, options)
        except Refused as error:
            line["state"] = "differs"
            errors.append(str(error))
        lines.append(line)
    return fine and not errors, lines, errors


def print_verified(line, as_json):
    if as_json:
        print(json.dumps(line))
    elif "counts" in line:
        print(f"{'ok':10} {line['name']}: {', '.join(f'{n} {what}' for what, n in line['counts'].items())}")
    elif line["state"] == "differs" and "expected" in line:
        print(f"{'differs':10} {line['path']}: expected {line['expected']}, found {line['found']}")
    elif "expected" in line:
        print(f"{line['state']:10} {line['path']}")


def verify_all(options, manifest):
    """Verifies the named entries; without names, all entries that have a file here. Returns whether all are well."""
    entries = [find_entry(manifest, name) for name in options.names] or [
        entry for entry in manifest if any(place_of(FOLDER, file["path"]) for file in entry["files"])]
    if not entries:
        raise Refused(f"{FOLDER}: expected files of the manifest, found none; mochi data get fetches them")
    whole = True
    for entry in entries:
        fine, lines, errors = verify(entry, options, FOLDER)
        whole &= fine
        for line in lines:
            print_verified(line, options.json)
        sys.stdout.flush()
        for error in errors:
            report(error)
    return whole


# ---- get ----

def known_digits(file):
    """The SHA-256 of what is downloaded for a file; for a member of an archive, the archive's."""
    return None if "member" in file else file.get("sha256")


def get(entry, options, lines):
    """Completes a data set of the manifest and returns its counts. lines: what `verify` found."""
    name, files, downloads = entry["name"], [file for file in entry["files"] if "url" in file], {}
    right = {line["path"] for line in lines if line["state"] == "ok"}
    may_download(entry, files, options)
    keep = pathlib.Path(pooch.os_cache("mochi")) / "downloads"
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".get-", dir=FOLDER) as stage:
        stage = pathlib.Path(stage)
        try:
            for file in files:
                kept, place, url = FOLDER / file["path"], stage / file["path"], file["url"]
                place.parent.mkdir(parents=True, exist_ok=True)
                if file["path"] in right and kept.exists():
                    link(kept, place)
                    continue
                if url not in downloads:  # an archive with several members is one download
                    downloads[url] = keep / hashlib.sha256(url.encode()).hexdigest()[:32]
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
        pooch.retrieve(url, known and f"sha256:{known}", fname=path.name, path=path.parent, downloader=fetch)
    except requests.RequestException as error:
        late = isinstance(error, requests.Timeout) or "Read timed out" in str(error)
        raise Refused(f"{url}: " + (f"nothing came for {options.timeout:g} s" if late else reason(error))) from None
    except ValueError as error:  # pooch raises ValueError if the hash differs
        raise Refused(f"{url}: expected SHA-256 {known}, found {str(error).partition('but got ')[2][:64]}") from None
    if not known and not options.json:
        print(f"{name}: {url} has SHA-256 {pooch.file_hash(str(path))}, which is not verified")


def complete(entry, options, stage):
    """Converts the staged files if the set needs it; returns the counts."""
    name = entry["name"]
    if "convert" in entry:
        package = next(path for path in (HERE / "convert", HERE / "../python/mochi/convert") if path.exists())
        if subprocess.run(["python3", "-B", package, *(stage / path for path in entry["convert"])]).returncode:
            raise Refused(f"{name}: {package} could not convert the files")
    whole, lines, errors = verify(entry, options, stage)
    for line in lines:
        if line["state"] == "differs" and "expected" in line:
            raise Refused(f"{name}: {line['path']}: expected SHA-256 {line['expected']}, found {line['found']}")
    if not whole:
        raise Refused(errors[0] if errors else f"{name}: expected {entry['path']} to be there now, found nothing")
    return next((line["counts"] for line in lines if "counts" in line), {})


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


def get_one(entry, options):
    whole, lines, _ = verify(entry, options, FOLDER)
    if whole:
        if not options.json:
            print(f"{entry['name']}: complete below {FOLDER}")
        return
    counts = get(entry, options, lines)
    if options.json:
        print(json.dumps({"name": entry["name"], "folder": str(FOLDER), **counts}))
    else:
        print(f"{entry['name']}: {', '.join(f'{n} {what}' for what, n in counts.items())} in {FOLDER}/{entry['path']}; "
              f"licence: {entry['licence']}")


def get_all(options, manifest):
    """Gets the named entries. Returns whether all are here now; a failure does not end the loop."""
    whole = True
    for name in options.names:
        try:
            get_one(find_entry(manifest, name), options)
        except Refused as error:
            whole = False
            report(error)
        except OSError as error:
            whole = False
            report(f"{error.filename or FOLDER}: {error.strerror or error}")
    return whole


def need_pooch():
    if pooch is None:
        # The first python3 in PATH need not be Debian's, which has the package.
        if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
            os.execv("/usr/bin/python3", ["/usr/bin/python3", "-B", *sys.argv])
        sys.exit("mochi: data get: expected the Python package pooch, found none: apt-get install python3-pooch, or pip install pooch")


# ---- the script ----

def report(error):
    """Prints an error in one line; a name in it does not control the terminal."""
    print("mochi: " + "".join(c if c.isprintable() else "?" for c in str(error)), file=sys.stderr)


def main():
    options = arguments()

    def interrupted(number, _):
        print(f"mochi: data {options.action}: interrupted", file=sys.stderr)
        raise SystemExit(128 + number)  # SystemExit removes the temporary folders

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    if options.action == "get":
        need_pooch()
    try:
        whole = (get_all if options.action == "get" else verify_all)(options, read_manifest())
    except Refused as error:
        report(error)
        return 1
    except OSError as error:
        report(f"{error.filename}: {error.strerror or error}")
        return 1
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
