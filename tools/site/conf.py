"""Sphinx settings for the site that tools/docs makes: the guides, the C API from the public headers, the Python API
from the package."""

import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parent  # the root of a copy of the source tree
sys.path[:0] = [str(SOURCE / "tools/python"), str(SOURCE / "tools/python/binding"), str(SOURCE / "tests/demands")]
import guide  # noqa: E402 - the copy's
import headers  # noqa: E402
import operations  # noqa: E402

project = "libmochi"
author = "the authors of libmochi"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "README"
exclude_patterns = [".github/**", "tests/sources/*/**", "tools/explain/topics"]
html_theme = "furo"
html_title = "libmochi"
html_copy_source = False
html_show_sphinx = False
pygments_style, pygments_dark_style = "default", "github-dark"
highlight_language = "none"
myst_heading_anchors = 4
autodoc_mock_imports = ["mochi._native", "sklearn", "torch"]  # replaced by stand-ins, so that signatures and docstrings need no built extension
autodoc_default_options = {"members": True, "undoc-members": False}
autodoc_typehints = "none"
napoleon_use_ivar = True
suppress_warnings = ["myst.header"]  # a guide may begin at a heading of the second level

PAGES = {
    "Guides": ["predicting", "readouts", "heads", "teaching", "training", "machines", "building", "asked_elsewhere", "changes"],
    "Reference": ["c/index", "python/index", "ops/ADJOINTS", "tools/python/README", "tools/python/PYTORCH", "train/FORMATS", "train/data/README",
                  "train/evaluation/RESULTS", "tests/PROMISES"],
}  # fmt: skip


def contents(caption, pages):
    """A table of contents in MyST."""
    return f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(pages) + "\n```\n"


def add_contents(app, name, text):
    """Adds the site's table of contents to the README."""
    if name != root_doc:
        return
    written = set(PAGES["Reference"]) | {f"tools/guides/{page}" for page in PAGES["Guides"]} | {root_doc}
    rooms = sorted(app.env.found_docs - written - {n for n in app.env.found_docs if n.startswith(("c/", "python/"))})
    text[0] += contents("Guides", [f"tools/guides/{page}" for page in PAGES["Guides"]])
    text[0] += contents("Reference", PAGES["Reference"]) + contents("The rooms of the sources", rooms)


# ---- the C API: a comment of a public header documents the declarations below it ----


def prose(comment):
    """A comment's text as reStructuredText: markup characters are escaped; indented lines are shown verbatim."""
    out, literal = [], False
    for line in re.sub(r"\n[ \t]*\* ?", "\n", comment).strip().split("\n"):
        indented = line.startswith("  ")
        if indented != literal and line:
            out += ["", "::", ""] if indented else [""]
            literal = indented
        out.append(line if literal else re.sub(r"([\\*`|_])", r"\\\1", line))
    return "\n".join(out)


def directive(code):
    """Returns Sphinx's (directive, signature) for a declaration; None if it is shown as written."""
    plain = re.sub(r"/\*.*?\*/|MO_API|MO_HIDDEN|__attribute__ *\(\(.*?\)\)\)?|extern", "", code, flags=re.S)
    plain = " ".join(plain.split()).rstrip(";")
    if found := re.match(r"typedef (struct|enum|union) \w+ \{.*\} (\w+)$", plain):
        return "type", found[2]
    if plain.startswith("typedef"):
        found = re.search(r"\(\*(\w+)\)\(|(\w+)$", plain)
        return ("type", found[1] or found[2]) if found else None
    if re.match(r"(struct|enum)( \w+)?( \{.*\})?$", plain):
        return None
    return ("function", plain) if "(" in plain else ("var", plain)


def page_of(header, text):
    """The reStructuredText of a public header."""
    parts = [part for part in headers.commented(text) if any(part)]
    about = prose(parts[0][1]).partition(" - ")[2]
    lines = [header, "=" * len(header), "", about[:1].upper() + about[1:], ""]
    words, above = "", None
    for code, comment in parts[1:]:
        if not code:
            words, above = prose(comment), None
            if words.startswith("----"):
                section, words = words.strip("- "), ""
                lines += ["", section, "-" * len(section), ""]
            continue
        known = directive(code)
        if comment:
            words, above = f"{words}\n{prose(comment)}".strip(), None
        if known and known[0] == "function" and above is not None and not words:
            lines.insert(above, f"   {known[1]}")  # one comment documents several functions
            above += 1
            continue
        lines += [f".. c:{known[0]}:: {known[1]}", ""] if known else []
        above = len(lines) - 1 if known and known[0] == "function" else None
        lines += ["   " * bool(known) + line for line in words.split("\n")] + [""] if words else []
        if not re.match(r"typedef struct (\w+) \1;", code) and (not known or known[0] == "type"):
            indent = "   " * bool(known)
            lines += [f"{indent}.. code-block:: c", ""] + [f"{indent}   {line}" for line in code.split("\n")] + [""]
        words = ""
    return "\n".join(lines)


def write_references(app):
    """Writes the pages c/ and python/, from the headers and the package, and what others asked, from tests/demands."""
    (SOURCE / "tools/guides/asked_elsewhere.md").write_text(guide.page())
    public = (SOURCE / "headers.txt").read_text().split()[1:]  # without the first, mochi.h, which includes the others
    (SOURCE / "c").mkdir(exist_ok=True)
    names = []
    for header in public:
        names.append(header.replace("/", "_").removesuffix(".h"))
        (SOURCE / "c" / f"{names[-1]}.rst").write_text(page_of(header, (SOURCE / header).read_text()))
    (SOURCE / "c/index.md").write_text(
        "# C\n\n`#include <mochi/mochi.h>` has all of these. Sizes and errors: with each declaration.\n\n```{toctree}\n"
        + "\n".join(names) + "\n```\n")  # fmt: skip

    (SOURCE / "tools/python/mochi/ops.py").write_text(operations.module(SOURCE))
    (SOURCE / "python").mkdir(exist_ok=True)
    modules = ["mochi", "mochi.ops", "mochi.sklearn", "mochi.torch"]
    body = "Python\n======\n\n" + "".join(
        f"{m}\n{'-' * len(m)}\n\n.. automodule:: {m}\n   :imported-members:\n\n" for m in modules)  # fmt: skip
    (SOURCE / "python/index.rst").write_text(body)


def plain_docstring(app, what, name, obj, options, lines):
    """Escapes formulas in docstrings: |x| is not a substitution, * not emphasis. Leaves examples unchanged."""
    example = False
    for i, line in enumerate(lines):
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        if not example:
            lines[i] = re.sub(r"([*|])", r"\\\1", line)


def setup(app):
    app.connect("autodoc-process-docstring", plain_docstring, priority=400)  # before the extension napoleon reads the sections
    app.connect("builder-inited", write_references)
    app.connect("source-read", add_contents)
