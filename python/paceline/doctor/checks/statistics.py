"""Checks of what is measured: warm-up, the window of statistics, seeds."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from paceline.doctor import tcp_windows, units
from paceline.doctor.case import Case
from paceline.doctor.finding import Problem, check, check_sweep
from paceline.doctor.sweep import Sweep

#: Fewer window cuts a flow than this say little of its goodput.
FEW_CUTS = 10
#: Fewer packets over the core than this say little of anything.
FEW_PACKETS = 1000
#: Half width of a 95 % interval in standard deviations, t(n - 1) / sqrt(n), for n seeds.
HALF_WIDTHS = {2: 8.98, 3: 2.48, 4: 1.59, 5: 1.24, 10: 0.72}
ENOUGH_SEEDS = 5


@check("warmup-short", "warning", "note")
def warmup_short(case: Case) -> Iterator[Problem]:
    """Statistics begin while flows still start.

    Before `warmup` everything is left out of the statistics. Flows that last must have started by then (the end of
    the range of `start`), be through slow start (a doubling each round trip up to the fair window), and have had time
    for three retransmission timeouts: less is a warning. A note where fewer than three sawteeth lie between, so that
    shares may not have evened out.
    """
    for group in case.connections:
        tcp = group.first.tcp
        if tcp is None or group.first.packets is not None or case.table(group.first).get("kind") != "bulk":
            continue
        last = max(case.network.traffics[group.first.traffic].start_s)
        start = max(tcp_windows.slow_start_s(case, flow) for flow in group.flows)
        timers = 3 * max(tcp.min_rto_s, 2 * fmean(case.trip_s[flow] for flow in group.flows))
        ready = last + start + timers
        loses = tcp_windows.has_sawtooth(case, group.flows[0])
        shared = any(
            case.limited_by[link] > 1 for link in {case.fair.limit[flow] for flow in group.flows} if link is not None
        )
        sawteeth = 3 * fmean(tcp_windows.epoch_s(case, flow) for flow in group.flows) if loses and shared else 0.0
        have = case.network.warmup_s
        if have < ready or have < last + start + sawteeth:
            early = have < ready
            need = units.round_up(max(ready, last + start + sawteeth))
            after = f"the last flow starts at {units.time(last)} and" if last else "a flow"
            yield Problem(
                "warmup",
                f"statistics begin at {units.time(have)}; {after} is in slow start for about {units.time(start)}"
                + (
                    f", and three timeouts take {units.time(timers)}"
                    if early
                    else f", and three sawteeth take {units.time(sawteeth)}"
                ),
                "goodput and losses of the start are averaged in" if early else "shares may not have evened out yet",
                f'warmup = "{need} s"'
                + (
                    f', and a longer duration than "{units.time(case.network.duration_s)}"'
                    if need >= case.network.duration_s
                    else ""
                ),
                "warning" if early else "note",
            )
            return


@check("few-cuts", "warning")
def few_cuts(case: Case) -> Iterator[Problem]:
    """The window of statistics is short for the sawtooth.

    A flow cuts its window once in about half its peak of round trips, with CUBIC once in the time of its curve. Its
    goodput over fewer than ten such sawteeth is mostly a matter of where in them the window began.
    """
    for group in case.connections:
        tcp = group.first.tcp
        if tcp is None or group.first.packets is not None or case.table(group.first).get("kind") != "bulk":
            continue
        link = case.fair.limit[group.flows[0]]
        if link is None or case.places(link) is None or not tcp_windows.has_sawtooth(case, group.flows[0]):
            continue
        epoch = fmean(tcp_windows.epoch_s(case, flow) for flow in group.flows)
        cuts = case.window_s / epoch
        if cuts < FEW_CUTS:
            need = case.network.warmup_s + FEW_CUTS * epoch
            yield Problem(
                "duration",
                f"a flow of {group.name} cuts its window about {units.about(cuts)} times in the"
                f" {units.time(case.window_s)} of statistics",
                f"a sawtooth of {units.number(tcp_windows.peak(case, group.flows[0]))} packets takes about"
                f" {units.time(epoch)}: goodput is that of a few of them",
                f'duration = "{units.round_up(need)} s"',
            )
            return


@check("few-packets", "warning")
def few_packets(case: Case) -> Iterator[Problem]:
    """Hardly any packets are counted.

    Fewer than 1000 packets pass the core while statistics are taken: a loss ratio of 1 % rests on ten of them.
    """
    core = case.network.core
    if not case.on[core]:
        return
    mean = fmean(case.network.flows[flow].packet_bytes for flow in case.on[core])
    packets = min(case.load_bps[core], case.core.capacity_bps) * case.window_s / 8 / mean
    if packets < FEW_PACKETS:
        yield Problem(
            "duration",
            f"about {units.count(round(packets), 'packet')} pass {case.core.name} in the"
            f" {units.time(case.window_s)} of statistics",
            "a loss ratio of 1 % is the chance of ten packets, and a percentile over time of a few queue lengths",
            "a longer duration, or a shorter warmup",
        )


@check_sweep("few-seeds", "warning", "note")
def few_seeds(sweep: Sweep) -> Iterator[Problem]:
    """Settings are compared under few seeds.

    Intervals are Student's t over seeds. One seed has none, so that a difference cannot be told from chance (a
    warning); three have twice the width of five (a note below five). Only where something is drawn at all.
    """
    seeds = len(sweep.seeds)
    if len(sweep.cases) < 2 or seeds >= ENOUGH_SEEDS or not sweep.draws:
        return
    if seeds == 1:
        why = "there is no interval: what is chance and what the setting does cannot be told apart"
    else:
        width, enough = HALF_WIDTHS[seeds], HALF_WIDTHS[ENOUGH_SEEDS]
        why = f"a 95 % interval is {width} standard deviations to either side; with five seeds {enough}"
    yield Problem(
        "sweep.seeds",
        f"{units.count(len(sweep.cases), 'setting')} are compared under {units.count(seeds, 'seed')}",
        why,
        "seeds = 5",
        "warning" if seeds == 1 else "note",
    )


@check_sweep("seeds-without-chance", "note")
def seeds_without_chance(sweep: Sweep) -> Iterator[Problem]:
    """Several seeds where nothing is drawn.

    Without ranges, shares, jitter, random sources or losses, or a drawn clock phase (`tick`), every seed gives the same
    run: `paceline run` gives no interval then, and says so. Where only some settings draw nothing, how many.
    """
    fixed, all_of = len(sweep.without_chance), len(sweep.cases)
    if len(sweep.seeds) < 2 or not fixed:
        return
    some = fixed < all_of
    yield Problem(
        "sweep.seeds",
        f"{units.count(len(sweep.seeds), 'seed')}, and nothing is drawn in "
        + (f"{fixed} of {units.count(all_of, 'setting')}" if some else "the scenario"),
        "every seed repeats one run" + (" there" if some else "") + ": one run has no interval",
        'one seed; or a range, as delay = "4 ms .. 6 ms"',
    )
