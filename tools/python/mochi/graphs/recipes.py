"""The recipes of `mochi train`: all settings that decide a run's weights (train/run/recipe.c)."""

from __future__ import annotations

import json
import re
from typing import Any

from .. import checked, errors
from .._library import ffi, lib
from ..heads import _library_name, head

RECIPES = ("paper", "paper++", "released", "best")  # in the order of MO_RECIPE_PAPER ..


class Recipe:
    """The settings of a run: a named recipe, with some settings replaced.

    Parameters
    ----------
    name : str
        "best", "paper", "paper++" or "released".
    pool : list of str
        The graphs, as run.json names them.
    **given
        Settings of the program, by the names of its options with underscores (`lam` for `lambda`); `head` and `families`.
    """

    def __init__(self, name: str, pool: list[str], **given: Any):
        r = self.settings = ffi.new("mo_recipe *", lib.mo_recipe_defaults(checked.choice("recipe", name, RECIPES)))
        self._pool = [ffi.new("char[]", word.encode()) for word in pool]
        given = {option: value for option, value in given.items() if value is not None}
        for option, value in given.items():
            self._set(option, value)
        for option in given:
            why = lib.mo_recipe_refuses(r, _library_name(option).replace("_", "-").encode())
            if why:
                words = re.sub(r"--(\S+)", r"\1", ffi.string(why).decode())
                raise errors.InvalidError(f"train: {option} is {given[option]!r}: {words}")
        if "lam" not in given and lib.mo_head_is_own(r.model.readout.head):
            setattr(r.model.readout, "lambda", 0.0)  # a head of one's own keeps its own
        lib.mo_recipe_settle(r)

    def _set(self, option, value):
        r = self.settings
        if option == "head":
            self._head = head(value)
            r.model.readout.head, r.head = self._head._pointer, self._head.name.encode()
        elif option == "families":
            r.family = value
        else:
            expected = ffi.new("char[256]")
            if lib.mo_recipe_set(r, _library_name(option).encode(), json.dumps(value, default=lambda v: v.item()).encode(), expected):
                return
            if not ffi.string(expected):
                raise TypeError(f"train: an unknown option {option!r}; see `mochi train --help`")
            raise errors.InvalidError(f"train: {option} is {value!r}, expected {ffi.string(expected).decode()}")

    def text(self) -> str:
        """The settings in the program's run.json form, so that each can continue the other's runs."""
        text = lib.mo_recipe_text(self.settings, ffi.new("char *[]", self._pool or [ffi.NULL]), len(self._pool))
        try:
            return ffi.string(text).decode()
        finally:
            lib.free(text)
