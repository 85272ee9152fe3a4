"""The JSON Schema of the file, for editors. Made from the models, so that it says what the validator says."""

from typing import Any

from pixivflow.config.model import Config

SCHEMA_ID = "urn:pixivflow:schema:config"
DIALECT = "https://json-schema.org/draft/2020-12/schema"

_VARIABLE = {"type": "string", "pattern": r"^\$\{[^{}]+\}$", "description": "The value of an environment variable."}
_WITH_VARIABLE = {"type": "string", "pattern": r"\$\{[^{}]+\}", "description": "A text with environment variables."}
_STRICT = ("enum", "const", "pattern", "format", "minLength")
_ABOUT = ("title", "description", "default")


def json_schema() -> dict[str, Any]:
    """JSON Schema 2020-12 of a configuration file.

    Keys that start with `_` are comments everywhere. `${NAME}` is allowed everywhere.
    """
    schema = Config.model_json_schema(by_alias=True, mode="validation")
    _walk(schema)
    schema["properties"] = {"$schema": {"type": "string", "description": "For editors."}, **schema["properties"]}
    return {"$schema": DIALECT, "$id": SCHEMA_ID, "title": "PixivFlow configuration", **_without_title(schema)}


def _walk(node: Any) -> None:
    if isinstance(node, list):
        for item in node:
            _walk(item)
        return
    if not isinstance(node, dict):
        return
    if node.get("type") == "object" and "patternProperties" in node:  # a map with a rule for its keys
        node["additionalProperties"] = False
    if "additionalProperties" in node:
        node["patternProperties"] = {**node.get("patternProperties", {}), "^_": True}
    properties = node.get("properties")
    if isinstance(properties, dict):
        node["properties"] = {key: _with_variable(_without_title(value)) for key, value in properties.items()}
    for key, value in node.items():
        if key not in ("default", "enum", "const", "examples"):
            _walk(value)


def _with_variable(property_: dict[str, Any]) -> dict[str, Any]:
    """Allow `${NAME}` where the plain type would refuse it."""
    options = property_.get("anyOf", [property_])
    if any("$ref" in option for option in options) or not any(_refuses_variable(option) for option in options):
        return property_
    about = {key: property_[key] for key in _ABOUT if key in property_}
    if "anyOf" not in property_:
        options = [{key: value for key, value in property_.items() if key not in _ABOUT}]
    textual = any(option.get("type", "string") == "string" for option in options)
    return {**about, "anyOf": [*options, dict(_WITH_VARIABLE if textual else _VARIABLE)]}


def _refuses_variable(option: dict[str, Any]) -> bool:
    if option.get("type") in ("integer", "number", "boolean"):
        return True
    return any(word in option for word in _STRICT) and option.get("type", "string") == "string"


def _without_title(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != "title"}
