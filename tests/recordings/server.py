"""A small server that stands in for the public homes, and fails in the ways that servers fail."""

import hashlib
import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

REPOSITORY = "DeweiFeng/SmellNet"


class Home:
    """Files by path, and how to serve them.

    `cut_after`: close the connection after so many bytes, once for each path in `cut_once`.
    `ranges`: False ignores the Range header. `answers`: status codes to give first.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.listing: list[dict] | None = None
        self.page_size = 1000
        self.cut_once: dict[str, int] = {}
        self.ranges = True
        self.answers: list[int] = []
        self.requests: list[tuple[str, str | None]] = []
        self.url = ""

    def offer(self, path: str, raw: bytes, *, lfs: bool = False) -> None:
        """Put a file of the repository up, as the hub lists it."""
        self.files[f"/datasets/{REPOSITORY}/resolve/main/{path}"] = raw
        git = hashlib.sha1(f"blob {len(raw)}\0".encode() + raw).hexdigest()
        entry = {"type": "file", "path": path, "oid": git, "size": len(raw)}
        if lfs:
            entry["lfs"] = {"oid": hashlib.sha256(raw).hexdigest(), "size": len(raw), "pointerSize": 130}
        self.listing = [*(self.listing or []), entry]


@contextmanager
def serving(home: Home):
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(home))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    home.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield home
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(home: Home) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_) -> None:
            pass

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            home.requests.append((unquote(path), self.headers.get("Range")))
            if home.answers:
                self.send_error(home.answers.pop(0))
            elif path == f"/api/datasets/{REPOSITORY}/tree/main":
                self._list(query)
            elif unquote(path) in home.files:
                self._send(unquote(path), home.files[unquote(path)])
            else:
                self.send_error(404)

        def _list(self, query: str) -> None:
            page = int((re.search(r"page=(\d+)", query) or [0, 0])[1])
            entries = (home.listing or [])[page * home.page_size :]
            raw = json.dumps(entries[: home.page_size]).encode()
            self.send_response(200)
            if len(entries) > home.page_size:
                follow = f"{home.url}/api/datasets/{REPOSITORY}/tree/main?recursive=true&page={page + 1}"
                self.send_header("Link", f'<{follow}>; rel="next"')
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def _send(self, path: str, raw: bytes) -> None:
            start = int(self.headers["Range"][6:-1]) if home.ranges and self.headers.get("Range") else 0
            if start and start >= len(raw):
                self.send_error(416)
                return
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(raw) - start))
            self.end_headers()
            body = raw[start:]
            if path in home.cut_once:
                body = body[: home.cut_once.pop(path)]
            self.wfile.write(body)

    return Handler
