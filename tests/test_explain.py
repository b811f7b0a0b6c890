"""`paceline explain tcp`: every option of every profile, with its value, unit and source."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Command

PROFILES = ["ns2", "ns2-2.28", "ns2-validation", "linux", "rfc"]


def test_json_lists_every_profile_with_every_option(command: Command) -> None:
    done = command("explain", "tcp", "--json")
    assert done.returncode == 0, done.stderr
    profiles = json.loads(done.stdout)
    assert [one["profile"] for one in profiles] == PROFILES
    keys = [[option["option"] for option in one["options"]] for one in profiles]
    assert all(of == keys[0] for of in keys)
    for one in profiles:
        for option in one["options"]:
            assert set(option) == {"option", "value", "unit", "written", "source", "meaning"}
            assert all(option[key] for key in ("source", "meaning", "written"))
            assert "`" not in json.dumps(option)


@pytest.mark.parametrize(
    ("profile", "option", "value", "unit", "source"),
    [
        ("ns2", "min_rto", 0.2, "s", "minrto_"),
        ("ns2", "initial_window", 2, "packets", "windowInit_"),
        ("ns2-validation", "limited_transmit", False, None, "singledup_"),
        ("rfc", "initial_window", 10, "packets", "RFC 6928"),
        ("rfc", "payload", 1460, "B", "RFC 9293 section 3.7.1"),
        ("rfc", "constants", "rfc9438", None, "RFC 9438 section 4"),
        ("rfc", "max_burst", False, None, "ns-2 maxburst_"),
        ("linux", "hystart", "linux", None, "tcp_cubic.c hystart"),
        ("linux", "max_rto", 120, "s", "TCP_RTO_MAX"),
    ],
)
def test_values_have_units_and_sources(
    command: Command, profile: str, option: str, value: object, unit: str | None, source: str
) -> None:
    done = command("explain", "tcp", "--profile", profile, "--json")
    (one,) = json.loads(done.stdout)
    found = next(of for of in one["options"] if of["option"] == option)
    assert (found["value"], found["unit"], found["source"]) == (value, unit, source)


def test_the_table_says_the_same(command: Command) -> None:
    for profile in PROFILES:
        done = command("explain", "tcp", "--profile", profile)
        assert done.returncode == 0, done.stderr
        (one,) = json.loads(command("explain", "tcp", "--profile", profile, "--json").stdout)
        lines = done.stdout.splitlines()
        assert lines[0] == f"{profile}: {one['meaning']}"
        rows = {line.split()[0]: line for line in lines[3:]}
        assert list(rows) == [option["option"] for option in one["options"]]
        for option in one["options"]:
            assert option["source"] in rows[option["option"]]
            assert option["meaning"] in rows[option["option"]]


def test_without_a_profile_all_are_listed(command: Command) -> None:
    lines = command("explain", "tcp").stdout.splitlines()
    assert [name for name in PROFILES if any(line.startswith(f"{name}: ") for line in lines)] == PROFILES


def test_an_unknown_profile_is_refused(command: Command) -> None:
    for name, instead in [("ns-2", 'did you mean "ns2"?'), ("freebsd", 'write "ns2", "ns2-2.28", ')]:
        done = command("explain", "tcp", "--profile", name)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f'paceline: --profile: "{name}" is unknown; {instead}')
        assert done.stderr.count("\n") == 1


def test_the_page_has_every_option(command: Command) -> None:
    page = (Path(__file__).parent.parent / "docs" / "tcp.md").read_text()
    (one,) = json.loads(command("explain", "tcp", "--profile", "rfc", "--json").stdout)
    assert all(page.count(f"\n| `{option['option']}` |") == 2 for option in one["options"])
