"""Make tests/oracles/ns2-growth/: how windows of ns-2 2.35's TCP-Linux grow under CUBIC and BIC after forced losses.

    python benches/peers/growth.py               rewrites the directory (needs ns-2: Debian's package ns2)

The control is Linux's own source of 2007, compiled into ns-2. A file is CSV: lines `# key = value` (TOML) that say what
ran, then time_s,cwnd every 0.1 s. crates/tcp/tests/growth.rs compares.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
OUT = HERE.parent.parent / "tests" / "oracles" / "ns2-growth"
LOSSES = (300, 3000)
SECONDS = 24


def main() -> int:
    """The command line."""
    if shutil.which("ns") is None:
        sys.exit("ns-2 is not installed: on Debian or Ubuntu, `apt-get install ns2`")
    OUT.mkdir(parents=True, exist_ok=True)
    for control in ("cubic", "bic"):
        command = ["ns", str(HERE / "growth.tcl"), control, " ".join(map(str, LOSSES)), str(SECONDS)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        rows = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("window ")]
        head = [
            "ns-2 2.35, made by benches/peers/growth.py",
            f'control = "{control}"',
            f"losses = {list(LOSSES)}",
        ]
        text = "".join(f"# {line}\n" for line in head) + "time_s,cwnd\n"
        text += "".join(f"{time},{cwnd}\n" for time, cwnd in rows[::5])
        (OUT / f"{control}.csv").write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
