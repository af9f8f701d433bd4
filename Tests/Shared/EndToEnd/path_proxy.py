"""A reverse proxy on the loopback interface that serves a dashboard below a path, as nginx and the
ingress of Home Assistant do."""

import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class PathProxy:
    """Everything that is not below the path is 404, except the site's own page with a frame. `strips`:
    removes the path from requests (`proxy_pass` with a `/` at its end). `is_ingress`: also names the
    path in `X-Ingress-Path`."""

    def __init__(self, target: int, path: str, strips: bool = False, is_ingress: bool = False) -> None:
        self.path = path
        self.strays: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"

            def pass_on(self) -> None:
                if self.path == "/":
                    body = f'<link rel="icon" href="data:,"><iframe src="{path}/" width="1200" height="800"></iframe>'.encode()
                    self.send_response(200)
                    self.send_header("Content-Type", "text/html")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                    return
                if self.path != path and not self.path.startswith(path + "/"):
                    outer.strays.append(self.path)
                    return self.send_error(404)
                sent = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
                sent |= {"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "http"}
                if is_ingress:
                    sent["X-Ingress-Path"] = path
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                upstream = http.client.HTTPConnection("127.0.0.1", target)
                place = self.path.removeprefix(path) or "/" if strips else self.path
                try:
                    upstream.request(self.command, place, body, sent)
                    answer = upstream.getresponse()
                    self.send_response_only(answer.status)
                    for name, value in answer.getheaders():
                        if name.lower() not in ("transfer-encoding", "connection"):
                            self.send_header(name, value)
                    self.end_headers()
                    while part := answer.read1(65_536):
                        self.wfile.write(part)
                except OSError:
                    self.close_connection = True
                finally:
                    upstream.close()

            do_GET = do_POST = pass_on

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.port}{self.path}{path}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
