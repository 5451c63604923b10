"""One outcome for each way in which the web can fail us, from a server that does just that."""

from __future__ import annotations

import gzip
import shutil
import ssl
import subprocess
import time
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from retrieval import web
from retrieval.addresses import Endpoint
from retrieval.deadline import Deadline, side_by_side
from retrieval.records import Page, Unavailable
from retrieval.web import Web

PAGE = "http://docs.test/page"
HTML = "<html><body><p>Grüße from <code>create_oval</code></p></body></html>"


def fetch(internet: Any, url: str = PAGE, seconds: float = 5.0) -> Page | Unavailable:
    return internet.web().fetch(url, Deadline.after(seconds))


def refused(internet: Any, url: str = PAGE, seconds: float = 5.0) -> tuple[str, str]:
    found = fetch(internet, url, seconds)
    assert isinstance(found, Unavailable), found
    return found.reason, found.detail


def got(internet: Any, url: str = PAGE) -> Page:
    found = fetch(internet, url)
    assert isinstance(found, Page), found
    return found


def test_a_page_is_read_under_our_own_name(internet: Any) -> None:
    agents: list[str] = []

    def answer(handler: Any) -> None:
        agents.append(handler.headers["User-Agent"])
        handler.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + HTML.encode())

    internet.serve("docs.test/page", answer)
    page = got(internet)
    assert (page.text, page.media_type, page.note) == (HTML, "text/html", "")
    assert agents[0].startswith("UA-ChatDev/")


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_packed_pages_are_unpacked(internet: Any, encoding: str) -> None:
    packed = gzip.compress(HTML.encode()) if encoding == "gzip" else zlib.compress(HTML.encode())
    internet.serve("docs.test/page", packed, headers={"Content-Type": "text/html", "Content-Encoding": encoding})
    assert got(internet).text == HTML


@pytest.mark.parametrize("status", [202, 403, 429])
def test_blocked(internet: Any, status: int) -> None:
    internet.serve("docs.test/page", HTML, status=status)
    assert refused(internet) == ("blocked", f"HTTP {status}")


@pytest.mark.parametrize("status", [404, 500])
def test_other_statuses_are_named(internet: Any, status: int) -> None:
    internet.serve("docs.test/page", HTML, status=status)
    assert refused(internet) == ("status", f"HTTP {status}")


def test_no_network_or_no_such_name(internet: Any) -> None:
    assert refused(internet, "http://nowhere.test/")[0] == "unknown-host"


@pytest.mark.parametrize(
    "url", ["http://docs.test/\udcff", "http://docs.test/?q=\ud800", "http://docs\udcff.test/"]
)
def test_half_a_character_is_no_address(internet: Any, url: str) -> None:
    assert refused(internet, url)[0] == "bad-url"


def test_nobody_listens(internet: Any) -> None:
    closed = Web(lambda host, port: Endpoint(("127.0.0.1",), 1), pace=0)
    found = closed.fetch(PAGE, Deadline.after(5))
    assert isinstance(found, Unavailable) and found.reason == "unreachable"


def test_where_nobody_listens_at_one_address_the_next_is_tried(internet: Any) -> None:
    internet.serve("docs.test/page", HTML)
    found = Web(lambda host, port: Endpoint(("127.0.0.2", "127.0.0.1"), internet.port), pace=0)
    assert isinstance(found.fetch(PAGE, Deadline.after(5)), Page), "as localhost may be ::1, too"


def test_an_answer_that_breaks_off(internet: Any) -> None:
    half = b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100\r\n\r\n<html"
    internet.serve("docs.test/page", lambda handler: handler.wfile.write(half))
    assert refused(internet) == ("unreachable", "breaks off 95 bytes before its end")


