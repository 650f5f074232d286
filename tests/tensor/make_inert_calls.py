#!/usr/bin/env python3
"""Writes the calls of tests/tensor/test_inert.c and their table: one function for each function that a header declares
with MO_API. A parameter of a type that this script does not know ends the build.

Usage: make_inert_calls.py OUT.c OUT.d SOURCES
"""
import glob
import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tools/python/binding"))
from headers import split  # noqa: E402

# Objects for which the calls pass NULL: the engine lends them, and no constructor returns them.
LENT = {"mo_call"}
FOLDERS = ["tensor", "autograd", "ops", "models", "train"]
NUMBERS = {"int", "unsigned", "int64_t", "uint32_t", "uint64_t", "size_t", "double", "bool"}
# These functions return an object that belongs to their argument.
BORROWED = {"mo_tape_at", "mo_tape_context", "mo_tensor_context"}
# These functions return a context or a tape in any state, or release it: what to do with the result.
OF_ITS_OWN = {
    "mo_context_create": "mo_context_release({});",
    "mo_tape_create": "mo_tape_release({});",
    "mo_tape_release": "{}; g->tape = NULL;",
    "mo_context_release": "if ({} == MO_OK) g->context = NULL;",
}


def is_public(path):
    return "MO_API " in open(path, encoding="utf-8").read()


def without_comments(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    return re.sub(r"__attribute__\(\(format\(printf, \d, \d\)\)\)", " ", text)


class Headers:
    def __init__(self, texts):
        text = "\n".join(without_comments(t) for t in texts)
        self.prototypes = {}
        for declaration in re.findall(r"MO_API\s+([^;{]*?\))\s*;", text, flags=re.S):
            declaration = " ".join(declaration.split())
            head, parameters = declaration.split("(", 1)
            name = re.search(r"(\w+)\s*$", head).group(1)
            self.prototypes[name] = (head[: -len(name)].strip(), split(parameters[:-1]))
        self.objects = set(re.findall(r"extern MO_API const \w+ (\w+);", text))
        self.functions = set(re.findall(r"typedef [^;{]*?\(\*(\w+)\)\(", text))
        self.enums = set(re.findall(r"typedef enum (\w+)", text))
        defined = set(re.findall(r"struct (\w+) \{", text))
        declared = set(re.findall(r"typedef struct \w+ (\w+);", text))
        made = {r.rstrip("* ") for r, _ in self.prototypes.values() if r.endswith("*") and not r.startswith("const")}
        self.handles = (declared - defined) | {m for m in made if m.startswith("mo_")} | LENT
        self.values = defined


def argument(headers, symbol, parameter):
    """Returns the C expression to pass for one parameter."""
    if parameter == "...":
        return '"more"'
    if "(*" in parameter:  # a function
        return "NULL"
    kind = re.sub(r"\b(\w+)(\[[^\]]*\])?$", lambda m: "*" if m.group(2) else "", parameter).strip()
    bare = " ".join(kind.replace("const", " ").split())
    base, stars = bare.rstrip("* "), bare.count("*")
    if base == "mo_context" and stars == 1:
        return "g->context"
    if base == "mo_tape" and stars == 1:
        return "g->tape"
    if base == "mo_tensor" and stars:
        return "g->tensor" if stars == 1 else "g->outputs" if "const" not in kind else "g->tensors"
    if base == "char" and stars == 1 and "const" in kind:
        return '"%s"' if parameter.endswith("format") else "g->text"
    if stars == 1 and base in headers.handles:
        return "NULL"
    if stars:
        return "g->buffer"
    if base == "size_t":  # of a buffer, which must have them
        return "(size_t)g->bytes"
    if base in NUMBERS:
        return f"({base})g->number"
    if base in headers.enums:
        return f"({base})g->word"
    if base in headers.functions:
        return "NULL"
    if base in headers.values:
        return f"({base}){{0}}"
    sys.exit(f"make_inert_calls.py: parameter '{parameter}' of {symbol}: what to give for it is not known")


def call(headers, symbol):
    result, parameters = headers.prototypes[symbol]
    text = f"{symbol}({', '.join(argument(headers, symbol, p) for p in parameters)})"
    bare = " ".join(result.split())
    release = bare.rstrip("* ") + "_release"
    if symbol in OF_ITS_OWN:
        return OF_ITS_OWN[symbol].format(text)
    if bare == "mo_tensor *":
        return f"take_tensor(g, {text});"
    if bare.endswith("*") and release in headers.prototypes and symbol not in BORROWED:
        return f"{bare}object = {text}; take_object(g, object); {release}(object);"
    if bare == "mo_code":
        return f"take_code(g, {text});"
    return f"free({text});" if bare == "char *" else f"(void){text};"


def main():
    out, depfile, root = sys.argv[1:]
    paths = sorted(p for f in FOLDERS for p in glob.glob(f"{root}/{f}/**/*.h", recursive=True) if is_public(p))
    headers = Headers([open(path, encoding="utf-8").read() for path in paths])
    functions = sorted(headers.prototypes)
    lines = ["/* Made by tests/tensor/make_inert_calls.py. */", '#include "tests/tensor/inert_calls.h"', ""]
    for name in functions:
        lines += [f"static void call_{name}(given *g) {{", "    (void)g;", f"    {call(headers, name)}", "}", ""]
    lines += ["const inert_call inert_calls[] = {"]
    lines += [f'    {{"{name}", call_{name}}},' for name in functions]
    lines += ["};", f"const int n_inert_calls = {len(functions)};", ""]
    with open(out, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    with open(depfile, "w", encoding="utf-8") as file:
        file.write(f"{out}: {' '.join(paths)}\n")


main()
