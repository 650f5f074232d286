#!/usr/bin/env python3
"""tests/cli/test_report.py - tests mochi-report: its page shows the measured figures under their names and requests
nothing; the paper's score S; and messages about wrong input. report.cases runs the command; test_pages.py opens such a
page in a browser.

Usage: test_report.py      skipped (77) if no Python has matplotlib, jinja2 and xxhash"""
import importlib.util
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SCRIPT = os.path.join(ROOT, "tools", "report", "report.py")


def able(python):
    return not subprocess.run([python, "-c", "import jinja2, matplotlib, xxhash"], stderr=subprocess.DEVNULL).returncode


if not able(sys.executable):
    if sys.executable == "/usr/bin/python3" or not os.path.exists("/usr/bin/python3") or not able("/usr/bin/python3"):
        print("skipped: no Python with matplotlib, jinja2 and xxhash (Debian packages python3-matplotlib, -jinja2, -xxhash)")
        sys.exit(77)
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])

sys.dont_write_bytecode = True
spec = importlib.util.spec_from_file_location("report", SCRIPT)
report = importlib.util.module_from_spec(spec)
spec.loader.exec_module(report)


def cell(features, k, mean, **more):
    return {"kind": "cell", "data": "cora", "task": "nc", "protocol": "split", "features": features, "head": "ridge", "k": k,
            "metric": "accuracy", "mean": mean, "sd": 1, "ci95": 2.5, "values": [1, 2], **more}


def links(features, k):
    return cell(features, k, 80, task="lp", metric="auc")


RUN = {"kind": "run", "format": 1, "command": ["mochi eval", "--weights", "it's $HOME/w", "--json"], "versions": {"mochi": "0.1.0"},
       "blas_core": "Haswell", "weights": [{"features": "<i>mine</i>", "file": "w", "recipe": "best",
                                            "xxh3": "99aa06d3014798d86001c324468d497f"}]}  # the digest of an empty file
ABOUT = {"settings": {"recipe": "best", "pool": ["citeseer", "a b"], "steps": 2, "episodes_per_step": 3, "lr": 0.01, "lr_min": 0, "k": [4, 64]},
         "pool": [{"data": "citeseer", "task": "nc", "hash": "c98"}], "version": "0.1.0", "blas_core": "Haswell"}
STEPS = [{"step": 0, "loss": 1.5, "accuracy": {"nc": 0.5}, "seconds": 0.25}, {"step": 1, "loss": 1.25, "accuracy": {"nc": 0.75}, "seconds": 0.5}]
UNSEEN = "<h2>Few-shot accuracy on graphs that were not trained on</h2>"


def lines(*objects):
    return "".join(json.dumps(o) + "\n" for o in objects)


