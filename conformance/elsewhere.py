"""Another web server, which gives as much of its file as a test lets it."""

import contextlib
import http.server
import threading
import time


class Elsewhere(http.server.ThreadingHTTPServer):
    """A web server with one file. Gives `free` bytes at once, and the rest when `go_on` is set."""

    daemon_threads = True

    def __init__(self, data, free=None):
        super().__init__(("127.0.0.1", 0), Answer)
        self.data, self.etag = data, '"one"'
        self.free = len(data) if free is None else free
        self.go_on, self.asked = threading.Event(), []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/file"

    def handle_error(self, request, client_address):
        pass  # a server that was killed does not say goodbye


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer(send_body=False)

    def do_GET(self):
        self.answer(send_body=True)

    def answer(self, send_body):
        site, span = self.server, self.headers.get("Range")
        site.asked.append((self.command, span, self.headers.get("If-Match")))
        if self.path != "/file" or self.headers.get("If-Match", site.etag) != site.etag:
            self.send_response(404 if self.path != "/file" else 412)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        start, end = 0, len(site.data)
        if span:
            first, last = span.removeprefix("bytes=").split("-")
            start, end = int(first), min(int(last) + 1 if last else end, end)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(site.data)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(end - start))
        self.send_header("ETag", site.etag)
        self.send_header("Content-Type", "text/elsewhere")
        self.end_headers()
        if not send_body:
            return
        with contextlib.suppress(OSError):
            at_once = max(start, min(end, site.free))
            self.wfile.write(site.data[start:at_once])
            if at_once < end:
                self.wfile.flush()
                if not site.go_on.wait(60):
                    self.close_connection = True
                    return
                self.wfile.write(site.data[at_once:end])


@contextlib.contextmanager
def elsewhere(*arguments):
    site = Elsewhere(*arguments)
    try:
        yield site
    finally:
        site.go_on.set()
        site.shutdown()
        site.server_close()


def until(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)
    return found
