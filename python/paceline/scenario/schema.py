"""The JSON Schema of a scenario: what an editor completes, explains and checks in a file that names it."""

from __future__ import annotations

import json
from collections.abc import Iterator
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
    top = [key for key in made["properties"] if key not in NO_SETTINGS]
    made["properties"]["sweep"] |= {
        "properties": {
            "seeds": {
                "description": "how many each setting runs under, from seed on, or which",
                "anyOf": [seeds, {"type": "array", "items": {"type": seed["type"], "minimum": 0}, "minItems": 1}],
            }
        },
        "propertyNames": {"pattern": rf"^\s*({'|'.join([*top, 'seeds'])})\s*($|[.\[])"},
        "allOf": [{"$ref": _AXES}],
    }
    made["definitions"] |= _axes(*_known(made))
    return made


_AXES, _ENTRIES = "#/definitions/axes", "#/definitions/entries"
#: The last key of a path: in quotes if it holds a dot.
_LAST = r"""("[^"]*"|'[^']*'|[^.\[\]"'\s]+)\s*$"""
#: A form of more characters is left to the reader: that of a probe's table, or of a distribution.
_LONGEST, _SOME_TABLE = 400, {"type": ["object", "array", "boolean"]}


def _axes(known: dict[str, list[Any]], lists: list[str]) -> dict[str, Any]:
    """Tables of axes: each a path of keys with the values that its last key may have, or a table of such.

    A key is judged by its own name alone, wherever it stands. What follows the name of a list, `traffic` or `links`,
    is the name of one of its tables, which may be any.
    """
    of_a_list = rf"(^|\.)\s*({'|'.join(lists)})(\.{_LAST}|\s*\[\d+\]\s*$)"
    alike: dict[str, list[str]] = {}
    for key, forms in known.items():
        below = _ENTRIES if key in lists else _AXES
        some = [form if len(json.dumps(form)) <= _LONGEST else _SOME_TABLE for form in forms]
        one = some[0] if len(some) == 1 else {"anyOf": some}
        alike.setdefault(json.dumps(_values_or(below, one)), []).append(key)
    patterns = {rf"^(?!.*{of_a_list})(.*\.)?\s*({'|'.join(keys)})\s*$": json.loads(one) for one, keys in alike.items()}
    return {
        "axes": {
            "description": "paths of keys, and the values that each has in turn",
            "type": "object",
            "propertyNames": {"pattern": rf"(^|\.)\s*({'|'.join([*known, 'seeds'])}|\d+)\s*$|{of_a_list}"},
            "patternProperties": patterns,
        },
        "entries": {"type": "object", "additionalProperties": _values_or(_AXES, {})},
    }


def _values_or(below: str, one: dict[str, Any]) -> dict[str, Any]:
    """A list of what `one` says, or else a table; put so that a fault is told where it is."""
    values = {"type": "array", "minItems": 1} | ({"items": one} if one else {})
    return {"if": {"type": "array"}, "then": values, "else": {"$ref": below}}


def _known(made: dict[str, Any]) -> tuple[dict[str, list[Any]], list[str]]:
    """What each key may have, wherever it stands; and the keys that are lists of tables with names."""
    known: dict[str, list[Any]] = {}
    lists: dict[str, None] = {}
    for table in _closed_tables(made):
        for key, one in table["properties"].items():
            if key not in NO_SETTINGS or table is not made:
                form = {name: part for name, part in one.items() if name != "description"}
                found = known.setdefault(key, [])
                if form and form not in found:  # where it may be anything it is not read
                    found.append(form)
                if any("items" in part and _has_name(part["items"], made) for part in [one, *one.get("anyOf", ())]):
                    lists[key] = None
    return {key: found or [{}] for key, found in known.items()}, list(lists)


def _has_name(form: dict[str, Any], made: dict[str, Any]) -> bool:
    name = form.get("$ref", "").rpartition("/")[2]
    return "name" in (made["definitions"][name] if name else form).get("properties", ())


def _closed_tables(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if value.get("additionalProperties") is False:
            yield value
        for one in value.values():
            yield from _closed_tables(one)
    elif isinstance(value, list):
        for one in value:
            yield from _closed_tables(one)


def text() -> str:
    """The schema as it is published, and written beside scenarios."""
    return json.dumps(schema(), ensure_ascii=False, indent=1) + "\n"


def beside(name: str) -> str:
    """The way from the scenario of this name to the file that lies at the top of its folder."""
    return ("../" * name.count("/") or "./") + FILE


def naming(scenario: str, place: str) -> str:
    """A scenario's TOML with the line at its top by which editors find the schema at `place`, a path or an address."""
    return f"#:schema {place}\n{scenario}"
