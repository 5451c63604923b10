"""Asking the web, carefully: one address checked and kept, each redirect anew, everything with a limit.

The connection goes to the very address that was checked, so that a name cannot change its mind in between;
TLS and the Host header still carry the name. Sites are asked at most once a second each, under our own
name, and their robots.txt is obeyed.
"""

from __future__ import annotations

import re
import socket
import ssl
import time
import urllib.request
import zlib
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse
from threading import Lock
from urllib.parse import quote, urlencode, urljoin, urlsplit
from urllib.robotparser import RobotFileParser

from retrieval.addresses import Endpoint, Resolver, public_endpoint
from retrieval.deadline import Deadline
from retrieval.records import Page, Unavailable, storable

NAME = "UA-ChatDev"
USER_AGENT = f"{NAME}/0.1 (looks up documentation for a programmer; obeys robots.txt)"
MOST_BYTES = 2_000_000
MOST_REDIRECTS = 5
PAGE_SECONDS = 10.0
_CHUNK = 65_536
_HEAD_BYTES = 2048
_BLOCKED = (202, 403, 429)
_REDIRECTED = (301, 302, 303, 307, 308)
_PORTS = {"http": 80, "https": 443}
_KEEP_OUT = ("User-agent: *", "Disallow: /")
_TEXT = re.compile(r"text/|application/(?:xhtml\+xml|xml|json)\b")
_HOST = re.compile(r"[\w.-]+|[0-9a-fA-F:.]+")
_SAFE = "/%:=&?~+!$,;'@()*[]"


