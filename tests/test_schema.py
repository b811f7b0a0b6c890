"""The JSON Schema of scenarios beside their reader, and those of outputs beside what commands print."""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import paceline as pl
import pytest
from conftest import TINY
from hypothesis import given, settings
from hypothesis import strategies as st
from paceline.errors import InputError
from paceline.scenario import schema
from paceline.scenario.paths import join_path
from paceline.scenario.sweep_axes import NO_SETTINGS
from schema_samples import Document, Place, put, samples

ROOT = Path(__file__).parent.parent


@cache
def checker() -> jsonschema.Draft7Validator:
    made = schema.schema()
    jsonschema.Draft7Validator.check_schema(made)
    return jsonschema.Draft7Validator(made)


@pytest.fixture(scope="module", autouse=True)
def sound(tmp_path_factory: pytest.TempPathFactory) -> list[Document]:
    """Scenarios that reader and schema accept; between them they have every key."""
    SOUND[:] = samples(tmp_path_factory.mktemp("files"))
    return SOUND


SOUND: list[Document] = []


def places(value: Any, place: Place = ()) -> Iterator[Place]:
    """Everything in a document but itself; of a list the first nine."""
    inside = value.items() if isinstance(value, dict) else enumerate(value[:9]) if isinstance(value, list) else ()
    for key, one in inside:
        yield (*place, key)
        yield from places(one, (*place, key))


def complaints(document: Document) -> list[str]:
    """What the reader has against it."""
    try:
        pl.Scenario(document).check_settings(5.0)
    except InputError as error:
        return [one.message for one in (error, *error.others)]
    return []


def test_sound_scenarios_are_sound_to_both() -> None:
    for document in SOUND:
        assert complaints(document) == []
        assert [error.message for error in checker().iter_errors(document)] == []


def test_every_key_stands_in_one_of_them() -> None:
    """So that what follows changes each."""
    written = {key for document in SOUND for place in places(document) for key in place if isinstance(key, str)}
    known = {key for table in tables(schema.schema()) for key in table["properties"]}
    assert len(known) > 150
    assert known - written == set()


def tables(value: Any) -> Iterator[Document]:
    if isinstance(value, dict):
        if isinstance(value.get("properties"), dict):
            yield value
        for one in value.values():
            yield from tables(one)
    elif isinstance(value, list):
        for one in value:
            yield from tables(one)


#: Words by which the reader refuses a key, or the type or the form of a value.
OF_FORM = re.compile(
    r"unknown key|is not a (table|list|number;|whole number|quantity)|is not text|neither true nor false|is unknown;"
    r"|is no (pacing method|queue discipline)|has no unit|neither text nor a number"
)
QUANTITIES = ["10", "10 ms", "5 KB", "10 Mbit/s", "1 BDP", "3 packets", "1 ms .. 2 ms", "1KB .. 2 KB"]
WORDS = ["", "x", "edge", "edge 9 ms", "red", "all", "cubic", "host"]
NESTED = [[], {}, [[]], ["10 ms"], [1], [{}], {"x": 1}, {"mean": "1 s"}, {"discipline": "red"}]
VALUES = st.sampled_from([0, 1, -1, 2.5, True, False, *QUANTITIES, *WORDS, *NESTED])


@settings(max_examples=200)
@given(st.data())
def test_schema_and_reader_refuse_the_same(data: st.DataObject) -> None:
    document = copy.deepcopy(data.draw(st.sampled_from(SOUND), label="scenario"))
    document.pop("sweep", None)
    place = data.draw(st.sampled_from(list(places(document))), label="place")
    put(document, place, data.draw(VALUES, label="value"))
    agree(document)


#: Lists of tables with names, or tables that are called so: what follows may be a name.
NAMED = ("traffic", "node", "link", "links", "access")


