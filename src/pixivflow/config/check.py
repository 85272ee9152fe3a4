"""From a draft to a checked configuration: fill in, put right, validate, ask the rules; all problems at once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pixivflow.config.availability import report_inert, report_unavailable
from pixivflow.config.draft import OVERRIDE, Draft, Origin, frozen, leaves, without_comments
from pixivflow.config.environment import MANUAL_TOKEN_VARIABLE, VARIABLES, Environment
from pixivflow.config.model import Config
from pixivflow.config.problems import Location, Problem, path_text
from pixivflow.config.rules import check_rules
from pixivflow.config.secrets import Tokens, token
from pixivflow.config.soft import soften
from pixivflow.config.spec import place_at
from pixivflow.config.substitute import substitute
from pixivflow.config.translate import translate

_YES = frozenset({"true", "1", "yes", "on"})
_NO = frozenset({"false", "0", "no", "off"})


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What came of loading.

    Attributes:
        config: None when there is an error among the problems.
        problems: everything found, in the order found.
        origins: path (`targets[0].tag`) to where its value came from; what is not in it is a default.
        tokens: bearer tokens of the port.
        path: the file that was read, or None.
        base: the folder from which relative paths count.
    """

    config: Config | None
    problems: tuple[Problem, ...]
    origins: Mapping[str, Origin] = field(default_factory=dict)
    tokens: Tokens = field(default_factory=Tokens)
    path: Path | None = None
    base: Path = field(default_factory=Path)

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that keep the configuration from being used."""
        return tuple(problem for problem in self.problems if problem.severity == "error")

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """The problems that do not."""
        return tuple(problem for problem in self.problems if problem.severity == "warning")


def check_config(
    data: Mapping[str, Any],
    env: Mapping[str, str],
    overrides: Mapping[str, Any] | None = None,
    *,
    source: str = "",
    base: Path | None = None,
) -> LoadResult:
    """Check a configuration that is at hand as plain data (what a console sends, what a test writes).

    Args:
        data: the object of the file; not changed.
        env: environment variables.
        overrides: dotted key to value, over everything else.
        source: a name for it in messages.
        base: the folder from which relative paths count; the working folder when None.
    """
    folder = base if base is not None else Path()
    return assemble(draft_of(data, source), Environment(env, folder), folder, overrides or {})


def draft_of(data: Mapping[str, Any], source: str, problems: Iterable[Problem] = ()) -> Draft:
    """A draft of a file's data, with the file as the origin of every value."""
    draft = Draft(without_comments(dict(data)), source, problems=list(problems))
    origin = Origin("file", source)
    draft.origins.update({place: origin for place, _ in leaves(draft.data) if place})
    return draft


def assemble(
    draft: Draft, environment: Environment, base: Path, overrides: Mapping[str, Any], path: Path | None = None
) -> LoadResult:
    """Fill in the environment and the overrides, check everything, and freeze the result."""
    _fill_in(draft, environment)
    _apply_variables(draft, environment)
    _apply_overrides(draft, overrides)
    manual = token(environment.get(MANUAL_TOKEN_VARIABLE))
    draft.problems.extend(environment.problems)
    report_unavailable(draft)
    soften(draft)
    config = _validate(draft, base)
    check_rules(draft)
    report_inert(draft)
    usable = None if draft.has_errors() else config
    trigger = token(usable.scheduler_runtime.trigger.token) if usable is not None else None
    return LoadResult(
        config=usable,
        problems=tuple(draft.problems),
        origins={path_text(place): origin for place, origin in draft.origins.items()},
        tokens=Tokens(manual=manual, trigger=trigger),
        path=path,
        base=base,
    )


def _fill_in(draft: Draft, environment: Environment) -> None:
    """Replace `${NAME}` in every text of the file."""
    for place, value in list(leaves(draft.data)):
        if not isinstance(value, str) or "${" not in value:
            continue
        done = substitute(value, environment.get)
        if done.malformed:
            draft.report(place, "bad_variable", "`${` without a name and `}`", "write `$${` for a plain `${`")
        for name in done.missing:
            draft.report(
                place,
                "missing_variable",
                f"the environment variable {name} is not set",
                f"set it, or give a default: ${{{name}:-...}}",
            )
        if done.names:
            draft.origins[place] = Origin("env", ", ".join(done.names))
        _replace(draft, place, _typed(place, done.text) if done.whole else done.text)
        if done.malformed or done.missing:
            draft.silent.add(place)


def _apply_variables(draft: Draft, environment: Environment) -> None:
    for variable in VARIABLES:
        value = environment.setting(variable.name)
        if value is None or (not variable.wins and _is_set(draft.get(*variable.location))):
            continue
        if variable.location == ("storage", "databasePath") and "databaseUrl" in draft.mapping("storage"):
            del draft.data["storage"]["databaseUrl"]  # the variable is about the same thing and wins
            draft.origins.pop(("storage", "databaseUrl"), None)
        draft.put(variable.location, _typed(variable.location, value), Origin("env", variable.name))


def _is_set(value: Any) -> bool:
    return value is not None and not (isinstance(value, str) and not value.strip())


def _apply_overrides(draft: Draft, overrides: Mapping[str, Any]) -> None:
    for key, value in overrides.items():
        draft.put(
            tuple(key.split(".")),
            str(value) if isinstance(value, Path) else without_comments(value, top=False),
            OVERRIDE,
        )


def _typed(place: Location, text: str) -> Any:
    """A text from the environment as what belongs at that place; left as it is when it does not look like it."""
    spec = place_at(Config, place)
    wanted = spec.kind if spec is not None else str
    word = text.strip().lower()
    if wanted is bool and word in _YES | _NO:
        return word in _YES
    if wanted in (int, float):
        try:
            return wanted(word)
        except ValueError:
            return text
    return text


def _replace(draft: Draft, place: Location, value: Any) -> None:
    node: Any = draft.get(*place[:-1])
    node[place[-1]] = value


def _validate(draft: Draft, base: Path) -> Config | None:
    try:
        return Config.model_validate(frozen(draft.data), context={"base": base})
    except ValidationError as error:
        translate(draft, error.errors(include_url=False))
        return None
