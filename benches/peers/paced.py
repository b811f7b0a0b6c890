"""One flow paced by D. X. Wei's patch for ns-2, second by second: ``python benches/peers/paced.py NS``.

NS is an ns-2.35 that has the patch ("TCP pacing", 2006: ``pace_packet_``, the gap of `pace_gap`, and cuts of what is in
flight in `slowdown`), which Debian's package has not. Writes `tests/oracles/ns2-paced.json`: of each set-up how many
packets the bottleneck took and dropped by the end of each second, and the sender's timeouts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
ORACLE = ROOT / "tests" / "oracles" / "ns2-paced.json"
SECONDS = 40
#: Variants, and limits of the bottleneck's queue, packets.
VARIANTS = ("Reno", "Newreno")
LIMITS = (5, 8, 12, 25, 50, 100, 200)

#: Links to and from the bottleneck: rate, delay.
LINKS = {"source": ("100Mb", "1ms"), "bottleneck": ("10Mb", "20ms"), "sink": ("100Mb", "500us")}

SCRIPT = """
Agent/TCP set pace_packet_ 2
Agent/TCP set useHeaders_ 1; Agent/TCP set syn_ 1; Agent/TCP set delay_growth_ 1; Agent/TCPSink set SYN_immediate_ack_ 1
set ns [new Simulator]
foreach node {{a b c d}} {{ set n($node) [$ns node] }}
set trace [open {trace} w]
{links}
$ns queue-limit $n(b) $n(c) {limit}
$ns trace-queue $n(b) $n(c) $trace
set pair [$ns create-connection-list TCP/{variant} $n(a) TCPSink $n(d) 0]
set tcp [lindex $pair 0]
foreach {{name value}} {{packetSize_ 1000 window_ 1000 singledup_ 1 minrto_ 0.2}} {{ $tcp set $name $value }}
proc phase {{}} {{
    global defaultRNG tcp
    $defaultRNG seed 12345; puts [$defaultRNG uniform 0 [$tcp set tcpTick_]]; $defaultRNG seed 12345; $tcp reset
}}
$ns at 0.0 phase
$ns at 0.0 "[$tcp attach-app FTP] start"
$ns at {seconds} {{ puts [$tcp set nrexmit_]; close $trace; exit 0 }}
$ns run
"""


def run(ns: str, variant: str, limit: int) -> dict[str, object]:
    """One set-up."""
    with tempfile.TemporaryDirectory() as folder:
        trace, script = Path(folder) / "trace", Path(folder) / "script.tcl"
        ends = zip(("a", "b", "c"), ("b", "c", "d"), LINKS.values(), strict=True)
        links = "\n".join(
            f"$ns duplex-link $n({one}) $n({other}) {rate} {delay} DropTail; "
            f"$ns queue-limit $n({one}) $n({other}) 100000; $ns queue-limit $n({other}) $n({one}) 100000"
            for one, other, (rate, delay) in ends
        )
        words = {"trace": trace, "links": links, "limit": limit, "variant": variant, "seconds": SECONDS}
        script.write_text(SCRIPT.format(**words), encoding="utf-8")
        done = subprocess.run([ns, str(script)], capture_output=True, text=True, check=True)
        phase, timeouts = done.stdout.split()[-2:]
        arrived, dropped = Counter[int](), Counter[int]()
        for line in trace.read_text(encoding="utf-8").splitlines():
            event, time, *_ = line.split()
            arrived[int(float(time))] += event == "+"
            dropped[int(float(time))] += event == "d"
    took = [arrived[second] - dropped[second] for second in range(SECONDS)]
    return {
        "variant": variant,
        "limit": limit,
        "tick_phase_ns": round(float(phase) * 1e9),
        "timeouts": int(timeouts),
        "took": took,
        "dropped": [dropped[second] for second in range(SECONDS)],
    }


def main() -> None:
    """All set-ups."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ns", metavar="NS", help="the program")
    options = parser.parse_args()
    try:
        found = [run(options.ns, variant, limit) for variant in VARIANTS for limit in LIMITS]
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"paced: {error}")
    text = ",\n".join(json.dumps(one) for one in found)
    ORACLE.write_text(f"[\n{text}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
