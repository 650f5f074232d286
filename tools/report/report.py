#!/usr/bin/env python3
"""mochi-report: one HTML page of trainings, evaluations and measurements; or evaluations compared, as text.

Reads folders of `mochi train` and the lines that other commands print with --json, and writes one HTML
file that has no script and loads nothing. Each section is a method of Report that yields blocks, which TEMPLATE writes.
With --text it prints the tables of evaluations beside each other and beside published figures, by Python's own modules alone.
"""

import argparse
import functools
import io
import json
import math
import os
import re
import shlex
import sys
from statistics import fmean

NAN = math.nan


class Refused(Exception):
    """Raised for an invalid input; the text names the file and the line."""


# ---- required members of --json lines ----

# kind of line: (member `sign` that a line of this kind has, its value or None for any, the members that the page
# reads). A line is of the first kind that fits. Members stand behind their type; NAME? is optional.
KINDS = {
    "run": ("kind", "run", "list command, object versions rows? labels?, weights weights?"),
    "data": ("kind", "data", "text data task xxh3, integer nodes edges graphs classes"),
    "cell": ("kind", "cell", "text data task protocol features head metric block?, integer k, number mean sd ci95, "
        "numbers values?"),
    "absent": ("kind", "absent", "text data task reason"),
    "fit": ("ece_temperature", None, "text head, integer k, "
        "number accuracy ci95 nll brier ece nll_temperature? ece_temperature macro_f1? auc? top3? seconds"),
}
# The page's names for the baselines of a cell.
BASELINES = {"random": "untrained", "x0": "raw features", "hop": "best hop"}


def is_number(v, types=(int, float)):
    return isinstance(v, types) and not isinstance(v, bool) and abs(v) < 1e300


def is_list(v):
    return isinstance(v, list) and all(x is None or is_number(x) for x in v)


TYPES = {
    "text": ("a text", lambda v: isinstance(v, str)),
    "integer": ("an integer", lambda v: is_number(v, int)),
    "real": ("a number", is_number),
    "number": ("a number or null", lambda v: v is None or is_number(v)),
    "object": ("an object", lambda v: isinstance(v, dict)),
    "figures": ("an object of numbers", lambda v: isinstance(v, dict) and is_list(list(v.values()))),
    "weights": ("a list of files of weights", lambda v: isinstance(v, list) and all(
        isinstance(w, dict) and all(isinstance(w.get(name), str) for name in ("features", "file", "xxh3")) for w in v)),
    "list": ("a list", lambda v: isinstance(v, list)),
    "numbers": ("a list of numbers", is_list),
}


def check(o, members, place):
    """Raises Refused for an object without a required member; replaces null by NaN."""
    for group in members.split(", "):
        kind, *names = group.split()
        expected, is_one = TYPES[kind]
        for name in (n.rstrip("?") for n in names if n[-1] != "?" or n[:-1] in o):
            v = o.get(name, ...)
            if not is_one(v):
                found = "none" if v is ... else "another type"
                raise Refused(f"{place}: expected the member {name} to be {expected}, found {found}")
            o[name] = NAN if v is None else [NAN if x is None else x for x in v] if isinstance(v, list) else v


def parse(data, place):
    """Parses bytes as one JSON object."""
    def once(pairs):
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a member that is there twice")
        return dict(pairs)
    try:
        o = json.loads(data.decode(), object_pairs_hook=once)
    except (ValueError, RecursionError) as why:
        raise Refused(f"{place}: expected a JSON object, found {why}") from None
    if not isinstance(o, dict):
        raise Refused(f"{place}: expected a JSON object, found another value")
    return o


# ---- files ----


