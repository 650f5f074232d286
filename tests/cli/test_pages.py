#!/usr/bin/env python3
"""Every page that the program writes opens in Chromium without a word on the console and without a request, and is no
wider than a phone or a desk's screen.

Usage: test_pages.py MOCHI. Skipped (77) where chromium or gnuplot is not installed. The same check on a page that does
all three says that it would be seen."""
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
PHONE, DESK = 390, 1280  # pixels
SETTLED = 2000           # milliseconds of the pages' own time
ASK = "<script>onload = () => parent.postMessage('%s ' + document.documentElement.scrollWidth, '*')</script></body>"
COLLECT = "<!DOCTYPE html><pre></pre><script>onmessage = e => { document.querySelector('pre').append(e.data + '\\n') }</script>"
BAD = ("<!DOCTYPE html><title>x</title><img src='http://127.0.0.1:9/x.png'><script>console.error('seen')</script>"
       "<div style='width: 500px'>wide</div></body></html>")
LABS = {"adjoint": ["--iterations", "4,8"], "conditioning": [], "truncation": [],
        "differences": [], "checkpointing": []}


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"{command}: {done.returncode}: {done.stderr[-500:]}"
    return done.stdout


# ---- the pages ----


def write_report(mochi, folder):
    """A report, in which a path is longer than a phone is wide."""
    lines, evaluation = (os.path.join(folder, name) for name in ("pitfalls.jsonl", "eval.jsonl"))
    weights = os.path.join(folder, "a-path-that-is-longer-than-a-phone-is-wide", "weights.safetensors")
    os.mkdir(os.path.dirname(weights))
    shutil.copy(os.path.join(os.path.dirname(__file__), "..", "..", "train", "data", "best.safetensors"), weights)
    with open(lines, "w") as file:
        file.write(run([mochi, "pitfalls", "all", "--seeds", "3", "--json"]))
    with open(evaluation, "w") as file:
        file.write(run([mochi, "eval", "--weights", weights, "--data", "mutag", "--shots", "4,16", "--seeds", "2",
                        "--quiet", "--json"]))
    run([mochi, "report", lines, evaluation, "--out", os.path.join(folder, "report.html")])


def write_pages(mochi, folder):
    write_report(mochi, folder)
    topics = re.findall(r"^([a-z]\w*) ", run([mochi, "explain"]), re.M)
    assert len(topics) >= 20, topics
    for topic in topics:
        run([mochi, "explain", topic, "--html", os.path.join(folder, f"explain-{topic}.html")])
    run([mochi, "explain", "solve", "--step", "--html", os.path.join(folder, "step.html")])
    for lab, options in LABS.items():
        run([mochi, "lab", lab, *options, "--html", os.path.join(folder, f"lab-{lab}.html")])
    run([mochi, "graph", "--html", os.path.join(folder, "graph.html")])
    return sorted(name for name in os.listdir(folder) if name.endswith(".html"))


# ---- the browser ----


def open_page(page, folder, *options):
    """What the browser said, and the page as its scripts left it. The browser's own requests go nowhere."""
    done = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                           "--disable-background-networking", "--user-data-dir=" + os.path.join(folder, "profile"),
                           "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--enable-logging=stderr",
                           f"--virtual-time-budget={SETTLED}", "--dump-dom", *options, "file://" + page],
                          capture_output=True, text=True, timeout=200)
    assert done.returncode == 0 and "</html>" in done.stdout, f"chromium: {done.returncode}: {done.stderr[-500:]}"
    return done


def frames_of(names, widths, folder, start):
    page = os.path.join(folder, "frames.htm")
    with open(page, "w") as file:
        file.write(start + "".join(f"<iframe src='{name}' width='{width}' height='800'></iframe>"
                                   for name in names for width in widths))
    return page


def faults_seen(names, folder):
    """The console's messages, and the addresses that the pages requested."""
    log = os.path.join(folder, "net.json")
    done = open_page(frames_of(names, [DESK], folder, "<!DOCTYPE html>"), folder, "--log-net-log=" + log)
    said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    with open(log) as file:
        asked = {event["params"]["url"] for event in json.load(file)["events"]
                 if event.get("params", {}).get("initiator", "not an origin") != "not an origin"}
    return said, asked - {f"file://{folder}/{name}" for name in names}


def widths_of(names, folder):
    """How far each page reaches in a frame of either width: [(name, width, reach)]. The policy of a page, which forbids
    scripts, is left out there, so that the page can say it."""
    for name in names:
        with open(os.path.join(folder, name)) as file:
            text = re.sub("<meta http-equiv=['\"]Content-Security-Policy[^>]*>", "", file.read())
        assert text.count("</body>") == 1, name
        for width in (PHONE, DESK):
            with open(os.path.join(folder, f"{name}.{width}.htm"), "w") as file:
                file.write(text.replace("</body>", ASK % f"{name} {width}"))
    page = os.path.join(folder, "widths.htm")
    with open(page, "w") as file:
        file.write(COLLECT + "".join(f"<iframe src='{name}.{width}.htm' width='{width}' height='800' frameborder='0'>"
                                     "</iframe>" for name in names for width in (PHONE, DESK)))
    found = re.findall(r"^(\S+\.html) (\d+) (\d+)$", html.unescape(open_page(page, folder).stdout.replace("<pre>", "\n")),
                       re.M)
    assert len(found) == 2 * len(names), (found, names)
    return [(name, int(width), int(reach)) for name, width, reach in found]


def too_wide(names, folder):
    return [(name, width, reach) for name, width, reach in widths_of(names, folder) if reach > width]


def main():
    for program, package in (("chromium", "chromium"), ("gnuplot", "gnuplot-nox")):
        if not shutil.which(program):
            print(f"skipped: no {program} (Debian package {package})")
            return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        names = write_pages(os.path.abspath(sys.argv[1]), folder)
        said, asked = faults_seen(names, folder)
        assert not said, said
        assert not asked, asked
        assert not too_wide(names, folder), too_wide(names, folder)
        with open(os.path.join(folder, "bad.html"), "w") as file:
            file.write(BAD)
        said, asked = faults_seen(["bad.html"], folder)
        assert any("seen" in line for line in said) and asked == {"http://127.0.0.1:9/x.png"}, (said, asked)
        assert too_wide(["bad.html"], folder) == [("bad.html", PHONE, 508)], widths_of(["bad.html"], folder)
    print(f"{len(names)} pages: no word on the console, no request, no wider than {PHONE} and {DESK} pixels")
    return 0


if __name__ == "__main__":
    sys.exit(main())
