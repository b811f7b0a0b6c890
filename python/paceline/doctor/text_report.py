"""The doctor's report as text: a line a hop, numbers, findings. Colours only where asked for."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Literal

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from paceline.doctor import units
from paceline.doctor.finding import SEVERITIES, Finding
from paceline.doctor.setting_text import Entry, entries, pacing_lines
from paceline.terminal import text_tables
from paceline.terminal.escapes import escape_controls, escape_controls_in

if TYPE_CHECKING:
    from paceline.doctor.diagnosis import Diagnosis

PLAIN_WIDTH = 110
#: Longer lines are not easily read.
MOST_WIDTH = 140
#: More ways, or rows of settings, than this are counted, not shown.
MOST_WAYS = 8
MOST_ROWS = 40

#: With fewer columns beside them words would be a tower, and stand below.
_NARROWEST = 28
_MARKS = {"error": ("✗", "bold red"), "warning": ("▲", "yellow"), "note": ("·", "cyan")}


def as_text(diagnosis: Diagnosis, width: int = PLAIN_WIDTH, colour: bool = False) -> str:
    """The report, no line wider than `width` where words allow; ends in a newline. No text of it steers a terminal."""
    diagnosis = replace(
        diagnosis,
        title=escape_controls(diagnosis.title),
        settings=escape_controls_in(diagnosis.settings),
        findings=[_escaped_finding(finding) for finding in diagnosis.findings],
    )
    out = io.StringIO()
    system: Literal["standard"] | None = "standard" if colour else None
    console = Console(
        file=out,
        width=width,
        height=25,  # without one, no width is taken where TERM=dumb
        force_terminal=colour,
        color_system=system,
        highlight=False,
        markup=False,
        emoji=False,
    )
    _print_head(console, diagnosis)
    if diagnosis.settings:
        _print_ways(console, diagnosis)
        _print_numbers(console, diagnosis)
        _print_findings(console, diagnosis)
    if diagnosis.left_out:
        console.print(Text(f"\nLeft out: {diagnosis.left_out}."))
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().replace(text_tables.NO_BREAK, " ").splitlines())


def _escaped_finding(finding: Finding) -> Finding:
    return replace(finding, **{one.name: escape_controls_in(getattr(finding, one.name)) for one in fields(finding)})


def _print_head(console: Console, diagnosis: Diagnosis) -> None:
    runs = diagnosis.asked_for * diagnosis.seeds
    size = units.count(runs, "run")
    if diagnosis.asked_for > 1:
        size += f": {units.count(diagnosis.asked_for, 'setting')}"
        size += f" under {units.count(diagnosis.seeds, 'seed')} each" if diagnosis.seeds > 1 else ""
    console.print(Text(diagnosis.title, "bold"))
    console.print(Text(f"{size}; ranges as seed {diagnosis.seed} draws them", "dim"))


def _print_ways(console: Console, diagnosis: Diagnosis) -> None:
    ways = _ways(diagnosis.settings)
    for groups in ways[:MOST_WAYS]:
        console.print()
        _print_way(console, groups, len(diagnosis.settings))
    if len(ways) > MOST_WAYS:
        console.print(Text(f"\n{len(ways) - MOST_WAYS} more kinds of flows; see --json", "dim"))


def _ways(settings: Sequence[Mapping[str, Any]]) -> list[list[dict[str, Any]]]:
    """Groups that go the same way, over all settings: what differs in a hop stands side by side."""
    ways: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for setting in settings:
        several: dict[tuple[Any, ...], int] = {}
        for group in setting["groups"]:
            key = (group["name"], group["from"], *((hop["link"], hop["count"]) for hop in group["path"]))
            several[key] = several.get(key, 0) + 1
            ways.setdefault((*key, several[key]), []).append(group)
    return list(ways.values())


def _print_way(console: Console, groups: list[dict[str, Any]], settings: int) -> None:
    first = groups[0]
    head = Text.assemble((first["name"], "bold"))
    flows = _alternatives(units.count(group["flows"], "flow") for group in groups)
    sends = _alternatives(group["sends"] for group in groups)
    packet = _alternatives(f"{group['packet_bytes']} B" for group in groups)
    head.append(f"  {text_tables.kept(flows)}  {first['from']} → {first['to']}  {sends}, ")
    head.append(text_tables.kept(f"packets of {packet} on the wire"))
    if len(groups) < settings:
        head.append(f"  (in {len(groups)} of {settings} settings)", "dim")
    console.print(head)
    rows: list[list[Text]] = []
    host = _alternatives((group["host_pacing"] or "unpaced") for group in groups)
    sender = _alternatives((group["sender"] or "packet by packet") for group in groups)
    if (host, sender) != ("unpaced", "packet by packet"):
        paced = (text_tables.kept(f"[{host}]"), "magenta") if host != "unpaced" else ""
        between = "  " if paced and sender != "packet by packet" else ""
        words = Text.assemble(paced, between, text_tables.kept(sender) if sender != "packet by packet" else "")
        rows.append([Text(f"  {first['from']}"), Text(), Text(), words])
    bottlenecks = {group["bottleneck"] for group in groups}
    for number, hop in enumerate(first["path"]):
        alike = [group["path"][number] for group in groups]
        rows.append(_hop_cells(alike, hop["link"] in bottlenecks))
    receiver = _alternatives((group["receiver"] or "packet by packet") for group in groups)
    if receiver != "packet by packet":
        rows.append([Text(f"→ {first['to']}"), Text(), Text(), Text(text_tables.kept(receiver))])
    _print_beside(console, rows)
    console.print(Text(f"  {text_tables.kept(_back(groups))}", "dim"))


def _print_beside(console: Console, rows: Sequence[Sequence[Text]]) -> None:
    """Rows whose last cell is words: beside the others, which are kept whole; below them where that is too narrow."""
    others = len(rows[0]) - 1
    widths = [max(cell_len(row[number].plain) for row in rows) for number in range(others)]
    if sum(widths) + 2 * others + min(_NARROWEST, max(cell_len(row[-1].plain) for row in rows)) <= console.width:
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        for _ in range(others):
            table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for row in rows:
            table.add_row(*row)
        console.print(table)
        return
    for row in rows:
        head = Text("  ").join(cell for cell in row[:-1] if cell.plain)
        if head.plain.strip():
            console.print(
                Text("\n").join(Text(line, "bold") for line in text_tables.wrap(head.plain, console.width, "    "))
            )
        console.print(Padding(row[-1], (0, 0, 0, 4)))


def _hop_cells(hops: list[dict[str, Any]], bottleneck: bool) -> list[Text]:
    first = hops[0]
    name = Text(f"→ {first['link']}")
    if first["count"] > 1:
        name.append(f" ×{first['count']}", "dim")
    waits = Text(text_tables.kept(_queues_words([hop["queue"] for hop in hops])))
    if first["queue"]["packets_wait"] is None and len({str(hop["queue"]) for hop in hops}) == 1:
        waits.stylize("dim")
    pacer = _alternatives((_pacer_words(hop["pacer"]) or "unpaced") for hop in hops)
    if pacer != "unpaced":
        waits = Text.assemble((text_tables.kept(f"[{pacer}]"), "magenta"), (" then ", "dim"), waits)
    policer = _alternatives(_policer_words(hop["policer"]) for hop in hops)
    if policer:
        waits = Text.assemble((text_tables.kept(f"[{policer}]"), "magenta"), (" then ", "dim"), waits)
    if bottleneck:
        waits.append(f"  ←{text_tables.NO_BREAK}bottleneck", "bold")
    return [
        name,
        Text(text_tables.kept(_alternatives(_rate_words(hop) for hop in hops))),
        Text(text_tables.kept(_alternatives(_delay_words(hop) for hop in hops))),
        waits,
    ]


def _queues_words(queues: list[Mapping[str, Any]]) -> str:
    """``5 KB by ns2: 4 packets wait``; in several settings ``5 KB: 4 | 10 KB: 9 packets wait, by ns2``."""
    known = list({str(queue): queue for queue in queues}.values())
    if len(known) == 1 or any(queue["packets_wait"] is None for queue in known):
        return _alternatives(_queue_words(queue) for queue in known)
    counts = _alternatives(queue["counts"] for queue in known)
    waits = f"{_alternatives(f'{_limit_words(one)}: {_waits(one)}' for one in known)} packets wait, by {counts}"
    how = "" if all(queue["drop"] == "tail" for queue in known) else f", {_alternatives(one['drop'] for one in known)}"
    memory = {_memory_words(queue["memory"]) for queue in known}
    return f"{waits}{how}{memory.pop() if len(memory) == 1 else ', of a memory that several share'}"


def _queue_words(queue: Mapping[str, Any]) -> str:
    if queue["packets_wait"] is None:
        return "no limit"
    wait = _waits(queue)
    return (
        f"{_limit_words(queue)} by {queue['counts']}: {wait} {'packet waits' if wait == '1' else 'packets wait'}"
        f"{_how(queue)}{_memory_words(queue['memory'])}"
    )


def _how(queue: Mapping[str, Any]) -> str:
    """A discipline that is no drop-tail: ``, drops at its front`` or ``, priority``."""
    return {"tail": "", "front": ", drops at its front"}.get(queue["drop"], f", {queue['drop']}")


def _waits(queue: Mapping[str, Any]) -> str:
    return units.span(queue["packets_wait"], units.number)


def _memory_words(memory: Mapping[str, Any] | None) -> str:
    """``, of 300 KB that 2 links share by alpha 1``."""
    if memory is None:
        return ""
    size = units.size(memory["bytes"]) if memory["bytes"] is not None else units.count(memory["packets"], "packet")
    return f", of {size} that {memory['links']} links share by alpha {memory['alpha']:g}"


def _limit_words(queue: Mapping[str, Any]) -> str:
    limit = str(queue["written"] or "")
    if not limit and queue["memory"]:
        share = units.span(queue["limit_bytes"], units.size) if queue["limit_bytes"] else queue["limit_packets"]
        return f"{share} alone" if queue["limit_bytes"] else f"{share} packets alone"
    if limit.endswith("BDP") and queue["limit_bytes"]:
        limit += f" = {units.span(queue['limit_bytes'], units.size)}"
    return limit


def _rate_words(hop: Mapping[str, Any]) -> str:
    """``10 Mbit/s``; ``4 Mbit/s by trace`` where it varies about that mean."""
    words = units.span(hop["rate_bps"], units.rate)
    return f"{words} by {hop['varying']}" if hop["varying"] else words


def _delay_words(hop: Mapping[str, Any]) -> str:
    """``20 ms``; ``20 ms + 2 ms ± 1 ms, reorders`` with jitter."""
    words, jitter = units.span(hop["delay_s"], units.time), hop["jitter"]
    if jitter is None:
        return words
    more = f"{units.time(jitter['mean_s'])} ± {units.time(jitter['spread_s'])}"
    return f"{words} + {more}, reorders" if jitter["reorder"] else f"{words} + {more}"


def _policer_words(policer: Mapping[str, Any] | None) -> str:
    if policer is None:
        return ""
    return f"policer {units.span(policer['rate_bps'], units.rate)}, {units.span(policer['burst_bytes'], units.size)}"


def _pacer_words(pacer: Mapping[str, Any] | None) -> str:
    if pacer is None:
        return ""
    limit = pacer["limit_packets"]
    holds = units.count(limit, "packet") if limit is not None else units.size(pacer["limit_bytes"] or 0)
    bounded = limit is not None or pacer["limit_bytes"] is not None
    return str(pacer["short"]) + (f", holds {holds}" if bounded else "")


def _back(groups: list[dict[str, Any]]) -> str:
    """The acknowledgements' way in a line: only what limits or paces them."""
    first = groups[0]
    if not first["ack_path"]:
        return "nothing comes back"
    odd = []
    for number, hop in enumerate(first["ack_path"]):
        alike = [group["ack_path"][number] for group in groups if number < len(group["ack_path"])]
        pacer = _alternatives((_pacer_words(one["pacer"]) or "unpaced") for one in alike)
        queue = _queues_words([one["queue"] for one in alike])
        if pacer != "unpaced" or queue != "no limit":
            odd.append(f"{hop['link']} [{pacer}] {queue}" if pacer != "unpaced" else f"{hop['link']} {queue}")
    if not odd:
        return "acknowledgements come back unpaced, over queues without limits"
    return f"acknowledgements come back over {units.listed(odd, most=6)}"


