"""A server with the part of the Hugging Face Hub's protocol that downloads and uploads use."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "0123456789" * 4


class _Hub(BaseHTTPRequestHandler):
    repositories: dict[str, dict[str, bytes]]
    requests: list[str]

    def do_HEAD(self):
        self._answer()

    def do_GET(self):
        self._answer()

    def do_POST(self):
        self._answer()

    def _answer(self):
        self.requests.append(f"{self.command} {self.path}")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        for pattern, answer in self._ROUTES:
            if match := re.fullmatch(pattern, self.path.partition("?")[0]):
                return answer(self, body, *match.groups())
        return self._send(404, {"error": f"no such path: {self.path}"})

    def _info(self, body, name, *_):
        if name not in self.repositories:
            return self._send(404, {"error": "Repository not found"}, {"X-Error-Code": "RepoNotFound"})
        files = [{"rfilename": file} for file in self.repositories[name]]
        return self._send(200, {"id": name, "modelId": name, "sha": COMMIT, "siblings": files})

    def _file(self, body, name, file):
        content = self.repositories.get(name, {}).get(file)
        if content is None:
            return self._send(404, {"error": "Entry not found"}, {"X-Error-Code": "EntryNotFound"})
        etag = f'"{hashlib.sha1(content).hexdigest()}"'
        return self._send(200, content, {"ETag": etag, "X-Repo-Commit": COMMIT})

    def _tree(self, body, name):
        files = self.repositories.get(name, {})
        return self._send(
            200,
            [
                {"type": "file", "path": file, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}
                for file, content in files.items()
            ],
        )

    def _create(self, body):
        request = json.loads(body)
        name = "/".join(filter(None, [request.get("organization"), request["name"]]))
        self.repositories.setdefault(name, {})
        return self._send(200, {"url": f"http://{self.headers['Host']}/{name}"})

    def _preupload(self, body, name):
        files = json.loads(body)["files"]
        modes = [{"path": file["path"], "uploadMode": "regular", "shouldIgnore": False} for file in files]
        return self._send(200, {"files": modes})

    def _commit(self, body, name):
        for line in filter(None, body.split(b"\n")):
            item = json.loads(line)
            if item["key"] == "file":
                value = item["value"]
                self.repositories[name][value["path"]] = base64.b64decode(value["content"])
            elif item["key"] == "deletedFile":
                del self.repositories[name][item["value"]["path"]]
        url = f"http://{self.headers['Host']}/{name}/commit/{COMMIT}"
        return self._send(200, {"commitUrl": url, "commitOid": COMMIT})

    def _yaml(self, body):
        return self._send(200, {"errors": [], "warnings": []})

    _ROUTES = (
        (r"/api/models/([^/]+/[^/]+)/revision/[^/]+", _info),
        (r"/api/models/([^/]+/[^/]+)/tree/.+", _tree),
        (r"/api/models/([^/]+/[^/]+)/preupload/[^/]+", _preupload),
        (r"/api/models/([^/]+/[^/]+)/commit/[^/]+", _commit),
        (r"/api/models/([^/]+/[^/]+)", _info),
        (r"/api/repos/create", _create),
        (r"/api/validate-yaml", _yaml),
        (r"/([^/]+/[^/]+)/resolve/[^/]+/(.+)", _file),
    )

    def _send(self, status, content, headers=None):
        if not isinstance(content, bytes):
            content, headers = (
                json.dumps(content).encode(),
                {"Content-Type": "application/json", **(headers or {})},
            )
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_):
        pass


@contextmanager
def hub(repositories):
    """A server of repositories, {name: {file: content}}: its address, and the list of its requests."""
    handler = type("Hub", (_Hub,), {"repositories": repositories, "requests": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", handler.requests
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
