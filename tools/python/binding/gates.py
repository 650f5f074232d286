"""C source of the gates: for every function X of the library a gate_X, whose first argument is the gate of a context."""

import headers

# Functions that make or free the context itself, or have no context.
WITHOUT_GATE = {"mo_context_create", "mo_context_release", "mo_fail_at"}


def gated(text):
    """The functions that get a gate."""
    return [f for f in headers.functions(text) if f[1] not in WITHOUT_GATE]


def declared(function):
    """'mo_tensor *gate_mo_add(binding_gate *gate, ..)'"""
    result, name, parameters = function
    rest = "".join(f", {kind.replace('NAME', own)}" for kind, own in parameters)
    return f"{result} gate_{name}(binding_gate *gate{rest})"


def nothing(result, known):
    """The value a gate returns if it was refused or its call failed; None: the function's own result."""
    if result.endswith("*"):
        return "NULL"
    if result == "double":
        return "NAN"
    return "{0}" if f"typedef struct {result} " in known else f"({result})0"


def defined(function, known):
    result, name, parameters = function
    call = f"{name}({', '.join(own for _, own in parameters)})"
    empty = nothing(result, known)
    if result == "void":
        body = ["if (!gate_enter(gate)) return;", f"{call};", "gate_leave(gate);"]
    elif result == "mo_code":
        body = ["if (!gate_enter(gate)) return MO_STATE;", f"mo_code result_ = {call};", "gate_leave(gate);", "return result_;"]
    else:
        leave = "if (!gate_leave(gate)) result_ = NULL;" if empty == "NULL" else "gate_leave(gate);"
        body = [f"{result} result_ = {empty};", "if (!gate_enter(gate)) return result_;", f"result_ = {call};"]
        body.append(leave)
        body.append("return result_;")
    lines = "".join(f"    {line}\n" for line in body)
    return f"static {declared(function)} {{\n{lines}}}\n"


def declarations(text):
    return "".join(declared(f) + ";\n" for f in gated(text))


def definitions(text):
    return "".join(defined(f, text) for f in gated(text))
