"""The studio's page in a real browser: a slider, packets, a lesson, a phone; by keyboard, in light and dark."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import TINY
from report_browser import CONTRAST, NAMES
from studio_server import Server, served

sync_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = next((path for name in NAMES if (path := shutil.which(name))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium to look with")

#: Room for a busy machine.
TIMEOUT_MS = 120_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("studio")
    (folder / "tiny.toml").write_text(TINY)
    with served(folder, "tiny.toml") as server:
        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator[sync_api.Browser]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@contextmanager
def opened(
    browser: sync_api.Browser, address: str, width: int = 1280, *, dark: bool = False
) -> Iterator[sync_api.Page]:
    """The page once its packets are there; it must not have complained."""
    size = {"width": width, "height": 900}
    context = browser.new_context(viewport=size, color_scheme="dark" if dark else "light", has_touch=width < 600)
    page = context.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    complaints: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    page.wait_for_selector("#play")
    yield page
    refused = "422 (Unprocessable Entity)"  # a browser says so of what was typed wrong
    assert [text for text in complaints if refused not in text] == []
    token = address.partition("#")[0]
    assert [url for url in asked if not url.startswith(token)] == []
    context.close()


def settled(page: sync_api.Page) -> None:
    """Until the state is known under enough seeds for an interval."""
    page.wait_for_selector("#standing:has-text('±')")


def test_a_slider_changes_both_worlds_and_the_address(browser: sync_api.Browser, server: Server) -> None:
    with opened(browser, server.address) as page:
        settled(page)
        before = page.inner_text(".figures")
        number = int(page.get_attribute("#latency", "data-number") or 0)
        page.focus("#buffer")
        for _ in range(3):
            page.keyboard.press("ArrowLeft")
        assert page.input_value("#buffer-text") != "10 KB"
        page.wait_for_selector(f"#latency:not([data-number='{number}'])", state="attached")
        settled(page)
        assert page.inner_text(".figures") != before
        assert page.get_attribute("#buffer", "aria-valuetext") == page.input_value("#buffer-text")
        page.wait_for_timeout(400)  # the address follows a moment later
        address = page.url
        text = page.input_value("#buffer-text")
    assert "#s=" in address
    with opened(browser, address) as page:
        assert page.input_value("#buffer-text") == text


def test_a_value_in_the_network_is_written_over_and_refused_in_words(browser: sync_api.Browser, server: Server) -> None:
    with opened(browser, server.address) as page:
        field = page.get_by_label("Rate of core", exact=True)
        field.fill("5 Mbit/s")
        field.press("Enter")
        page.wait_for_selector(".answer:has-text('carries 4.')")
        assert page.input_value("#rate-text") == "5 Mbit/s"
        field.fill("5 MB/s")
        field.press("Enter")
        alert = page.wait_for_selector("[role=alert]")
        assert "network.core.rate" in alert.inner_text()
        field.fill("5 Mbit/s")
        field.press("Enter")
        page.wait_for_selector("[role=alert]", state="detached")


def test_packets_move_stop_step_and_tell_their_life(browser: sync_api.Browser, server: Server) -> None:
    with opened(browser, server.address) as page:
        clock = lambda: page.inner_text("#clock")  # noqa: E731
        begin = clock()
        page.click("#play")
        page.wait_for_selector(f"#clock:not(:has-text('{begin}'))")
        page.click("#play")
        stopped = clock()
        page.wait_for_timeout(300)
        assert clock() == stopped
        page.keyboard.press(".")
        assert clock() > stopped
        page.keyboard.press(",")
        assert clock() <= stopped
        assert re.search(r"Shown are [\d.]+ m?s from \d+\.\d{9} s on\.", page.inner_text(".packets-section"))
        page.wait_for_selector("canvas.packets[data-drawn]:not([data-drawn='0'])")
        found = page.evaluate(
            """async () => {
              const canvas = document.querySelector("canvas.packets");
              canvas.scrollIntoView({ block: "center" });
              const box = canvas.getBoundingClientRect();
              for (let x = 0; x < box.width; x += 12) for (let y = 0; y < box.height; y += 12) {
                const at = { clientX: box.left + x, clientY: box.top + y, bubbles: true };
                canvas.dispatchEvent(new MouseEvent("click", at));
                await Promise.resolve();
                if (document.querySelector(".life")) return true;
                if (y % 60 === 0) await new Promise(requestAnimationFrame);
                if (document.querySelector(".life")) return true;
              }
              return false;
            }"""
        )
        assert found
        life = page.inner_text(".life")
        assert "is on the wire" in life
        page.click(".life button")
        assert page.input_value("#follow") != ""


def test_a_packets_life_is_told_by_keyboard(browser: sync_api.Browser, server: Server) -> None:
    with opened(browser, server.address) as page:
        page.wait_for_selector("canvas.packets[data-drawn]:not([data-drawn='0'])")
        page.focus("canvas.packets >> nth=0")
        page.keyboard.press("ArrowRight")
        first = page.wait_for_selector(".life h3").inner_text()
        page.keyboard.press("ArrowRight")
        page.wait_for_function("(first) => document.querySelector('.life h3').textContent !== first", arg=first)
        page.keyboard.press("ArrowLeft")
        page.wait_for_function("(first) => document.querySelector('.life h3').textContent === first", arg=first)
        page.keyboard.press("Escape")
        page.wait_for_selector(".life", state="detached")


def test_packets_of_the_state_before_are_said_to_be(browser: sync_api.Browser, server: Server) -> None:
    with opened(browser, server.address) as page:
        page.route("**/api/packets", lambda route: None)  # those of the next state never come
        page.fill("#buffer-text", "7 KB")
        page.press("#buffer-text", "Enter")
        page.wait_for_selector(".packets-section [role=status]:has-text('of the state before')")
        page.wait_for_selector(".packets-section [role=status]:has-text('are being traced')")


def test_a_change_ends_the_request_for_packets(browser: sync_api.Browser, server: Server) -> None:
    """What is traced meanwhile, and read by the page, would take time from the next state's first answer."""
    with opened(browser, server.address) as page:
        page.route("**/api/packets", lambda route: None)  # never answered
        with page.expect_request("**/api/packets") as asked:
            page.fill("#buffer-text", "7 KB")
            page.press("#buffer-text", "Enter")
        # a run that is still under way ends too
        with page.expect_event("requestfailed", lambda request: request.url.endswith("/api/packets")) as failed:
            page.fill("#buffer-text", "8 KB")
            page.press("#buffer-text", "Enter")
        assert failed.value == asked.value


