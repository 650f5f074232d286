"""Solutions of equations: by iterations, by one factorization with its health; checks of derivatives."""

from .checks import Check, gradcheck
from .health import Health, solve_with
from .iterations import Report, implicit, solve

__all__ = ["Check", "Health", "Report", "gradcheck", "implicit", "solve", "solve_with"]
