"""Where nothing that the web says may lead us."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from retrieval.addresses import Endpoint, is_public, public_endpoint
from retrieval.deadline import Deadline
from retrieval.records import Unavailable
from retrieval.web import Web

REFUSED = (Path(__file__).parent.parent / "data" / "refused_addresses.txt").read_text("utf-8").split()
NAMES = {
    "localhost": ["127.0.0.1"],
    "metadata.google.internal": ["169.254.169.254"],
    "internal.test": ["10.1.2.3"],
    "mixed.test": ["93.184.216.34", "127.0.0.1"],
    "half.test": ["2606:2800:220:1:248:1893:25c8:1946", "fe80::1"],
    "public.test": ["93.184.216.34"],
}


def look_up(host: str, port: int, type: int) -> list[Any]:
    if host in NAMES:
        return [(0, 0, 0, "", (address, port)) for address in NAMES[host]]
    return socket.getaddrinfo(host, port, type=type, flags=socket.AI_NUMERICHOST)


def resolve(host: str, port: int) -> Endpoint | Unavailable:
    return public_endpoint(host, port, look_up)


def test_the_table_is_as_long_as_promised() -> None:
    assert len(set(REFUSED)) >= 40


@pytest.mark.parametrize("url", REFUSED)
def test_it_is_refused_and_nobody_is_connected_to(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    connected: list[Any] = []
    monkeypatch.setattr(socket, "create_connection", lambda *given, **more: connected.append(given))
    monkeypatch.setattr("urllib.request.getproxies", dict)
    refusal = Web(resolve).fetch(url, Deadline.after(5))
    assert isinstance(refusal, Unavailable)
    assert refusal.reason in ("not-public", "bad-url")
    assert refusal.detail
    assert not connected


def test_the_connection_goes_to_the_address_that_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    connected: list[Any] = []

    def connect(address: tuple[str, int], timeout: float) -> socket.socket:
        connected.append(address)
        raise ConnectionRefusedError("nobody there")

    monkeypatch.setattr(socket, "create_connection", connect)
    monkeypatch.setattr("urllib.request.getproxies", dict)
    found = Web(resolve).fetch("https://public.test/page", Deadline.after(5))
    assert isinstance(found, Unavailable) and found.reason == "unreachable"
    assert connected == [("93.184.216.34", 443)], "an address, so that no name server is asked again"


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "1.1.1.1", "2606:4700:4700::1111", "2a00:1450:4001:80b::200e"]
)
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(address)
