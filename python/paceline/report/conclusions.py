"""Sentences that the numbers support: nothing that an interval of paired differences does not."""

from __future__ import annotations

from dataclasses import dataclass

from paceline._statistics import Interval, leaders, paired
from paceline.report.formatting import listed, percent_words, scale_for
from paceline.report.metrics import BY_KEY, Metric
from paceline.report.study import Series, Study, value_words
from paceline.results.quantities import path_phrase

#: The quantities that a headline may be about, the best first.
_HEADLINE = ("goodput", "throughput", "fct_mean", "loss")


@dataclass(frozen=True)
class Standing:
    """Who leads in one metric at one place on the axis: `leader` alone, or `tied`, or neither where seeds are one."""

    leader: str | None
    tied: frozenset[str]


def standing(study: Study, metric: Metric, position: str) -> Standing:
    """The best series at a place, by paired differences over seeds; nobody where series do not compete."""
    if not study.contest:
        return Standing(None, frozenset())
    candidates = {s.name: by_seed for s in study.series if (by_seed := _values(study, s, position, metric))}
    repeated = frozenset(s.name for s in study.series if (x := study.setting(s, position)) and x.repeats)
    return Standing(*leaders(candidates, metric.better, repeated)) if metric.better else Standing(None, frozenset())


def against_baseline(study: Study, series: Series, position: str, metric: Metric) -> Interval | None:
    """Relative difference to the baseline over paired seeds; `None` for the baseline itself."""
    baseline = study.baseline
    if baseline is None or series.name == baseline.name:
        return None
    return _paired(study, (series, position), (baseline, position), metric)


def headline_metric(study: Study) -> Metric | None:
    present = {m.key for m in study.metrics}
    return next((BY_KEY[key] for key in _HEADLINE if key in present), None)


def headline(study: Study) -> list[str]:
    """The answer in a few sentences, the most important first."""
    metric = headline_metric(study)
    if metric is None:
        return ["No run has numbers to compare."]
    parts = study.parts
    if len(parts) > 1 and parts[0].contest:
        return _over_conditions(study, metric)
    if len(parts) > 1 or not study.contest:
        return _without_contest(study, metric)
    return _of_part(study, metric, list(dict.fromkeys([study.positions[0], study.positions[-1]])))


def _of_part(study: Study, metric: Metric, positions: list[str]) -> list[str]:
    """Who leads at some places on the axis, under one set of conditions."""
    if len(study.series) < 2:
        return _one_series(study, metric, positions)
    sentences = [s for position in positions if (s := _at(study, metric, position))]
    losers = _losers(study, metric, positions[0])
    if losers and sentences:
        sentences.insert(1, losers)
    return sentences or ["No two settings have numbers to compare."]


def _over_conditions(study: Study, metric: Metric) -> list[str]:
    """How often each series leads, over all conditions; then the first and the last of these."""
    led: dict[str, int] = {}
    tied = told = compared = 0
    for part in study.parts:
        for position in part.positions:
            if sum(bool(_values(part, s, position, metric)) for s in part.series) < 2:
                continue
            compared += 1
            stand = standing(part, metric, position)
            if stand.leader:
                led[stand.leader] = led.get(stand.leader, 0) + 1
            tied += bool(stand.tied)
            told += bool(stand.leader or stand.tied)
    first, last = study.parts[0], study.parts[-1]
    ends = [_of_part(first, metric, first.positions[:1])[0], _of_part(last, metric, last.positions[-1:])[0]]
    names = [path_phrase(path) for path in study.roles.conditions]
    names += [study.axis.phrase] if study.axis else []
    if not told:
        return ends
    if not led and tied == compared:
        return [_capital(f"all {compared} settings of {listed(names)} are ties in {metric.title.lower()}."), *ends]
    most = sorted(led.items(), key=lambda pair: -pair[1])
    better = f" leads in {metric.title.lower()}"
    said = [f"{name}{better if n == 0 else ''} in {count}" for n, (name, count) in enumerate(most[:3])]
    said += [f"{tied} {'are ties' if tied != 1 else 'is a tie'}"] if tied else []
    return [_capital(f"of {compared} combinations of {listed(names)}, {listed(said)}."), *ends]


def _without_contest(study: Study, metric: Metric) -> list[str]:
    """Nothing was swept that one would choose: the least and the largest, and where."""
    found = [
        (estimate.mean, part, series, position)
        for part in study.parts
        for series in part.series
        for position in part.positions
        if (setting := part.setting(series, position)) and (estimate := part.estimate(setting, metric))
    ]
    if not found:
        return ["No run has numbers to compare."]
    least, most = min(found, key=lambda one: one[0]), max(found, key=lambda one: one[0])
    if len(found) < 2 or (len(study.parts) == 1 and len(study.series) == 1):
        return _of_part(study, metric, list(dict.fromkeys([study.positions[0], study.positions[-1]])))

    def there(one: tuple[float, Study, Series, str]) -> str:
        _, part, series, position = one
        said = [series.name] if len(part.series) > 1 else []
        said += [value_words(path, text) for path, text in part.condition.items()]
        said += [f"{part.axis.phrase} {position}"] if part.axis else []
        return f"{_number(part, series, position, metric)} ({', '.join(said)})"

    return [_capital(f"{metric.title} goes from {there(least)} to {there(most)}.")]


