"""What a frame costs the inline pacer in this build beside another one, on veth: ratios of neighbouring measurements.

    .venv/bin/python benches/dataplane/beside.py [--commit COMMIT] [--repeats N] [--size BYTES]... [--json FILE]

The other is the same code without its overflow checks, which may cost 2 % at most; or, with --commit, an older one's.
Processor time of the pacing thread and of the kernel's receiving for it, as in run.py. Needs root and an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from measure import ROOT, Bench, MeasurementError, Raw, Run, net
from run import UNBINDING, build, verdict

BUILD = ["cargo", "build", "--release", "--locked", "--quiet", "-p", "paceline-dataplane", "--bins"]
UNCHECKED = ["--config", "profile.release.package.paceline-dataplane.overflow-checks=false"]
#: What a build may cost more, as a share.
MOST = {"without overflow checks": 0.02, "an older one": 0.03}


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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", help="beside the pacer of this commit")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--size", type=int, action="append", help="frames of so many bytes (64)")
    parser.add_argument("--json", type=Path, help="the ratios")
    parser.add_argument("--raw", type=Path, default=ROOT / "target" / "beside.jsonl", help="every measurement")
    arguments = parser.parse_args()
    reason = net.why_not()
    if reason is not None:
        print(f"nothing measured: {reason}", file=sys.stderr)
        return 0
    pacer, frames = build()
    builds = {"this": Path(pacer).parent, "other": build_other(arguments.commit)}
    names = [
        f"{back_end} {size} B {pacing}"
        for size in arguments.size or (64,)
        for pacing in UNBINDING
        for back_end in ("af_packet", "af_xdp")
    ]
    try:
        with net.wire() as wire:
            bench = Bench(wire, frames)
            cases = {}
            for name in names:
                back_end, size, _, pacing = name.split()
                for build_name, programs in builds.items():
                    cost = bench.cost(back_end, UNBINDING[pacing], int(size))
                    cases[f"{name}, {build_name}"] = by(programs, cost)
            with bench.both_ends():
                results = Raw(arguments.raw).interleaved(arguments.repeats, cases)
    except MeasurementError as error:
        print(f"MISS not measured: {error}")
        return 1
    kind = "an older one" if arguments.commit else "without overflow checks"
    ratios = {
        name: [
            other["pacer_pps"] / this["pacer_pps"] - 1
            for this, other in zip(results[f"{name}, this"], results[f"{name}, other"], strict=True)
        ]
        for name in names
    }
    print(f"A frame's processor time here, beside {arguments.commit or kind}: median and range of {arguments.repeats}")
    for name, more in ratios.items():
        print(f"  {name:36} {100 * statistics.median(more):+5.1f} %  {100 * min(more):+5.1f} … {100 * max(more):+5.1f}")
    every = statistics.median(value for more in ratios.values() for value in more)
    good = verdict("all of them", f"{100 * every:+.1f} %", f"at most {100 * MOST[kind]:g} %", every <= MOST[kind])
    if arguments.json:
        arguments.json.write_text(json.dumps(ratios, indent=1) + "\n")
    print(f"every measurement: {arguments.raw}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
