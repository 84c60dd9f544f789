"""Requests that no SDK sends: signed by hand, answered as they are."""

import base64
import datetime
import hashlib
import hmac
import http.client
import re
import urllib.parse
import xml.etree.ElementTree

from lazuli import ACCOUNT, KEY

VERSION = "2021-12-02"


def http_date(moment=None):
    moment = moment or datetime.datetime.now(datetime.UTC)
    return moment.strftime("%a, %d %b %Y %H:%M:%S GMT")


def sign(method, path, query, headers, key=KEY):
    """Shared Key, written again from the documentation. Returns the string to sign and the header."""
    sent = {name.lower(): text for name, text in headers.items()}

    def value(name):
        return sent.get(name.lower(), "")

    length = value("Content-Length")
    if length == "0" and value("x-ms-version") >= "2015-02-21":
        length = ""
    lines = [method, value("Content-Encoding"), value("Content-Language"), length,
             value("Content-MD5"), value("Content-Type"), "", value("If-Modified-Since"), value("If-Match"),
             value("If-None-Match"), value("If-Unmodified-Since"), value("Range")]
    ours = sorted((name, text) for name, text in sent.items() if name.startswith("x-ms-"))
    resource = f"/{ACCOUNT}{path}" + "".join(f"\n{name.lower()}:{text}" for name, text in sorted(query.items()))
    text = "\n".join(lines) + "\n" + "".join(f"{name}:{text}\n" for name, text in ours) + resource
    digest = hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256).digest()
    return text, f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"


class Client:
    """One request, one connection. Answers have `text`, `content` and `code` beside what http.client gives them."""

    def __init__(self, port, version=VERSION):
        self.port = port
        self.version = version

    def call(self, method, path, query=None, headers=None, body=b"", key=KEY, send_length=True):
        with Connection(self.port, self.version) as connection:
            return connection.call(method, path, query, headers, body, key, send_length)


class Connection:
    """The same, for many requests one after another."""

    def __init__(self, port, version=VERSION):
        self.version = version
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def call(self, method, path, query=None, headers=None, body=b"", key=KEY, send_length=True):
        query = query or {}
        body = body.encode() if isinstance(body, str) else body
        path = f"/{ACCOUNT}{path}"
        headers = {"x-ms-version": self.version, "x-ms-date": http_date(), **(headers or {})}
        if send_length and "Content-Length" not in headers:
            headers["Content-Length"] = str(len(body))
        headers["Authorization"] = sign(method, path, query, headers, key)[1]
        url = path + ("?" + urllib.parse.urlencode(query, quote_via=urllib.parse.quote) if query else "")
        self.connection.putrequest(method, url, skip_accept_encoding=True)
        for name, text in headers.items():
            self.connection.putheader(name, text)
        self.connection.endheaders()
        self.connection.send(body)
        answer = self.connection.getresponse()
        answer.content = answer.read()
        answer.text = answer.content.decode(errors="replace")
        answer.code = answer.headers.get("x-ms-error-code")
        return answer


def xml_of(answer):
    return xml.etree.ElementTree.fromstring(answer.content)


def elements(text):
    """The elements of a flat document that hold text: enough for error bodies and single messages."""
    return dict(re.findall(r"<(\w+)>([^<]*)</\1>", text))