class Pages(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def put(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def run_folder(self, about=ABOUT, log=lines(*STEPS)):
        os.makedirs(os.path.join(self.folder.name, "run"), exist_ok=True)
        self.put("run/run.json", about if isinstance(about, str) else json.dumps(about))
        self.put("run/log.jsonl", log)
        self.put("run/weights.safetensors", "")
        return os.path.join(self.folder.name, "run")

    def page(self, *texts):
        paths = [text if os.path.exists(text) else self.put(f"in{i}.jsonl", text) for i, text in enumerate(texts)]
        page = report.page_of(paths)
        return page.replace("<span>", "").replace("</span>", "")

    def has(self, page, part):
        self.assertTrue(part in page, f"no {part!r} in the page")  # assertIn would print the whole page

    def lacks(self, page, part):
        self.assertFalse(part in page, f"{part!r} in the page: {page[max(page.find(part) - 60, 0):][:150]!r}")

    def refused(self, part, *paths):
        with self.assertRaises(report.Refused) as why:
            report.page_of(paths)
        self.assertIn(part, str(why.exception))

    def test_figures_beside_the_papers_and_how_to_repeat_them(self):
        mine = [cell("<i>mine</i>", 4, 71.25, values=[71, 71.5]), cell("<i>mine</i>", 16, 80), cell("hop", 4, 67.5, values=[67, 68]), cell("hop", 16, None)]
        page = self.page(self.run_folder(), lines(
            RUN, *mine,
            {"kind": "absent", "data": "gowalla", "task": "lp", "reason": "it is not there"}))
        for part in ("&lt;i&gt;mine&lt;/i&gt;", "<td>71.2\u00a0±\u00a02.5</td>", "paper: MOCHI++", "<td>34.9\u00a0±\u00a03.2</td>", "0.8 s in steps",
                     "2 of 2, 3 episodes each", "mochi train --recipe best --pool citeseer,&#39;a b&#39; --steps 2 --episodes-per-step 3 "
                     "--lr 0.01 --k 4:64 --out RUN", "took 2 of 2 steps of recipe best in 0.8 s; its loss went from 1.38 to 1.38.</li>",
                     "<li>Of 1 few-shot comparisons (a data set, task, head and k each) &lt;i&gt;mine&lt;/i&gt; has the highest figure in 1.</li>",
                     "<li>Of its 1 differences to another column 1 are above 0 by more than their 95% interval, 0 below.</li>",
                     "is above the paper&#39;s MOCHI++ in 2 of the 2 figures that both have.</li>",
                     "99aa06d3014798d86001c324468d497f", "Not run: gowalla, it is not there",
                     "<li><a href='#part2'>Training: ", "<section id='part2'>\n<h2>Training: ",
                     "<details><summary>All figures as tables</summary>", "prefers-color-scheme:dark", "@media print", "name='viewport'",
                     "mochi eval --weights &#39;it&#39;&#34;&#39;&#34;&#39;s $HOME/w&#39; --json"):
            self.has(page, part)
        self.assertEqual(page.count("<svg class='chart'"), 3)  # accuracy, loss, and the accuracy in training
        self.lacks(page, "nan")

    def test_the_papers_links_are_of_one_k(self):
        figure = "<td>93.2\u00a0±\u00a00.4</td>"
        page = self.page(lines(links("a", 4), links("a", 16)))
        self.has(page, "those of links stand beside k = 512 alone.")
        self.lacks(page, figure)
        self.has(page, "paper: MOCHI++")  # a point of the chart, at its own tick
        self.has(page, ">512<")
        self.assertEqual(self.page(lines(links("a", 4), links("a", 16), links("a", 512))).count(figure), 1)

    def test_a_heading_says_unseen_only_where_the_weights_record_says_so(self):
        self.has(self.page(lines(cell("trained", 4, 80, seen=False), cell("hop", 4, 80))), UNSEEN)
        page = self.page(lines(cell("trained", 4, 80, seen=True), cell("other", 4, 80, seen=False)))
        self.lacks(page, UNSEEN)
        self.has(page, "no figure of an unseen graph:</b> cora (trained).</p>")
        for unknown in (cell("trained", 4, 80), cell("trained", 4, 80, seen=None), cell("hop", 4, 80, seen=None)):
            page = self.page(lines(unknown, cell("other", 4, 80, seen=False)))
            self.lacks(page, UNSEEN)
            self.has(page, f"trained on the graph is unknown: cora ({unknown['features'].replace('hop', 'best hop')}).</p>")

    def test_nothing_runs_or_is_fetched(self):
        page = self.page(lines(
            cell("</svg><script>alert(1)</script>", 4, 150), cell("x", 0, -3, ci95=1e200), cell("\u0001'-;`id` $x_1$ \ud800", 4, 50, data="</text><script src=x> url(y)")))
        for never in ("<script", "://", "src=x>\n", "@import", "<i>", "<image", "xmlns", "\u0001"):
            self.lacks(page, never)
        self.assertEqual(page.count("<link"), 1)  # an empty icon, so that no browser requests one
        self.assertEqual(page.count("<svg class='chart'"), 2)
        self.assertEqual(page.count("<figure>"), page.count("</svg>\n<div class='legend'>"))
        self.has(page, "default-src &#39;none&#39;".replace("&#39;", "'"))
        self.lacks(page, "#fade")

    def test_readouts_have_their_figures(self):
        fit = {"head": "ridge", "k": 4, "accuracy": 58.5, "ci95": None, "nll": 1.7, "brier": 0.8, "ece": 0.4, "ece_temperature": None, "seconds": 0.1}
        page = self.page(lines(fit))
        for part in ("Accuracy against cost", "<td>58.50</td>", "head ridge at k = 4 is the most accurate, 58.5%"):
            self.has(page, part)
        self.assertEqual(page.count("<svg class='chart'"), 4)

    def test_intervals_of_differences(self):
        for v, t in ((1, 12.706205), (2, 4.302653), (3, 3.182446), (9, 2.262157), (100, 1.983972)):  # of scipy.stats.t.ppf(0.975, v)
            self.assertAlmostEqual(report.student_975(v), t, places=5)
        a, b = (cell("a", 4, sum(v) / 3, values=v, sd=s) for v, s in (([50, 52, 54], 2.0), ([40, 41, 42], 1.0)))
        mean, half, paired = report.difference(a, b)  # of 10, 11, 12
        self.assertTrue(paired and mean == 11)
        self.assertAlmostEqual(half, 4.302653 / math.sqrt(3), places=5)
        mean, half, paired = report.difference(a, {**b, "protocol": "episode"})  # Welch: variance 5 / 3, 50 / 17 degrees, rounded down
        self.assertFalse(paired)
        self.assertAlmostEqual(half, 4.302653 * math.sqrt(5 / 3), places=5)
        self.assertTrue(math.isnan(report.difference(a, {**b, "values": [41]})[1]))

    def test_what_is_not_known_is_refused_with_file_and_line(self):
        one = lines(cell("a", 4, 1))
        for text, part in (
                ("", "in.jsonl: expected lines of --json, found an empty file"),
                ('{"kind":"cell"}\n', "in.jsonl: line 1: expected the member data to be a text, found none"),
                (one + "\n", "in.jsonl: line 2: expected a JSON object"),
                (one + '{"step2":1,"loss":2}\n', "in.jsonl: line 2: expected a line of mochi eval"),
                (lines(cell("a", 4, True)), "line 1: expected the member mean to be a number or null, found another type"),
                (lines(cell("a", 4, math.nan)), "line 1: expected the member mean to be a number or null"),
                (lines(cell("a", 4.5, 1)), "line 1: expected the member k to be an integer"),
                (lines({**RUN, "weights": [3]}), "line 1: expected the member weights to be a list of files of weights, found another type"),
                ("[1]\n", "line 1: expected a JSON object, found another value"), ("[" * 100000, "line 1: expected a JSON object"),
                ('{"kind":1,"kind":2}\n', "line 1: expected a JSON object, found a member that is there twice")):
            self.refused(part, self.put("in.jsonl", text))
        self.refused("/no/such.jsonl", "/no/such.jsonl")
        os.mkfifo(f"{self.folder.name}/pipe")  # nobody writes to this pipe
        self.refused("pipe: expected lines of --json, found an empty file", f"{self.folder.name}/pipe")
        self.refused(f"{self.folder.name}/run.json", self.folder.name)
        self.refused("run/log.jsonl: line 2", self.run_folder(log=lines(STEPS[0]) + '{"step":1,\n'))
        for step in ([], {"loss": 1, "accuracy": {}, "seconds": 1}, {**STEPS[0], "loss": None}, {**STEPS[0], "accuracy": 3}, {**STEPS[0], "accuracy": {"nc": "x"}}, {**STEPS[0], "step": 0.5}):
            self.refused("log.jsonl: line 1: expected ", self.run_folder(log=lines(step)))
        for order, part in (((0, 0, 1), "line 2: expected step 1, found step 0"), ((0, 2, 1), "line 2: expected step 1, found step 2"),
                            ((1, 2), "line 1: expected step 0, found step 1")):
            self.refused(part, self.run_folder(log=lines(*({**STEPS[0], "step": i} for i in order))))
        self.refused("log.jsonl: expected the 2 steps of a finished run, found 0", self.run_folder(log=""))
        for about in ("[]", '{"settings":3}', "{}"):
            self.refused("run.json: expected ", self.run_folder(about=about))

    def test_any_bytes_are_a_page_or_a_line(self):
        """Random changes of good inputs give a page without a script, or Refused."""
        draw = random.Random(1)
        good = lines(RUN, cell("<script", 4, 50), cell("hop", 4, 40)).encode()
        drawn = report.chart
        self.addCleanup(setattr, report, "chart", drawn)
        report.chart = lambda title, *_, **__: {"title": title, "series": [], "svg": ""}  # records the chart's data instead of drawing it
        counts = [0, 0]
        for _ in range(400):
            data = bytearray(good)
            for _ in range(draw.randint(1, 3)):
                at = draw.randrange(len(data))
                data[at:at + draw.randint(0, 2)] = draw.choice([b"", b"0", b"null", b"1e999", b'"', b"-", b"\xff", b"[]", b",", b"9" * 30, b"\0"])
            path = self.put("in.jsonl", "")
            with open(path, "wb") as file:
                file.write(data)
            try:
                self.assertNotIn("<script", report.page_of([path]).lower())
                counts[0] += 1
            except report.Refused:
                counts[1] += 1
        self.assertGreater(min(counts), 20, counts)


if __name__ == "__main__":
    unittest.main()