@dataclass(frozen=True)
class Place:
    """The parts of a URL that a request needs."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def origin(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


@dataclass(frozen=True)
class _Reply:
    url: str
    status: int
    content_type: str
    body: bytes


@dataclass
class Web:
    """Pages by their addresses. `pace` is the least time in seconds between two requests to one host.

    `resolve` is the one policy of where connections may go. Safe to use from several threads.
    """

    resolve: Resolver = public_endpoint
    pace: float = 1.0
    _turns: dict[str, float] = field(default_factory=dict)
    _robots: dict[str, RobotFileParser] = field(default_factory=dict)
    _reading: dict[str, Lock] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def fetch(self, url: str, deadline: Deadline) -> Page | Unavailable:
        """The page at `url`, where robots.txt lets us have it."""
        return _page(self._follow(url, None, deadline.within(PAGE_SECONDS), obey=True))

    def ask(self, url: str, form: dict[str, str] | None, deadline: Deadline) -> Page | Unavailable:
        """The answer of a search engine to `form`, posted, or to the query in `url`."""
        return _page(self._follow(url, form, deadline, obey=False))

    def _follow(
        self, url: str, form: dict[str, str] | None, deadline: Deadline, *, obey: bool
    ) -> _Reply | Unavailable:
        for _ in range(MOST_REDIRECTS + 1):
            place = place_of(url)
            if isinstance(place, Unavailable):
                return place
            if obey and (refusal := self._refusal(place, url, deadline)):
                return refusal
            reply = self._request(place, url, form, deadline)
            if isinstance(reply, Unavailable) or reply.status not in _REDIRECTED:
                return reply
            try:
                url = urljoin(url, reply.body.decode("utf-8", "replace"))
            except ValueError as error:
                return Unavailable("bad-url", f"redirects to what is no address: {error}")
            if reply.status not in (307, 308):
                form = None
        return Unavailable("redirects", f"more than {MOST_REDIRECTS} redirects")

    def _request(
        self, place: Place, url: str, form: dict[str, str] | None, deadline: Deadline
    ) -> _Reply | Unavailable:
        if _proxied(place):
            return Unavailable("proxy", "a proxy is set, and through it no address can be checked; set no_proxy")
        endpoint = self.resolve(place.host, place.port)
        if isinstance(endpoint, Unavailable):
            return endpoint
        if not self._wait_turn(place.host, deadline):
            return Unavailable("timeout", f"{place.host} is asked once in {self.pace:g} s, and time is up")
        try:
            return _exchange(place, endpoint, url, form, deadline)
        except TimeoutError:
            return Unavailable("timeout", f"{place.host} did not answer in time")
        except ssl.SSLError as error:
            return Unavailable("tls", f"{place.host}: {error.reason}")
        except (OSError, HTTPException) as error:
            return Unavailable("unreachable", f"{place.host}: {error or type(error).__name__}")

    def _wait_turn(self, host: str, deadline: Deadline) -> bool:
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._turns.get(host, now))
            if turn - now >= deadline.left:
                return False
            self._turns[host] = turn + self.pace
        time.sleep(turn - now)
        return True

    def _refusal(self, place: Place, url: str, deadline: Deadline) -> Unavailable | None:
        """Why we may not have `url`; as RFC 9309 says, no robots.txt allows all, an unreachable one nothing."""
        with self._lock:
            reading = self._reading.setdefault(place.origin, Lock())
        # Held while robots.txt is read, so that several pages of a site ask for it once.
        if not reading.acquire(timeout=deadline.left):
            return Unavailable("timeout", f"{place.host} does not say what it allows")
        try:
            rules = self._robots.get(place.origin)
            if rules is None:
                reply = self._follow(f"{place.origin}/robots.txt", None, deadline, obey=False)
                if isinstance(reply, Unavailable):
                    return reply
                rules = self._robots[place.origin] = _rules(reply)
        finally:
            reading.release()
        return None if rules.can_fetch(NAME, url) else Unavailable("robots", f"{place.host} asks programs not to")


def _rules(reply: _Reply) -> RobotFileParser:
    lines = reply.body.decode("utf-8-sig", "replace").splitlines() if reply.status == 200 else []
    rules = RobotFileParser()
    try:
        rules.parse(_KEEP_OUT if reply.status >= 500 else lines)
    except ValueError:  # of a number that is none
        rules.parse(_KEEP_OUT)
    return rules


def place_of(url: str) -> Place | Unavailable:
    """Where a URL leads to, or why nobody may be asked for it."""
    try:
        parts = urlsplit(url)
        port = parts.port
        host = (parts.hostname or "").rstrip(".").encode("idna").decode("ascii")
        path, query = quote(parts.path or "/", safe=_SAFE), quote(parts.query, safe=_SAFE)
    except ValueError as error:  # UnicodeError is one
        return Unavailable("bad-url", f"cannot be understood: {error}")
    if parts.scheme not in _PORTS:
        return Unavailable("bad-url", f"{parts.scheme or 'no scheme'}: only http and https are asked")
    if not _HOST.fullmatch(host) or "@" in parts.netloc:
        return Unavailable("bad-url", "names no host, or a user beside it")
    return Place(parts.scheme, host, port or _PORTS[parts.scheme], f"{path}?{query}" if query else path)


def _proxied(place: Place) -> bool:
    proxies = urllib.request.getproxies()
    return bool({place.scheme, "all"} & proxies.keys()) and not urllib.request.proxy_bypass(place.host)


def _exchange(
    place: Place, endpoint: Endpoint, url: str, form: dict[str, str] | None, deadline: Deadline
) -> _Reply | Unavailable:
    """One request and its answer; without success its body is its Location. Raises OSError, HTTPException."""
    connection = HTTPConnection(place.host, place.port)
    connection.default_port = _PORTS[place.scheme]
    # Set beforehand: http.client would look the name up again.
    connection.sock = _connected(place, endpoint, deadline)
    try:
        headers = {
            "User-Agent": USER_AGENT,
            "Accept": "text/html, text/*;q=0.8, application/json;q=0.5",
            "Accept-Encoding": "gzip, deflate",
            "Connection": "close",
        }
        if form is None:
            connection.request("GET", place.path, headers=headers)
        else:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            connection.request("POST", place.path, body=urlencode(form), headers=headers)
        response = connection.getresponse()
        content_type = response.getheader("Content-Type", "text/html").lower()
        if response.status != 200:
            return _Reply(
                url, response.status, "", response.getheader("Location", "").encode("latin-1", "replace")
            )
        if not _TEXT.match(content_type):
            return Unavailable("type", f"is {content_type}, which is not text")
        body = _body(response, deadline)
        return body if isinstance(body, Unavailable) else _Reply(url, response.status, content_type, body)
    finally:
        connection.close()


def _connected(place: Place, endpoint: Endpoint, deadline: Deadline) -> socket.socket:
    plain = _dialled(endpoint, deadline)
    if place.scheme == "http":
        return plain
    try:
        return ssl.create_default_context().wrap_socket(plain, server_hostname=place.host)
    except BaseException:
        plain.close()
        raise


def _dialled(endpoint: Endpoint, deadline: Deadline) -> socket.socket:
    """A connection to the first address that takes one, each with its share of the time. Raises OSError."""
    failure: OSError = TimeoutError()
    for untried in range(len(endpoint.addresses), 0, -1):
        if not (share := deadline.left / untried):
            break
        try:
            connected = socket.create_connection((endpoint.addresses[-untried], endpoint.port), timeout=share)
        except OSError as error:
            failure = error
        else:
            connected.settimeout(deadline.left or share)
            return connected
    raise failure


def _body(response: HTTPResponse, deadline: Deadline) -> bytes | Unavailable:
    """The unpacked body, at most MOST_BYTES both as sent and unpacked."""
    if (response.length or 0) > MOST_BYTES:
        return Unavailable("too-large", f"has {response.length} bytes")
    encoding = response.getheader("Content-Encoding", "identity").lower()
    if encoding not in ("identity", "gzip", "x-gzip", "deflate"):
        return Unavailable("type", f"is packed as {encoding}, which was not asked for")
    unpacker = None if encoding == "identity" else zlib.decompressobj(wbits=47)
    data, sent = bytearray(), 0
    while chunk := response.read1(_CHUNK):
        sent += len(chunk)
        try:
            data += chunk if unpacker is None else unpacker.decompress(chunk, MOST_BYTES + 1 - len(data))
        except zlib.error as error:
            return Unavailable("damaged", f"cannot be unpacked: {error}")
        if len(data) > MOST_BYTES:
            return Unavailable("too-large" if unpacker is None else "bomb", f"has more than {MOST_BYTES} bytes")
        if sent > MOST_BYTES:
            return Unavailable("too-large", f"has more than {MOST_BYTES} bytes")
        if deadline.left == 0:
            raise TimeoutError
    if response.length:
        return Unavailable("unreachable", f"breaks off {response.length} bytes before its end")
    return bytes(data)


def _page(reply: _Reply | Unavailable) -> Page | Unavailable:
    from bs4.dammit import EncodingDetector, UnicodeDammit

    if isinstance(reply, Unavailable):
        return reply
    if reply.status in _BLOCKED:
        return Unavailable("blocked", f"HTTP {reply.status}")
    if reply.status != 200:
        return Unavailable("status", f"HTTP {reply.status}")
    media_type, _, rest = reply.content_type.partition(";")
    found = re.search(r"charset=[\"']?([\w-]+)", rest)
    said = found[1] if found else ""
    # By the standard it is near the top; UnicodeDammit would look at far more, in quadratic time.
    declared = EncodingDetector.find_declared_encoding(reply.body[:_HEAD_BYTES], is_html=True) or ""
    decoded = UnicodeDammit(reply.body, known_definite_encodings=list(filter(None, (said, declared))))
    text = storable(decoded.unicode_markup or "")
    if "\0" in text:
        return Unavailable("type", f"says {media_type}, and is not text")
    read_as = decoded.original_encoding or said
    note = f"says {said}, read as {read_as}" if said and decoded.tried_encodings[0][0] != read_as else ""
    return Page(reply.url, media_type.strip(), text, note)