def _at(study: Study, metric: Metric, position: str) -> str:
    """One sentence about one place on the axis."""
    values = {s.name: _values(study, s, position, metric) for s in study.series}
    means = {name: sum(v.values()) / len(v) for name, v in values.items() if v}
    if len(means) < 2:
        return ""
    where = place(study, position)
    gets = "gets" if metric.key == "goodput" else "has"
    stand = standing(study, metric, position)
    baseline = study.baseline
    if stand.leader:
        best = _series(study, stand.leader)
        text = f"{where}{best.name} {gets} {amount(study, best, position, metric)}"
        difference = against_baseline(study, best, position, metric)
        if baseline and difference and difference.excludes_zero:
            text += f", {percent_words(difference)} than {baseline.name}"
        elif baseline and best.name == baseline.name:
            text += ", ahead of every other setting"
        return _capital(text + ".")
    if stand.tied:
        tied = [s for s in study.series if s.name in stand.tied]
        top = max(tied, key=lambda s: metric.better * means[s.name])
        names = listed(s.name for s in tied)
        if len(tied) > 3:
            names = f"{len(tied)} of {len(means)} settings, {top.name} among them,"
        text = f"{where}{names} tie at {'about ' + amount(study, top, position, metric, interval=False)}"
        difference = against_baseline(study, top, position, metric)
        if baseline and baseline.name not in stand.tied and difference and difference.excludes_zero:
            text += f", {percent_words(difference)} than {baseline.name}"
        return _capital(text + ": the seeds do not tell them apart.")
    best = _series(study, max(means, key=lambda name: metric.better * means[name]))
    text = f"{where}{best.name} {gets} {amount(study, best, position, metric)}"
    if study.has_intervals or len(study.seeds) < 2:
        return _capital(f"{text}, the best of {len(means)} settings; one seed cannot say whether by chance.")
    return _capital(f"{text}, the best of {len(means)} settings, in one run each: every seed repeats it.")


def _losers(study: Study, metric: Metric, position: str) -> str:
    """The methods that do significantly worse than the baseline, where there are any."""
    found = [
        f"{s.name} gets {percent_words(d)}"
        for s in study.series
        if (d := against_baseline(study, s, position, metric)) and d.excludes_zero and d.mean * metric.better < 0
    ]
    if not found or metric.better < 0 or not study.baseline or len(found) > 2:
        return ""
    there = " there" if study.axis else ""
    return _capital(f"{listed(found)} than {study.baseline.name}{there}.")


def _one_series(study: Study, metric: Metric, positions: list[str]) -> list[str]:
    series = study.series[0]
    values = [_values(study, series, p, metric) for p in positions]
    amounts = [amount(study, series, p, metric) for p in positions]
    if len(positions) == 1 or not all(values):
        there = [(p, a) for p, a, v in zip(positions, amounts, values, strict=True) if v]
        said = [_capital(f"{place(study, p)}{series.name}: {a}.") for p, a in there]
        return said or ["No run has numbers to compare."]
    title = study.axis.phrase if study.axis else ""
    ends = f"from {amounts[0]} at {positions[0]} to {amounts[1]} at {positions[1]}"
    change = _paired(study, (series, positions[1]), (series, positions[0]), metric)
    if change is None or not change.excludes_zero:
        surely = "" if change is None or change.half is None else "; the seeds do not tell them apart"
        return [_capital(f"With the {title}, {metric.title.lower()} goes {ends}{surely}.")]
    words = percent_words(change).removesuffix(" more").removesuffix(" less")
    return [
        _capital(f"With the {title}, {metric.title.lower()} {'rises' if change.mean > 0 else 'falls'} by {words}."),
        _capital(f"{ends}."),
    ]


def amount(study: Study, series: Series, position: str, metric: Metric, *, interval: bool = True) -> str:
    """`92.4 ± 0.3 kbit/s per flow`."""
    text = _number(study, series, position, metric, interval=interval)
    return text + {"goodput": " per flow", "throughput": " over the core" if study.core == "core" else ""}.get(
        metric.key, f" {metric.title.lower()}"
    )


def _number(study: Study, series: Series, position: str, metric: Metric, *, interval: bool = True) -> str:
    """`92.4 ± 0.3 kbit/s`, kept on one line."""
    setting = study.setting(series, position)
    value = study.estimate(setting, metric) if setting else None
    if value is None:
        return "no number"
    scale = scale_for(metric.kind, [value.mean], [value.half])
    return scale.with_unit(scale.estimate(value) if interval else scale.number(value.mean)).replace(" ", "\u00a0")


def place(study: Study, position: str) -> str:
    """`at a core buffer of 5 KB, `, after the conditions that hold; empty where there is nothing to say."""
    said = [value_words(path, text) for path, text in study.condition.items()]
    if study.axis is not None:
        title = study.axis.phrase
        article = "an" if title[:1] in "aeiou" else "a"
        counted = position.isdecimal() and title.endswith("s")  # hosts
        said.append(f"{position} {title}" if counted else f"{article} {title} of {position}")
    return f"at {listed(said)}, " if said else ""


def _paired(study: Study, a: tuple[Series, str], b: tuple[Series, str], metric: Metric) -> Interval | None:
    """Relative difference of two settings, seed by seed."""
    one, other = study.setting(*a), study.setting(*b)
    if one is None or other is None:
        return None
    both = one.repeats and other.repeats
    return paired(study.by_seed(one, metric), study.by_seed(other, metric), relative=True, once=both)


def _values(study: Study, series: Series, position: str, metric: Metric) -> dict[int, float]:
    setting = study.setting(series, position)
    return study.by_seed(setting, metric) if setting else {}


def _series(study: Study, name: str) -> Series:
    return next(s for s in study.series if s.name == name)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
