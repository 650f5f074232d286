"""The recipes of `mochi train`: what decides the weights of a run (tools/train/recipe.c)."""

from __future__ import annotations

import json
from typing import Any

from .. import checked, errors
from .._library import ffi, lib
from ..heads import head
from .trained import COMBINE, FORMS, NORMS

POOL = ("citeseer", "photo", "gnutella06", "astroph", "enzymes", "imdb-binary")
TEMPERATURES = {"logit": lib.MO_TEMPERATURE_LOGIT, "embed": lib.MO_TEMPERATURE_EMBED}
COMMON = {
    "form": "nodes", "dim": 512, "hops": 3, "power_iterations": 2, "combine": "sum", "norm": "layer", "link_share": 0.2,
    "families": (1.0, 1.0, 1.0), "steps": 10000, "episodes_per_step": 3, "lr": 3e-4, "lr_min": 0.0, "weight_decay": 1e-4,
    "clip": 1.0, "k": (8, 32), "q": (16, 64), "max_classes": 64, "log_uniform": False, "layers": 3, "dropout": 0.0,
    "relu_hops": True, "temperature": "logit", "smoothing": 0.1, "head": "ridge", "lam": 10.0, "max_rows": 0, "seed": 0,
}  # fmt: skip
PAPER = {"relu_hops": False, "combine": "concat", "norm": "none"}
RECIPES: dict[str, dict[str, Any]] = {
    "best": {
        "form": "examples", "dim": 256, "head": "mixture", "lam": 3.0, "steps": 400, "lr": 1e-2, "k": (4, 64),
        "q": (24, 24), "log_uniform": True,
    },
    "paper": {**PAPER, "episodes_per_step": 1},
    "paper++": PAPER,
    "released": {"temperature": "embed", "lr_min": 1e-5, "k": (96, 96), "q": (192, 192), "steps": 12991},
}  # fmt: skip
OPTIONS = (
    "dim", "hops", "power_iterations", "link_share", "families", "steps", "episodes_per_step", "lr", "lr_min", "weight_decay",
    "clip", "k", "q", "max_classes", "layers", "dropout", "temperature", "head", "lam", "max_rows", "seed",
)  # fmt: skip