def _alternatives(texts: Iterable[str]) -> str:
    """What the settings say: one text, or several with bars between."""
    known = list(dict.fromkeys(texts))
    if len(known) > 6:
        known = [*known[:5], f"{len(known) - 5} more"]
    return " | ".join(known)


def _print_numbers(console: Console, diagnosis: Diagnosis) -> None:
    rows = [entries(setting) for setting in diagnosis.settings]
    labels = list(dict.fromkeys(entry.label for row in rows for entry in row))
    by_label: list[dict[str, Entry]] = [{entry.label: entry for entry in row} for row in rows]
    texts = {label: {(row[label].text if label in row else None) for row in by_label} for label in labels}
    cells = {label: {(row[label].cell if label in row else None) for row in by_label} for label in labels}
    agree = {label for label in labels if len(texts[label]) == 1 or len(cells[label]) == 1}
    console.print()
    told = [
        (label, _alternatives(row[label].text or "" for row in by_label))
        for label in labels
        if label in agree and None not in texts[label]
    ]
    told += [("" if number else "pacing", line) for number, line in enumerate(pacing_lines(diagnosis.settings))]
    known = [setting["cost"]["cpu_s"] for setting in diagnosis.settings if setting["cost"]["cpu_s"] is not None]
    total = sum(known) * diagnosis.seeds
    if len(diagnosis.settings) * diagnosis.seeds > 1 and len(known) == len(diagnosis.settings):
        told.append(("all runs", f"about {units.time(float(f'{total:.2g}'))} of one processor"))
    if told:
        _print_beside(console, [[Text(label, "bold"), Text(text_tables.kept(text))] for label, text in told])
    varying = [label for label in labels if len(cells[label]) > 1]
    if len(diagnosis.settings) > 1 and varying:
        console.print()
        _print_settings(console, diagnosis, by_label, varying)


