"""The gallery: every claim with its last verdict, what is missing or out of date said, links that lead somewhere."""

from __future__ import annotations

import ast
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import gallery_samples as samples
import paceline
import pytest
from conftest import Command
from paceline import papers as papers_folder
from paceline.gallery import entries, pictures, sentences, write
from paceline.gallery.questions import QUESTIONS
from paceline.papers import Evidence, Length, claims, papers, verdicts
from paceline.report import page as report_page


class Page(HTMLParser):
    """Links, names and text of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.tags: list[str] = []
        self.without_alt = 0
        self.text = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append(tag)
        self.links += [found[name] or "" for name in ("href", "src", "srcset") if name in found]
        self.ids += [found["id"] or ""] if "id" in found else []
        self.without_alt += tag == "img" and "alt" not in found

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return samples.directory(tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="module")
def site(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(results, tmp_path_factory.mktemp("site") / "deep").parent


def standing(results: Path, name: str) -> entries.Entry:
    return next(entry for entry in entries.entries(results) if entry.claim.id == name)


def section(site: Path, name: str) -> str:
    """The part of a paper's page that shows a claim."""
    text = (site / f"{samples.claim(name).paper}.html").read_text()
    return text[text.index(f'<section class="claim" id="{name}"') :].split("</section>")[0]


def test_every_claim_is_on_the_overview_and_on_its_papers_page(site: Path) -> None:
    overview = (site / "index.html").read_text()
    rows = dict(re.findall(r"<tr role=\"row\">\n<th.*?<code>(.*?)</code></th>(.*?)</tr>", overview, re.DOTALL))
    assert list(rows) == [claim.id for claim in claims()]
    for claim in claims():
        outcome = samples.VERDICTS.get(claim.id, "not run")
        shown = re.findall(r'class="badge ([a-z-]+)"', rows[claim.id]), section(site, claim.id).split("badge ")[1][:30]
        assert shown[0] == [outcome.replace(" ", "-")]
        assert shown[1].startswith(outcome.replace(" ", "-"))
    beside = {paper.name for paper in papers() if paper.beside}
    today = sum(claim.paper in beside for claim in claims())
    counted = len(claims()) - today
    assert f"2 of {counted} claims of five papers are reproduced." in overview
    assert f"The others: 2 in part, 1 not and {counted - 5} not run yet." in overview
    assert f"Of {today} claims of other papers and of our own: {today} not run yet." in overview


def test_quick_and_out_of_date_are_said(results: Path, site: Path) -> None:
    assert standing(results, "edge-fig3-loss").tags == ["quick"]
    assert standing(results, "qlbp-table2").tags == []
    assert standing(results, "zhao-fig2").tags == ["quick", "out of date"]
    assert '<span class="tag">quick</span>' in section(site, "edge-fig3-loss")
    assert '<span class="tag">' not in section(site, "qlbp-table2")
    assert "It was run by version 0.0.1-" in section(site, "zhao-fig2")
    assert "paceline reproduce edge-fig3-loss --quick\n" in section(site, "edge-fig3-loss").replace("</pre>", "\n")
    assert "4 verdicts come from a quick look" in (site / "index.html").read_text()


def test_a_verdict_of_another_build_is_doubted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples.keep(tmp_path, "edge-fig3-goodput")
    monkeypatch.setattr(paceline._core, "fingerprint", lambda: "0.1.0+0123456789abcdef")
    [doubt] = standing(tmp_path, "edge-fig3-goodput").doubts
    assert doubt.startswith("It was run by another build of version ")


def test_a_verdict_is_doubted_when_its_claim_scenarios_or_files_change(tmp_path: Path) -> None:
    place = samples.keep(tmp_path, "edge-fig3-goodput")
    assert standing(tmp_path, "edge-fig3-goodput").doubts == []
    kept = (place / "verdict.json").read_text()
    (place / "verdict.json").write_text(kept.replace('"edge_kbps": 93', '"edge_kbps": 94', 1))
    assert "how it is judged, has been changed" in standing(tmp_path, "edge-fig3-goodput").doubts[0]
    (place / "verdict.json").write_text(kept)
    (place / "main.toml").write_text((place / "main.toml").read_text().replace("1000", "999", 1))
    assert standing(tmp_path, "edge-fig3-goodput").doubts == ["Its scenarios are others today (changed: main)."]
    (place / "curves.svg").unlink()
    assert standing(tmp_path, "edge-fig3-goodput").doubts[1] == "Pictures are missing: curves."
    write(tmp_path, tmp_path / "gallery")


