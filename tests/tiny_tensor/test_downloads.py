"""Files on the net, served from this machine."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tiny_ir import DownloadError, FileFormatError
from tiny_tensor import Tensor

pytestmark = pytest.mark.usefixtures("session")

CONTENT = b"0123456789"


class Handler(BaseHTTPRequestHandler):
    """Serves CONTENT, whole, compressed, or broken off."""

    def do_GET(self) -> None:
        body = gzip.compress(CONTENT) if self.path == "/packed" else CONTENT
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        self.send_response(404 if self.path == "/missing" else 200)
        self.send_header("Content-Length", str(len(body) + (self.path == "/broken")))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HTTPServer]:
    monkeypatch.setenv("TINY_CACHE", str(tmp_path))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with HTTPServer(("127.0.0.1", 0), Handler) as found:
        found.asked = []  # type: ignore[attr-defined]
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def url(server: HTTPServer, path: str) -> str:
    return f"http://127.0.0.1:{server.server_port}{path}"


def test_a_file_is_downloaded_once(server: HTTPServer) -> None:
    for _ in range(2):
        assert bytes(Tensor.from_url(url(server, "/plain")).data()) == CONTENT
    assert server.asked == ["/plain"]  # type: ignore[attr-defined]


def test_a_compressed_file_is_unpacked(server: HTTPServer) -> None:
    assert bytes(Tensor.from_url(url(server, "/packed"), gunzip=True).data()) == CONTENT
    with pytest.raises(FileFormatError, match="gzip"):
        Tensor.from_url(url(server, "/plain"), gunzip=True)


@pytest.mark.parametrize("path", ["/missing", "/broken"])
def test_what_cannot_be_had_is_an_error_and_is_not_kept(
    server: HTTPServer, path: str, tmp_path: Path
) -> None:
    with pytest.raises(DownloadError):
        Tensor.from_url(url(server, path))
    assert not list(tmp_path.rglob("*"))


def test_an_address_that_is_none_is_an_error() -> None:
    with pytest.raises(DownloadError, match="nowhere"):
        Tensor.from_url("nowhere")