def _print_settings(
    console: Console, diagnosis: Diagnosis, by_label: list[dict[str, Entry]], varying: list[str]
) -> None:
    """A row a setting, of what differs between them."""
    axes = list(diagnosis.settings[0]["settings"])
    rows = [
        [setting["settings"][axis] for axis in axes]
        + [(row[label].cell or "") if label in row else "" for label in varying]
        for setting, row in list(zip(diagnosis.settings, by_label, strict=True))[:MOST_ROWS]
    ]
    head = [*(axis.removeprefix("network.") for axis in axes), *varying]
    for line in text_tables.table(head, rows, len(axes), console.width):
        console.print(Text(line.text, "bold" if line.is_head else ""), soft_wrap=True)
    if len(by_label) > MOST_ROWS:
        console.print(Text(f"{len(by_label) - MOST_ROWS} more settings; narrow them by --set, or see --json", "dim"))


def _print_findings(console: Console, diagnosis: Diagnosis) -> None:
    console.print()
    if not diagnosis.findings:
        console.print(Text("Nothing odd found.", "bold green"))
        return
    numbers = [
        units.count(many, severity)
        for severity in SEVERITIES
        if (many := sum(finding.severity == severity for finding in diagnosis.findings))
    ]
    console.print(Text(units.listed(numbers).capitalize(), "bold"))
    for finding in diagnosis.findings:
        console.print()
        _print_finding(console, finding, diagnosis)


