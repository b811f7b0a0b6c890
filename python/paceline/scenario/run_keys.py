"""Keys of runs in the store: a hash of the scenario, the seed and the build of the core."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from paceline import _core
from paceline.scenario import traffic_files


def key_of(scenario_json: str, seed: int) -> str:
    """The key of a run (see `paceline.Point`), reckoned here: by this core, from files as this process sees them."""
    return key_from(identity(json.loads(scenario_json), {}), seed)


def identity(document: dict[str, Any], digests: dict[str, str]) -> str:
    """What a scenario is known by; `document` is changed."""
    traffic_files.digest(document, digests)
    return canonical({key: value for key, value in document.items() if key != "title"})


def key_from(identity: str, seed: int) -> str:
    return hashlib.sha256(f"{_core.fingerprint()}\n{seed}\n{identity}".encode()).hexdigest()


def canonical(document: Mapping[str, Any]) -> str:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
