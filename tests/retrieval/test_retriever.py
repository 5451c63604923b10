"""From a query to passages: every outcome of a search engine, the breaker, limits, recording and replay."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from retrieval.cache import Cache, CacheMiss, Mode
from retrieval.deadline import Deadline
from retrieval.records import Hit, Unavailable
from retrieval.retriever import Retriever, open_retriever
from retrieval.searching import Ddgs, DuckDuckGo, Searcher, Searxng

ENGINE = "http://html.duckduckgo.com/html/"
OVAL = "http://docs.test/oval"
ARTICLE = """<html><body><nav>Home Products Careers</nav><article><h1>Ovals</h1>
<p>The method <code>create_oval</code> of a Canvas takes the corners of its bounding box: x0, y0, x1 and y1.</p>
<pre><code>canvas = Canvas(root)
for size in (10, 20):
    canvas.create_oval(0, 0, size, size)
</code></pre>
<p>It returns a number by which the oval can be moved or deleted later on, for instance with canvas.move.</p>
</article><footer>Imprint</footer></body></html>"""


class Shelf:
    """Stands for the documentation on this machine."""

    name = "docs"
    online = False

    def search(self, query: str, deadline: Deadline) -> tuple[Hit, ...] | Unavailable:
        if "create_oval" not in query:
            return Unavailable("empty", "nothing on the shelf")
        return (Hit("tkinter.Canvas.create_oval", "pydoc:oval", "def create_oval(self, *args)", 1.0),)


def retriever(internet: Any, tmp_path: Path, mode: Mode = "off", more: Sequence[Searcher] = ()) -> Retriever:
    web = internet.web()
    return Retriever((DuckDuckGo(web, ENGINE), *more), web, Cache(tmp_path / "cache", mode))


def test_found_fetched_read_and_ranked(internet: Any, tmp_path: Path) -> None:
    hits = [("Ovals", OVAL, "about ovals"), ("Gone", "http://docs.test/gone", "an excerpt on create_oval corners")]
    internet.results(*hits, ("Elsewhere", "http://other.test/x", "of no use"))
    internet.serve("docs.test/oval", ARTICLE)
    found = retriever(internet, tmp_path).look_up("  tkinter   create_oval\ncorners ")
    assert (found.source, found.outcome) == ("duckduckgo", "found")
    assert internet.queries == ["tkinter create_oval corners"]
    assert [hit.url for hit in found.hits] == [OVAL, "http://docs.test/gone", "http://other.test/x"]
    assert {passage.url for passage in found.passages} == {OVAL, "http://docs.test/gone"}
    assert "an excerpt on create_oval corners" in [passage.text for passage in found.passages]
    (read,) = [passage.text for passage in found.passages if passage.url == OVAL]
    assert "    canvas.create_oval(0, 0, size, size)" in read, "code keeps its indentation"
    assert "Careers" not in read and "Imprint" not in read
    assert [passage.score for passage in found.passages] == sorted((p.score for p in found.passages), reverse=True)
    outcomes = {step.asked: step.outcome for step in found.steps}
    assert outcomes == {
        "duckduckgo": "found", OVAL: "found", "http://docs.test/gone": "status", "http://other.test/x": "status"
    }  # fmt: skip


def test_advertisements_are_no_hits(internet: Any, tmp_path: Path) -> None:
    internet.serve(
        "html.duckduckgo.com/html/",
        '<div class="result"><a class="result__a" href="https://duckduckgo.com/y.js?ad_domain=x">Buy</a></div>'
        '<div class="result"><a class="result__a" href="http://[::1">Broken</a></div>'
        '<div class="result"><a class="result__a" href="http://docs.test/oval">Ovals</a></div>',
    )
    found = retriever(internet, tmp_path).look_up("ovals")
    assert [hit.title for hit in found.hits] == ["Ovals"]
    assert (found.source, found.passages) == ("", ()), "there is neither page nor excerpt"
    internet.serve("docs.test/oval", ARTICLE)
    assert retriever(internet, tmp_path).look_up("画布").outcome == "empty", "none of it fits"


CAPTCHA = (
    '<html><body><div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div></body></html>'
)


@pytest.mark.parametrize(
    ("page", "status", "outcome", "again"),
    [
        (ARTICLE, 202, "blocked", "breaker"),
        (ARTICLE, 403, "blocked", "breaker"),
        (ARTICLE, 429, "blocked", "breaker"),
        (CAPTCHA, 200, "captcha", "breaker"),
        ("<html><body>No results.</body></html>", 200, "empty", "empty"),
        (ARTICLE, 500, "status", "status"),
    ],
)
def test_a_search_engine_that_gives_nothing(
    internet: Any, tmp_path: Path, page: str, status: int, outcome: str, again: str
) -> None:
    internet.serve("html.duckduckgo.com/html/", page, status=status)
    one = retriever(internet, tmp_path, more=[Shelf()])
    found = one.look_up("tkinter create_oval")
    assert [(step.asked, step.outcome) for step in found.steps] == [("duckduckgo", outcome), ("docs", "found")]
    assert (found.source, found.outcome) == ("docs", "found")
    assert one.look_up("create_oval once more").steps[0].outcome == again
    assert len(internet.asked) == (1 if again == "breaker" else 2)


def test_a_slow_search_engine_is_given_up_and_not_asked_again(
    internet: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retrieval.retriever.SEARCH_SECONDS", 0.3)
    internet.serve("html.duckduckgo.com/html/", lambda handler: time.sleep(2))
    one = retriever(internet, tmp_path)
    began = time.monotonic()
    assert [one.look_up(query).outcome for query in "ab"] == ["timeout", "breaker"]
    assert time.monotonic() - began < 1.5


def test_a_name_server_that_never_answers_holds_nobody_up(
    internet: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retrieval.retriever.SEARCH_SECONDS", 0.2)
    web = internet.web()
    web.resolve = lambda host, port: time.sleep(2)
    began = time.monotonic()
    found = Retriever((DuckDuckGo(web, ENGINE), Shelf()), web, Cache(tmp_path, "off")).look_up("create_oval")
    assert (found.source, found.steps[0].outcome) == ("docs", "timeout")
    assert time.monotonic() - began < 1.5


def test_without_a_network_the_shelf_is_asked_at_once(internet: Any, tmp_path: Path) -> None:
    web = internet.web()
    web.resolve = lambda host, port: Unavailable("unknown-host", "no network")
    one = Retriever((DuckDuckGo(web, ENGINE), Shelf()), web, Cache(tmp_path, "off"))
    assert [step.outcome for step in one.look_up("create_oval").steps] == ["unknown-host", "found"]
    assert [step.outcome for step in one.look_up("create_oval").steps] == ["breaker", "found"]


def test_pages_are_fetched_side_by_side_and_late_ones_left(internet: Any, tmp_path: Path) -> None:
    sites = ["docs.test", "other.test", "mirror.test"]
    internet.results(*((site, f"http://{site}/page", f"create_oval of {site}") for site in sites))

    def slow(seconds: float) -> Any:
        def answer(handler: Any) -> None:
            time.sleep(seconds)
            handler.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n" + ARTICLE.encode())

        return answer

    for site, seconds in zip(sites, (0.4, 0.4, 3), strict=True):
        internet.serve(f"{site}/page", slow(seconds))
    one = retriever(internet, tmp_path)
    one.seconds = 1.5
    began = time.monotonic()
    found = one.look_up("create_oval")
    assert time.monotonic() - began < 2.5
    assert [step.outcome for step in found.steps] == ["found", "found", "found", "timeout"]
    assert "create_oval of mirror.test" in [passage.text for passage in found.passages], "its excerpt remains"


def test_what_is_found_fits_the_budget(internet: Any, tmp_path: Path) -> None:
    internet.results(("Ovals", OVAL, "x"))
    text = "".join(f"<p>create_oval number {n} {'draws an oval on the canvas ' * 12}</p>" for n in range(60))
    internet.serve("docs.test/oval", f"<html><body><article>{text}</article></body></html>")
    one = retriever(internet, tmp_path)
    one.budget = 200
    found = one.look_up("create_oval")
    assert 0 < sum(len(passage.text) for passage in found.passages) <= 600


def test_a_query_in_chinese(internet: Any, tmp_path: Path) -> None:
    internet.results(("画布", "http://docs.test/zh", "在画布上画椭圆"))
    internet.serve("docs.test/zh", "<html><body><p>用 create_oval 在画布上画椭圆。</p></body></html>")
    found = retriever(internet, tmp_path, more=[Shelf()]).look_up("画布 椭圆")
    assert internet.queries == ["画布 椭圆"]
    assert found.outcome == "found" and "椭圆" in found.passages[0].text


def test_a_query_that_is_no_text_is_asked_as_well_as_it_can_be(internet: Any, tmp_path: Path) -> None:
    internet.results(("Ovals", OVAL, "create_oval"))
    assert retriever(internet, tmp_path).look_up("create_oval \udcff").outcome == "found"
    assert internet.queries == ["create_oval ?"]


@pytest.mark.parametrize("query", ["", "   \n "])
def test_nothing_to_search_for_asks_nobody(internet: Any, tmp_path: Path, query: str) -> None:
    assert retriever(internet, tmp_path).look_up(query).outcome == "empty"
    assert internet.asked == []


def test_a_journey_holds_nothing_that_would_work_on_a_terminal(internet: Any, tmp_path: Path) -> None:
    internet.results(("Ovals", f"{OVAL}\x1b[2J", "create_oval"))
    internet.serve("docs.test/oval%1B[2J", "%PDF", headers={"Content-Type": "application/\x1b[2J"})
    found = retriever(internet, tmp_path).look_up("create_oval")
    assert [step.outcome for step in found.steps] == ["found", "type"]
    assert all(f"{step.asked}{step.detail}".isprintable() for step in found.steps)


def test_pages_without_text_leave_their_excerpts(internet: Any, tmp_path: Path) -> None:
    internet.results(("Ovals", OVAL, "create_oval draws"))
    internet.serve("docs.test/oval", "<html><body><script>render()</script></body></html>")
    found = retriever(internet, tmp_path).look_up("create_oval")
    assert [step.outcome for step in found.steps] == ["found", "no-text"]
    assert [passage.text for passage in found.passages] == ["create_oval draws"]


def test_recorded_it_is_replayed_without_a_network(
    internet: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    internet.results(("Ovals", OVAL, "x"), ("Gone", "http://docs.test/gone", "create_oval too"))
    internet.serve("docs.test/oval", ARTICLE)
    recorded = retriever(internet, tmp_path, "record").look_up("create_oval")
    monkeypatch.setattr(socket, "create_connection", lambda *given, **more: pytest.fail("asked the network"))
    replayed = retriever(internet, tmp_path, "replay").look_up("create_oval")
    assert replayed.passages == recorded.passages
    assert replayed.steps == recorded.steps, "failures are replayed as well"
    with pytest.raises(CacheMiss, match="something else.*record it first"):
        retriever(internet, tmp_path, "replay").look_up("something else")


def test_a_page_that_never_came_is_replayed_as_that(internet: Any, tmp_path: Path) -> None:
    internet.results(("Ovals", OVAL, "create_oval"))
    webs = internet.web()
    webs.fetch = lambda url, deadline: time.sleep(2)
    for mode in ("record", "replay"):
        one = Retriever((DuckDuckGo(internet.web(), ENGINE),), webs, Cache(tmp_path, mode), seconds=0.5)
        assert [step.outcome for step in one.look_up("create_oval").steps] == ["found", "timeout"]


@pytest.mark.parametrize("damage", ["", "{", "[]", "null", "\x00\x00"])
def test_half_an_entry_is_none(internet: Any, tmp_path: Path, damage: str) -> None:
    internet.results(("Ovals", OVAL, "create_oval"))
    retriever(internet, tmp_path, "live").look_up("create_oval")
    for path in (tmp_path / "cache").iterdir():
        path.write_text(damage)
    with pytest.raises(CacheMiss):
        retriever(internet, tmp_path, "replay").look_up("create_oval")
    assert retriever(internet, tmp_path, "live").look_up("create_oval").outcome == "found"


@pytest.mark.parametrize(("mode", "requests"), [("live", 1), ("record", 2), ("off", 2)])
def test_what_was_got_lately_is_not_asked_for_again(
    internet: Any, tmp_path: Path, mode: Mode, requests: int
) -> None:
    internet.results(("Ovals", OVAL, "x"))
    internet.serve("docs.test/oval", ARTICLE)
    for _ in range(2):
        assert retriever(internet, tmp_path, mode).look_up("create_oval").passages
    assert internet.asked.count("GET docs.test/oval") == len(internet.queries) == requests
    assert (tmp_path / "cache").exists() == (mode != "off")


def test_a_cache_that_cannot_be_written_ends_nothing(internet: Any, tmp_path: Path) -> None:
    internet.results(("Ovals", OVAL, "create_oval"))
    (tmp_path / "cache").write_text("a file where the folder should be")
    found = retriever(internet, tmp_path, "live", [Shelf()]).look_up("create_oval")
    assert [(step.asked, step.outcome) for step in found.steps] == [("duckduckgo", "disk"), ("docs", "found")]


@pytest.mark.parametrize("before", ["live", "record"])
def test_failures_are_not_kept_but_when_recording(internet: Any, tmp_path: Path, before: Mode) -> None:
    internet.results(("Ovals", OVAL, "create_oval"))
    retriever(internet, tmp_path, before).look_up("create_oval")
    internet.serve("docs.test/oval", ARTICLE)
    assert "canvas.create_oval" in retriever(internet, tmp_path, "live").look_up("create_oval").passages[0].text


def test_searxng(internet: Any, tmp_path: Path) -> None:
    rows = [
        {"title": "Ovals", "url": OVAL, "content": "create_oval"},
        {"title": "T\ud800", "url": OVAL, "content": None},
    ]
    where = "docs.test/search?q=create_oval&format=json"
    internet.serve(where, json.dumps({"results": rows}), headers={"Content-Type": "application/json"})
    hits = Searxng("http://docs.test", internet.web()).search("create_oval", Deadline.after(5))
    assert hits == (Hit("Ovals", OVAL, "create_oval"), Hit("T?", OVAL, ""))
    for body, reason in (
        ("{}", "damaged"),
        ("[" * 100_000, "damaged"),
        ("<html>", "damaged"),
        ('{"results": []}', "empty"),
    ):
        internet.serve(where, body, headers={"Content-Type": "application/json"})
        found = Searxng("http://docs.test/", internet.web()).search("create_oval", Deadline.after(5))
        assert isinstance(found, Unavailable) and found.reason == reason
    internet.serve(where, "no format json here", status=403)
    found = Searxng("http://docs.test/", internet.web()).search("create_oval", Deadline.after(5))
    assert found == Unavailable("blocked", "HTTP 403")


def test_only_the_instance_that_was_named_may_be_on_this_machine(internet: Any, tmp_path: Path) -> None:
    where = f"127.0.0.1:{internet.port}/search?q=oval&format=json"
    searcher: Any = open_retriever(f"http://127.0.0.1:{internet.port}", Cache(tmp_path)).searchers[0]
    searcher.web.pace = 0
    internet.serve(where, '{"results": []}', headers={"Content-Type": "application/json"})
    found = searcher.search("oval", Deadline.after(5))
    assert isinstance(found, Unavailable) and found.reason == "empty"
    internet.serve(where, status=302, headers={"Location": "http://[::1]/"})
    found = searcher.search("oval", Deadline.after(5))
    assert isinstance(found, Unavailable) and found.reason == "not-public"


def test_ddgs_maps_its_outcomes(monkeypatch: pytest.MonkeyPatch) -> None:
    from ddgs.exceptions import DDGSException, TimeoutException

    replies: list[Any] = [
        [{"title": "Ovals", "href": OVAL, "body": "create_oval"}],
        [],
        TimeoutException("late"),
        DDGSException("No results found."),
        DDGSException("DNSError"),
    ]

    def text(self: Any, query: str, **more: Any) -> Any:
        assert more["backend"] == "duckduckgo", "auto would ask an encyclopedia first"
        reply = replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    monkeypatch.setattr("ddgs.ddgs.DDGS.text", text)
    asked = [Ddgs().search("q", Deadline.after(5)) for _ in range(5)]
    assert asked[0] == (Hit("Ovals", OVAL, "create_oval"),)
    reasons = [found.reason for found in asked[1:] if isinstance(found, Unavailable)]
    assert reasons == ["empty", "timeout", "empty", "unreachable"]


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("auto", ["duckduckgo", "docs"]),
        ("duckduckgo", ["duckduckgo"]),
        ("ddgs", ["ddgs"]),
        ("docs", ["docs"]),
        ("http://localhost:8888", ["searxng", "docs"]),
    ],
)
def test_sources(tmp_path: Path, source: str, names: list[str]) -> None:
    assert [one.name for one in open_retriever(source, Cache(tmp_path)).searchers] == names


def test_a_source_nobody_knows(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'bing' is not one of auto, .* or the URL of a SearXNG instance"):
        open_retriever("bing", Cache(tmp_path))
    with pytest.raises(ValueError, match="'http://' names no host"):
        open_retriever("http://", Cache(tmp_path))
