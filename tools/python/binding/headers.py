"""The library's public headers: as declarations for cffi, preprocessed and without attributes; and as they are commented."""

import pathlib
import re
import subprocess
import tempfile

# The headers for Python: mochi.h, the program's other declarations, and the drawing of ops' samples.
HEADERS = ("tools/inside.h", "autograd/sample.h")
COMMENT = re.compile(r"/\*(.*?)\*/", re.S)
DECLARATION = re.compile(r"(?:/\*.*?\*/|[^;{/]|/(?!\*))*(?:\{(?:[^{}]|\{[^{}]*\})*\}[^;]*)?;", re.S)
SYSTEM = ("stdarg.h", "stdbool.h", "stddef.h", "stdint.h", "stdio.h")


def preprocessed(root, compiler, *options):
    """HEADERS after the preprocessor, with system headers left empty."""
    with tempfile.TemporaryDirectory() as folder:
        for name in SYSTEM:
            (pathlib.Path(folder) / name).write_text("")
        text = "".join(f'#include "{header}"\n' for header in HEADERS)
        command = [*compiler, "-E", "-P", *options, "-nostdinc", "-I", folder, "-I", str(root), "-"]
        done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    return done.stdout


def constants(root, compiler):
    """The macros of the headers whose value is a number."""
    macros = preprocessed(root, compiler, "-dM")
    return dict(re.findall(r"^#define (MO_\w+) \(?(-?\d+)\)?$", macros, re.M))


def commented(text):
    """The declarations of a header with the comment beside each, and the other comments: (declaration or "", comment or ""), in
    their order; ("", "") where a blank line or the preprocessor's lines part them."""
    text, at = re.sub(r"^#.*(?:\\\n.*)*\n", "\n", text, flags=re.M).rstrip(), 0
    while at < len(text):
        start, at = at, re.compile(r"\s*").match(text, at).end()
        if text.count("\n", start, at) > 1:
            yield "", ""
        if found := COMMENT.match(text, at):
            yield "", found[1]
        elif found := DECLARATION.match(text, at):
            beside = re.compile(r"[ \t]*/\*(.*?)\*/", re.S).match(text, found.end())
            yield found[0], beside[1] if beside else ""
            found = beside or found
        else:
            raise ValueError(f"no declaration at {text[at : at + 80]!r}")
        at = found.end()


def without_attributes(text):
    text = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", " ", text)
    return re.sub(r"\s+", " ", text)


def statements(text):
    """The declarations one by one: cut at the semicolons outside of braces."""
    depth, start = 0, 0
    for i, letter in enumerate(text):
        depth += (letter == "{") - (letter == "}")
        if letter == ";" and depth == 0:
            yield text[start : i + 1].strip()
            start = i + 1


def is_declared(statement):
    """Whether cffi takes the statement: a declaration, and no body of an inline function."""
    return not statement.startswith("static ") and "va_list" not in statement and "FILE" not in statement


def functions(text):
    """(result, name, [(type, name) of parameters]) of every function of the library; those with ... are left out."""
    for statement in statements(text):
        match = re.fullmatch(r"([\w\s*]+?)\s*\b(mo_\w+)\s*\((.*)\)\s*;", statement)
        if not match or statement.startswith("typedef") or "..." in statement:
            continue
        yield match.group(1).replace(" *", " *"), match.group(2), [parameter(p) for p in split(match.group(3))]


def split(text):
    """Parameters, cut at the commas outside of parentheses."""
    parts, depth, part = [], 0, ""
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += letter
    return [p for p in [*parts, part.strip()] if p and p != "void"]


def parameter(text):
    """(the type with NAME in the place of the name, the name)."""
    match = re.search(r"\(\*\s*(\w+)\)\(", text) or re.search(r"\b(\w+)\s*(\[[^\]]*\])?$", text)
    start, end = match.span(1)
    return text[:start] + "NAME" + text[end:], match.group(1)


def declarations(root, compiler):
    """The text for ffi.cdef."""
    text = without_attributes(preprocessed(root, compiler))
    numbers = [f"#define {name} {value}" for name, value in sorted(constants(root, compiler).items())]
    return "\n".join([*numbers, *filter(is_declared, statements(text))]) + "\n"