def _print_finding(console: Console, finding: Finding, diagnosis: Diagnosis) -> None:
    mark, style = _MARKS[finding.severity]
    head = Text.assemble((f"{mark} {finding.severity}", style), "  ", (finding.where, "bold"))
    head.append(f": {text_tables.kept(finding.what)}").append(f"  ({finding.id})", "dim")
    console.print(head)
    for text in (
        Text(text_tables.kept(finding.why)),
        Text.assemble(("→ ", "green"), text_tables.kept(finding.instead)),
    ):
        console.print(Padding(text, (0, 0, 0, 4)))
    if not finding.everywhere:
        where = Text(f"in {in_words(finding.settings, diagnosis.settings)}", "dim")
        console.print(Padding(where, (0, 0, 0, 4)))


def in_words(found: Sequence[Mapping[str, str]], settings: Sequence[Mapping[str, Any]]) -> str:
    """Which settings: by what they have in common, where that is exactly them."""
    axes = list(found[0])
    everything = {axis: list(dict.fromkeys(one["settings"][axis] for one in settings)) for axis in axes}
    values = {axis: list(dict.fromkeys(one[axis] for one in found)) for axis in axes}
    product = 1
    for axis in axes:
        product *= len(values[axis])
    if product == len(found):
        told = [
            f"{axis} = {units.listed(values[axis], 'or')}" for axis in axes if len(values[axis]) < len(everything[axis])
        ]
        if told:
            return ", ".join(told)
    first = ", ".join(f"{axis} = {value}" for axis, value in found[0].items())
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return f"{len(found)} of {len(settings)} settings: {first}{more}"
