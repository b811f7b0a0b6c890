"""What a frame costs the inline pacer in this build beside another one, on veth: ratios of neighbouring measurements.

    .venv/bin/python benches/dataplane/beside.py [--commit COMMIT] [--only cost|gaps] [--repeats N] [--size BYTES]...

The other is the same code without its overflow checks, which may cost 2 % at most; or, with --commit, an older one's.
Processor time of the pacing thread and of the kernel's receiving for it, as in run.py; beside an older one also the
error of gaps at 100 Mbit/s. Needs root and an idle machine.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from measure import RATE, ROOT, SIZE, Bench, MeasurementError, Raw, Run, net
from run import UNBINDING, build, verdict

BUILD = ["cargo", "build", "--release", "--locked", "--quiet", "-p", "paceline-dataplane", "--bins"]
UNCHECKED = ["--config", "profile.release.package.paceline-dataplane.overflow-checks=false"]
EXACT = ["--method", "token-bucket", "--rate", f"{RATE}bit/s", "--burst", f"{SIZE}B", "--buffer", "1000 packets"]
#: What a build may cost more beside one without overflow checks, and beside an older one, per cent.
MOST_CHECKS, MOST_OLDER = 2.0, 3.0


def build_other(commit: str | None) -> Path:
    """The folder of the other build's programs."""
    target = ROOT / "target" / f"beside-{commit or 'unchecked'}"
    if commit is None:
        subprocess.run([*BUILD, *UNCHECKED, "--target-dir", str(target)], cwd=ROOT, check=True)
    else:
        tree = target / "tree"
        if not tree.exists():
            subprocess.run(["git", "worktree", "add", "--detach", str(tree), commit], cwd=ROOT, check=True)
        try:
            subprocess.run([*BUILD, "--target-dir", str(target)], cwd=tree, check=True)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=False)
    return target / "release"


def by(programs: Path, measure: Callable[[], Run]) -> Callable[[], Run]:
    """The same measurement, of the pacer in that folder."""

    def measured() -> Run:
        before = os.environ["PACELINE_PROGRAMS"]
        os.environ["PACELINE_PROGRAMS"] = str(programs)
        try:
            return measure()
        finally:
            os.environ["PACELINE_PROGRAMS"] = before

    return measured


def in_both(builds: dict[str, Path], cases: dict[str, Callable[[], Run]]) -> dict[str, Callable[[], Run]]:
    """Each case in both builds, one right after the other, the other one first in every second case."""
    return {
        f"{name}, {build}": by(builds[build], measure)
        for place, (name, measure) in enumerate(cases.items())
        for build in sorted(builds, reverse=place % 2 == 0)
    }


def gaps(bench: Bench, raw: Raw, builds: dict[str, Path], repeats: int) -> None:
    """Prints how far gaps at 100 Mbit/s are from what they should be."""
    cases = {name: bench.precision([*EXACT, "--back-end", name]) for name in ("af_packet", "af_xdp")}
    results = raw.interleaved(repeats, in_both(builds, cases))
    print(f"Error of gaps at 100 Mbit/s, us: median and range of {repeats}")
    for name in results:
        for quantile in ("p50", "p99"):
            errors = [run[f"gap_error_{quantile}_us"] for run in results[name]]
            print(f"  {name:30} {quantile} {statistics.median(errors):6.2f}  {min(errors):6.2f} … {max(errors):6.2f}")


def costs(bench: Bench, raw: Raw, builds: dict[str, Path], repeats: int, sizes: list[int]) -> float:
    """Prints by how much more a frame takes of the processor, and returns the median of all."""
    cases = {
        f"{back_end} {size} B {name}": bench.cost(back_end, pacing, size)
        for size in sizes
        for name, pacing in UNBINDING.items()
        for back_end in ("af_packet", "af_xdp")
    }
    with bench.both_ends():
        results = raw.interleaved(repeats, in_both(builds, cases))
    print(f"Processor time of a frame, this build beside the other: median and range of {repeats}")
    every = []
    for name in cases:
        both = zip(results[f"{name}, this"], results[f"{name}, other"], strict=True)
        more = [100 * (other["pacer_pps"] / this["pacer_pps"] - 1) for this, other in both]
        print(f"  {name:30} {statistics.median(more):+5.1f} %  {min(more):+5.1f} … {max(more):+5.1f}")
        every += more
    return statistics.median(every)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", help="beside the pacer of this commit")
    parser.add_argument("--only", choices=["cost", "gaps"], help="both, beside an older one")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--size", type=int, action="append", help="frames of so many bytes (64)", metavar="BYTES")
    parser.add_argument("--raw", type=Path, default=ROOT / "target" / "beside.jsonl", help="every measurement")
    arguments = parser.parse_args()
    reason = net.why_not()
    if reason is not None:
        print(f"nothing measured: {reason}", file=sys.stderr)
        return 0
    pacer, frames = build()
    builds = {"this": Path(pacer).parent, "other": build_other(arguments.commit)}
    raw = Raw(arguments.raw)
    good = True
    try:
        if arguments.only == "gaps" or (arguments.commit and arguments.only is None):
            with net.wire() as wire:
                gaps(Bench(wire, frames), raw, builds, arguments.repeats)
        if arguments.only != "gaps":
            with net.wire() as wire:
                more = costs(Bench(wire, frames), raw, builds, arguments.repeats, arguments.size or [64])
            most = MOST_OLDER if arguments.commit else MOST_CHECKS
            good = verdict("all of them", f"{more:+.1f} %", f"at most {most:g} %", more <= most)
    except MeasurementError as error:
        print(f"MISS not measured: {error}")
        good = False
    print(f"every measurement: {arguments.raw}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
