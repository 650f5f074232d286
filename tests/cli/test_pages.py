#!/usr/bin/env python3
"""Opens the page that mochi-report writes in Chromium. It must print nothing on the console, request nothing, and be
no wider than the screens of a phone and a desk; the bars of adjoints must be visible above their letters in mochi.html,
in Chromium and, if it is installed, in Firefox.

Usage: test_pages.py MOCHI [MOCHI.HTML]. Skipped (77) if chromium, matplotlib, node or KaTeX is missing. A page that breaks all of
this tests the checks themselves."""
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zlib

SKIPPED = 77
PHONE, DESK = 390, 1280  # pixels
SETTLED = 2000           # milliseconds of the pages' own time
ASK = "<script>onload = () => parent.postMessage('%s ' + document.documentElement.scrollWidth, '*')</script></body>"
COLLECT = "<!DOCTYPE html><pre></pre><script>onmessage = e => { document.querySelector('pre').append(e.data + '\\n') }</script>"
BAD = ("<!DOCTYPE html><title>x</title><img src='http://127.0.0.1:9/x.png'><script>console.error('seen')</script>"
       "<div style='width: 500px'>wide</div></body></html>")
STRIP, LETTER = 240, 96  # pixels: of a strip with one formula, and its font's size
KATEX = os.environ.get("KATEX", "/usr/share/javascript/katex/katex.js")
REPORT = os.path.join(os.path.dirname(__file__), "..", "..", "tools", "report", "report.py")


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"{command}: {done.returncode}: {done.stderr[-500:]}"
    return done.stdout


# ---- the pages ----


def python_of_report():
    """A Python with the packages for a report: this one or Debian's; None if neither."""
    return next((python for python in (sys.executable, "/usr/bin/python3") if not subprocess.run(
        [python, "-c", "import jinja2, matplotlib, xxhash"], stderr=subprocess.DEVNULL).returncode), None)


def write_report(mochi, folder):
    """A report in which a path is longer than a phone's width."""
    evaluation = os.path.join(folder, "eval.jsonl")
    weights = os.path.join(folder, "a-path-that-is-longer-than-a-phone-is-wide", "weights.safetensors")
    os.mkdir(os.path.dirname(weights))
    shutil.copy(os.path.join(os.path.dirname(__file__), "..", "..", "train", "data", "best.safetensors"), weights)
    with open(evaluation, "w") as file:
        file.write(run([mochi, "eval", "--weights", weights, "--data", "mutag", "--shots", "4,16", "--seeds", "2",
                        "--quiet", "--json"]))
    run([python_of_report(), REPORT, evaluation, "--out", os.path.join(folder, "report.html")])


def write_pages(mochi, folder):
    write_report(mochi, folder)
    return sorted(name for name in os.listdir(folder) if name.endswith(".html"))


# ---- the browser ----


def open_page(page, folder, *options):
    """What the browser printed, and the page after its scripts have run. The browser's own requests are blocked."""
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
    """The console's messages, and the addresses that pages requested."""
    log = os.path.join(folder, "net.json")
    done = open_page(frames_of(names, [DESK], folder, "<!DOCTYPE html>"), folder, "--log-net-log=" + log)
    said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    with open(log) as file:
        asked = {event["params"]["url"] for event in json.load(file)["events"]
                 if event.get("params", {}).get("initiator", "not an origin") != "not an origin"}
    return said, asked - {f"file://{folder}/{name}" for name in names}


def widths_of(names, folder):
    """How wide each page becomes in frames of the two widths: [(name, width, reach)]. The page's policy, which forbids
    scripts, is removed so that a script can report the width."""
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


# ---- formulas as they are drawn ----