def test_seeds_that_were_asked_for_are_not_a_doubt_but_said(tmp_path: Path) -> None:
    samples.keep(tmp_path, "edge-fig3-goodput", length=Length(quick=True, seeds=1))
    entry = standing(tmp_path, "edge-fig3-goodput")
    assert (entry.doubts, entry.tags) == ([], ["quick", "1 seed"])
    assert entry.command == "paceline reproduce edge-fig3-goodput --quick --seeds 1"


def test_full_length_goes_before_quick_and_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    samples.keep(tmp_path, "edge-fig3-goodput", "partly")
    full = samples.keep(tmp_path, "edge-fig3-goodput", "reproduced", Length())
    assert standing(tmp_path, "edge-fig3-goodput").standing == "reproduced"
    (full / "verdict.json").write_text("{}")
    entry = standing(tmp_path, "edge-fig3-goodput")
    assert (entry.standing, entry.tags) == ("partly", ["quick", "out of date"])
    assert entry.doubts == ["The verdict in full length is there, but this version cannot read it."]


def test_runs_that_claims_share_are_counted_once(results: Path) -> None:
    total = entries.cost(entries.entries(results))
    runs = len(samples.VERDICTS) + 1
    assert (total.runs, total.cpu_s, total.core_packets) == (runs, 1.5 * runs, 1000 * runs)


def test_links_are_relative_and_lead_somewhere(site: Path) -> None:
    pages = {path.name: Page(path) for path in site.glob("*.html")}
    assert set(pages) == {"index.html", *(f"{one.name}.html" for one in (*QUESTIONS, *papers()))}
    for name, page in pages.items():
        assert len(page.ids) == len(set(page.ids)), name
        assert page.without_alt == 0
        assert page.tags.count("script") == 1
        assert "iframe" not in page.tags
        for link in page.links:
            parts = urlsplit(link)
            if link == "data:,":
                continue
            assert not parts.scheme, link
            assert not parts.netloc, link
            assert not parts.path.startswith("/"), link
            target = unquote(parts.path) or name
            assert (site / target).is_file(), f"{name}: {link}"
            if parts.fragment:
                assert parts.fragment in pages[target].ids, f"{name}: {link}"


def test_what_is_offered_is_what_ran(results: Path, site: Path, command: Command) -> None:
    place = verdicts.folder(results, samples.claim("dc-poi"), samples.QUICK)
    files = sorted(path.name for path in place.iterdir() if path.suffix != ".svg")
    assert sorted(path.name for path in (site / "claims/dc-poi").iterdir()) == files
    for name in files:
        assert (site / "claims/dc-poi" / name).read_bytes() == (place / name).read_bytes()
        assert f'href="claims/dc-poi/{name}"' in section(site, "dc-poi")
    done = command("check", site / "claims/qlbp-table2/main.toml")
    assert done.returncode == 0, done.stderr


def test_what_verdicts_say_is_text(tmp_path: Path) -> None:
    rows = [Evidence("<script>alert(1)</script>", 1.0, None, "<b>", False)]
    samples.keep(tmp_path, "zhao-fig3", "partly", note="<img src=x>", evidence=rows)
    write(tmp_path, tmp_path / "gallery")
    for path in (tmp_path / "gallery").glob("*.html"):
        assert Page(path).tags.count("script") == 1
        assert "b" not in Page(path).tags
    assert "<img src=x>" in Page(tmp_path / "gallery/small-buffers.html").text


def test_pictures_take_the_colours_of_the_report() -> None:
    shown = pictures.themed(samples.panels(1).svg)
    assert re.search(r"#[0-9a-f]{6}", shown.svg[shown.svg.index("</style>") :]) is None
    style = (Path(report_page.__file__).parent / "style.css").read_text()
    for colour in re.findall(r"--(?:ink|s\d): (#[0-9a-f]{6})", style)[:18]:
        assert colour in shown.svg[: shown.svg.index("</style>")]
    with pytest.raises(ValueError, match="no SVG picture"):
        pictures.themed("<svg>3</svg>")