def test_both_worlds_of_a_state_are_shown_together(browser: sync_api.Browser, server: Server) -> None:
    with opened(browser, server.address) as page:
        settled(page)
        page.evaluate(
            """async () => {
              const { effect } = await import("./static/html.js");
              const { worlds } = await import("./static/state.js");
              window.pairs = [];
              const whole = ({ duration_s, length }) => Math.round(duration_s / length);
              effect(() => window.pairs.push([whole(worlds.value.unpaced), whole(worlds.value.paced)]));
            }"""
        )
        number = int(page.get_attribute("#latency", "data-number") or 0)
        page.fill("#duration", "5 s")
        page.press("#duration", "Enter")
        page.wait_for_selector(f"#latency:not([data-number='{number}'])", state="attached")
        pairs = page.evaluate("window.pairs")
    assert [5, 5] in pairs
    assert [pair for pair in pairs if pair[0] != pair[1]] == []


def test_worlds_that_are_the_same_run_are_said_to_be(browser: sync_api.Browser, server: Server) -> None:
    with opened(browser, server.address) as page:
        page.select_option("#lesson", "too-little-delay")
        page.wait_for_selector("#standing:has-text('the same in both worlds, under every seed')")
        assert "±" not in page.inner_text(".figures tr:has-text('Throughput') td:last-child")