def pixels(path):
    """The rows of a PNG with 8 bits per channel, as Chromium writes it: for each pixel, whether it is dark."""
    with open(path, "rb") as file:
        data = file.read()
    at, packed, header = 8, b"", None
    while at < len(data):
        n, kind = int.from_bytes(data[at:at + 4], "big"), data[at + 4:at + 8]
        header = data[at + 8:at + 8 + n] if kind == b"IHDR" else header
        packed += data[at + 8:at + 8 + n] if kind == b"IDAT" else b""
        at += 12 + n
    width, height = (int.from_bytes(header[i:i + 4], "big") for i in (0, 4))
    assert header[8] == 8 and header[9] in (2, 6) and header[12] == 0, header
    step, raw = 3 if header[9] == 2 else 4, zlib.decompress(packed)
    above, rows = bytes(width * step), []
    for y in range(height):
        start = y * (width * step + 1)
        row, how = bytearray(raw[start + 1:start + 1 + width * step]), raw[start]
        for x in range(len(row)):
            left, corner = (row[x - step], above[x - step]) if x >= step else (0, 0)
            nearest = min((abs(above[x] - corner), 0, left), (abs(left - corner), 1, above[x]),
                          (abs(left + above[x] - 2 * corner), 2, corner))[2]
            row[x] = (row[x] + (0, left, above[x], (left + above[x]) // 2, nearest)[how]) % 256
        above = bytes(row)
        rows.append([sum(above[x:x + 3]) < 300 for x in range(0, len(above), step)])
    return rows


def firefox_draws(page, height, picture, folder):
    """Firefox's picture of a page."""
    command = ["firefox-esr", "--headless", "--no-remote", "--profile", os.path.join(folder, "firefox"),
               f"--window-size=500,{height}", "--screenshot", picture, "file://" + page]
    os.makedirs(command[4], exist_ok=True)
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, env={**os.environ, "HOME": folder})
    assert os.path.exists(picture), f"firefox: {done.returncode}: {done.stderr[-500:]}"


def picture_of(formulas, style, folder, browser="chromium"):
    """The rows of a screenshot in which each formula has its own strip."""
    page, picture = (os.path.join(folder, name) for name in ("strips.htm", "strips.png"))
    with open(page, "w") as file:
        file.write(f"<!DOCTYPE html><meta charset='utf-8'><style>{style}\nbody{{margin:0;padding:0;max-width:none}}"
                   f"div.strip{{height:{STRIP}px;overflow:hidden;padding-left:40px}}.strip math,.strip .katex,.strip .bar{{font-size:{LETTER}px}}"
                   "</style>" + "".join(f"<div class='strip'>{formula}</div>" for formula in formulas))
    if browser == "firefox":
        firefox_draws(page, STRIP * len(formulas), picture, folder)
    else:
        open_page(page, folder, "--hide-scrollbars", f"--window-size=500,{STRIP * len(formulas)}", "--screenshot=" + picture)
    rows = pixels(picture)
    return [rows[i * STRIP:(i + 1) * STRIP] for i in range(len(formulas))]


def bars_unseen(adjoints, style, folder, browser="chromium"):
    """The adjoints above whose letter there is no bar: the first rows of ink must be wider than high and followed by a
    gap."""
    unseen = []
    for adjoint, strip in zip(adjoints, picture_of(adjoints, style, folder, browser)):
        parts, dark = [], False  # bands of adjacent rows with ink
        for row in strip:
            if any(row) and not dark:
                parts.append([])
            dark = any(row)
            if dark:
                parts[-1].append(row)
        columns = [x for row in parts[0] for x, ink in enumerate(row) if ink] if parts else [0]
        if len(parts) < 2 or len(parts[0]) > LETTER / 8 or max(columns) - min(columns) < 2 * len(parts[0]):
            unseen.append(adjoint)
    return unseen


def lecture_formulas(page):
    """Barred letters as mochi.html sets them, and its style."""
    with open(page) as file:
        style = re.search(r"<style>(.*?)</style>", file.read(), re.S)[1]
    script = f"const k = require({json.dumps(KATEX)}); for (const l of 'ABXYKVw') console.log(k.renderToString('\\\\bar{{' + l + '}}', {{output: 'html'}}))"
    return run(["node", "-e", script]).splitlines() + ["<span class='bar'>B</span>"], style


def check_formulas(page, folder):
    """Runs the checks on mochi.html and returns a summary."""
    formulas, style = lecture_formulas(page)
    for browser in ["chromium"] + (["firefox"] if shutil.which("firefox-esr") else []):
        assert not bars_unseen(formulas, style, folder, browser), (browser, bars_unseen(formulas, style, folder, browser))
        assert bars_unseen(["<math><mi>B</mi></math>"], style, folder, browser), browser
    return f"{len(formulas)} adjoints have bars"


def main():
    for found, package in ((shutil.which("chromium"), "chromium"), (python_of_report(), "python3-matplotlib, -jinja2 or -xxhash"),
                           (shutil.which("node") and os.path.exists(KATEX), "node or libjs-katex")):
        if not found:
            print(f"skipped: no {package}")
            return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        names = write_pages(os.path.abspath(sys.argv[1]), folder)
        said, asked = faults_seen(names, folder)
        assert not said, said
        assert not asked, asked
        assert not too_wide(names, folder), too_wide(names, folder)
        seen = check_formulas(sys.argv[2], folder) if len(sys.argv) > 2 else "no mochi.html"
        with open(os.path.join(folder, "bad.html"), "w") as file:
            file.write(BAD)
        said, asked = faults_seen(["bad.html"], folder)
        assert any("seen" in line for line in said) and asked == {"http://127.0.0.1:9/x.png"}, (said, asked)
        assert too_wide(["bad.html"], folder) == [("bad.html", PHONE, 508)], widths_of(["bad.html"], folder)
    print(f"{len(names)} pages: no word on the console, no request, no wider than {PHONE} and {DESK} pixels; {seen}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