@pytest.mark.parametrize("count", [1, 2, 3])
def test_panels_are_cut_between_and_not_through_words(count: int) -> None:
    shown = pictures.themed(samples.panels(count).svg)
    parts = pictures.panels(shown)
    if count == 1:
        assert parts == []
        return
    assert len(parts) == count
    assert [one.right for one in parts[:-1]] == [one.left for one in parts[1:]]
    tall = pictures.stacked(shown, parts)
    assert tall.width < shown.width / count * 1.2
    assert tall.height > shown.height * count
    root = pictures.ElementTree.fromstring(shown.svg)
    for number, part in enumerate(parts):
        inside = [
            "".join(text.itertext()).strip()
            for text, x, y in pictures._texts(root, 0, 0)
            if part.left <= (word := pictures._word(text, x, y)).left + 3 and word.right <= part.right + 1
        ]
        assert {f"panel {number}", f"buffer {number}, KB", f"a quantity with a long name {number}"} <= set(inside)


def test_words_under_a_panel_are_cut_with_it_and_not_with_the_one_below() -> None:
    shown = pictures.themed(samples.rows().svg)
    parts = pictures.panels(shown)
    assert len(parts) == 4
    root = pictures.ElementTree.fromstring(shown.svg)
    for number in range(4):
        found = [
            pictures._word(text, x, y)
            for text, x, y in pictures._texts(root, 0, 0)
            if "".join(text.itertext()).strip() == f"buffer {number}, KB"
        ]
        holds = [part.top <= found[0].top and found[0].bottom <= part.bottom for part in parts]
        assert holds == [number < 2, number < 2, number >= 2, number >= 2]


def test_a_bar_of_colours_stays_with_its_panel() -> None:
    shown = pictures.themed(samples.coloured().svg)
    left, right = pictures.panels(shown)
    root = pictures.ElementTree.fromstring(shown.svg)
    for text, x, y in pictures._texts(root, 0, 0):
        word, part = "".join(text.itertext()).strip(), {"up to 3": left, "up to 7": right}
        if word in part:
            box = pictures._word(text, x, y)
            assert part[word].left <= box.left < box.right <= part[word].right


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("unpaced_kbps", "unpaced, kbit/s"),
        ("load_at_5_kb", "load at 5 KB"),
        ("poi_128kb", "point of inflection 128 KB"),
        ("paced_fct_p99_ms", "paced time of a call 99th percentile, ms"),
        ("min_delay_ms, Q_max 40", "least delay, ms, Q_max 40"),
        ("gain_percent, 10 packets", "gain, %, 10 packets"),
        ("variance with Q_max 40, Mbit/s", "variance with Q_max 40, Mbit/s"),
        ("flows", "flows"),
        ("B_new", "B_new"),
        ("median_error_cubic_percent", "median error CUBIC, %"),
        ("steps a packet, QLBP, 1 flows", "steps a packet, QLBP, 1 flow"),
        ("0.1 flows", "0.1 flows"),
        ("rule_of_thumb_gbit", "rule of thumb, Gbit"),
        ("none, 2 KB", "unpaced, 2 KB"),
        ("host ideal, 50 flows", "host pacing, ideal, 50 flows"),
        ("throughput: edge 10 ms − none at 5 KB, Mbit/s", "throughput: edge 10 ms − unpaced at 5 KB, Mbit/s"),
        ("goodput, edge over none, 5 packets, trains, %", "goodput, edge over unpaced, 5 packets, sent in trains, %"),
        ("qlbp paced 7 Mbit/s 13 Mbit/s 2 packets", "QLBP, mu_min 7 Mbit/s, mu_max 13 Mbit/s, Q_max 2 packets"),
        ("loss, 8 flows, port no per_flow, %", "loss, 8 flows, port pacing alone, %"),
        ("loss, 16 flows, port 200 Mbit/s, why-cap-200, %", "loss, 16 flows, port 200 Mbit/s, an experiment, %"),
        (
            "smallest buffer, host ideal gain 1.2, 50 flows",
            "smallest buffer, host pacing at 1.2 times the ideal rate, 50 flows",
        ),
        (
            "throughput at 15 KB: host jitter 0.5 − edge 10 ms",
            "throughput at 15 KB: host pacing with jitter 0.5 − edge 10 ms",
        ),
        ("utilisation, 16 flows: capped port − host ideal", "utilisation, 16 flows: capped port − host pacing (ideal)"),
        ("100 flows, packets: host linux − unpaced", "100 flows, packets: host pacing (Linux) − unpaced"),
        ("throughput at 50 KB, edge 20 ms acks", "throughput at 50 KB, edge 20 ms for acknowledgements too"),
        ("paced over none paced, less 1", "paced over none paced, less 1"),
        ("a buffer that none of them needs, KB", "a buffer that none of them needs, KB"),
    ],
)
def test_names_of_numbers_are_words(key: str, words: str) -> None:
    assert sentences.named(key) == words


