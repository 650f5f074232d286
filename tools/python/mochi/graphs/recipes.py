"""The recipes of `mochi train`: all settings that decide a run's weights, by the program's code (tools/train/recipe.c)."""

from __future__ import annotations

from typing import Any

from .. import checked, errors
from .._library import ffi, lib
from ..heads import head

RECIPES = ("paper", "paper++", "released", "best")  # in the order of RECIPE_PAPER .. in recipe.h
TEMPERATURES = ("logit", "embed")
# The program's fields for settings that can replace a recipe's.
OPTIONS = {
    "dim": "features.dim", "power_iterations": "features.power_iterations", "link_share": "link_share", "families": "family",
    "steps": "steps", "episodes_per_step": "episodes_per_step", "lr": "adamw.lr", "lr_min": "adamw.lr_min",
    "weight_decay": "adamw.weight_decay", "clip": "adamw.clip", "max_classes": "plan.max_classes",
    "layers": "model.encoder.layers", "dropout": "model.encoder.dropout", "lam": "model.lambda", "max_rows": "max_rows",
    "seed": "seed",
}  # fmt: skip
OTHERS = ("hops", "k", "q", "temperature", "head", "attributes")


class Recipe:
    """The settings of a run: a named recipe, with some settings replaced.

    Parameters
    ----------
    name : str
        "best", "paper", "paper++" or "released".
    pool : list of str
        The graphs, as run.json names them.
    **given
        Any of OPTIONS and OTHERS.
    """

    def __init__(self, name: str, pool: list[str], **given: Any):
        r = self.settings = ffi.new("recipe *", lib.recipe_defaults(checked.choice("recipe", name, RECIPES)))
        lib.free_names(ffi.addressof(r, "pool"))
        self._names = [ffi.new("char[]", word.encode()) for word in pool]
        self._items = ffi.new("char *[]", self._names)
        r.pool.items, r.pool.count = self._items, len(pool)
        for option, value in given.items():
            self._set(option, value)
        if given.get("lr_min", 0) > r.adamw.lr:
            raise errors.InvalidError(f"train: lr_min is {given['lr_min']}, expected {r.adamw.lr}, the lr, or less")
        lib.recipe_settle(r)
        self._refuse(name == "best", given)

    def _set(self, option, value):
        r, what = self.settings, f"train: {option}"
        if option in ("lam", "lr", "lr_min"):
            checked.real(what, value, 0)
        if option in OPTIONS:
            *outer, last = OPTIONS[option].split(".")
            place = r
            for name in outer:
                place = getattr(place, name)
            setattr(place, last, value)
        elif option == "hops":
            r.model.encoder.hops = r.invariant.hops = value
        elif option in ("k", "q"):
            low, high = (value, value) if isinstance(value, int) else value
            setattr(r.plan, f"{option}_min", low)
            setattr(r.plan, f"{option}_max", high)
        elif option == "temperature":
            r.model.temperature = checked.choice(what, value, TEMPERATURES)
        elif option == "attributes":
            r.features.attributes = 1 + checked.choice(what, value, ("scaled", "raw"))
        elif option == "head":
            self._head = head(value)
            r.model.head, r.head = self._head.pointer, self._head.name.encode()
        else:
            raise TypeError(f"train: an unknown option {option!r}, expected one of {', '.join((*OPTIONS, *OTHERS))}")

    def _refuse(self, best, given):
        """Refuses settings without effect on the run, as `mochi train` does."""
        readout = self.settings.model.head
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
