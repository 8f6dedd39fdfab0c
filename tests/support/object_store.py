"""An S3 object store in memory: as much of its protocol as ``pyarrow.fs`` speaks; signatures are not checked."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase, BytesIO
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

_TIME = "2026-01-05T00:00:00.000Z"
_HTTP_TIME = "Mon, 05 Jan 2026 00:00:00 GMT"


class ObjectStore:
    """One bucket; ``objects`` holds its contents by key."""

    def __init__(self, bucket: str) -> None:
        self.bucket = bucket
        self.objects: dict[str, bytes] = {}
        self.parts: dict[int, bytes] = {}
        self.url = ""


@contextmanager
def object_store(bucket: str) -> Iterator[ObjectStore]:
    """Listens on this machine until the block ends."""
    store = ObjectStore(bucket)

    class Handler(_Handler):
        held = store

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    store.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield store
    finally:
        server.shutdown()
        server.server_close()
        thread.join(60)


def _joined(chunks: BufferedIOBase) -> bytes:
    """Chunks, each preceded by its size; what follows the last one is a checksum."""
    found = b""
    while (size := int(chunks.readline().partition(b";")[0], 16)) > 0:
        found += chunks.read(size)
        chunks.readline()
    while chunks.readline().strip():
        continue
    return found


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    held: ObjectStore

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""

    def _target(self) -> tuple[str, dict[str, list[str]]]:
        """The key, empty for the bucket itself, and the query."""
        parts = urlsplit(self.path)
        _, _, key = unquote(parts.path).lstrip("/").partition("/")
        return key, parse_qs(parts.query, keep_blank_values=True)

    def _body(self) -> bytes:
        """The content, extracted from HTTP's chunks and from those of the store's protocol within them."""
        if self.headers.get("Transfer-Encoding") == "chunked":
            data = _joined(self.rfile)
        else:
            data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        return _joined(BytesIO(data)) if "x-amz-decoded-content-length" in self.headers else data

    def _answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _missing(self) -> None:
        self._answer(404, b"<Error><Code>NoSuchKey</Code><Message>there is none</Message></Error>")

    def do_HEAD(self) -> None:
        self._get()

    def do_GET(self) -> None:
        self._get()

    def _get(self) -> None:
        key, asked = self._target()
        objects = self.held.objects
        if "list-type" in asked:
            return self._list(asked.get("prefix", [""])[0], asked.get("delimiter", [""])[0])
        if not key:
            return self._answer(200, x_amz_bucket_region="us-east-1")
        if key not in objects:
            return self._missing()
        data = objects[key]
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if wanted is not None:
            data = data[int(wanted[1]) : int(wanted[2] or len(data)) + 1]
        return self._answer(206 if wanted else 200, data, Last_Modified=_HTTP_TIME, ETag='"e"')

    def _list(self, prefix: str, delimiter: str) -> None:
        keys, folders = [], set()
        for key in sorted(self.held.objects):
            if not key.startswith(prefix):
                continue
            inner, found, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
            if found:
                folders.add(f"{prefix}{inner}{delimiter}")
            else:
                keys.append(key)
        contents = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>{_TIME}</LastModified><ETag>e</ETag>"
            f"<Size>{len(self.held.objects[key])}</Size></Contents>"
            for key in keys
        )
        common = "".join(f"<CommonPrefixes><Prefix>{escape(one)}</Prefix></CommonPrefixes>" for one in sorted(folders))
        count = f"<KeyCount>{len(keys) + len(folders)}</KeyCount><IsTruncated>false</IsTruncated>"
        self._xml(f"<ListBucketResult>{count}<Prefix>{escape(prefix)}</Prefix>{contents}{common}</ListBucketResult>")

    def _xml(self, text: str) -> None:
        self._answer(200, f'<?xml version="1.0" encoding="UTF-8"?>{text}'.encode(), Content_Type="application/xml")

    def do_PUT(self) -> None:
        key, asked = self._target()
        data = self._body()
        source = self.headers.get("x-amz-copy-source")
        if source is not None:
            _, _, copied = unquote(source).lstrip("/").partition("/")
            self.held.objects[key] = self.held.objects[copied]
            return self._xml("<CopyObjectResult><ETag>e</ETag></CopyObjectResult>")
        if "partNumber" in asked:
            self.held.parts[int(asked["partNumber"][0])] = data
        else:
            self.held.objects[key] = data
        return self._answer(200, ETag='"e"')

    def do_POST(self) -> None:
        key, asked = self._target()
        text = self._body().decode()
        if "delete" in asked:
            for name in re.findall(r"<Key>(.*?)</Key>", text):
                self.held.objects.pop(name, None)
            return self._xml("<DeleteResult></DeleteResult>")
        if "uploads" in asked:
            self.held.parts.clear()
            return self._xml("<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
        self.held.objects[key] = b"".join(data for _, data in sorted(self.held.parts.items()))
        return self._xml("<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>")

    def do_DELETE(self) -> None:
        key, _ = self._target()
        self.held.objects.pop(key, None)
        self._answer(204)
