"""constraints.txt is in step with pyproject.toml: everything needed is pinned, once, to a version that is allowed.

Packages needed by our dependencies count too (read from what is installed), so that an installation with the
constraints is the same everywhere.
"""

from __future__ import annotations

import sys
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent


def read_pins(text: str) -> tuple[dict[str, str], list[str]]:
    """The pinned versions by canonical name, and what is wrong with the file's form."""
    pins: dict[str, str] = {}
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            found.append(f"constraints.txt:{number}: {line!r} is not a requirement")
            continue
        name = canonicalize_name(requirement.name)
        exact = [spec.version for spec in requirement.specifier if spec.operator == "=="]
        if len(exact) != 1 or len(requirement.specifier) != 1 or requirement.url or requirement.extras:
            found.append(f"constraints.txt:{number}: {name} must be pinned as name==version")
        elif name in pins:
            found.append(f"constraints.txt:{number}: {name} is pinned twice")
        else:
            pins[name] = exact[0]
    if list(pins) != sorted(pins):
        found.append("constraints.txt: names are not sorted")
    return pins, found


def direct_requirements(project: dict[str, object]) -> list[Requirement]:
    """Runtime requirements and those of every extra."""
    table = project["project"]
    assert isinstance(table, dict)  # noqa: S101 - the build would have failed before
    extras = table.get("optional-dependencies", {})
    return [Requirement(text) for group in (table["dependencies"], *extras.values()) for text in group]


def closure(roots: list[Requirement]) -> dict[str, str]:
    """Every package reached from the roots in this environment, with the name of the one that asks for it."""
    reached: dict[str, str] = {}
    waiting = [(root, "pyproject.toml") for root in roots]
    while waiting:
        requirement, asker = waiting.pop()
        name = canonicalize_name(requirement.name)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        if name not in reached:
            reached[name] = asker
            try:
                needed = metadata.requires(name) or []
            except metadata.PackageNotFoundError:
                continue
            for text in needed:
                inner = Requirement(text)
                extras = requirement.extras or {""}
                if inner.marker is None or any(inner.marker.evaluate({"extra": extra}) for extra in extras):
                    waiting.append((Requirement(text.split(";")[0]), name))
    return reached


def main() -> int:
    """Compare the two files with each other and with the environment."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        roots = direct_requirements(tomllib.load(file))
    pins, found = read_pins((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    for root in roots:
        pinned = pins.get(canonicalize_name(root.name))
        if pinned is None:
            found.append(f"{root.name} is required by pyproject.toml and not pinned")
        elif not root.specifier.contains(pinned, prereleases=True):
            found.append(f"{root.name}=={pinned} is outside {root.specifier} of pyproject.toml")
    found += [f"{n} (needed by {asker}) is not pinned" for n, asker in sorted(closure(roots).items()) if n not in pins]
    for problem in dict.fromkeys(found):
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
