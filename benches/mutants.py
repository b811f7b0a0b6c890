"""Mutation tests: what share of small faults, put into a crate one by one, its own fast tests notice.

``python benches/mutants.py [--shard K/N] [CRATE …]``, or ``make mutants``; needs cargo-mutants 27. Without a shard,
every n-th mutant of each crate, such that it takes less than ten minutes on two processors; ``--shard 0/1`` is all of
them. Ends with 1 where fewer than 95 % of those that compile are noticed. What lives, and why: docs/mutants.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
OUT = ROOT / "target" / "mutants"
#: Of each crate, a configuration (which files, which tests), and of how many mutants a sample takes one.
CRATES = {"core": 20, "tcp": 48, "sim": 6, "dataplane": 6}
ENOUGH = 0.95


def config(crate: str) -> Path:
    """A crate's own configuration, or the common one."""
    own = ROOT / ".cargo" / f"mutants-{crate}.toml"
    return own if own.exists() else ROOT / ".cargo" / "mutants.toml"


def run(crate: str, shard: str) -> dict[str, int]:
    """How many mutants of a crate came to what."""
    command = ["cargo", "mutants", "--package", f"paceline-{crate}", "--config", str(config(crate))]
    command += ["--shard", shard, "--sharding", "round-robin", "--baseline", "skip", "--timeout", "60"]
    command += ["--jobs", "1", "--no-times", "--colors", "never", "--output", str(OUT / crate)]
    (OUT / crate).mkdir(parents=True, exist_ok=True)
    done = subprocess.run(command, cwd=ROOT, check=False)
    if done.returncode not in (0, 2, 3):  # missed; timed out
        sys.exit(f"mutants: cargo mutants has failed on {crate} ({done.returncode})")
    outcomes = json.loads((OUT / crate / "mutants.out" / "outcomes.json").read_text())
    return {name: outcomes[name] for name in ("caught", "timeout", "missed", "unviable")}


def main() -> int:
    """Runs them, and says what came of it."""
    parser = argparse.ArgumentParser(description="Mutation tests of some crates.")
    parser.add_argument("crates", nargs="*", metavar="CRATE", help=", ".join(CRATES))
    parser.add_argument("--shard", help="K/N: every N-th mutant, from the K-th on")
    asked = parser.parse_args()
    if unknown := [crate for crate in asked.crates if crate not in CRATES]:
        parser.error(f"no such crate: {unknown[0]}; write some of {', '.join(CRATES)}")
    is_enough = True
    lines = []
    for crate in asked.crates or CRATES:
        found = run(crate, asked.shard or f"0/{CRATES[crate]}")
        noticed = found["caught"] + found["timeout"]
        viable = noticed + found["missed"]
        share = noticed / viable if viable else 1.0
        is_enough &= share >= ENOUGH
        lines.append(f"{crate:10} {noticed:5} of {viable:5} noticed, {share:6.1%}; {found['unviable']} do not compile")
    print("\n".join(lines))
    return 0 if is_enough else 1


if __name__ == "__main__":
    sys.exit(main())
