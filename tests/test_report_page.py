#!/usr/bin/env python3
"""A page of `mochi report` opens in Chromium without a word on the console and without a request.

Usage: test_report_page.py MOCHI. Skipped (77) where chromium or gnuplot is not installed. The same check on a page that
does both says that it would be seen."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
BAD = '<!DOCTYPE html><title>x</title><img src="http://127.0.0.1:9/x.png"><script>console.error("seen")</script>'


def open_page(page, folder):
    """What the console said, and the addresses that the page asked for. The browser's own requests go nowhere."""
    log = os.path.join(folder, "net.json")
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
               "--disable-background-networking", "--user-data-dir=" + os.path.join(folder, "profile"),
               "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--enable-logging=stderr",
               "--log-net-log=" + log, "--virtual-time-budget=2000", "--dump-dom", "file://" + page]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0 and "</html>" in run.stdout, f"chromium ended with {run.returncode}: {run.stderr[-500:]}"
    said = [line for line in run.stderr.splitlines() if "CONSOLE" in line]
    asked = {event["params"]["url"] for event in json.load(open(log))["events"]
             if event.get("params", {}).get("initiator", "not an origin") != "not an origin"}
    return said, asked


def write_page(mochi, folder):
    lines = os.path.join(folder, "pitfalls.jsonl")
    page = os.path.join(folder, "report.html")
    with open(lines, "w") as file:
        subprocess.run([mochi, "pitfalls", "all", "--seeds", "3", "--json"], stdout=file, check=True)
    subprocess.run([mochi, "report", lines, "--out", page], check=True)
    return page


def main():
    for program, package in (("chromium", "chromium"), ("gnuplot", "gnuplot-nox")):
        if not shutil.which(program):
            print(f"skipped: no {program} (Debian package {package})")
            return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        said, asked = open_page(write_page(os.path.abspath(sys.argv[1]), folder), folder)
        assert not said, said
        assert not asked, asked
        bad = os.path.join(folder, "bad.html")
        with open(bad, "w") as file:
            file.write(BAD)
        said, asked = open_page(bad, folder)
        assert any("seen" in line for line in said) and asked == {"http://127.0.0.1:9/x.png"}, (said, asked)
    print("no word on the console, no request")
    return 0


if __name__ == "__main__":
    sys.exit(main())