@pytest.mark.parametrize(
    ("value", "interval", "shown"),
    [
        (81.59344, (80.33, 82.856), ("81.6", "80.3 to 82.9")),
        (14.5, (8.1, 20.9), ("14.5", "8.1 to 20.9")),
        (0.1479, (-1.6, 1.8), ("0.148", "−1.600 to 1.800")),
        (9.87654, None, ("9.877", "—")),
        (6.0, (6.0, 6.0), ("6", "6 to 6")),
        (0.8, (0.7999999999999999, 0.8000000000000002), ("0.8000", "0.8000 to 0.8000")),
        (0.0, None, ("0", "—")),
        (61.91967789, (61.919672475, 61.91968331), ("61.920", "±\u00a0<0.001")),
        (-113.10879, (-113.108845, -113.108735), ("−113.11", "±\u00a0<0.01")),
        (None, None, ("—", "—")),
        ("none", None, ("none", "—")),
        (12345.678, None, ("12\u202f346", "—")),
    ],
)
def test_numbers_have_the_digits_that_they_deserve(
    value: float | str | None, interval: tuple[float, float] | None, shown: tuple[str, str]
) -> None:
    row = Evidence("x", value, interval, "", None)
    assert (sentences.value(row), sentences.interval(row)) == shown


def test_criteria_and_notes_name_no_sweep(tmp_path: Path) -> None:
    rows = [Evidence("a statistic", 1.0, None, "why-newreno; the paper 80", None)]
    samples.keep(tmp_path, "dc-poi", "partly", note="TCP decides (why-newreno, why-linux): 3 (none), 2.", evidence=rows)
    write(tmp_path, tmp_path / "gallery")
    shown = section(tmp_path / "gallery", "dc-poi")
    assert "TCP decides: 3 (unpaced), 2." in shown
    assert "an experiment; the paper 80" in shown


def test_what_explains_has_remarks_and_no_criterion(site: Path) -> None:
    judged, told = section(site, "edge-fig3-loss").split('<table class="evidence"')[1:]
    assert [">Criterion</th>" in one and ">Met</th>" in one for one in (judged, told)] == [True, False]
    assert ">Remark</th>" in told
    assert "beside 0.05</td></tr>" in told.replace("\u00a0", " ")


def test_notes_name_other_claims_by_their_place(tmp_path: Path) -> None:
    note = "It is so (see dc-fig7) or as in cs244-buffer-sizing, by data-centre rules; 2.73 us more."
    samples.keep(tmp_path, "dc-poi", "partly", note=note)
    write(tmp_path, tmp_path / "gallery")
    shown = section(tmp_path / "gallery", "dc-poi").replace("\u00a0", " ")
    assert "(see Fig. 7, IV-C) or as in cs244, Buffer Sizing, by data-centre rules; 2.73 µs more." in shown


def test_numbers_of_criteria_have_four_digits() -> None:
    def told(words: str) -> str:
        return sentences.criterion(Evidence("x", 1.0, None, words, True))

    assert told("below 166.877") == "below 166.9"
    assert (
        told("above the closed loop's, 0.0163915; 5 within 0.05") == "above the closed loop's, 0.01639; 5 within 0.05"
    )
    assert told("ns-2 2.28 and 300 flows") == "ns-2 2.28 and 300 flows"