@settings(max_examples=100)
@given(st.data())
def test_what_stands_in_a_scenario_can_be_swept(data: st.DataObject) -> None:
    """Each value at its own path; by the schema at least: a list's length or a name may hang on another key."""
    document = copy.deepcopy(data.draw(st.sampled_from(SOUND), label="scenario"))
    document.pop("sweep", None)
    spots = [place for place in places(document) if place[0] not in NO_SETTINGS]
    place = data.draw(st.sampled_from(spots), label="place")
    value: Any = document
    for key in place:
        value = value[key]
    path = join_path(map(str, place))
    assert checker().is_valid(document | {"sweep": {path: [value]}}), path
    nested: Any = [value]
    for key in reversed(place):
        nested = {str(key): nested}
    assert checker().is_valid(document | {"sweep": nested}), nested
    if isinstance(place[-1], str) and place[-2:-1] not in [(name,) for name in NAMED]:
        wrong = join_path(map(str, (*place[:-1], "colour")))
        assert not checker().is_valid(document | {"sweep": {wrong: [value]}}), wrong


@settings(max_examples=80)
@given(st.data())
def test_unknown_keys_are_refused_by_both(data: st.DataObject) -> None:
    document = copy.deepcopy(data.draw(st.sampled_from(SOUND), label="scenario"))
    document.pop("sweep", None)
    spots = [place for place in places(document) if isinstance(place[-1], str)]
    place = data.draw(st.sampled_from(spots), label="place")
    put(document, (*place[:-1], "colour"), "red")
    assert not checker().is_valid(document)
    assert complaints(document)


@settings(max_examples=80)
@given(st.data())
def test_what_the_schema_misses_the_reader_misses(data: st.DataObject) -> None:
    document = copy.deepcopy(data.draw(st.sampled_from(SOUND), label="scenario"))
    document.pop("sweep", None)
    spots = [place for place in places(document) if isinstance(place[-1], str)]
    place = data.draw(st.sampled_from(spots), label="place")
    table: Any = document
    for key in place[:-1]:
        table = table[key]
    del table[place[-1]]
    if not checker().is_valid(document):
        assert complaints(document)


def agree(document: Document) -> None:
    said = complaints(document)
    if checker().is_valid(document):
        assert [one for one in said if OF_FORM.search(one)] == []
    else:
        assert said, best(document)


def best(document: Document) -> str:
    found = jsonschema.exceptions.best_match(checker().iter_errors(document))
    return found.message if found else ""


def test_the_published_one_is_this_one() -> None:
    """`paceline schema > docs/reference/paceline.schema.json` writes it again."""
    assert (ROOT / "docs" / "reference" / "paceline.schema.json").read_text() == schema.text()


def test_a_file_that_names_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(schema.naming((ROOT / "scenarios" / "one-flow.toml").read_text(), "./paceline.schema.json"))
    assert file.read_text().startswith("#:schema ./paceline.schema.json\n#")
    assert pl.Scenario.load(file).check()


@pytest.mark.parametrize(
    ("sweep", "is_right"),
    [
        ({"pacing": ["none", {"method": "host"}], "seeds": 5}, True),
        ({"seeds": [3, 5]}, True),
        ({"network": {"core": {"buffer": ["9 KB"]}}}, True),
        ({"pacing": []}, False),
        ({"pacing": "none"}, False),
        ({"seeds": 0}, False),
        ({"seed": [1, 2]}, False),
        ({"title": ["a", "b"]}, False),
        ({"pacing": {"method": ["none", "host"]}}, True),
        ({"pacing": ["hots"]}, False),
        ({"pacing": [{"method": "edge", "delay": "2 ms"}]}, True),
        ({"pacing": [{"method": "edge", "dely": "2 ms"}]}, False),
        ({"duration": ["5 furlongs"]}, False),
        ({"network.core.buffer": ["9 KB", "5 packets"]}, True),
        ({"network.core.buffer": ["9 knots"]}, False),
        ({"network.core.bufer": ["9 KB"]}, False),
        ({"network": {"core": {"bufer": ["9 KB"]}}}, False),
        ({"netwerk.core.buffer": ["9 KB"]}, False),
        ({"traffic.bulk.tcp.variant": ["reno", "cubic"]}, True),
        ({"traffic": {"bulk": {"tcp": {"variant": ["reno"]}}}}, True),
        ({"traffic.bulk.tcp.variant": ["renoo"]}, False),
        ({"traffic[0].count": [1, 2]}, True),
        ({"network.core.buffer": "9 KB"}, False),
    ],
)
def test_what_is_swept_is_of_the_schema_too(sweep: Document, is_right: bool) -> None:
    document = tomllib.loads(TINY) | {"sweep": sweep}
    assert checker().is_valid(document) is is_right
    assert (complaints(document) == []) is is_right
