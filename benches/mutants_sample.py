"""A small sample of mutation tests, for every change: do the tests of `core` and `tcp` notice small faults?

``python benches/mutants_sample.py [--count N] [--seed N] [--in FILES] [CRATE …]``, or ``make mutants-sample``. Needs
Cargo alone: all faults of the sample are compiled into one copy of the crates, in `target/mutants-sample`, where each
function that has some chooses by PACELINE_MUTANT which of its bodies runs; the crate's own tests then run once a fault.
Ends with 1 where one lives that docs/mutants.md does not list. `make mutants` (benches/mutants.py) is the long form.

The sample is the same for the same code: of all places for a fault those of which the SHA-256 of the seed, file,
function and fault is least. A change elsewhere leaves it alone; one of a function may take out or bring in its own.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).parent.parent
#: How many faults of each crate.
COUNTS = {"core": 6, "tcp": 8}
#: Processor time of a test program, s: after a fault it may never end. Slow ones are tried last.
MOST_S, SLOW = 10, {"stage_laws": 60, "edge_oracle": 60, "paceline_tcp": 60, "aqm": 25, "drop_tail": 20}
#: Bytes: a fault may have it take memory without end.
MOST_BYTES = 1 << 30
#: As cargo-mutants has them, but for bits: `|` and `&` also stand in patterns.
OPERATORS = {
    "==": ["!="], "!=": ["=="], "&&": ["||"], "||": ["&&"],
    "<": ["<=", "==", ">"], "<=": [">"], ">": [">=", "==", "<"], ">=": ["<"],
    "+": ["-", "*"], "-": ["+", "/"], "*": ["+", "/"], "/": ["%", "*"], "%": ["/", "+"],
    "+=": ["-=", "*="], "-=": ["+=", "/="], "*=": ["+=", "/="], "/=": ["%=", "*="],
}  # fmt: skip
#: What a function returns at once, by the type that it returns.
RETURNED = {"": ["nothing"], "bool": ["true", "false"]}
CHOICE = """\
//! Which fault is in: the number in PACELINE_MUTANT, 0 for none.
pub(crate) fn chosen() -> u32 {
    static CHOSEN: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *CHOSEN.get_or_init(|| std::env::var("PACELINE_MUTANT").map_or(0, |number| number.parse().unwrap_or(0)))
}
"""


@dataclass(frozen=True)
class Function:
    """Where a function is in the text of a file: its body begins after the one brace, and ends before the other."""

    name: str
    returned: str
    begin: int
    end: int


@dataclass(frozen=True)
class Mutant:
    """A fault: an operator of a function is another, or (`before` is empty) all of the function is a value."""

    crate: str
    #: In the crate's `src`.
    file: str
    function: Function
    before: str
    after: str
    at: int
    #: Counted from 0 among the same faults of functions of this name in this file.
    which: int

    def rank(self, seed: int) -> str:
        words = [seed, self.crate, self.file, self.function.name, self.before, self.after, self.which]
        return hashlib.sha256("\n".join(map(str, words)).encode()).hexdigest()

    def body(self, text: str) -> str:
        """What runs in the place of the function's body."""
        old = text[self.function.begin : self.function.end]
        if not self.before:
            return "return;" if self.after == "nothing" else f"return {self.after};"
        place = self.at - self.function.begin
        return old[:place] + self.after + old[place + len(self.before) :]

    def __str__(self) -> str:
        fault = f"`{self.before}` → `{self.after}`" if self.before else f"→ {self.after}"
        return f"{self.crate} {self.file} `{self.function.name}` {fault}"


# --- where faults may be


def bare(text: str) -> str:
    """The text without what is in comments and literals; each character that is left is where it was."""
    noise = r'//[^\n]*|/\*.*?\*/|\bb?r(#*)".*?"\1|\bb?"(?:\\.|[^"\\])*"|"(?:\\.|[^"\\])*"|\'(?:\\[^\n]+?|[^\\\n\'])\''
    return re.sub(noise, lambda found: re.sub(r"[^\n]", " ", found[0]), text, flags=re.DOTALL)


def closing(code: str, opening: int) -> int:
    """Where the brace that opens there is closed."""
    depth = 0
    for place in re.finditer(r"[{}]", code[opening:]):
        depth += 1 if place[0] == "{" else -1
        if depth == 0:
            return opening + place.start()
    return len(code)