class Recipe:
    """The settings of a run: those of a named recipe, and what is given in their place.

    Parameters
    ----------
    name : str
        "best", "paper", "paper++" or "released".
    pool : list of str
        The graphs, as run.json names them.
    **given
        Any of OPTIONS.
    """

    def __init__(self, name: str, pool: list[str], **given: Any):
        if name not in RECIPES:
            raise errors.InvalidError(f"recipe {name!r}, expected one of {', '.join(RECIPES)}")
        for option in given:
            if option not in OPTIONS:
                raise TypeError(f"train: an unknown option {option!r}, expected one of {', '.join(OPTIONS)}")
        self.name, self.pool = name, pool
        self.s = {**COMMON, **RECIPES[name], **given}
        for part in ("k", "q"):
            bounds = self.s[part]
            self.s[part] = (bounds, bounds) if isinstance(bounds, int) else tuple(bounds)
        for option in {"lam", "lr", "lr_min"} & set(given):
            checked.real(f"train: {option}", given[option], 0)
        if given.get("lr_min", 0) > self.s["lr"]:
            raise errors.InvalidError(f"train: lr_min is {given['lr_min']}, expected {self.s['lr']}, the lr, or less")
        self.s["lr_min"] = min(self.s["lr_min"], self.s["lr"])
        if self.s["temperature"] not in TEMPERATURES:
            raise errors.InvalidError(f"temperature {self.s['temperature']!r}, expected one of {', '.join(TEMPERATURES)}")
        self.head = head(self.s["head"])
        self._refuse(given)
        self.invariant = ffi.new("mo_invariant_options *", lib.mo_invariant_defaults())
        self.invariant.hops = self.s["hops"]

    def _refuse(self, given):
        """What has no effect on the run, as `mochi train` refuses it."""
        best = self.name == "best"
        for option, why in (
            ("layers", best and "the recipe best has its own encoder"),
            ("dropout", best and "the recipe best has its own encoder"),
            ("lam", self.reads_itself and "the readout of the recipe best has its own"),
            ("lam", "lambda" not in self.head.parameters and f"the head {self.head.name} has none"),
            ("temperature", self.reads_itself and "the readout of the recipe best has its own"),
        ):
            if option in given and why:
                raise errors.InvalidError(f"train: {option} has no effect, as {why}")

    @property
    def reads_itself(self) -> bool:
        """Whether the model is the encoder of `best` under its own readout."""
        return self.name == "best" and self.head.name == "mixture"

    def features(self) -> Any:
        """The library's options of the features; their cache is not set."""
        o, s = ffi.new("mo_feature_options *"), self.s
        o.form, o.combine, o.norm = FORMS[s["form"]], COMBINE[s["combine"]], NORMS[s["norm"]]
        o.dim, o.hops, o.power_iterations, o.seed = s["dim"], s["hops"], s["power_iterations"], s["seed"]
        return o

    def model(self, context: Any, pool: Any) -> Any:
        """A new model for the graphs of a pool, as the library's pointer."""
        s = self.s
        if self.name != "best":
            o = ffi.new("mo_mochi_options *", lib.mo_mochi_defaults())
            o.encoder.dim, o.encoder.hops, o.encoder.layers = s["dim"], s["hops"], s["layers"]
            o.encoder.relu_hops, o.encoder.dropout = s["relu_hops"], s["dropout"]
            o.temperature, o.smoothing, o.head = TEMPERATURES[s["temperature"]], s["smoothing"], self.head.pointer
            setattr(o, "lambda", s["lam"])
            return context.call(lib.gate_mo_mochi_create, context.pointer, lib.MO_F32, o, s["seed"])
        model = context.call(lib.gate_mo_invariant_create, context.pointer, lib.MO_F32, self.invariant)
        if self.reads_itself:
            return model
        o = ffi.new("mo_readout_options *")
        o.head, o.temperature, o.smoothing = self.head.pointer, TEMPERATURES[s["temperature"]], self.invariant.smoothing
        setattr(o, "lambda", s["lam"])
        for i in range(lib.mo_pool_size(pool)):
            source = lib.mo_pool_source(pool, i)
            if not o.width[source.task]:
                o.width[source.task] = context.call(lib.gate_mo_embedding_width, model, source)
        return context.call(lib.gate_mo_model_under_head, model, o, s["seed"])

    def training(self) -> Any:
        """The library's options of the trainer; folder, settings and checkpoints are not set."""
        o, s = ffi.new("mo_trainer_options *"), self.s
        o.steps, o.episodes_per_step, o.max_rows = s["steps"], s["episodes_per_step"], s["max_rows"]
        o.adamw.lr, o.adamw.lr_min, o.adamw.weight_decay, o.adamw.clip = s["lr"], s["lr_min"], s["weight_decay"], s["clip"]
        o.adamw.beta1, o.adamw.beta2, o.adamw.epsilon = 0.9, 0.999, 1e-8
        o.plan.k_min, o.plan.k_max = s["k"]
        o.plan.q_min, o.plan.q_max = s["q"]
        o.plan.max_classes, o.plan.seed, o.plan.log_uniform = s["max_classes"], s["seed"], s["log_uniform"]
        if self.name == "best":
            lp, gc = lib.MO_TASK_LP, lib.MO_TASK_GC
            o.plan.k_times[lp] = o.plan.q_times[lp] = o.plan.q_times[gc] = 2
        return o

    def text(self) -> str:
        """The settings as the program writes them in run.json, so that either continues the other's runs."""
        s = self.s
        found: dict[str, Any] = {"recipe": self.name, "pool": self.pool}
        readout = {"head": self.head.name, "lambda": float(s["lam"]), "temperature": s["temperature"]}
        if self.name == "best":
            parts = ffi.new("char[128]")
            lib.mo_invariant_write_parts(((1 << lib.MO_INVARIANT_PARTS) - 1) & ~self.invariant.without, parts, 128)
            found["parts"] = ffi.string(parts).decode()
            found.update({} if self.reads_itself else readout)
        else:
            found.update(layers=s["layers"], dropout=float(s["dropout"]), **readout, combine=s["combine"])
            found.update(hop_activation="relu" if s["relu_hops"] else "none", feature_norm=s["norm"])
        for name, kind in (
            ("dim", int), ("hops", int), ("power_iterations", int), ("link_share", float), ("steps", int),
            ("episodes_per_step", int), ("lr", float), ("lr_min", float), ("weight_decay", float), ("clip", float),
            ("smoothing", float), ("k", list), ("q", list), ("max_classes", int), ("seed", int),
        ):  # fmt: skip
            found[name] = kind(s[name])
        if self.name == "best":
            found["smoothing"] = self.invariant.smoothing
        if s["max_rows"]:
            found["max_rows"] = s["max_rows"]
        if tuple(s["families"]) != (1, 1, 1):
            found["families"] = [float(f) for f in s["families"]]
        return json.dumps(found)
