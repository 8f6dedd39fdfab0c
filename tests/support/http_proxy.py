"""An HTTP proxy in this process: it leads every host that it is asked for to an address of this machine."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import urlsplit


class HttpProxy:
    """``with HttpProxy({"registry.invalid": 8081}) as proxy: proxy.url``.

    :param leads: the port on this machine of each host.
    :param login: the header ``Proxy-Authorization`` that it wants.
    """

    def __init__(self, leads: dict[str, int], login: str | None = None) -> None:
        self.requests: list[tuple[str, str]] = []
        """Method and target of each request."""
        self.heads: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def _serve(self) -> None:
                outer.requests.append((self.command, self.path))
                outer.heads.append(str(self.headers))
                self.close_connection = True
                if login is not None and self.headers.get("Proxy-Authorization") != login:
                    self.send_error(407)
                    return
                tunnel = self.command == "CONNECT"
                host = self.path.rpartition(":")[0] if tunnel else urlsplit(self.path).hostname or ""
                with socket.create_connection(("127.0.0.1", leads[host])) as other:
                    if tunnel:
                        self.send_response(200)
                        self.end_headers()
                    else:
                        other.sendall(self._passed_on())
                    _join(self.connection, other)

            do_CONNECT = do_GET = do_POST = do_PUT = do_DELETE = _serve

            def _passed_on(self) -> bytes:
                parts = urlsplit(self.path)
                target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
                kept = [f"{name}: {value}" for name, value in self.headers.items() if not name.startswith("Proxy-")]
                head = "\r\n".join([f"{self.command} {target} HTTP/1.1", *kept, "Connection: close", "", ""])
                return head.encode() + self.rfile.read(int(self.headers.get("Content-Length") or 0))

            def log_message(self, *words: object) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> HttpProxy:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()


def _join(one: socket.socket, other: socket.socket) -> None:
    """Pass bytes on both ways until one side ends."""
    back = threading.Thread(target=_copy, args=(other, one), daemon=True)
    back.start()
    _copy(one, other)
    back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