def read_bytes(path):
    try:  # a pipe without a writer reads as an empty file
        with open(path, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as file:
            os.set_blocking(file.fileno(), True)
            return file.read()
    except OSError as why:
        raise Refused(f"{path}: cannot be read: {why.strerror}") from None


def lines_of(data):
    return data.removesuffix(b"\n").split(b"\n") if data else []


def digest(data):
    """XXH3-128, as mochi and `xxhsum -H2` print it."""
    import xxhash
    return xxhash.xxh3_128_hexdigest(data)


def read_run(folder):
    """Reads a folder of `mochi train`."""
    about_path, log_path, weights = (os.path.join(folder, name) for name in ("run.json", "log.jsonl", "weights.safetensors"))
    run, log = parse(read_bytes(about_path), about_path), []
    check(run, "object settings, list pool, text version blas_core", about_path)
    check(run["settings"], "text recipe, integer steps, real episodes_per_step", about_path)
    for graph in run["pool"]:
        check(graph if isinstance(graph, dict) else {}, "text data task hash", about_path)
    for i, line in enumerate(lines_of(read_bytes(log_path))):
        place = f"{log_path}: line {i + 1}"
        log.append(parse(line, place))
        check(log[i], "integer step, real loss seconds, figures accuracy", place)
        if log[i]["step"] != i:
            raise Refused(f"{place}: expected step {i}, found step {log[i]['step']}: the steps of a run follow one another")
    finished = os.path.exists(weights)
    if finished and len(log) < run["settings"]["steps"]:
        raise Refused(f"{log_path}: expected the {run['settings']['steps']} steps of a finished run, found {len(log)}")
    return {**run, "path": folder, "log": log, "weights": digest(read_bytes(weights)) if finished else "",
            "seconds": sum(step["seconds"] for step in log)}


# ---- published figures ----

PAPER_LINKS_K = 512


def read_published(name):
    """Reads published figures, as cells: `paper`, the paper's; `public`, other methods' on the public split."""
    here = os.path.dirname(os.path.realpath(__file__))
    folders = [os.environ[name] for name in ("MOCHI_EMBEDDED",) if name in os.environ] or [
        f"{here}/mochi-data", f"{here}/../../train/data", f"{here}/../share/mochi/data", f"{sys.prefix}/share/mochi/data"]
    path = next((path for folder in folders if os.path.exists(path := f"{folder}/{name}.json")), f"{folders[0]}/{name}.json")
    root, cells = parse(read_bytes(path), path), []
    for table, row in ((table, row) for table in root["tables"] for row in table["rows"]):
        for method, mean, sd in zip(table["methods"], row["mean"], row["sd"]):
            links = table["task"] == "lp"  # one column of links stands for both of MOCHI's readouts
            heads = [method["head"]] if not links else ["mlp", "ridge"] if method["features"].startswith("MOCHI") else [""]
            cells += [{**row, "task": table["task"], "k": row.get("k", 0), "features": method["features"], "head": head,
                       "protocol": table.get("protocol", "split"), "mean": mean, "sd": NAN if sd is None else sd,
                       "n": table["seeds"], "paper": True}
                      for head in heads if mean is not None]
    return cells


def ratio(a, b):
    return a / b if b else NAN


# ---- charts ----

# matplotlib draws in the colours #fade0N, which page_svg replaces by the page's: 0 the text's, 9 the grid's. The page's
# colours can be told apart by readers who confuse red and green (Okabe and Ito 2008), and each has a dash, for print.
DASHES = ["", "", "8 3", "2 3", "8 3 2 3", "5 5", "12 4", "2 6", "4 2"]
STYLES: dict[str, dict] = {"line": {}, "line+": {"marker": "o", "markersize": 4},
          "points": {"linestyle": "none", "marker": "o"},
          "rings": {"linestyle": "none", "marker": "o", "markerfacecolor": "none", "markeredgewidth": 1.3}}
LOOK = {"svg.fonttype": "none", "text.parse_math": False, "axes.unicode_minus": False, "font.size": 12, "lines.scale_dashes": False,
        "text.color": "#fade00", "axes.labelcolor": "#fade00", "axes.edgecolor": "#fade00", "xtick.color": "#fade00",
        "ytick.color": "#fade00", "grid.color": "#fade09", "grid.linewidth": 0.7, "axes.grid": True, "axes.axisbelow": True,
        "axes.spines.top": False, "axes.spines.right": False, "xtick.major.size": 3, "ytick.major.size": 3, "lines.linewidth": 2,
        "lines.markeredgewidth": 0, "lines.markersize": 6, "axes.labelpad": 6, "figure.constrained_layout.use": True}
LARGEST = 1e100  # the largest coordinate


def chart(title, x_label, y_label, series, bounds=(-LARGEST, LARGEST), **options):
    """A figure of the page. series: (label, colour, style of STYLES, [(x, y) or (x, y, half width)]);
    bounds: limits of error bars; options: for matplotlib's axes, such as xscale="log".
    """
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, NullLocator
    drawn = []
    with matplotlib.rc_context({**LOOK, "svg.hashsalt": title + os.urandom(4).hex()}):
        figure = Figure(figsize=(420 / 72, 290 / 72), dpi=72)
        axes = figure.add_subplot()
        for label, colour, style, points in series:
            points = [(x, y, half[0] if half else NAN) for x, y, *half in points if abs(x) < LARGEST and abs(y) < LARGEST]
            if points:
                draw(axes, f"#fade0{colour}", style, DASHES[colour], points, bounds)
                drawn.append({"label": label, "colour": colour, "style": style, "dash": DASHES[colour]})
        axes.set(xlabel=x_label, ylabel=y_label, **options)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
            axis.set_minor_locator(NullLocator())
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True)
    return {"title": title, "series": drawn, "svg": page_svg(out.getvalue())}


def draw(axes, colour, style, dash, points, bounds):
    x, y, half = zip(*points)
    below, above = ([max(0, min(h, d)) for h, d in zip(half, to)] for to in ([v - bounds[0] for v in y], [bounds[1] - v for v in y]))
    ends = None if all(map(math.isnan, half)) else (below, above)
    dashed = {"dashes": tuple(map(float, dash.split()))} if dash and style.startswith("line") else {}
    axes.errorbar(x, y, ends, color=colour, elinewidth=1.3, **STYLES[style], **dashed)


