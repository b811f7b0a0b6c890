"""The policer beside this kernel's own, nftables' `limit`: the same trains, the same losses, a rule for each packet.

Frames go over a pair of virtual interfaces in a network namespace of their own, at whose end a token bucket drops what
exceeds it. What comes there is seen with the kernel's time before the bucket, what passes arrives at a socket behind
it. The bucket counts packets, all of one length: one that counts bytes has, in nftables, a second's more than its
burst. Needs root and `nft`; skipped without.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import paceline as pl
import pytest

TESTS = Path(__file__).parent
SCENARIO = TESTS.parent / "scenarios" / "policer-trains.toml"
LENGTH = 1250

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or os.geteuid() != 0 or not shutil.which("nft") or not shutil.which("ip"),
    reason="needs Linux, root, ip and nft",
)


def on_the_kernel(rate: int, burst: int, trains: list[tuple[float, int]]) -> list[tuple[int, bool]]:
    """Time, ns, of each packet at a policer of this kernel, packets a second and packets, and whether it passed.

    Trains are (wait before, s; packets).
    """
    asked = json.dumps({"rate": rate, "burst": burst, "length": LENGTH, "trains": trains})
    command = ["unshare", "--net", sys.executable, str(TESTS / "kernel" / "policed.py")]
    done = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=120)
    if done.returncode == 3:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return [(time, passed) for time, passed in json.loads(done.stdout)]


@pytest.mark.parametrize("burst", [4, 5])
def test_trains_of_ten_lose_what_they_lose_in_the_simulator(burst: int) -> None:
    """quinn#2627, on the kernel and as a scenario.

    A train that an interrupted sender stretches gets the tokens of that time: one of up to half a token is one.
    """
    rate = 20_000_000 // (8 * LENGTH)
    for _ in range(3):
        seen = on_the_kernel(rate, burst, [(0.0099, 10)] * 50)
        assert len(seen) == 500
        trains = [seen[n : n + 10] for n in range(0, 500, 10)]
        passed = [sum(one for _, one in train) for train in trains if train[-1][0] - train[0][0] < 0.5e9 / rate]
        if len(passed) > 40 and set(passed) == {burst}:
            break
    else:
        pytest.fail(f"{len(passed)} trains without a gap had {passed} packets pass")
    scenario = pl.Scenario.load(SCENARIO).set("network.links.limiter.police.burst", f"{burst * LENGTH} B")
    run = pl.run(scenario.set("sweep", {}))
    assert run.links["limiter"].loss_ratio == pytest.approx(1 - burst / 10, abs=1e-9)


def misjudged(seen: list[tuple[int, bool]], rate: int, burst: int) -> tuple[list[str], dict[bool, int]]:
    """Whom tokens would have given another fate, unless a tenth of a millisecond decides; and how many had which."""
    tokens, then, wrong, judged = float(burst), 0, [], {True: 0, False: 0}
    for time, passed in seen:
        tokens = min(burst, tokens + (time - then) * rate / 1e9)
        then = time
        if abs(tokens - 1) > 1e-4 * rate:
            judged[passed] += 1
            if passed != (tokens >= 1):
                wrong.append(f"{'passes' if passed else 'is dropped'} at {tokens:.2f} tokens")
        tokens -= passed
    return wrong, judged


@pytest.mark.parametrize("seed", [1, 2])
def test_a_packet_passes_where_tokens_say_so(seed: int) -> None:
    """Packet by packet, at the kernel's times; crates/sim/tests/policer.rs holds the simulator to the same rule.

    Between a packet's time and the bucket the kernel may be interrupted for longer than that: one of three runs is not.
    """
    draw = random.Random(seed)
    trains = [(draw.uniform(0.0005, 0.012), draw.randint(1, 12)) for _ in range(400)]
    wrong: list[str] = []
    for _ in range(3):
        wrong, judged = misjudged(on_the_kernel(800, 6, trains), 800, 6)
        assert min(judged.values()) > 300, judged
        if not wrong:
            return
    pytest.fail("\n".join(wrong))


def test_a_bucket_of_another_size_would_be_noticed() -> None:
    """What the test above finds where the kernel's bucket is smaller than is said, or is filled more slowly."""
    seen = on_the_kernel(800, 5, [(0.004, 7)] * 60)
    assert misjudged(seen, 800, 6)[0]
    assert misjudged(seen, 1000, 5)[0]