def test_lives_have_every_event_of_the_trace(browser: sync_api.Browser, server: Server) -> None:
    with opened(browser, server.address) as page:
        worlds = page.evaluate(
            """async () => {
              const { livesOf } = await import("./static/lives.js");
              const { post, scenario } = await import("./static/state.js");
              const told = await (await post("packets", { document: scenario.value, from_s: 0 })).json();
              return told.worlds.map((world) => {
                const lives = livesOf(world);
                const hops = lives.flatMap((life) => life.hops);
                const events = Object.fromEntries(world.events.map((name) => [name, 0]));
                for (const event of world.event) events[world.events[event]] += 1;
                const count = (all, has) => all.filter(has).length;
                const found = {
                  send: count(lives, (life) => life.sent),
                  drop: count(lives, (life) => life.dropped),
                  receive: count(lives, (life) => life.received),
                  enqueue: hops.length,
                  dequeue: count(hops, (hop) => hop.leave !== null),
                };
                const backwards = count(lives, (life) => {
                  const all = life.hops.flatMap((hop) => [hop.enter, hop.leave, hop.arrive]);
                  const times = all.filter((time) => time !== null);
                  return times.some((time, index) => index && time < times[index - 1]);
                });
                return { events, found, backwards };
              });
            }"""
        )
    for one in worlds:
        assert {name: one["events"][name] for name in one["found"]} == one["found"]
        assert min(one["found"].values()) > 0
        assert one["found"]["receive"] > 1000
        assert one["backwards"] == 0


def test_a_lesson_is_a_state_with_three_sentences(browser: sync_api.Browser, server: Server) -> None:
    with opened(browser, server.address) as page:
        page.select_option("#lesson", "policer")
        page.wait_for_selector("h1:has-text('A policer has no buffer at all')")
        assert page.locator(".sentences li").count() == 3
        page.wait_for_selector(".figures tr:has-text('Throughput') .ahead.paced")  # once five seeds are there
        page.click("text=Next")
        page.wait_for_selector("h1:has-text('Who paces gains first')")
        page.focus("#flows")
        page.keyboard.press("ArrowRight")  # a change leaves the lesson
        page.wait_for_selector(".sentences", state="detached")


def test_a_policer_has_sliders(browser: sync_api.Browser, server: Server) -> None:
    """The buffer behind it never fills, so that its slider alone changed nothing."""
    with opened(browser, server.address) as page:
        assert page.locator("#police-burst").count() == 0
        page.select_option("#lesson", "policer")
        page.wait_for_selector("h1:has-text('A policer has no buffer at all')")
        page.wait_for_selector(".figures tr:has-text('Throughput') .ahead.paced")
        before = page.inner_text(".figures")
        page.focus("#police-burst")
        for _ in range(20):
            page.keyboard.press("ArrowRight")
        assert page.input_value("#police-burst-text") != "15 KB"
        settled(page)
        assert page.inner_text(".figures") != before