def functions(code: str) -> Iterator[Function]:
    """The outermost functions of a file, but for those of tests and macros, and those that are constant."""
    left_out = [
        (found.start(), closing(code, found.end() - 1))
        for found in re.finditer(
            r"(?:#\[cfg\(test\)\][^{;]*|\bmacro_rules![^{]*|\bimpl\b[^{;]*\bDebug for [^{]*)\{", code
        )
    ]
    end = 0
    for found in re.finditer(r"\b(const +)?(?:unsafe +)?fn +(\w+)[^{;]*(?:\[[^]]*;[^]]*\][^{;]*)*\{", code):
        if found.start() < end or any(begin <= found.start() < past for begin, past in left_out):
            continue
        end = closing(code, found.end() - 1)
        returned = re.search(r"\)\s*->\s*([^{]*?)\s*(?:\bwhere\b[^{]*)?\{$", found[0])
        if not found[1] and not (returned and "impl " in returned[1]):
            yield Function(found[2], returned[1] if returned else "", found.end(), end)


def faults(code: str) -> Iterator[tuple[Function, str, str, int]]:
    """Each fault that may be put into a file: rustfmt has a space on each side of what takes two operands."""
    for function in functions(code):
        for value in RETURNED.get(function.returned, []):
            if code[function.begin : function.end].strip() not in ("", value):
                yield function, "", value, function.begin
        for found in re.finditer(
            r"(?<=\s)(?:[=!<>]=|&&|\|\||[-+*/]=?|[%<>])(?= )", code[function.begin : function.end]
        ):
            at = function.begin + found.start()
            # Of the statement around it: an assertion is no behaviour, and `&&` beside `let` can be nothing else.
            begin = max(code.rfind(sign, 0, at) for sign in ";{}")
            around = re.split(r"[;{}]", code[begin + 1 :], maxsplit=1)[0]
            is_chain = found[0] == "&&" and re.search(r"\b(?:if|while|&&) +let\b", around)
            if "assert" not in around and not is_chain:
                yield from ((function, found[0], after, at) for after in OPERATORS[found[0]])


def candidates(root: Path, crate: str) -> Iterator[Mutant]:
    """All faults of a crate that may be drawn; some do not compile."""
    source = root / "crates" / crate / "src"
    for path in sorted(source.rglob("*.rs")):
        if path.name == "tests.rs" or "tests" in path.parts[len(source.parts) :]:
            continue
        seen: dict[tuple[str, str, str], int] = {}
        for function, before, after, at in faults(bare(path.read_text())):
            key = (function.name, before, after)
            seen[key] = seen.get(key, -1) + 1
            yield Mutant(crate, path.relative_to(source).as_posix(), function, before, after, at, seen[key])


# --- what docs/mutants.md lists


