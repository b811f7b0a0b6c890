"""`make mutants-sample`: a fault that no test notices fails it, unless docs/mutants.md lists it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benches"))

import mutants_sample as sample  # noqa: E402

#: A crate of two functions: the first is tested at its bound, the second is not.
CRATE = """\
//! `a < b` in a comment is no place for a fault, nor is one in "a < b".
#[must_use]
pub fn least(a: u32, b: u32) -> u32 {
    if a < b { a } else { b }
}
pub fn is_large(a: u32) -> bool {
    assert!(a != 7, "a != 7");
    a > 3
}
pub const fn more(a: u32) -> u32 {
    a + 1
}
#[cfg(test)]
mod tests {
    #[test]
    fn the_least_of_two() {
        assert_eq!((super::least(1, 2), super::least(2, 1)), (1, 1));
        assert!(super::is_large(5));
    }
}
"""
TABLE = "## core\n\n| where | fault | why it survives |\n|---|---|---|\n| `lib.rs` `is_large` | `>` → `>=` | a try |\n"


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A workspace of that crate, and no table."""
    files = {
        "Cargo.toml": '[workspace]\nresolver = "3"\nmembers = ["crates/core"]\n',
        "crates/core/Cargo.toml": '[package]\nname = "paceline-core"\nversion = "0.1.0"\nedition = "2024"\n',
        "crates/core/src/lib.rs": CRATE,
        ".cargo/mutants.toml": 'additional_cargo_test_args = ["--tests", "--", "--skip", "none"]\n',
        "docs/mutants.md": "# Mutation tests\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def mutant(file: str, function: str, before: str, after: str) -> sample.Mutant:
    return sample.Mutant("core", file, sample.Function(function, "", 0, 0), before, after, 0, 0)


def test_faults_are_put_into_code_that_is_no_test_and_no_constant(toy: Path) -> None:
    found = [(one.function.name, one.before, one.after) for one in sample.candidates(toy, "core")]
    least = [("least", "<", after) for after in ("<=", "==", ">")]
    large = [("is_large", "", "true"), ("is_large", "", "false")]
    assert found == least + large + [("is_large", ">", after) for after in (">=", "==", "<")]


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_a_fault_that_no_test_notices_fails_it(
    toy: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CARGO_TARGET_DIR", raising=False)
    assert sample.main(toy, ["core", "--count", "99"]) == 1
    said = dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines() if line.startswith("core"))
    assert said["core lib.rs `least` `<` → `>`"] == "noticed by tests::the_least_of_two"
    assert said["core lib.rs `is_large` → false"] == "noticed by tests::the_least_of_two"
    lives = {f"core lib.rs `is_large` {fault}" for fault in ("→ true", "`>` → `>=`")} | {
        "core lib.rs `least` `<` → `<=`"
    }
    assert {name for name, outcome in said.items() if outcome == "LIVES"} == lives

    # What the table lists may live.
    row = "| `lib.rs` `least` | `<` → `<=` | the same |\n| | → `true` | not noticed |\n"
    (toy / "docs" / "mutants.md").write_text(TABLE + row.replace("| |", "| `lib.rs` `is_large` |"))
    assert sample.main(toy, ["core", "--count", "99"]) == 0
    assert capsys.readouterr().out.count("lives, as docs/mutants.md says") == 3


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_what_does_not_compile_is_left_out(
    toy: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CARGO_TARGET_DIR", raising=False)
    file = toy / "crates" / "core" / "src" / "lib.rs"
    joined = "pub fn joined(a: String, b: &str) -> String {\n    a + b\n}\n"
    test = '    #[test]\n    fn joins() {\n        assert_eq!(super::joined("a".into(), "b"), "ab");\n    }\n'
    crate = CRATE.replace("mod tests {\n", "mod tests {\n" + test).replace("a < b {", "a <= b {")
    file.write_text(crate + joined)
    sample.main(toy, ["core", "--count", "99"])
    said = capsys.readouterr().out
    assert said.count("core lib.rs `joined` `+` → `-`: does not compile") == 1
    assert "core lib.rs `least` `<=` → `>`: noticed by tests::the_least_of_two" in said


def test_the_sample_is_the_same_for_the_same_code(toy: Path) -> None:
    """A function before the others moves them, and takes the place of none."""

    def ranks() -> dict[str, str]:
        return {str(one): one.rank(1) for one in sample.candidates(toy, "core")}

    before = ranks()
    file = toy / "crates" / "core" / "src" / "lib.rs"
    file.write_text("pub fn is_new(a: u32) -> bool {\n    a == 1 && a < 2\n}\n" + CRATE)
    after = ranks()
    assert after.items() > before.items()
    assert len(after) == len(before) + 7


@pytest.mark.parametrize(
    ("file", "function", "before", "after", "is_listed"),
    [
        ("wire.rs", "start", ">", ">=", True),
        ("wire.rs", "start", ">", "==", False),
        ("wire.rs", "finish", ">", ">=", False),
        ("queue/alike_wire.rs", "send", ">", ">=", True),
        ("pacer/edge.rs", "forget_spent", "/", "%", True),
        ("queue/closed_form.rs", "alike", "||", "&&", True),
        ("queue/closed_form.rs", "alike", ">", "<", True),
        ("queue/closed_form/tied.rs", "may_be_tied", "", "true", True),
        ("queue/closed_form/tied.rs", "may_be_tied", "", "false", False),
        ("queue/closed_form/tied.rs", "as_scheduled", "<", "<=", True),
        ("queue/closed_form/tied.rs", "as_scheduled", "<", "==", False),
    ],
)
def test_the_table_is_read(file: str, function: str, before: str, after: str, is_listed: bool) -> None:
    text = (ROOT / "docs" / "mutants.md").read_text()
    assert sample.listed(text, mutant(file, function, before, after)) is is_listed
