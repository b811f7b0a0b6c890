"""JSON Schemas of what commands print with ``--json``, made from the records that they print where there are such."""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "number"}
_WHOLE: Schema = {"type": "integer"}
_FLAG: Schema = {"type": "boolean"}
_LABELS: Schema = {"type": "object", "additionalProperties": _TEXT}
_ANY: Schema = {}
_PLAIN = {str: "string", float: "number", int: "integer", bool: "boolean", type(None): "null"}


def _or_null(one: Schema) -> Schema:
    return {"anyOf": [one, {"type": "null"}]}


def _list(one: Schema) -> Schema:
    return {"type": "array", "items": one}


def _object(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    """With these keys and no others."""
    properties = dict(required) | dict(optional or {})
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _record(kind: type, *, complete: bool = False) -> Schema:
    """The object that a dataclass is printed as, its attributes described; all are there if it is `complete`."""
    hints = typing.get_type_hints(kind)
    described = _described(kind.__doc__ or "")
    properties = {}
    for field in dataclasses.fields(kind):
        if not field.name.startswith("_"):
            properties[field.name] = _hinted(hints[field.name]) | described.get(field.name, {})
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if complete else [],
        "additionalProperties": False,
    }


def _described(doc: str) -> dict[str, Schema]:
    """The attributes in a docstring, each with what is said of it."""
    _, _, rest = doc.partition("Attributes:\n")
    found = re.findall(r"^        ([\w, ]+): (.*(?:\n {12}.*)*)", rest, re.MULTILINE)
    said = {name: " ".join(text.replace("`", "").split()) for name, text in found}
    return {one.strip(): {"description": text} for names, text in said.items() for one in names.split(",")}


def _hinted(hint: Any) -> Schema:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return {}
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (types.UnionType, typing.Union):
        return {"anyOf": [_hinted(one) for one in arguments]}
    if origin is tuple and arguments[-1] is not ...:
        return {"type": "array", "items": [_hinted(one) for one in arguments], "minItems": len(arguments)}
    if origin in (tuple, list, Sequence):
        return _list(_hinted(arguments[0]))
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": _hinted(arguments[1])}
    return _record(hint, complete=True)


def _runs() -> Schema:
    """Of `run` and `emulate`."""
    from paceline.results import Engine, FlowStats, LinkStats

    link, flows, engine = _record(LinkStats), _record(FlowStats), _record(Engine)
    link["patternProperties"] = {r"^class_[0-7]_(arrived_packets|dropped_packets|queue_mean_bytes)$": _or_null(_NUMBER)}
    engine |= {"additionalProperties": True, "required": ["kind"]}  # what else a kernel says
    run = _object(
        {
            "settings": _LABELS | {"description": "what is swept, by path"},
            "seed": _WHOLE,
            "window_s": {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2},
            "links": {"type": "object", "additionalProperties": link},
            "flows": flows,
            "groups": {"type": "object", "additionalProperties": flows},
            "engine": engine,
        }
    )
    return _list(run)


def _analysis() -> Schema:
    from paceline.capture import analysis

    stream, paced = _record(analysis.Stream, complete=True)["properties"], _record(analysis.Paced)["properties"]
    rate = {"interval_s": stream.pop("rate_interval_s"), "bytes": stream.pop("rate_bytes")}
    stream |= {"rate": _object(rate) | {"description": "over time: bytes in each interval from the first packet on"}}
    del paced["stream"]
    named = {"name": _TEXT, "interface": _WHOLE, "captured": _object(stream), "paced": _list(_object(paced | stream))}
    group = _object(named)
    made = _record(analysis.Analysis, complete=True)
    made["properties"] |= {
        "broken": _or_null({"type": "object", "properties": {"problem": _TEXT}, "required": ["problem"]}),
        "pacers": {"type": "object", "additionalProperties": {"type": "object"}},
        "interfaces": _list(group),
        "flows": _or_null(_list(group)),
    }
    return made


def _advice() -> Schema:
    interval = _object({"mean": _or_null(_NUMBER), "half": _or_null(_NUMBER)})
    intervals = {"type": "object", "additionalProperties": interval}
    setting = {
        "buffer_packets": _WHOLE,
        "buffer_bytes": _WHOLE,
        "wait_s": _NUMBER,
        "pacing": _TEXT,
        "queue": _TEXT,
    }
    row = _object(setting | {"intervals": intervals, "seeds": _WHOLE, "fresh": _FLAG, "keeps": _or_null(_FLAG)})
    one = _object(setting)
    return _object(
        {
            "sentence": _TEXT,
            "status": {"enum": ["settled", "tie", "undecided", "unreachable"]},
            "question": {"type": "object"},
            "best": row,
            "without": _or_null(row) | {"description": "the best without pacing"},
            "rival": _or_null(row) | {"description": "what comes nearest"},
            "safe": _or_null(row) | {"description": "what keeps the bounds for certain"},
            "alike": _list(one),
            "maybe": _list(one),
            "table": _list(row),
            "theory": _list(_object({"rule": _TEXT, "packets": _or_null(_NUMBER), "source": _TEXT})),
            "ruled_out": _list(_object({"what": _TEXT, "why": _TEXT})),
            "refuted": _list(one),
            "changes": _list(_object({"what": _TEXT, "keeps": _or_null(_FLAG), "intervals": intervals})),
            "kernel": _or_null(_kernels_word()) | {"description": "with --verify"},
            "assumptions": _list(_TEXT),
            "deploy": _list(_object({"part": _TEXT, "lines": _list(_TEXT)})),
            "tried": _list(_object(setting | {"intervals": intervals, "seeds": _WHOLE, "worth": _ANY})),
            "runs": _WHOLE,
            "cpu_s": _NUMBER,
            "wall_s": _NUMBER,
        }
    )


