"""Two runs side by side: outcome, setting, where they part, or how their distributions differ."""

from memcheck_cli.compare.comparison import Comparison, Options, compare
from memcheck_cli.compare.sides import ReadSide, Side, scope_of

__all__ = ["Comparison", "Options", "ReadSide", "Side", "compare", "scope_of"]
