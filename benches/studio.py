"""How fast the studio is in Chromium: from a slider to its first answer, and frames a second of moving packets.

``make bench-studio``. Latency is what the page itself measures: from the change of a slider to the frame that shows
both worlds' first answers, over settings of the buffer. Frames are counted while at least 500 packets are drawn in
every one.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from playwright.sync_api import Page, sync_playwright
from studio_server import served

#: A tenth of a second of this core, in both worlds and both ways, holds the packets that are asked for, and more.
CROWD = """\
title = "Many packets on the way"
duration = "6 s"
warmup = "3 s"

[network]
template = "dumbbell"
core = { rate = "15 Mbit/s", delay = "100 ms", buffer = "50 packets" }
edge = { count = 4, rate = "500 Mbit/s", delay = "1 ms .. 5 ms" }
access = { per_edge = 10, rate = "100 Mbit/s", delay = "1 ms .. 3 ms" }

[[traffic]]
kind = "bulk"
tcp = { initial_window = "60 packets" }

[pacing]
method = "host"
"""
PACKETS = 500
#: A state rests for so long before the next move, s.
REST_S = 0.6
#: What a hand does to a slider.
MOVE = "(e, value) => { e.value = value; e.dispatchEvent(new Event('input', { bubbles: true })); }"
_FRAMES = """async (seconds) => {
  const canvas = document.querySelector("canvas.packets");
  const gaps = [], drawn = [];
  let before = await new Promise(requestAnimationFrame);
  const end = before + 1000 * seconds;
  while (before < end) {
    const now = await new Promise(requestAnimationFrame);
    gaps.push(now - before);
    drawn.push(Number(canvas.dataset.drawn));
    before = now;
  }
  return { gaps, drawn };
}"""


def latencies(page: Page, count: int) -> list[float]:
    """ms from each move of the buffer's slider to the answer."""
    found = []
    page.wait_for_selector("#latency")
    slider = page.locator("#buffer")
    for number in range(count):
        before = int(page.get_attribute("#latency", "data-number") or 0)
        slider.evaluate(MOVE, 40 + 120 * (number % 2) + number)
        page.wait_for_selector(f"#latency[data-number='{before + 1}']", state="attached")
        found.append(float(page.get_attribute("#latency", "data-ms") or 0))
        page.wait_for_timeout(1000 * REST_S)
    return found


def frames(page: Page, seconds: float) -> dict[str, Any]:
    """Gaps between frames, ms, and how many packets each showed."""
    page.wait_for_selector("#play", timeout=60_000)
    page.locator("#play").scroll_into_view_if_needed()
    page.evaluate("document.querySelector('canvas.packets').scrollIntoView({ block: 'center' })")
    page.locator("#speed").evaluate(MOVE, 140)
    page.click("#play")
    page.wait_for_timeout(500)
    found: dict[str, Any] = page.evaluate(_FRAMES, seconds)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moves", type=int, default=20, help="of the slider")
    parser.add_argument("--seconds", type=float, default=5.0, help="of animation")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    browser_path = shutil.which("chromium") or shutil.which("google-chrome")
    if browser_path is None:
        sys.exit("paceline: needs Chromium; install chromium")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        (folder / "crowd.toml").write_text(CROWD)
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        with served(folder) as server:
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(server.address)
            moved = latencies(page, arguments.moves)
            page.close()
        with served(folder, "crowd.toml") as server:
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(server.address)
            seen = frames(page, arguments.seconds)
        version = browser.version
        browser.close()
    per_second = 1000 / statistics.mean(seen["gaps"])
    result = {
        "latency_ms": {"median": statistics.median(moved), "most": max(moved), "moves": len(moved)},
        "frames_per_s": per_second,
        "slowest_frame_ms": max(seen["gaps"]),
        "packets": {"least": min(seen["drawn"]), "median": statistics.median(seen["drawn"])},
        "chromium": version,
        "load": Path("/proc/loadavg").read_text().split()[0],
    }
    if arguments.json:
        print(json.dumps(result, indent=2))
        return
    print(f"Chromium {version}, load {result['load']}")
    print(f"first answer: median {statistics.median(moved):.0f} ms, most {max(moved):.0f} ms, of {len(moved)} moves")
    least = min(seen["drawn"])
    slowest = max(seen["gaps"])
    print(f"animation: {per_second:.1f} frames a second, the slowest {slowest:.0f} ms, with {least} packets and more")
    if least < PACKETS:
        print(f"fewer than {PACKETS} packets were drawn in some frame", file=sys.stderr)


if __name__ == "__main__":
    try:
        main()
    except subprocess.SubprocessError as error:
        sys.exit(f"paceline: {error}")