@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_a_phone_and_can_be_read_and_heard(browser: sync_api.Browser, server: Server, dark: bool) -> None:
    with opened(browser, server.address, 390, dark=dark) as page:
        settled(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (background == "rgb(255, 255, 255)") != dark
        contrast, where = page.evaluate(CONTRAST)
        assert contrast >= 4.5, where
        tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
        roles = {"button", "textbox", "slider", "combobox", "checkbox", "spinbutton", "image", "link"}
        found = [node for node in tree if node.get("role", {}).get("value") in roles]
        assert {"slider", "combobox", "image"} <= {node["role"]["value"] for node in found}
        assert [node for node in found if not node.get("name", {}).get("value")] == []


def test_a_dropped_scenario_is_taken_and_toml_comes_out(
    browser: sync_api.Browser, server: Server, tmp_path: Path
) -> None:
    with opened(browser, server.address) as page:
        text = TINY.replace('"tiny"', '"dropped"')
        page.evaluate(
            """(text) => {
              const transfer = new DataTransfer();
              transfer.items.add(new File([text], "dropped.toml"));
              const how = { dataTransfer: transfer, bubbles: true, cancelable: true };
              document.body.dispatchEvent(new DragEvent("drop", how));
            }""",
            text,
        )
        page.wait_for_selector("h1:has-text('dropped')")
        page.click("nav >> text=TOML")
        page.wait_for_selector("dialog textarea")
        assert 'title = "dropped"' in page.input_value("dialog textarea")
        page.fill("dialog textarea", text.replace("dropped", "typed").replace('"10 KB"', '"10"'))
        page.click("text=Use this")
        assert "no unit" in page.wait_for_selector("dialog [role=alert]").inner_text()
        assert page.locator("main [role=alert]").count() == 0  # what is shown goes on as it was
        page.fill("dialog textarea", text.replace("dropped", "typed"))
        page.click("text=Use this")
        page.wait_for_selector("h1:has-text('typed')")


def test_buffers_of_a_link_with_a_dot_in_its_name_are_run_in_full(browser: sync_api.Browser, server: Server) -> None:
    text = """duration = "2 s"
[network]
template = "path"
links = [{ name = "up.2", rate = "1 Mbit/s", delay = "1 ms", buffer = "3 packets" }]
[[traffic]]
kind = "bulk"
"""
    with opened(browser, server.address) as page:
        page.click("nav >> text=TOML")
        page.fill("dialog textarea", text)
        page.click("text=Use this")
        page.wait_for_selector(".answer:has-text('up.2')")
        page.click("text=Run it in full")
        page.fill("[name=seeds]", "2")
        page.fill("[name=buffers]", "3 packets, 4 packets")
        page.click("dialog form button")
        page.wait_for_selector("dialog [role=alert], dialog a:has-text('Open the report of 8 runs')")
        assert page.locator("dialog [role=alert]").count() == 0, page.inner_text("dialog [role=alert]")


def test_what_was_lost_is_sent_again_and_an_acknowledgement_is_a_duplicate(
    browser: sync_api.Browser, server: Server
) -> None:
    with opened(browser, server.address) as page:
        told = page.evaluate(
            """async () => {
              const { livesOf, story } = await import("./static/lives.js");
              const [SEND, DROP] = [0, 2];
              const rows = [[0, SEND, 0, 1], [1, DROP, 0, 1], [2, SEND, 0, 1], [3, SEND, 1, 7], [4, SEND, 1, 7]];
              const column = (number) => rows.map((row) => row[number]);
              const world = { time_ns: column(0), event: column(1), kind: column(2), seq: column(3),
                flow: [0, 0, 0, 0, 0], place: [0, 0, 0, 0, 0], bytes: [1500, 1500, 1500, 40, 40],
                places: ["host"], links: {} };
              return livesOf(world).map((life) => story(life, world)[0][1]);
            }"""
        )
    assert told == ["is sent", "is sent again", "is sent", "is sent, a duplicate"]


def test_a_number_that_is_none_is_refused_in_words_and_its_field_stays(
    browser: sync_api.Browser, server: Server
) -> None:
    """It was sent as no value at all, and an emptied number of hosts took its key, and could not be typed again."""
    with opened(browser, server.address) as page:
        label = page.inner_text("label[for=flows]")
        for field, key in (("flows-text", "network.access"), ("share-text", "pacing.share"), ("seed", "seed")):
            before = page.input_value(f"#{field}")
            for text in ("many", ""):
                if (field, text) == ("share-text", ""):
                    continue  # all of them, as in a file without it
                page.fill(f"#{field}", text)
                page.press(f"#{field}", "Enter")
                page.wait_for_selector(f"[role=alert]:has-text('{key}'):has-text('\"{text}\"')")
                assert page.input_value(f"#{field}") == text
            page.fill(f"#{field}", before)
            page.press(f"#{field}", "Enter")
            page.wait_for_selector("[role=alert]", state="detached")
        assert page.inner_text("label[for=flows]") == label
