"""What is read: mutated inputs of every parser, text over all of Unicode, scenarios that are far too large."""

from __future__ import annotations

import os
import random
import re
import resource
import shutil
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

import paceline as pl
from attack import ROOT, TESTS, Attack, Turn, pytests, said
from paceline import _core
from paceline.terminal.escapes import escape_controls

sys.path.insert(0, str(TESTS))
from conftest import TINY, without_progress

TARGETS = sorted(path.stem for path in (ROOT / "fuzz" / "fuzz_targets").glob("*.rs"))


def fuzzed(turn: Turn) -> None:
    each_s = max(2, int(turn.seconds * (os.cpu_count() or 1) / len(TARGETS)))
    code, text = said(["make", "fuzz", f"FUZZ_S={each_s}"])
    turn.count += sum(map(int, re.findall(r": (\d+) inputs, none of which failed", text)))
    if code:
        found = re.findall(r"Test unit written to (\S+)", text)
        turn.problems.append(f"make fuzz FUZZ_S={each_s}: {', '.join(found) or text[-500:]}")


def why_no_fuzz() -> str | None:
    missing = [tool for tool in ("make", "cargo", "c++") if shutil.which(tool) is None]
    return f"needs {', '.join(missing)}" if missing else None


def drawn(chance: random.Random) -> str:
    """Text: any of Unicode's characters, and what units and pacers are made of."""
    usual = [
        "10",
        " ",
        "Mbit/s",
        "ms",
        ",",
        "=",
        "edge",
        "delay",
        "\u00a0",
        "\n",
        "1e999",
        "-",
        ".",
        "K",
        "\u2007",
        '"',
    ]

    def one() -> str:
        if chance.random() < 0.6:
            return chance.choice(usual)
        code = chance.randrange(0x110000)
        return "\ufffd" if 0xD800 <= code < 0xE000 else chr(code)

    return "".join(one() for _ in range(chance.randrange(1, 12)))


def units(turn: Turn) -> None:
    chance = random.Random(turn.seed)
    tiny = pl.Scenario.load(written(turn.folder / "tiny.toml", TINY))
    while turn.goes_on():
        for _ in range(200):
            text = drawn(chance)
            kind = chance.choice(["rate", "time", "size", "é"])
            path = chance.choice(["duration", "network.core.rate", "network.core.buffer", "pacing", "title", text])
            for name, call in {
                "shaper": lambda text=text: _core.shaper(text),
                "quantity": lambda text=text, kind=kind: _core.quantity(kind, f"10{text}"),
                "check": lambda text=text: _core.check(text),
                "set": lambda text=text, path=path: tiny.set(path, text).check(),
            }.items():
                turn.count += 1
                told = ""
                try:
                    call()
                except ValueError as error:  # `InputError` is one
                    told = str(error)
                except Exception as error:
                    turn.problems.append(f"seed {turn.seed}: {name}({text!r}), {kind}, {path}: {error!r}")
                if name != "check" and len(told.splitlines()) > 1:  # which names all that is wrong, a line each
                    turn.problems.append(f"seed {turn.seed}: {name}({text!r}) says {told!r}")


def steered(turn: Turn) -> None:
    """What is shown of any text has no character that a terminal obeys."""
    chance = random.Random(turn.seed)
    obeyed = ("LRO", "RLO", "LRE", "RLE", "PDF", "LRI", "RLI", "FSI", "PDI")
    controls = [chr(code) for code in (*range(32), *range(127, 160), 0x202E, 0x2066, 0x2028, 0x200E)]
    while turn.goes_on():
        for _ in range(1000):
            turn.count += 1
            text = drawn(chance) + "".join(chance.choices(controls, k=chance.randrange(4)))
            shown = escape_controls(text)
            wrong = any(unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp") for one in shown)
            if (
                wrong
                or any(unicodedata.bidirectional(one) in obeyed for one in shown)
                or escape_controls(shown) != shown
            ):
                turn.problems.append(f"seed {turn.seed}: {text!r} is shown as {shown!r}")


#: Within which a command answers, on an idle machine; and the most memory of it, bytes.
ANSWERS_S, MOST_BYTES = 5.0, 2 << 30


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def oversized(turn: Turn) -> None:
    """Numbers of a scenario, multiplied by powers of ten: `check` and `doctor` answer soon, in little memory."""
    chance = random.Random(turn.seed)
    while turn.goes_on():
        text = re.sub(
            r"(?<![\w.])\d+(?= [a-zA-Z]|, rate)",
            lambda match: match[0] + "0" * chance.choice([0, 0, 0, 3, 6, 9, 15]),
            TINY.replace('profile = "ns2"', 'profile = "ns2", initial_window = "1 packets", max_window = "1 packets"'),
        )
        if chance.random() < 0.3:
            text += "\n[sweep]\nseeds = 1" + "0" * chance.randrange(10) + "\n"
        path = written(turn.folder / "large.toml", text)
        verb = chance.choice(["check", "doctor"])
        turn.count += 1
        began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        command = [sys.executable, "-m", "paceline", verb, str(path)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        except subprocess.TimeoutExpired:
            turn.problems.append(f"seed {turn.seed}: {verb} has no answer within a minute: {text}")
            continue
        most_s = ANSWERS_S * max(1.0, 2 * os.getloadavg()[0] / (os.cpu_count() or 1))
        grown = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        wrong = {
            f"exit code {done.returncode}": done.returncode not in (0, 1, 2),
            "a traceback": "Traceback" in done.stderr,
            f"{time.monotonic() - began:.1f} s": time.monotonic() - began > most_s,
            f"{grown >> 10} MiB": grown > before and grown << 10 > MOST_BYTES,
            f"silence ({without_progress(done.stderr)!r})": done.returncode != 0 and not done.stdout + done.stderr,
        }
        turn.problems += [f"seed {turn.seed}: {verb}: {what}: {text}" for what, is_so in wrong.items() if is_so]


ATTACKS = [
    Attack("mutated inputs to every parser", 0.2, "inputs", fuzzed, why_no_fuzz),
    Attack("units, pacers and paths over all of Unicode", 0.03, "calls", units),
    Attack("text that would steer a terminal", 0.01, "texts", steered),
    pytests("the same on a terminal, files that scenarios name", 0.01, "tests/test_escapes.py"),
    Attack("scenarios that are far too large", 0.04, "scenarios", oversized),
    pytests("what takes more than there is", 0.01, "tests/test_bounds.py"),
    pytests("what is no input at all", 0.01, "tests/test_hostile_input.py"),
]
