"""Raw requests with Shared Key, for what no SDK sends."""

import base64
import datetime
import hashlib
import hmac
import http.client
import re
import urllib.parse

from lazuli import ACCOUNT, KEY


def sign(method, path, query, headers, key=KEY):
    """Shared Key, written again from the documentation."""
    def value(name):
        return headers.get(name, "")

    length = value("Content-Length")
    lines = [method, value("Content-Encoding"), value("Content-Language"), "" if length == "0" else length,
             value("Content-MD5"), value("Content-Type"), "", "", value("If-Match"), value("If-None-Match"), "",
             value("Range")]
    ours = sorted((name.lower(), text) for name, text in headers.items() if name.lower().startswith("x-ms-"))
    resource = f"/{ACCOUNT}{path}" + "".join(f"\n{name.lower()}:{text}" for name, text in sorted(query.items()))
    text = "\n".join(lines) + "\n" + "".join(f"{name}:{text}\n" for name, text in ours) + resource
    digest = hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256).digest()
    return f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"


class Client:
    """One connection a call."""

    def __init__(self, port, version="2024-11-04"):
        self.port = port
        self.version = version

    def call(self, method, path, query=None, headers=None, body=b"", key=KEY):
        query = query or {}
        body = body.encode() if isinstance(body, str) else body
        path = f"/{ACCOUNT}{path}"
        headers = {"x-ms-version": self.version,
                   "x-ms-date": datetime.datetime.now(datetime.UTC).strftime("%a, %d %b %Y %H:%M:%S GMT"),
                   "Content-Length": str(len(body)), **(headers or {})}
        headers["Authorization"] = sign(method, path, query, headers, key)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        url = path + ("?" + urllib.parse.urlencode(query, quote_via=urllib.parse.quote) if query else "")
        try:
            connection.putrequest(method, url, skip_accept_encoding=True)
            for name, text in headers.items():
                connection.putheader(name, text)
            connection.endheaders()
            connection.send(body)
            answer = connection.getresponse()
            answer.text = answer.read().decode(errors="replace")
            answer.code = answer.headers.get("x-ms-error-code")
            return answer
        finally:
            connection.close()


def elements(text):
    """The elements of a flat document that hold text: enough for error bodies and single messages."""
    return dict(re.findall(r"<(\w+)>([^<]*)</\1>", text))
