"""The recipes of `mochi train`: all settings that decide a run's weights, by the program's code (tools/train/recipe.c)."""

from __future__ import annotations

import json
from typing import Any

from .. import checked, errors
from .._library import ffi, lib
from ..heads import head

RECIPES = ("paper", "paper++", "released", "best")  # in the order of RECIPE_PAPER .. in recipe.h


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
        r = self.settings = ffi.new("recipe *", lib.recipe_defaults(checked.choice("recipe", name, RECIPES)))
        lib.free_names(ffi.addressof(r, "pool"))
        self._names = [ffi.new("char[]", word.encode()) for word in pool]
        self._items = ffi.new("char *[]", self._names)
        r.pool.items, r.pool.count = self._items, len(pool)
        given = {option: value for option, value in given.items() if value is not None}
        for option, value in given.items():
            self._set(option, value)
        if given.get("lr_min", 0) > r.training.adamw.lr:
            raise errors.InvalidError(f"train: lr_min is {given['lr_min']}, expected {r.training.adamw.lr}, the lr, or less")
        if "lam" not in given and lib.mo_head_is_own(r.model.readout.head):
            setattr(r.model.readout, "lambda", 0.0)  # a head of one's own keeps its own
        lib.recipe_settle(r)
        self._refuse(name == "best", given)

    def _set(self, option, value):
        r = self.settings
        if option == "head":
            self._head = head(value)
            r.model.readout.head, r.head = self._head._pointer, self._head.name.encode()
        elif option == "families":
            r.family = value
        else:
            expected = ffi.new("char[256]")
            key = "lambda" if option == "lam" else option
            if lib.recipe_set(r, key.encode(), json.dumps(value, default=lambda v: v.item()).encode(), expected):
                return
            if not ffi.string(expected):
                raise TypeError(f"train: an unknown option {option!r}; see `mochi train --help`")
            raise errors.InvalidError(f"train: {option} is {value!r}, expected {ffi.string(expected).decode()}")

    def _refuse(self, best, given):
        """Refuses settings without effect on the run, as `mochi train` does."""
        readout = self.settings.model.readout.head
        reads_itself = lib.reads_itself(self.settings)
        parameters = [ffi.string(p.name) for p in readout.parameters[0 : readout.n_parameters]]
        for option, why in (
            ("layers", best and "the recipe best has its own encoder"),
            ("dropout", best and "the recipe best has its own encoder"),
            ("lam", reads_itself and "the readout of the recipe best has its own"),
            ("lam", b"lambda" not in parameters and f"the head {ffi.string(readout.name).decode()} has none"),
            ("temperature", reads_itself and "the readout of the recipe best has its own"),
        ):
            if option in given and why:
                raise errors.InvalidError(f"train: {option} has no effect, as {why}")

    def text(self) -> str:
        """The settings in the program's run.json form, so that each can continue the other's runs."""
        text = lib.recipe_text(self.settings)
        try:
            return ffi.string(text).decode()
        finally:
            lib.free(text)
