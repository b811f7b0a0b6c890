"""No panic crosses into Python: every entry point of the compiled module runs inside the one guard."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from paceline import _core

SOURCES = Path(__file__).parent.parent / "crates" / "py" / "src"
#: A function or method that Python can call, up to the first words of its body.
ENTRY = re.compile(r"^( *)(?:pub\(crate\) )?fn (\w+)[^{]*?\{\n\s*(\S[^\n]*)", re.MULTILINE)


def entry_points() -> dict[str, str]:
    """Each function of Python's by file and name, and the first line of its body."""
    found = {}
    for path in sorted(SOURCES.glob("*.rs")):
        text = path.read_text(encoding="utf-8")
        for part in re.split(r"^(?=#\[py[cfm])", text, flags=re.MULTILINE):
            if part.startswith("#[pyfunction]"):
                match = ENTRY.search(part)
                assert match
                found[f"{path.stem}.{match[2]}"] = match[3]
            elif part.startswith("#[pymethods]"):
                body = part[: part.index("\n}\n")]
                found |= {f"{path.stem}.{name}": first for _, name, first in ENTRY.findall(body)}
    return found


def test_every_entry_point_has_the_guard() -> None:
    found = entry_points()
    exported = {
        name for name in vars(_core) if callable(getattr(_core, name)) and not isinstance(getattr(_core, name), type)
    }
    assert exported <= {name.partition(".")[2] for name in found}
    assert len(found) >= len(exported) + 8  # methods of Control and Run
    assert not {name for name, first in found.items() if not first.startswith("guard(")}


def test_a_no_break_space_in_a_pacer_is_a_blank() -> None:
    pacer = _core.shaper("edge 10 ms,\u00a0release = finish")
    assert '"delay = 10 ms' in pacer or "release = finish" in pacer


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=40), st.sampled_from(["rate", "time", "size", "", "é"]))
def test_no_text_gets_anything_but_an_answer_or_a_line(text: str, kind: str) -> None:
    calls = [
        lambda: _core.shaper(f"edge 10 ms,{text}= {text}"),
        lambda: _core.shaper(text),
        lambda: _core.quantity(kind, f"10{text}"),
        lambda: _core.line_of(text, [text, "a"]),
        lambda: _core.is_capture_name(text),
    ]
    for call in calls:
        said = ""
        try:
            call()
        except ValueError as error:  # `InputError` of the core, and text that is no UTF-8
            said = str(error)
        assert len(said.splitlines()) <= 1, text
    with contextlib.suppress(ValueError):
        _core.check(text)  # of JSON, which names all that is wrong with it, a line each
