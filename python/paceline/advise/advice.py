"""An answer as an object: as text, as JSON, in a notebook, and as files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paceline._statistics import Interval
from paceline.advise.answer import Row, Verdict
from paceline.advise.candidates import Rule
from paceline.advise.deploy import deployment
from paceline.advise.fragility import Change
from paceline.advise.measures import MEASURES, worth
from paceline.advise.network import Length, scenario_of
from paceline.advise.question import Candidate, Question
from paceline.advise.sentence import assumptions
from paceline.advise.verify import Verified, as_dict

if TYPE_CHECKING:
    from paceline.advise.evidence import Evidence
    from paceline.scenario import Scenario


@dataclass(frozen=True)
class Advice:
    """What `paceline.advise` answers.

    Attributes:
        sentence: what to do, and what comes of it.
        status: ``settled``; ``tie`` where others do as well; ``undecided`` where runs did not settle it; or
            ``unreachable`` where no setting keeps the bounds, and the nearest is given.
        runs: simulated for it, those from the store included.
        cpu_s: processor time of these.
        wall_s: how long it took.

    Examples:
        >>> advice = pl.advise({"rate": "10 Mbit/s", "rtt": "10 ms .. 30 ms", "flows": 10, "pacing": "none"})
        >>> advice.status in ("settled", "undecided") and advice.sentence.endswith(".")
        True
    """

    sentence: str
    status: str
    runs: int
    cpu_s: float
    wall_s: float
    _question: Question
    _verdict: Verdict
    _rules: list[Rule]
    _changes: list[Change]
    _evidence: Evidence
    _length: Length
    _verified: Verified | None = None

    @property
    def scenario(self) -> Scenario:
        """The advised setting as a scenario to run, five seeds of it.

        Examples:
            >>> asked = {"rate": "10 Mbit/s", "rtt": "20 ms", "flows": 10, "pacing": "none"}
            >>> pl.advise(asked).scenario.to_dict()["network"]["template"]
            'dumbbell'
        """
        return scenario_of(self._question, self._verdict.best.candidate, self._length).seeds(5)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values: what ``paceline advise --json`` prints.

        Examples:
            >>> asked = {"rate": "10 Mbit/s", "rtt": "20 ms", "flows": 10, "pacing": "none"}
            >>> sorted(pl.advise(asked).to_dict()["best"])
            ['buffer_bytes', 'buffer_packets', 'fresh', 'intervals', 'keeps', 'pacing', 'queue', 'seeds', 'wait_s']
        """
        verdict, question = self._verdict, self._question
        return {
            "sentence": self.sentence,
            "status": self.status,
            "question": dict(question.tables),
            "best": _row(question, verdict.best),
            "without": _row(question, verdict.baseline) if verdict.baseline else None,
            "rival": _row(question, verdict.rival) if verdict.rival else None,
            "safe": _row(question, verdict.safe) if verdict.safe else None,
            "alike": [_setting(question, one) for one in verdict.alike],
            "maybe": [_setting(question, one) for one in verdict.maybe],
            "table": [_row(question, row) for row in verdict.rows],
            "theory": [{"rule": one.name, "packets": one.packets, "source": one.source} for one in self._rules],
            "ruled_out": [{"what": name, "why": why} for name, why in verdict.ruled_out],
            "refuted": [_setting(question, one) for one in verdict.refuted],
            "changes": [
                {"what": one.name, "keeps": one.keeps, "intervals": _intervals(one.intervals)} for one in self._changes
            ],
            "kernel": as_dict(self._verified) if self._verified else None,
            "assumptions": self.assumptions(),
            "deploy": [{"part": title, "lines": lines} for title, lines in self.deployment()],
            "tried": [self._tried(one) for one in sorted(self._evidence.runs, key=_order)],
            "runs": self.runs,
            "cpu_s": round(self.cpu_s, 3),
            "wall_s": round(self.wall_s, 3),
        }

    def to_json(self) -> str:
        """`to_dict` as JSON.

        Examples:
            >>> asked = {"rate": "10 Mbit/s", "rtt": "20 ms", "flows": 10, "pacing": "none"}
            >>> pl.advise(asked).to_json().startswith('{"sentence": ')
            True
        """
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def assumptions(self) -> list[str]:
        """What it rests on, a sentence each.

        Examples:
            >>> asked = {"rate": "10 Mbit/s", "rtt": "20 ms", "flows": 10, "pacing": "none"}
            >>> pl.advise(asked).assumptions()[0].startswith("Simulated: 10 flows")
            True
        """
        return assumptions(self._question, self._length, self._verdict)

    def deployment(self) -> list[tuple[str, list[str]]]:
        """How to set it: parts by their titles, and their lines.

        Examples:
            >>> asked = {"rate": "10 Mbit/s", "rtt": "20 ms", "flows": 10, "pacing": "none"}
            >>> pl.advise(asked).deployment()[0][0]
            'The buffer of the core'
        """
        return deployment(self._question, self._verdict.best.candidate)

    def save(self, directory: str | Path) -> Path:
        """Writes ``report.html``, ``advice.json`` and ``scenario.toml``, and returns the report's path.

        Args:
            directory: is made where it is not there.

        Raises:
            OSError: it cannot be written.

        Examples:
            >>> asked = {"rate": "10 Mbit/s", "rtt": "20 ms", "flows": 10, "pacing": "none"}
            >>> pl.advise(asked).save("results/advice").name
            'report.html'
        """
        from paceline.advise.page import render

        folder = Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        texts = {"advice.json": self.to_json() + "\n", "scenario.toml": self.scenario.to_toml()}
        for name, text in (texts | {"report.html": render(self)}).items():
            partial = folder / f".{name}.partial"
            partial.write_text(text, encoding="utf-8")
            partial.replace(folder / name)
        return folder / "report.html"

    def __str__(self) -> str:
        from paceline.advise.view import as_text

        return as_text(self, 80)

    def __repr__(self) -> str:
        return f"Advice({self.sentence!r})"

    def _repr_html_(self) -> str:
        from paceline.advise.page import notebook

        return notebook(self)

    def _tried(self, candidate: Candidate) -> dict[str, Any]:
        evidence = self._evidence
        values = evidence.means(candidate)
        found = _setting(self._question, candidate)
        found["intervals"] = _intervals(
            {name: value for name in MEASURES if (value := evidence.interval(candidate, name))}
        )
        return found | {"seeds": len(evidence.runs[candidate]), "worth": worth(self._question, candidate, values)}


def _order(one: Candidate) -> tuple[str, int, str, int]:
    return one.queue, one.pacing.effort, one.pacing.name, one.buffer


def _setting(question: Question, one: Candidate) -> dict[str, Any]:
    held = one.buffer * question.packet_bytes
    return {
        "buffer_packets": one.buffer,
        "buffer_bytes": held,
        "wait_s": held * 8 / question.rate_bps,
        "pacing": one.pacing.name,
        "queue": one.queue,
    }


def _row(question: Question, row: Row) -> dict[str, Any]:
    found = _setting(question, row.candidate)
    stated = {"intervals": _intervals(row.intervals), "seeds": row.seeds, "fresh": row.fresh, "keeps": row.keeps}
    return found | stated


def _intervals(intervals: Mapping[str, Interval]) -> dict[str, dict[str, float | None]]:
    return {name: {"mean": one.mean, "half": one.half} for name, one in intervals.items()}