def test_a_row_that_has_no_number_on_either_side_is_left_out() -> None:
    rows = sentences.beside({"critical share": None, "gain": 0.2}, {"hosts": "lose", "flows": [4, 8]})
    assert rows == [("gain", "0.2", "—"), ("flows", "—", "4, 8")]  # what is said in words, the claim's sentence says
    assert sentences.beside({"hosts": "win"}, {"hosts": "lose"}) == [("hosts", "win", "lose")]


def test_questions_of_ours_are_not_what_a_paper_says(site: Path) -> None:
    overview = (site / "index.html").read_text()
    for paper in papers():
        page = (site / f"{paper.name}.html").read_text()
        if paper.ours:
            assert f"<h3>{paper.heads}</h3>" in page
            assert "<h3>The paper says</h3>" not in page
            assert f'<span class="soft">{paper.heads}' in overview
        else:
            assert f'<span class="label">{paper.heads}</span>' in overview
    assert [paper.name for paper in papers() if paper.ours] == ["today", "findings"]


def test_claims_of_a_page_have_headings_and_links_of_their_own(results: Path) -> None:
    shown = entries.entries(results)
    for what in (sentences.heading, sentences.where):
        told = [(entry.claim.paper, what(entry)) for entry in shown]
        assert len(told) == len(set(told)), [one for one in told if told.count(one) > 1]


def test_captions_name_no_side() -> None:
    """A phone has panels one below the other."""
    sources = [
        path for path in Path(papers_folder.__file__).parent.rglob("*.py") if "drawing.picture(" in path.read_text()
    ]
    assert len(sources) > 40
    for path in sources:
        for function in ast.walk(ast.parse(path.read_text())):
            if not isinstance(function, ast.FunctionDef) or not function.name.startswith("draw"):
                continue
            sentences_of = [one.value for one in ast.walk(function) if isinstance(one, ast.Constant)]
            told = [one for one in sentences_of if isinstance(one, str) and len(one) > 30]
            sides = [one for one in told if re.search(r"\b([Ll]eft|[Rr]ight)\b(?! out)", one)]
            assert not sides, path.name


def test_notes_are_shortened_at_sentences(results: Path) -> None:
    assert sentences.short_note(standing(results, "edge-fig3-goodput")) == "The one holds."
    assert sentences.short_note(standing(results, "zhao-fig2")).endswith("see why-it-is-so.")
    assert sentences.met(standing(results, "zhao-fig2")) == "1 of 2 criteria met"


def test_a_long_second_sentence_of_a_note_is_left_to_its_page(tmp_path: Path) -> None:
    samples.keep(tmp_path, "dc-poi", "partly", note=f"No. By setting: {'51.4 % and 51.6 %, ' * 40}all.")
    assert sentences.short_note(standing(tmp_path, "dc-poi")) == "No."


def test_the_command_writes_a_site(results: Path, command: Command) -> None:
    done = command("gallery", results, "--out", "site")
    assert (done.returncode, done.stdout, done.stderr) == (0, "site/index.html\n", "")
    done = command("reproduce", "qlbp-table2", "--quick", "--out", "fresh", "--gallery", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0]["id"] == "qlbp-table2"
    assert "gallery: fresh/gallery/index.html" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ("nowhere",),
            2,
            "nowhere: no verdicts to show; make some first: paceline reproduce all --quick --out nowhere",
        ),
        (("RESULTS", "--out", ""), 2, "--out: names no directory; write one, as --out public"),
        (("RESULTS", "--out", "/dev/null/x"), 2, r"--out: /dev/null/x: Not a directory; name another directory, .*"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    results: Path, command: Command, arguments: tuple[str, ...], code: int, message: str
) -> None:
    done = command("gallery", *(results if one == "RESULTS" else one for one in arguments))
    assert (done.returncode, done.stdout) == (code, "")
    assert re.fullmatch(f"paceline: {message}\n", done.stderr), done.stderr
