#!/usr/bin/env python3
"""A page of `mochi report` opens in Chromium without a word on the console and without a request, and is no wider than
a phone.

Usage: test_report_page.py MOCHI. Skipped (77) where chromium or gnuplot is not installed. The same check on a page that
does both says that it would be seen."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
PHONE = 390  # pixels
# The page in a frame of that width says how far it reaches; its policy, which forbids scripts, is left out.
FRAME = """<!DOCTYPE html><iframe src='%s' width='%d' height='800'></iframe><script>
onmessage = e => { document.title = e.data }</script>"""
ASK = "<script>onload = () => parent.postMessage('width ' + document.documentElement.scrollWidth, '*')</script></body>"
BAD = '<!DOCTYPE html><title>x</title><img src="http://127.0.0.1:9/x.png"><script>console.error("seen")</script>'


def open_page(page, folder):
    """The console's messages, and the addresses that the page requested. The browser's own requests go nowhere."""
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


def width_of(page, folder):
    """How far the page reaches in a frame of a phone's width."""
    with open(page) as file:
        text = re.sub("<meta http-equiv='Content-Security-Policy'[^>]*>", "", file.read())
    for name, content in (("inner.html", text.replace("</body>", ASK)), ("outer.html", FRAME % ("inner.html", PHONE))):
        with open(os.path.join(folder, name), "w") as file:
            file.write(content)
    run = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                          "--user-data-dir=" + os.path.join(folder, "profile"), "--virtual-time-budget=5000",
                          "--window-size=1000,900", "--dump-dom", "file://" + os.path.join(folder, "outer.html")],
                         capture_output=True, text=True, timeout=120)
    found = re.search("<title>width ([0-9]+)</title>", run.stdout)
    assert found, run.stdout[-500:] + run.stderr[-500:]
    return int(found.group(1))


def write_page(mochi, folder):
    lines, evaluation = (os.path.join(folder, name) for name in ("pitfalls.jsonl", "eval.jsonl"))
    page = os.path.join(folder, "report.html")
    weights = os.path.join(folder, "a-path-that-is-longer-than-a-phone-is-wide", "weights.safetensors")
    os.mkdir(os.path.dirname(weights))
    shutil.copy(os.path.join(os.path.dirname(__file__), "..", "..", "train", "data", "best.safetensors"), weights)
    with open(lines, "w") as file:
        subprocess.run([mochi, "pitfalls", "all", "--seeds", "3", "--json"], stdout=file, check=True)
    with open(evaluation, "w") as file:
        subprocess.run([mochi, "eval", "--weights", weights, "--data", "mutag", "--shots", "4,16", "--seeds", "2",
                        "--quiet", "--json"], stdout=file, check=True)
    subprocess.run([mochi, "report", lines, evaluation, "--out", page], check=True)
    return page


def main():
    for program, package in (("chromium", "chromium"), ("gnuplot", "gnuplot-nox")):
        if not shutil.which(program):
            print(f"skipped: no {program} (Debian package {package})")
            return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        page = write_page(os.path.abspath(sys.argv[1]), folder)
        said, asked = open_page(page, folder)
        assert not said, said
        assert not asked, asked
        assert width_of(page, folder) <= PHONE, width_of(page, folder)
        bad = os.path.join(folder, "bad.html")
        with open(bad, "w") as file:
            file.write(BAD)
        said, asked = open_page(bad, folder)
        assert any("seen" in line for line in said) and asked == {"http://127.0.0.1:9/x.png"}, (said, asked)
    print("no word on the console, no request, no wider than a phone")
    return 0


if __name__ == "__main__":
    sys.exit(main())
