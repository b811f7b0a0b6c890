"""The JSON Schema of a scenario: what an editor completes, explains and checks in a file that names it."""

from __future__ import annotations

import json
from typing import Any

from paceline import _core
from paceline.scenario.sweep_axes import MOST_SEEDS, NO_SETTINGS

#: The file that `paceline init` writes beside a scenario.
FILE = "paceline.schema.json"


def schema() -> dict[str, Any]:
    """JSON Schema, draft 7: the keys as the core reads them, and `[sweep]` as it is read here."""
    made: dict[str, Any] = json.loads(_core.scenario_schema())
    seed = made["properties"]["seed"]
    seeds = {"type": "integer", "minimum": 1, "maximum": MOST_SEEDS}
    axis = {"$ref": "#/definitions/axis"}
    made["properties"]["sweep"] |= {
        "propertyNames": {"not": {"enum": sorted(NO_SETTINGS)}},
        "properties": {
            "seeds": {
                "description": "how many each setting runs under, from seed on, or which",
                "anyOf": [seeds, {"type": "array", "items": {"type": seed["type"], "minimum": 0}, "minItems": 1}],
            }
        }
        | _values(made),
        "additionalProperties": axis,
    }
    made["definitions"]["axis"] = {
        "description": "a path of keys, and the values that it has in turn",
        "anyOf": [{"type": "array", "minItems": 1}, {"type": "object", "additionalProperties": axis}],
    }
    return made


def _values(made: dict[str, Any]) -> dict[str, Any]:
    """Axes whose values the schema knows: those of a key at the top, whose path has no name of a link or a traffic."""
    of = {key: made["properties"][key] for key in ("duration", "warmup", "pacing")}
    lists = {key: {"type": "array", "minItems": 1, "items": one} for key, one in of.items()}
    table = {"type": "object", "additionalProperties": {"$ref": "#/definitions/axis"}}
    return lists | {"pacing": {"anyOf": [lists["pacing"], table]}}


def text() -> str:
    """The schema as it is published, and written beside scenarios."""
    return json.dumps(schema(), ensure_ascii=False, indent=1) + "\n"


def beside(name: str) -> str:
    """The way from the scenario of this name to the file that lies at the top of its folder."""
    return ("../" * name.count("/") or "./") + FILE


def naming(scenario: str, place: str) -> str:
    """A scenario's TOML with the line at its top by which editors find the schema at `place`, a path or an address."""
    return f"#:schema {place}\n{scenario}"