def test_a_proxy_is_said_to_be_in_the_way(internet: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    internet.serve("docs.test/page", HTML)
    monkeypatch.setenv("http_proxy", "http://proxy.test:3128")
    assert refused(internet)[0] == "proxy"
    assert internet.asked == []
    monkeypatch.setenv("no_proxy", "docs.test")
    assert got(internet).text == HTML


def test_an_address_may_stand_for_a_name(internet: Any) -> None:
    internet.serve("[2606:4700::1111]/page", HTML)
    web = Web(lambda host, port: Endpoint(("127.0.0.1",), internet.port), pace=0)
    assert isinstance(web.fetch("http://[2606:4700::1111]/page", Deadline.after(5)), Page)


def test_silence_ends_in_time(internet: Any) -> None:
    internet.serve("docs.test/page", lambda handler: time.sleep(2))
    began = time.monotonic()
    assert refused(internet, seconds=0.3)[0] == "timeout"
    assert time.monotonic() - began < 1.5


def test_a_trickle_ends_in_time(internet: Any) -> None:
    def trickle(handler: Any) -> None:
        handler.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n")
        for _ in range(40):
            handler.wfile.write(b"x")
            time.sleep(0.05)

    internet.serve("docs.test/page", trickle)
    assert refused(internet, seconds=0.4)[0] == "timeout"


def test_a_page_of_100_megabytes_is_not_read(internet: Any) -> None:
    head = b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\nContent-Length: 104857600\r\n\r\n"
    internet.serve("docs.test/page", lambda handler: handler.wfile.write(head))
    assert refused(internet) == ("too-large", "has 104857600 bytes")


def test_a_page_without_end_is_not_read_to_its_end(internet: Any) -> None:
    sent = 0

    def endless(handler: Any) -> None:
        nonlocal sent
        handler.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n")
        try:
            while sent < 100_000_000:
                sent += handler.wfile.write(b"x" * 1_000_000)
        except OSError:
            pass  # the reader has gone

    internet.serve("docs.test/page", endless)
    assert refused(internet)[0] == "too-large"
    assert sent < 50_000_000


def test_a_gzip_bomb_does_not_go_off(internet: Any) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join([*(packer.compress(b"\0" * 1_000_000) for _ in range(200)), packer.flush()])
    assert len(bomb) < 500_000
    internet.serve("docs.test/page", bomb, headers={"Content-Type": "text/html", "Content-Encoding": "gzip"})
    assert refused(internet)[0] == "bomb"


def test_damaged_packing(internet: Any) -> None:
    headers = {"Content-Type": "text/html", "Content-Encoding": "gzip"}
    internet.serve("docs.test/page", b"this is no gzip", headers=headers)
    assert refused(internet)[0] == "damaged"


@pytest.mark.parametrize("kind", ["application/pdf", "image/png", "application/octet-stream"])
def test_a_pdf_is_not_text(internet: Any, kind: str) -> None:
    internet.serve("docs.test/page", b"%PDF-1.7", headers={"Content-Type": kind})
    assert refused(internet) == ("type", f"is {kind}, which is not text")


def test_a_wrong_charset_is_put_right_and_noted(internet: Any) -> None:
    headers = {"Content-Type": "text/html; charset=utf-8"}
    internet.serve("docs.test/page", (HTML * 5).encode("latin-1"), headers=headers)
    page = got(internet)
    assert "Grüße" in page.text
    assert page.note.startswith("says utf-8, read as ")


def test_a_charset_may_stand_in_the_page(internet: Any) -> None:
    page = f'<html><head><meta charset="koi8-r"></head>{HTML.replace("Grüße", "привет")}'
    internet.serve("docs.test/page", page.encode("koi8-r"), headers={"Content-Type": "text/html"})
    assert "привет" in got(internet).text


def test_looking_for_a_charset_holds_nobody_up(internet: Any) -> None:
    internet.serve("docs.test/page", "<meta" * 390_000, headers={"Content-Type": "text/html"})
    began = time.process_time()
    got(internet)
    assert time.process_time() - began < 2


def test_a_charset_nobody_knows_is_put_right(internet: Any) -> None:
    internet.serve("docs.test/page", HTML, headers={"Content-Type": "text/html; charset=klingon"})
    assert "Grüße" in got(internet).text


@pytest.mark.parametrize(
    "target",
    ["http://127.0.0.1/secret", "http://[::1]/", "http://169.254.169.254/", "file:///etc/passwd", "http://[::1"],
)
def test_a_redirect_may_not_lead_inside(internet: Any, target: str) -> None:
    internet.serve("docs.test/page", status=302, headers={"Location": target})
    internet.serve("127.0.0.1/secret", "the crown jewels")
    assert refused(internet)[0] in ("not-public", "bad-url")
    assert all("secret" not in asked for asked in internet.asked)


def test_a_redirect_is_followed(internet: Any) -> None:
    internet.serve("docs.test/page", status=301, headers={"Location": "//other.test/moved"})
    internet.serve("other.test/moved", HTML)
    assert got(internet).url == "http://other.test/moved"


def test_redirects_in_a_circle_end(internet: Any) -> None:
    internet.serve("docs.test/page", status=302, headers={"Location": "/page"})
    assert refused(internet)[0] == "redirects"
    assert internet.asked.count("GET docs.test/page") == web.MOST_REDIRECTS + 1


def test_robots_are_obeyed_and_asked_for_once(internet: Any) -> None:
    rules = "User-agent: UA-ChatDev\nDisallow: /private\n"
    internet.serve("docs.test/robots.txt", rules, headers={"Content-Type": "text/plain"})
    internet.serve("docs.test/private", HTML)
    internet.serve("docs.test/page", HTML)
    one = internet.web()
    private = one.fetch("http://docs.test/private", Deadline.after(5))
    assert isinstance(private, Unavailable) and private.reason == "robots"
    assert isinstance(one.fetch(PAGE, Deadline.after(5)), Page)
    assert internet.asked == ["GET docs.test/robots.txt", "GET docs.test/page"]


def test_pages_side_by_side_ask_for_the_rules_once(internet: Any) -> None:
    def answer(handler: Any) -> None:
        time.sleep(0.2)
        handler.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n")

    internet.serve("docs.test/robots.txt", answer)
    internet.serve("docs.test/page", HTML)
    one, deadline = internet.web(), Deadline.after(5)
    pages = side_by_side([partial(one.fetch, PAGE, deadline)] * 4, deadline, None)
    assert all(isinstance(page, Page) for page in pages)
    assert internet.asked == ["GET docs.test/robots.txt", *["GET docs.test/page"] * 4]


@pytest.mark.parametrize(
    ("rules", "status"),
    [("User-agent: *\nCrawl-delay: ²\n", 200), ("\ufeffUser-agent: *\nDisallow: /\n", 200), ("", 503)],
    ids=["no number", "byte order mark", "an error"],
)
def test_rules_that_are_hard_to_read_keep_us_out(internet: Any, rules: str, status: int) -> None:
    internet.serve("docs.test/robots.txt", rules, status=status, headers={"Content-Type": "text/plain"})
    internet.serve("docs.test/page", HTML)
    assert refused(internet)[0] == "robots"


def test_robots_hold_for_the_target_of_a_redirect(internet: Any) -> None:
    internet.serve("other.test/robots.txt", "User-agent: *\nDisallow: /", headers={"Content-Type": "text/plain"})
    internet.serve("docs.test/page", status=302, headers={"Location": "http://other.test/x"})
    assert refused(internet)[0] == "robots"


def test_a_host_is_asked_once_in_a_while(internet: Any) -> None:
    internet.serve("docs.test/page", HTML)
    patient = internet.web(pace=0.2)
    began = time.monotonic()
    patient.fetch(PAGE, Deadline.after(5))
    patient.fetch(PAGE, Deadline.after(5))
    assert 0.4 <= time.monotonic() - began < 2, "robots.txt, then two pages"


def test_who_would_have_to_wait_too_long_is_told_at_once(internet: Any) -> None:
    internet.serve("docs.test/page", HTML)
    found = internet.web(pace=60).fetch(PAGE, Deadline.after(1))
    assert isinstance(found, Unavailable) and found.reason == "timeout"


@pytest.mark.skipif(not shutil.which("openssl"), reason="makes a certificate with openssl")
def test_a_certificate_must_be_that_of_the_name(
    internet: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=docs.test", "-addext", "subjectAltName=DNS:docs.test"]
    files = ["-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "certificate")]
    subprocess.run(["openssl", *made, *names, *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "certificate", tmp_path / "key")
    internet.server.socket = context.wrap_socket(internet.server.socket, server_side=True)
    internet.serve("docs.test/page", HTML)
    internet.serve("other.test/page", HTML)
    assert refused(internet, "https://docs.test/page")[0] == "tls", "signed by nobody we trust"
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate"))
    assert got(internet, "https://docs.test/page").text == HTML
    assert refused(internet, "https://other.test/page")[0] == "tls"
