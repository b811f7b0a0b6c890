"""Writes the example Grafana dashboard: `python packaging/dashboard.py > packaging/grafana.json`."""

from __future__ import annotations

import json
import sys
from typing import Any

WIDTH, HEIGHT = 12, 8


def quantile(share: float, name: str) -> tuple[str, str]:
    """A quantile of a histogram over the last minute, and what it is called."""
    query = f"histogram_quantile({share}, sum by (direction, le) (rate(paceline_{name}_bucket[1m])))"
    return query, f"{{{{direction}}}} p{100 * share:g}"


def drops() -> str:
    """Frames a second that did not leave, by cause."""
    return "sum by (direction, cause) (rate(paceline_dropped_packets_total[1m]))"


PANELS: list[tuple[str, str, list[tuple[str, str]]]] = [
    ("Rate", "bps", [("paceline_rate_bits_per_second", "{{direction}} {{side}}")]),
    ("Queue", "decbytes", [("paceline_queue_bytes", "{{direction}}")]),
    ("Added delay", "s", [quantile(0.5, "added_delay_seconds"), quantile(0.99, "added_delay_seconds")]),
    ("Lateness", "s", [quantile(0.5, "lateness_seconds"), quantile(0.99, "lateness_seconds")]),
    ("Burstiness before and after", "none", [("paceline_burstiness", "{{direction}} {{side}}")]),
    ("Drops by cause", "pps", [(drops(), "{{direction}} {{cause}}")]),
    ("Deadlines missed", "cps", [("rate(paceline_deadline_misses_total[1m])", "{{direction}}")]),
    (
        "Bypass",
        "none",
        [
            ("paceline_bypass_active", "{{direction}} active"),
            ("rate(paceline_bypassed_packets_total[1m])", "{{direction}} packets/s"),
        ],
    ),
]


def panel(number: int, title: str, unit: str, queries: list[tuple[str, str]]) -> dict[str, Any]:
    """A graph over time, two to a row."""
    source = {"type": "prometheus", "uid": "${source}"}
    targets = [
        {"refId": chr(ord("A") + index), "datasource": source, "expr": query, "legendFormat": legend}
        for index, (query, legend) in enumerate(queries)
    ]
    return {
        "id": number + 1,
        "title": title,
        "type": "timeseries",
        "datasource": source,
        "gridPos": {"h": HEIGHT, "w": WIDTH, "x": WIDTH * (number % 2), "y": HEIGHT * (number // 2)},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "targets": targets,
    }


def dashboard() -> dict[str, Any]:
    """All of it."""
    source = {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    return {
        "title": "Paceline inline pacer",
        "uid": "paceline-pace",
        "schemaVersion": 39,
        "refresh": "5s",
        "time": {"from": "now-15m", "to": "now"},
        "templating": {"list": [source]},
        "panels": [panel(number, *row) for number, row in enumerate(PANELS)],
    }


if __name__ == "__main__":
    json.dump(dashboard(), sys.stdout, indent=2)
    sys.stdout.write("\n")