def _kernels_word() -> Schema:
    both = _or_null(_list(_object({"mean": _NUMBER, "half": _or_null(_NUMBER)})))
    return _object({"status": _TEXT, "said": _TEXT, "measure": _TEXT, "kernel": both, "simulated": both})


def _comparison() -> Schema:
    number = _or_null(_NUMBER)
    row = {
        "settings": _LABELS,
        "metric": _TEXT,
        "unit": _or_null(_TEXT),
        "a": number,
        "b": number,
        "difference": number,
        "half": number | {"description": "of the 95 % interval"},
        "relative": number,
        "method": {"enum": ["paired", "welch", "single"]},
        "differs": _FLAG,
    }
    apart = {"type": "array", "items": _or_null(_TEXT), "minItems": 2, "maxItems": 2}
    return _object(
        {
            "a": _TEXT,
            "b": _TEXT,
            "fail_above": _NUMBER,
            "differs": _FLAG,
            "apart": {"type": "object", "additionalProperties": apart},
            "only_a": _list(_LABELS),
            "only_b": _list(_LABELS),
            "unpaired_a": _list(_WHOLE),
            "unpaired_b": _list(_WHOLE),
            "differences": _list(_object(row)),
        }
    )


def _diagnosis() -> Schema:
    from paceline.doctor.finding import SEVERITIES

    finding = _object(
        {
            "id": _TEXT,
            "severity": {"enum": list(SEVERITIES)},
            "where": _TEXT | {"description": "the key's path in the file"},
            "what": _TEXT,
            "why": _TEXT,
            "instead": _TEXT,
            "everywhere": _FLAG,
            "settings": _list(_LABELS),
        }
    )
    parts = {"settings": _LABELS, "flows": _WHOLE, "rtt_s": {"type": "object", "additionalProperties": _NUMBER}}
    tables = {"core": {"type": "object"}, "groups": _list({"type": "object"}), "pacing": _list({"type": "object"})}
    setting = _object(parts | tables | {"cost": {"type": "object", "additionalProperties": _or_null(_NUMBER)}})
    return _object(
        {
            "title": _TEXT,
            "seed": _WHOLE,
            "seeds": _WHOLE,
            "findings": _list(finding),
            "settings": _list(setting),
            "left_out": _or_null(_TEXT),
        }
    )


def _verdicts() -> Schema:
    from paceline.papers.claim import OUTCOMES

    parts = {"id": _TEXT, "paper": _TEXT, "where": _TEXT, "verdict": _or_null({"enum": list(OUTCOMES)})}
    numbers = {"ours": _or_null({"type": "object"}), "theirs": _or_null({"type": "object"})}
    return _list(_object(parts | numbers | {"note": _or_null(_TEXT), "cpu_s": _or_null(_NUMBER)}))


def _options() -> Schema:
    option = {"option": _TEXT, "value": _ANY, "unit": _or_null(_TEXT), "written": _TEXT, "source": _TEXT}
    options = _list(_object(option | {"meaning": _TEXT}))
    return _list(_object({"profile": _TEXT, "meaning": _TEXT, "options": options}))


#: By the command that prints it.
OUTPUTS: Mapping[str, tuple[str, Callable[[], Schema]]] = {
    "run": ("Runs, as run --json and emulate --json print them", _runs),
    "advise": ("Advice, as advise --json prints it", _advice),
    "analyse": ("A capture's traffic, as analyse --json prints it", _analysis),
    "compare": ("Two directories of results, as compare --json prints them", _comparison),
    "doctor": ("A diagnosis, as doctor --json prints it", _diagnosis),
    "explain": ("TCP's options, as explain tcp --json prints them", _options),
    "reproduce": ("Verdicts, as reproduce --json prints them", _verdicts),
}


def schema_of(command: str) -> Schema:
    """The schema of what a command prints; draft 7."""
    title, make = OUTPUTS[command]
    return {"$schema": "http://json-schema.org/draft-07/schema#", "title": title} | make()