def listed(text: str, mutant: Mutant) -> bool:
    """Whether a row of the crate's table has the fault: as equivalent, or as one that is not noticed."""
    section = re.search(rf"^## {mutant.crate}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    where = ""
    for row in re.findall(r"^\|(?!-)(.*)\|$", section[1] if section else "", re.MULTILINE):
        cells = [cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", row)]
        where = where if cells[0] in ("", "the same") else cells[0]
        if is_place(where, mutant) and has_fault(cells[1] or where, mutant):
            return True
    return False


def is_place(where: str, mutant: Mutant) -> bool:
    """Whether files, each with functions behind it or all of it, have the one: `` `red.rs` `estimate`, `spaced` ``."""
    is_file = False
    named: list[str] | None = None  # functions of the files just named
    for word in [*re.findall(r"`([^`]*)`", where), ".rs"]:
        if word.endswith(".rs") or "/" in word or "*" in word:
            if is_file and named is not None and (not named or mutant.function.name in named):
                return True
            stem = word.removesuffix(".rs").rstrip("*") + ("*" if "*" in word else "")
            is_here = fnmatchcase(mutant.file.removesuffix(".rs"), stem)
            is_file = is_here or (is_file and not named)
            named = []
        elif named is not None:
            named.append(word)
    return False


def has_fault(cell: str, mutant: Mutant) -> bool:
    """Whether `` `a < b` → `<=`, `>`; → `true` `` and the like have the fault: what comes after an arrow is put in."""
    if not mutant.before:
        return bool(re.search(rf"(?:^|[,;] |` )→ (?:`\w+`, )*`?{mutant.after}\b", cell))
    words = [word.strip("`") for word in re.findall(r"`[^`]+`|→", cell)]
    before, is_after = "", False
    for number, word in enumerate(words):
        if word == "→":
            is_after = True
        elif words[number + 1 : number + 2] == ["→"] or not is_after:
            before, is_after = word, False
        elif mutant.before in before.split() and word.split()[0] == mutant.after:
            return True
    return False


# --- one build of all of them


def woven(text: str, mutants: list[tuple[int, Mutant]]) -> str:
    """The text of a file with a body more in each function that has a fault, chosen by its number."""
    by_function: dict[Function, list[tuple[int, Mutant]]] = {}
    for number, mutant in mutants:
        by_function.setdefault(mutant.function, []).append((number, mutant))
    for function in sorted(by_function, key=lambda one: -one.begin):
        arms = [f"/*mutant {n}*/ {n} => {{\n{one.body(text)}\n}}\n/*end*/\n" for n, one in by_function[function]]
        whole = (
            f"match crate::mutant::chosen() {{\n{''.join(arms)}_ => {{\n{text[function.begin : function.end]}\n}}\n}}"
        )
        text = text[: function.begin] + "\n" + whole + "\n" + text[function.end :]
    return text


def put(path: Path, text: str) -> None:
    """What is the same is not written, and so not compiled again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def lay_out(root: Path, scratch: Path, sample: dict[int, Mutant]) -> None:
    """A workspace of these crates alone, with the profile and the lock file of the whole."""
    crates = sorted(path.parent.name for path in root.glob("crates/*/Cargo.toml") if path.parent.name in COUNTS)
    members = ", ".join(f'"crates/{crate}"' for crate in crates)
    text = (root / "Cargo.toml").read_text()
    text = re.sub(r"^members = .*$", f"members = [{members}]", text, flags=re.MULTILINE)
    # Not optimised: a quarter of the time to compile, and twice that of the tests, most of which end early.
    put(scratch / "Cargo.toml", re.sub(r"(?<=^opt-level = )1$", "0", text, flags=re.MULTILINE))
    if (root / "Cargo.lock").exists():
        put(scratch / "Cargo.lock", (root / "Cargo.lock").read_text())
    for shared in ("docs", "fuzz", "tests"):  # what tests read
        if (root / shared).exists() and not (scratch / shared).exists():
            (scratch / shared).symlink_to((root / shared).resolve())
    for crate in crates:
        here, copy = root / "crates" / crate, scratch / "crates" / crate
        measured = r"^criterion = .*\n|^\[\[bench\]\]\n(?:.+\n)*"
        put(copy / "Cargo.toml", re.sub(measured, "", (here / "Cargo.toml").read_text(), flags=re.MULTILINE))
        if (here / "tests").exists() and not (copy / "tests").exists():
            (copy / "tests").symlink_to((here / "tests").resolve())
        wanted = {"mutant.rs"}
        for path in (here / "src").rglob("*.rs"):
            name = path.relative_to(here / "src").as_posix()
            wanted.add(name)
            chosen = [(n, one) for n, one in sample.items() if (one.crate, one.file) == (crate, name)]
            text = woven(path.read_text(), chosen)
            put(copy / "src" / name, text + ("\nmod mutant;\n" if name == "lib.rs" else ""))
        put(copy / "src" / "mutant.rs", CHOICE)
        for path in (copy / "src").rglob("*.rs"):
            if path.relative_to(copy / "src").as_posix() not in wanted:
                path.unlink()


def at_fault(scratch: Path, message: dict[str, object]) -> set[int]:
    """The numbers of the mutants in whose bodies the compiler found an error."""
    numbers = set()
    for span in message["spans"]:  # type: ignore[attr-defined]
        path = scratch / span["file_name"]
        if span["is_primary"] and path.is_file():
            before = "\n".join(path.read_text().split("\n")[: span["line_start"]])
            last = [*re.finditer(r"/\*(?:mutant (\d+)|end)\*/", before)][-1:]
            numbers |= {int(found[1]) for found in last if found[1]}
    return numbers


def build(root: Path, scratch: Path, sample: dict[int, Mutant]) -> dict[str, list[Path]]:
    """The test programs of each crate. What does not compile is taken out of the sample, and the rest built again."""
    packages = sorted({f"--package=paceline-{one.crate}" for one in sample.values()})
    command = ["cargo", "test", "--no-run", "--tests", "--message-format=json", *packages]
    own = {"CARGO_INCREMENTAL": "0", "CARGO_PROFILE_DEV_DEBUG": "false"}  # as in CI, which has built most of it
    environment = {"CARGO_TARGET_DIR": str((root / "target").resolve()), **os.environ, **own}
    while True:
        lay_out(root, scratch, sample)
        done = subprocess.run(command, cwd=scratch, env=environment, capture_output=True, text=True, check=False)
        told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode == 0:
            programs: dict[str, list[Path]] = {}
            for one in told:
                if one.get("executable") and one["profile"]["test"]:
                    programs.setdefault(Path(one["manifest_path"]).parent.name, []).append(Path(one["executable"]))
            return programs
        errors = [one["message"] for one in told if one.get("message", {}).get("level") == "error"]
        wrong = set().union(*(at_fault(scratch, message) for message in errors)) & sample.keys()
        if not wrong:
            sys.exit(f"mutants: the copy does not compile\n{''.join(m['rendered'] for m in errors) or done.stderr}")
        for number in sorted(wrong):
            print(f"{sample.pop(number)}: does not compile")


# --- and each of them tested


def failure(program: Path, crate: Path, number: int, options: list[str]) -> str | None:
    """What fails with a fault: the first test, the program as a whole, or nothing (None)."""
    # Proptest draws the same numbers each time, and stops at the first case that fails.
    fixed = {"PROPTEST_RNG_SEED": "1", "PROPTEST_MAX_SHRINK_ITERS": "0", "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1"}
    environment = os.environ | fixed | {"PACELINE_MUTANT": str(number), "RUST_BACKTRACE": "0", "RUST_TEST_THREADS": "1"}

    most_s = SLOW.get(program.stem.rpartition("-")[0], MOST_S)

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (most_s, most_s))
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    with subprocess.Popen(
        [program, *options],
        cwd=crate,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        errors="replace",
        preexec_fn=bound,
    ) as running:
        assert running.stdout is not None
        for line in running.stdout:
            if found := re.match(r"test (.*) \.\.\. FAILED", line):
                running.kill()
                return found[1]
    return f"{program.stem.rpartition('-')[0]} as a whole ({running.returncode})" if running.returncode else None


def noticed(programs: list[Path], crate: Path, number: int, skipped: list[str]) -> str | None:
    """Which test notices a fault, and passes without it; None if it lives."""
    for program in sorted(programs, key=lambda one: [one.name.startswith(name) for name in SLOW]):
        if test := failure(program, crate, number, skipped):
            options = skipped if " as a whole " in test else ["--exact", test]
            if failure(program, crate, 0, options):
                sys.exit(f"mutants: {test} fails without a fault; mend that first")
            return test
    return None


def used_s() -> float:
    """Processor time of the programs that have ended, s."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(root: Path = ROOT, words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="A small sample of mutation tests of core and tcp.")
    parser.add_argument("crates", nargs="*", metavar="CRATE", help=", ".join(COUNTS))
    parser.add_argument("--count", type=int, help="faults of each crate (6 of core, 8 of tcp)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (1)")
    parser.add_argument("--in", dest="files", default="*", metavar="FILES", help="of src alone: recovery/rack*")
    asked = parser.parse_args(words)
    if unknown := [crate for crate in asked.crates if crate not in COUNTS]:
        parser.error(f"no such crate: {unknown[0]}; write some of {', '.join(COUNTS)}")
    if shutil.which("cargo") is None:
        sys.exit("mutants: needs cargo; install Rust by rustup (https://rustup.rs)")
    drawn: list[Mutant] = []
    for crate in asked.crates or COUNTS:
        those = [one for one in candidates(root, crate) if fnmatchcase(one.file, asked.files)]
        ranked = sorted(those, key=lambda one: one.rank(asked.seed))
        drawn += ranked[: asked.count or COUNTS[crate]]
    sample = dict(enumerate(drawn, 1))
    scratch = root / "target" / "mutants-sample"
    began = time.monotonic()
    programs, built_s = build(root, scratch, sample), used_s()
    configuration = tomllib.loads((root / ".cargo" / "mutants.toml").read_text())["additional_cargo_test_args"]
    skipped = configuration[configuration.index("--") + 1 :]
    text = (root / "docs" / "mutants.md").read_text()

    with ThreadPoolExecutor(os.cpu_count()) as pool:

        def by(number: int, mutant: Mutant) -> str | None:
            return noticed(programs[mutant.crate], scratch / "crates" / mutant.crate, number, skipped)

        found = list(pool.map(by, sample.keys(), sample.values()))
    unseen = 0
    for mutant, who in zip(sample.values(), found, strict=True):
        is_listed = who is None and listed(text, mutant)
        unseen += who is None and not is_listed
        print(f"{mutant}: {f'noticed by {who}' if who else 'lives, as docs/mutants.md says' if is_listed else 'LIVES'}")
    summary = f"{sum(map(bool, found))} of {len(found)} noticed, {unseen} of the others not listed"
    took_s = time.monotonic() - began
    print(f"{summary}; {took_s:.0f} s, of processor time {used_s():.0f}, {built_s:.0f} of them to build")
    if unseen:
        print("mutants: write a test that notices, or a row of docs/mutants.md that says why none can", file=sys.stderr)
    return 1 if unseen else 0


if __name__ == "__main__":
    sys.exit(main())
