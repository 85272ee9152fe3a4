"""The configuration: one schema, one validator, one immutable snapshot. Nothing here writes to the user's file."""

from pixivflow.config.check import LoadResult, check_config
from pixivflow.config.draft import Origin
from pixivflow.config.load import load_config
from pixivflow.config.model import Config, Plan
from pixivflow.config.problems import Problem, render_problem, render_problems
from pixivflow.config.secrets import Tokens
from pixivflow.config.targets import TargetConfig

__all__ = [
    "Config",
    "LoadResult",
    "Origin",
    "Plan",
    "Problem",
    "TargetConfig",
    "Tokens",
    "check_config",
    "load_config",
    "render_problem",
    "render_problems",
]