def page_svg(svg):
    """The content of matplotlib's SVG, in the page's colours and font."""
    svg = svg[svg.index(">", svg.index("<svg")) + 1:svg.rindex("</svg>")]
    for pattern, by in ((r"<metadata>.*?</metadata>|<!--.*?-->|<style.*?</style>", ""), ("#fade00", "var(--ink)"),
                        ("#fade09", "var(--grid)"), (r"#fade0(\d)", r"var(--s\1)"), (r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px"),
                        (r"<g id=\"[^\"]*\"", "<g"), ("xlink:href", "href"), (r" ([xy])=\"(-?\d+\.\d)\d*\"", r' \1="\2"'), (r"\n\s+", "\n")):
        svg = re.sub(pattern, by, svg, flags=re.S)
    return svg


def grouped(lines, member, x, y, half=None, colour=1):
    """Returns a series for each text that `member` has in the lines; the series' colours count up from `colour`."""
    texts = dict.fromkeys(o[member] for o in lines)
    return [(text, (colour + i) % 9, "line+", [(o[x], o[y], o[half] if half else NAN) for o in lines if o[member] == text])
            for i, text in enumerate(texts)]


# ---- sections ----

# A section yields blocks: ("p", text, style, bold text before it), ("h3", text), ("figures", charts), ("table", heads,
# rows), ("names", pairs), ("pre", words), ("fold", blocks, summary). Last it yields its heading, a string.


class Left(str):
    """The head of a left-aligned column."""

    left = True


def figure(value, digits, half=NAN):
    """A number ± the half width of its interval; – for NaN."""
    return "–" if math.isnan(value) else f"{value:.{digits}f}" + ("" if math.isnan(half) else f"\u00a0±\u00a0{half:.{digits}f}")


def is_main(cell):
    """Whether a figure is accuracy or, for links, AUC, which charts show."""
    return cell["metric"] in ("accuracy", "auc")


def seen_of(cell):
    """Whether the weights were trained on the graph; None if unknown, as in lines of older versions. False for baselines.
    """
    if isinstance(cell.get("seen"), bool):
        return cell["seen"]
    return False if "seen" not in cell and cell["features"] in BASELINES.values() else None


def running_mean(log, value):
    """Yields (step, mean) of the values so far; the weight of a new value falls from 1 to 1/50, as in the terminal's
    mean."""
    mean, count = 0, 0
    for i, x in enumerate(map(value, log), 1):
        if is_number(x):
            count = min(count + 1, 50)
            mean += (x - mean) / count
        if count and (i % (len(log) // 300 + 1) == 0 or i == len(log)):
            yield i, mean


def setting(value):
    """[4, 64] as "4:64", names separated by commas, numbers as typed."""
    if isinstance(value, list):
        return (":" if value and is_number(value[0]) else ",").join(map(setting, value))
    return f"{value:.15g}" if is_number(value) else shlex.quote(str(value))


EVAL_NOTE = ("Bars are 95% intervals. untrained: the encoder before its first step; raw features, best hop: the readout alone, on the SVD of "
             "attributes and graph and on its hops; the paper's own figures, where it has them, with one standard deviation over 3 seeds")


class Report:
    """The input lines, and the sections of the page. A line's member #file is its file's number, #run the run line
    before it."""

    def __init__(self, paths):
        self.lines: dict[str, list] = {kind: [] for kind in KINDS}
        self.files, self.runs = [], []
        self.paper = read_published("paper")
        for path in paths:
            if os.path.isdir(path):
                self.runs.append(read_run(path))
                continue
            data = read_bytes(path)
            self.files.append({"path": path, "data": data, "lines": len(lines_of(data))})
            self.read_lines(path, data)
        self.columns = list(dict.fromkeys(c["features"] for c in self.lines["cell"]))
        blocks: dict = {}
        for c in self.lines["cell"]:
            key = (c["#file"], c["data"], c["task"], c.get("block", c["head"]), c["metric"], c["protocol"])
            blocks.setdefault(key, {}).setdefault(c["k"], []).append(c)
        # a block makes a table and a chart: (its {k: cells}, all its cells, its columns)
        flat = [[c for line in cells.values() for c in line] for cells in blocks.values()]
        self.blocks = [(of_k, cells, list(dict.fromkeys(c["features"] for c in cells))) for of_k, cells in zip(blocks.values(), flat)]

    def read_lines(self, path, data):
        run = None
        if not data:
            raise Refused(f"{path}: expected lines of --json, found an empty file")
        for i, line in enumerate(lines_of(data), 1):
            place = f"{path}: line {i}"
            o = parse(line, place)
            kind = next((kind for kind, (sign, value, _) in KINDS.items() if sign in o and value in (None, o[sign])), None)
            if not kind:
                raise Refused(f"{place}: expected a line of mochi eval or readouts with --json, found another object")
            check(o, KINDS[kind][2], place)
            run = o if kind == "run" else run
            o["#file"], o["#run"] = len(self.files) - 1, run
            o["features"] = BASELINES.get(o.get("features"), o.get("features"))
            self.lines[kind].append(o)

    def by_file(self, kind):
        """{path: lines}, for the files that have lines of a kind."""
        of_file: dict[str, list] = {}
        for line in self.lines[kind]:
            of_file.setdefault(self.files[line["#file"]]["path"], []).append(line)
        return of_file

    def colour(self, features):
        """Returns a column's colour, the same on the whole page: fixed for baselines, by order of appearance for
        others."""
        fixed = {"best hop": 3, "raw features": 4, "untrained": 5}
        return fixed.get(features) or (1, 2, 7, 6)[[c for c in self.columns if c not in fixed].index(features) % 4]

    def paper_at(self, cell, features, k=None):
        """Returns the paper's figure of MOCHI or MOCHI++ for a cell, at its k or another; None if the paper has
        none."""
        k = cell["k"] if k is None else k
        head = "ridge" if cell["head"] == "mixture" else cell["head"]  # the closest of the paper's readouts
        of_cell = (x for x in self.paper if x["features"] == features and x["data"].lower() == cell["data"].lower() and
                   (x["task"], x["metric"]) == (cell["task"], cell["metric"]) and x["protocol"] != "public")
        return next((x for x in of_cell if (k == PAPER_LINKS_K if x["task"] == "lp" else x["k"] == k and x["head"] in ("", head))), None)

    # ---- sections ----

    def eval_chart(self, cells, flat, columns):
        first, ks = flat[0], sorted(k for k in cells if k > 0)
        aside = (ks[-1] / ks[0]) ** (1 / 60) if len(ks) > 1 else 1.02  # shifts columns apart, so that error bars do not overlap
        series: list = [(column, self.colour(column), "line+", sorted(
            (c["k"] * aside ** (j - (len(columns) - 1) / 2), c["mean"], c["ci95"]) for c in flat if c["features"] == column))
            for j, column in enumerate(columns)]
        ticks = set(ks)
        for features, colour, style in (("MOCHI", 8, "rings"), ("MOCHI++", 0, "points")):
            at = [PAPER_LINKS_K] if first["task"] == "lp" else sorted(cells)  # the paper has one figure for links
            points = [(k, x["mean"]) for k in at if (x := self.paper_at(first, features, k))]
            series.append((f"paper: {features}", colour, style, points))
            ticks.update(k for k, _ in points if k)
        return chart(f"{first['data']}, {first['task']}, {first['head']} head", "k, labelled examples per class", f"{first['metric']}, %",
                     series, bounds=(0, 100), **({"xscale": "log", "xticks": sorted(ticks)} if ticks else {}))

    def eval_table(self, cells, flat, columns):
        in_paper, rows = any(self.paper_at(c, f) for c in flat for f in ("MOCHI", "MOCHI++")), []
        for k, line in cells.items():
            found = {c["features"]: c for c in reversed(line)}
            rows.append([k] + [figure(found[f]["mean"], 1, found[f]["ci95"]) if f in found else "–" for f in columns])
            papers = [self.paper_at(line[0], f) for f in ("MOCHI", "MOCHI++") if in_paper]
            rows[-1] += [figure(x["mean"], 1, x["sd"]) if x else "–" for x in papers]
        yield ("h3", " · ".join(flat[0][name] for name in ("data", "task", "head", "metric", "protocol")) + ", %")
        yield ("table", ["k", *columns, *(["paper: MOCHI", "MOCHI++"] if in_paper else [])], rows)

    def evaluations(self):
        cells = self.lines["cell"]
        if not cells:
            return
        seen, unknown = ([*dict.fromkeys(f"{c['data']} ({c['features']})" for c in cells if seen_of(c) is s)] for s in (True, None))
        if seen:
            yield ("p", ", ".join(seen) + ".", "", "Trained on, so no figure of an unseen graph:")
        if unknown:
            yield ("p", f"Whether the weights were trained on the graph is unknown: {', '.join(unknown)}.")
        links = any(c["task"] == "lp" for c in cells)
        yield ("p", EVAL_NOTE + ("; those of links stand beside k = 512 alone." if links else "."), "soft")
        yield ("figures", [self.eval_chart(*block) for block in self.blocks if is_main(block[1][0])])
        for x in self.lines["absent"]:
            yield ("p", f"Not run: {x['data']}, {x['reason']}", "soft")
        yield ("fold", [part for block in self.blocks for part in self.eval_table(*block)], "All figures as tables")
        yield "Few-shot accuracy" + ("" if seen or unknown else " on graphs that were not trained on")

    def trainings(self):
        for run in self.runs:
            s, log = run["settings"], run["log"]
            if log:
                families = [(name, i, "line", running_mean(log, lambda step, task=task: (x := step["accuracy"].get(task)) and 100 * x))
                            for i, (task, name) in enumerate((("nc", "nodes"), ("lp", "links"), ("gc", "graphs")), 1)]
                yield ("figures", [
                    chart("Loss of the queries", "step", "cross-entropy", [("", 1, "line", running_mean(log, lambda step: step["loss"]))]),
                    chart("Accuracy of the queries, by family", "step", "%", families)])
                yield ("p", "Running means over about 50 steps.", "soft")
            yield ("names", [("recipe", s["recipe"]), ("steps", f"{len(log)} of {s['steps']}, {s['episodes_per_step']:g} episodes each"),
                   ("time", f"{run['seconds']:.1f} s in steps"),
                   ("pool", ", ".join(f"{x['data']} ({x['task']})" for x in run["pool"]))])
            yield f"Training: {run['path']}"

    def fits(self):
        for path, lines in self.by_file("fit").items():
            at, k = {"xticks": sorted({o["k"] for o in lines})}, "k, labelled rows a class"
            charts = [chart(title, x_label, y_label, grouped(lines, "head", x, y, half), xscale="log", **(at if x == "k" else {}))
                      for title, x, y, half, x_label, y_label in (
                          ("Few-shot accuracy", "k", "accuracy", "ci95", k, "accuracy, %"),
                          ("Calibration error of the probabilities", "k", "ece", None, k, "expected calibration error"),
                          ("Calibration error after a temperature", "k", "ece_temperature", None, k, "expected calibration error"),
                          ("Accuracy against cost", "seconds", "accuracy", None, "seconds for all episodes", "accuracy, %"))]
            yield ("figures", charts)
            yield ("table", ["head", "k", "accuracy %", "nll", "Brier", "ECE", "ECE after temperature", "seconds"],
                   [[x["head"], x["k"], figure(x["accuracy"], 2, x["ci95"])]
                    + [figure(x[name], 3) for name in ("nll", "brier", "ece", "ece_temperature", "seconds")] for x in lines])
            yield f"Readouts on embeddings: {path}"

    def repeat(self):
        yield ("p", "Digests are XXH3-128, as xxhsum -H2 prints them. Equal seeds give equal bits at any thread count, on one set of BLAS "
               "kernels.", "soft")
        for run in self.runs:
            options = [(name, value) for name, value in run["settings"].items() if name != "lr_min"]  # leaves out what the recipe fixes
            yield ("h3", run["path"])
            yield ("pre", ["mochi train"] + [
                word for name, value in options for word in (shlex.quote("--" + name.replace("_", "-")), setting(value))] + ["--out", "RUN"])
            yield ("names", [("mochi", run["version"]), ("BLAS kernels", run["blas_core"])]
                   + [("weights.safetensors", run["weights"])] * bool(run["weights"])
                   + [(f"{x['data']} ({x['task']})", x["hash"]) for x in run["pool"]])
        for i, file in enumerate(self.files):
            yield ("h3", file["path"])
            for run in (x for x in self.lines["run"] if x["#file"] == i):
                command, *words = map(str, run["command"] or [""])  # the command's name: two words
                files = [(w["features"], w) for w in run.get("weights", [])] + [(w, run[w]) for w in ("rows", "labels") if run.get(w)]
                yield ("pre", [command] + [shlex.quote(word) for word in words])
                yield ("names", [(name, version or "-") for name, version in run["versions"].items()]
                       + [(name.replace("blas_core", "BLAS kernels"), run[name]) for name in ("blas_core", "processor") if run.get(name)]
                       + [(f"{what}: {w.get('file', '')}", w.get("xxh3", "")) for what, w in files]
                       + [(f"{x['data']} ({x['task']})", x["xxh3"]) for x in self.lines["data"] if x["#run"] is run])
            yield ("p", f"{file['lines']} lines, {len(file['data'])} bytes, digest {digest(file['data'])}", "soft")
        yield "To repeat it"

    def sections(self):
        """Yields (heading, blocks) for every section that is not empty."""
        for section in (self.evaluations, self.trainings, self.fits, self.repeat):
            blocks: list = []
            for part in section():
                if isinstance(part, str):
                    yield part, blocks
                    blocks = []
                else:
                    blocks.append(part)

    def opening(self):
        """Yields the results as sentences; the page shows the first five."""
        for run in self.runs[:1]:
            losses, more = [step["loss"] for step in run["log"]] or [NAN], len(self.runs) - 1
            yield (f"Training {run['path']} took {len(run['log'])} of {run['settings']['steps']} steps of recipe {run['settings']['recipe']} "
                   f"in {run['seconds']:.1f} s; its loss went from {fmean(losses[:50]):.2f} to {fmean(losses[-50:]):.2f}."
                   + (f" {more} more trainings are below." if more else ""))
        lines = [[c for c in line if not math.isnan(c["mean"])] for of_k, *_ in self.blocks for line in of_k.values() if is_main(line[0])]
        winners = [max(line, key=lambda c: c["mean"])["features"] for line in lines if len(line) > 1]
        best = max(self.columns, key=winners.count, default=None)
        if winners:
            yield (f"Of {len(winners)} few-shot comparisons (a data set, task, head and k each) {best} has the highest figure in "
                   f"{winners.count(best)}.")
            gaps = [difference(c, other) for line in lines for c in line for other in line if c["features"] == best != other["features"]]
            apart = [mean * (abs(mean) > half) for mean, half, paired in gaps if paired]
            if apart:
                yield (f"Of its {len(apart)} differences to another column {sum(d > 0 for d in apart)} are above 0 by more than their 95% "
                       f"interval, {sum(d < 0 for d in apart)} below.")
        both = [c["mean"] > x["mean"] for line in lines for c in line if c["features"] == best and (x := self.paper_at(c, "MOCHI++"))]
        if both:
            yield f"{best} is above the paper's MOCHI++ in {sum(both)} of the {len(both)} figures that both have."
        for x in sorted(self.lines["fit"], key=lambda x: math.isnan(x["accuracy"]) or -x["accuracy"])[:1]:
            yield f"Of the readouts on embeddings, head {x['head']} at k = {x['k']} is the most accurate, {x['accuracy']:.1f}%."


# ---- evaluations as text ----

LOSSES = ("nll", "ece")


@functools.cache
def student_975(v):
    """The quantile 0.975 of Student's t at v degrees of freedom."""
    def inside(angle):  # P(|t| < sqrt(v) tan(angle)): Abramowitz and Stegun 26.7.3 for odd v, 26.7.4 for even v
        c, total = math.cos(angle), 0.0
        term = c if v % 2 else 1.0
        for j in range(v % 2, v - 1, 2):
            total += term
            term *= (j + 1) / (j + 2) * c * c
        return (angle + math.sin(angle) * total) * 2 / math.pi if v % 2 else math.sin(angle) * total
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if inside(middle) < 0.95 else (low, middle)
    return math.sqrt(v) * math.tan(low)


def difference(a, b):
    """The difference of two cells and the half width of its 95% interval: of the values in pairs if both have as many by one protocol,
    else Welch's (1947); NaN if there are too few values."""
    mean, (x, y) = a["mean"] - b["mean"], (c.get("values", []) for c in (a, b))
    if len(x) == len(y) > 1 and a["protocol"] == b["protocol"]:
        gaps = [p - q for p, q in zip(x, y)]
        spread = math.sqrt(sum((gap - fmean(gaps)) ** 2 for gap in gaps) / (len(gaps) - 1) / len(gaps))
        return mean, student_975(len(gaps) - 1) * spread, True
    n = [c.get("n", len(c.get("values", []))) for c in (a, b)]
    if min(n) < 2 or math.isnan(a["sd"] + b["sd"]):
        return mean, NAN, False
    parts = [c["sd"] ** 2 / m for c, m in zip((a, b), n)]
    if not sum(parts):
        return mean, 0.0, False
    degrees = sum(parts) ** 2 / sum(part ** 2 / (m - 1) for part, m in zip(parts, n))
    return mean, student_975(int(degrees)) * math.sqrt(sum(parts)), False


def mark(*cells):
    """† if weights were trained on the graph, ? if they may have been."""
    seen = [seen_of(c) for c in cells if not c.get("paper")]
    return "†" if True in seen else "?" if None in seen else ""


def table_of(c):
    """What the figures of one table have in common."""
    return c["data"].lower(), c["task"], c["metric"], c.get("block", c["head"])


class Comparison:
    """The cells of evaluations, a list a file, beside published ones."""

    def __init__(self, report):
        cells = report.lines["cell"]
        files = [i for i in range(len(report.files)) if any(c["#file"] == i for c in cells)]
        if not files:
            raise Refused("--text: expected lines of mochi eval --json, found none")
        self.lists = [[c for c in cells if c["#file"] == i] for i in files]
        self.labels = [os.path.basename(report.files[i]["path"]).partition(".")[0] for i in files]
        self.published = {"paper": report.paper, "public": read_published("public")}
        self.differences = self.apart = 0
        self.seen: dict[str, dict] = {"†": {}, "?": {}}

    def source(self, subject):
        return "public" if subject["protocol"] == "public" else "paper"

    def published_at(self, subject, k):
        """The published figures for a table's subject at k. Public divisions have their own number of labels. The paper gives no k for
        links: its figures stand at k = 512 and without a k."""
        (data, task, metric, _), public = table_of(subject), subject["protocol"] == "public"
        return [x for x in self.published[self.source(subject)] if (x["data"].lower(), x["task"], x["metric"]) == (data, task, metric)
                and (public or (k in (0, PAPER_LINKS_K) if task == "lp" else x["k"] == k)) and (x["protocol"] == "public") == public]

    def find(self, i, subject, k, features):
        """The figure of a file; those of links without a k stand at every k."""
        return next((c for c in self.lists[i] if table_of(c) == table_of(subject) and c["features"] == features
                     and (c["k"] == k or c["task"] == "lp" and c["k"] == 0)), None)

    def columns(self, subject, ks):
        """The columns of a table: (title of the file or "", features, {k: cell})."""
        for i, label in enumerate(self.labels):
            of_table = [c for c in self.lists[i] if table_of(c) == table_of(subject)]
            for features in dict.fromkeys(c["features"] for c in of_table):
                yield i, features, {k: c for k in ks if (c := self.find(i, subject, k, features))}
        source, head = self.source(subject), table_of(subject)[3]
        at = {k: self.published_at(subject, k) for k in ks}
        heads = ("", "ridge" if head == "mixture" else head)  # the paper's tables have no mixture; ridge is the closest of its readouts
        shown = [(k, x) for k in ks for x in at[k] if source == "public" or x["features"].startswith("MOCHI") and (
            x["task"] == "lp" or x["head"] in heads)]
        for features in dict.fromkeys(x["features"] for _, x in shown):
            yield source, features, {k: x for k, x in reversed(shown) if x["features"] == features}
        if any(at.values()):
            yield source, f"{source} best", {k: max(at[k], key=lambda x: x["mean"]) for k in ks if at[k]}

    def table(self, subject):
        ks = list(dict.fromkeys(c["k"] for c in self.lists[0] if table_of(c) == table_of(subject)))
        columns = list(self.columns(subject, ks))
        n = len(subject.get("values", []))
        unit = "hundredths of a nat" if subject["metric"] == "nll" else "%"
        repeats = {"public": "public split", "episode": "episode"}.get(subject["protocol"], "seed") + "s" * (n != 1)
        yield ""
        head = table_of(subject)[3]
        others = ", ".join(dict.fromkeys(f"{features}: {c['head']}" for i, features, cells in columns if not isinstance(i, str)
                                         for c in cells.values() if c["head"] != head))
        yield (f"{subject['data']} {subject['task']}, {head} head{f' ({others})' if others else ''}, {subject['metric']} in {unit}, "
               f"n = {n} {repeats}")
        own, pairs = columns[0][1], []  # a difference is of the first file's first column and, of each other list, the same or its first or best
        for i in [*range(1, len(self.labels)), self.source(subject)]:
            of_list = [c for c in columns if c[0] == i]
            if of_list:
                pairs.append(of_list[-1] if isinstance(i, str) else next((c for c in of_list if c[1] == own), of_list[0]))
        name = {i: label for i, label in enumerate(self.labels)}
        if len(self.labels) > 1:
            yield " " * 6 + "".join(f"  {name.get(i, i) if not at or columns[at - 1][0] != i else '':>12.12}" for at, (i, *_) in enumerate(columns))
        marks = [mark(*cells.values()) for *_, cells in columns]
        for sign in filter(None, marks):
            self.seen[sign][subject["data"]] = True
        paper = {"MOCHI": "paper MOCHI"}
        yield f"{'k':>6}" + "".join(f"  {paper.get(f, f) if i == 'paper' else f:>{12 - len(sign)}.{12 - len(sign)}}{sign}"
                                    for (i, f, _), sign in zip(columns, marks)) + "".join(f"  {'- ' + str(name.get(i, i)):>12.12} " for i, *_ in pairs)
        for k in ks:
            line = f"{k:6}"
            for i, _, cells in columns:
                line += "  " + value(cells.get(k), cells[k]["sd" if isinstance(i, str) else "ci95"] if k in cells else NAN)
            for _, _, cells in pairs:
                a, b = columns[0][2].get(k), cells.get(k)
                if not a or not b or math.isnan(a["mean"] + b["mean"]):
                    line += "  " + value(None) + " "
                    continue
                mean, half, _ = difference(a, b)
                self.differences += 1
                self.apart += abs(mean) > half
                line += "  " + value({"mean": mean}, half) + ("*" if abs(mean) > half else " ") + mark(a, b)
            yield line
        for i in range(len(self.labels)):
            for line in self.baselines([c for c in columns if c[0] == i], ks, subject["metric"]):
                yield f"{name[i]}: {line}" if len(self.labels) > 1 else line

    def baselines(self, columns, ks, metric):
        """How a file's first column differs from each baseline, and where it is no better."""
        gaps = []
        for base in ("untrained", "free", "raw features", "best hop"):
            for _, features, cells in columns[1:]:
                both = [(k, columns[0][2][k], cells[k]) for k in ks if features == base and k in columns[0][2] and k in cells]
                found = [(k, *gap[:2]) for k, a, b in both if (gap := difference(a, b))[2]]
                if found:
                    gaps.append((base, found))
                    yield (f"{columns[0][1]}{mark(*columns[0][2].values())} - {base}, paired:"
                           + ",".join(f" k = {k} {d:+.1f} ± {half:.1f}" + "*" * (abs(d) > half) for k, d, half in found))
        for base, found in gaps:
            near = [str(k) for k, d, half in found if abs(d) <= half]
            if near:
                yield f"{columns[0][1]} is within noise of {base} at k = {', '.join(near)}"
        loss = metric in LOSSES
        for base, found in gaps:
            worse = [f" k = {k} ({'+' * loss}{d:.1f} ± {half:.1f})" for k, d, half in found if (-d if loss else d) + half < 0]
            if worse:
                yield f"{columns[0][1]} is worse than {base}{' (less is better)' * loss}:" + ",".join(worse)

    def lines(self, heads, metrics):
        """Yields the lines of every table of the first file, with these heads and metrics (none: all)."""
        for option, wanted, found in (("head", heads, {table_of(c)[3] for c in self.lists[0]}), ("metric", metrics, {c["metric"] for c in self.lists[0]})):
            for name in wanted:
                if name not in found:
                    raise Refused(f"--{option}: no figure of {self.labels[0]} has '{name}'")
        subjects: dict = {}
        for c in self.lists[0]:
            subjects.setdefault(table_of(c), c)
        for subject in subjects.values():
            if (not heads or table_of(subject)[3] in heads) and (not metrics or subject["metric"] in metrics):
                yield from self.table(subject)
        yield ""
        yield "± is the half width of the 95% interval, for published figures one standard deviation"
        yield f"{self.differences} differences, {self.apart} with an interval that leaves out 0 (*)"
        for sign, meaning in (("†", "the weights were trained on this graph"), ("?", "whether the weights were trained on this graph is unknown")):
            if self.seen[sign]:
                yield f"{sign} {meaning}: {', '.join(self.seen[sign])}"


def value(cell, half=NAN):
    """A figure in 12 columns."""
    if cell is None or math.isnan(cell["mean"]):
        return f"{'-':>12}"
    return f"{cell['mean']:5.1f} " + (" " * 6 if math.isnan(half) else f"± {half:4.1f}")


# ---- the page ----

TEMPLATE = """\
{%- macro write(blocks) -%}
{%- for b in blocks %}
{%- if b[0] == 'p' %}<p{% if b[2] %} class='{{ b[2] }}'{% endif %}>{% if b[3] %}<b>{{ b[3] }}</b> {% endif %}{{ b[1] }}</p>
{% elif b[0] == 'h3' %}<h3>{{ b[1] }}</h3>
{% elif b[0] == 'figures' %}<div class='figures'>
{% for c in b[1] %}<figure><figcaption>{{ c.title }}</figcaption>
<svg class='chart' viewBox='0 0 420 290' role='img' aria-label='{{ c.title }}'>{{ c.svg|safe }}</svg>
<div class='legend'>{% for s in c.series if s.label %}
<span><svg viewBox='0 0 30 11' aria-hidden='true' style='color:var(--{{ 's%d' % s.colour if s.colour else 'ink' }})'>
{%- if s.style.startswith('line') %}<path d='M0 5.5H30' stroke='currentColor' stroke-width='2' stroke-dasharray='{{ s.dash }}'/>{% endif %}
{%- if s.style != 'line' %}<circle cx='15' cy='5.5' r='3.4' stroke='currentColor' fill='{{ 'none' if s.style == 'rings' else 'currentColor' }}'/>
{%- endif %}</svg>{{ s.label }}</span>{% endfor %}</div></figure>
{% endfor %}</div>
{% elif b[0] == 'table' %}<div class='wide'><table>
<tr>{% for head in b[1] %}<th scope='col'{% if head.left %} class='t'{% endif %}>{{ head }}</th>{% endfor %}</tr>
{% for row in b[2] %}<tr>{% for cell in row %}<td{% if b[1][loop.index0].left %} class='t'{% endif %}>
{{- cell }}</td>{% endfor %}</tr>
{% endfor %}</table></div>
{% elif b[0] == 'names' %}<table class='names'>
{% for name, value in b[1] %}<tr><th scope='row'>{{ name }}</th><td>{{ value }}</td></tr>
{% endfor %}</table>
{% elif b[0] == 'pre' %}<pre>{% for word in b[1] %}{{ ' ' if not loop.first }}<span>{{ word }}</span>{% endfor %}</pre>
{% elif b[0] == 'fold' %}<details><summary>{{ b[2] }}</summary>
{{ write(b[1]) }}</details>
{% endif %}{% endfor %}
{%- endmacro -%}
<!DOCTYPE html>
<html lang='en'>
<head>
<meta charset='utf-8'>
<meta name='viewport' content='width=device-width,initial-scale=1'>
<meta http-equiv='Content-Security-Policy' content="default-src 'none';style-src 'unsafe-inline';img-src data:">
<link rel='icon' href='data:,'>
<title>MOCHI: report</title>
<style>
{%- set light = "--paper:#fff;--ink:#1c1c1c;--soft:#5c5c5c;--line:#d9d9d9;--grid:#e4e4e4;--shade:#f5f6f7;--s1:#0072b2;--s2:#d55e00;
--s3:#009e73;--s4:#b8528f;--s5:#a07800;--s6:#3a9bd9;--s7:#7f5fb0;--s8:#808080" %}
:root{color-scheme:light dark;{{ light }}}
@media(prefers-color-scheme:dark){:root{--paper:#15181c;--ink:#e4e6e8;--soft:#9aa2aa;--line:#3a4048;--grid:#2b3037;--shade:#1d2126;
--s1:#58aee6;--s2:#ff8a3c;--s3:#33c79b;--s4:#e08fbf;--s5:#dcb43c;--s6:#86ccf5;--s7:#b39be0;--s8:#8e969e}}
@media print{:root{color-scheme:light;{{ light }};--ink:#000;--soft:#444;--shade:#fff}figure,tr{break-inside:avoid}h2,h3{break-after:avoid}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem 1rem 4rem;max-width:76rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.7rem;line-height:1.2;margin:0 0 .25rem}h3{font-size:1.02rem;margin:1.5rem 0 .4rem}
h2{font-size:1.25rem;margin:2.5rem 0 .5rem;padding-top:1rem;border-top:1px solid var(--line)}
p{margin:.4rem 0;max-width:48rem}.soft,figcaption,th{color:var(--soft)}
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,21rem),1fr));gap:1.2rem;margin:.8rem 0}
figure{margin:0;min-width:0}figcaption{font-size:.92rem;font-weight:600}
svg.chart{display:block;width:100%;height:auto;stroke-linejoin:round}svg.chart text{font-family:inherit}
.legend{display:flex;flex-wrap:wrap;gap:.1rem 1rem;font-size:.85rem;padding-left:2.5rem}
.legend svg{width:1.9rem;height:.7rem;margin-right:.35rem;vertical-align:baseline}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums;margin:.5rem 0}
th,td{padding:.2rem .8rem .2rem 0;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}
th{font-weight:500}.names th,.names td,th:first-child,td:first-child,th.t,td.t{text-align:left}
.names th,.names td{white-space:normal;overflow-wrap:anywhere;vertical-align:top;min-width:6rem}
nav a{color:var(--s1)}
pre{background:var(--shade);border:1px solid var(--line);padding:.6rem .8rem;margin:.4rem 0;font-size:.82rem;
white-space:pre-wrap;overflow-wrap:anywhere}pre span{display:inline-block;max-width:100%}
details{margin:.5rem 0}summary{cursor:pointer;color:var(--soft);font-size:.92rem}
</style>
</head>
<body>
<h1>MOCHI: report</h1>
<p class='soft'>Written by mochi-report. Intervals are of 95%.</p>
<ul>
{% for line in opening[:5] %}<li>{{ line }}</li>
{% else %}<li>The inputs hold no figure that can be told in a sentence.</li>
{% endfor %}</ul>
<nav><ul>
{% for heading, blocks in sections %}<li><a href='#part{{ loop.index }}'>{{ heading }}</a></li>
{% endfor %}</ul></nav>
{% for heading, blocks in sections %}<section id='part{{ loop.index }}'>
<h2>{{ heading }}</h2>
{{ write(blocks) }}</section>
{% endfor %}</body>
</html>
"""


def page_of(paths):
    import jinja2
    report = Report(paths)
    page = jinja2.Environment(autoescape=True).from_string(TEMPLATE).render(
        opening=list(report.opening()), sections=list(report.sections()))
    return re.sub("[\x00-\x08\x0b-\x1f]", " ", page)


def main(words=None):
    """Runs the command."""
    parser = argparse.ArgumentParser(prog="mochi-report", description=__doc__.split("\n\n")[0].partition(": ")[2], epilog="Example: mochi "
                                     "train --out runs/a; mochi eval --weights runs/a/weights.safetensors --json > eval.jsonl; mochi-report "
                                     "runs/a eval.jsonl --out report.html")
    parser.add_argument("input", nargs="+", metavar="INPUT", help="a folder of mochi train; or lines of mochi eval or readouts with --json")
    parser.add_argument("--out", metavar="FILE.html", help="write the page")
    parser.add_argument("--text", action="store_true", help="print the tables of mochi eval beside each other and beside the paper's figures or, "
                        "by protocol public, other methods'; what is behind the first file's figures, and by how much")
    parser.add_argument("--head", default="", metavar="NAMES", help="with --text: only figures of these readouts, separated by commas")
    parser.add_argument("--metric", default="", metavar="NAMES", help="with --text: only figures of these metrics, such as accuracy,auc")
    o = parser.parse_args(words)
    if bool(o.out) == o.text:
        parser.error("expected either --out FILE.html or --text")
    if not o.text and (o.head or o.metric):
        parser.error("--head and --metric choose figures of --text")
    if o.text:
        try:
            heads, metrics = ([name for name in text.split(",") if name] for text in (o.head, o.metric))
            for line in Comparison(Report(o.input)).lines(heads, metrics):
                print(re.sub("[\x00-\x1f\x7f-\x9f]", "?", line))
        except Refused as why:
            parser.exit(1, f"mochi-report: {why}\n")
        except BrokenPipeError:  # the reader of the pipe has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    new = f"{o.out}.{os.getpid()}.new"
    if not o.out.endswith(".html"):
        parser.error(f"--out: expected a file .html, found '{o.out}'")
    if os.path.exists(o.out) and any(os.path.exists(path) and os.path.samefile(o.out, path) for path in o.input):
        parser.error(f"--out: expected another file than the input '{o.out}'")
    try:
        page = page_of(o.input)
        with open(new, "wb") as file:
            file.write(page.encode(errors="replace"))
        os.replace(new, o.out)
    except ImportError as why:
        parser.exit(1, f"mochi-report: {why} ({sys.executable}); expected the Debian packages python3-jinja2, python3-matplotlib and "
                    "python3-xxhash\n")
    except Refused as why:
        parser.exit(1, f"mochi-report: {why}\n")
    except OSError as why:
        if os.path.exists(new):
            os.remove(new)
        parser.exit(1, f"mochi-report: {o.out}: cannot be written: {why.strerror}\n")
    print(f"{o.out} written")


if __name__ == "__main__":
    main()
