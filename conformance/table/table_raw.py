"""Signed requests without a client library, for what no library sends."""

import base64
import email.utils
import hashlib
import hmac
import http.client
import json

from lazuli import ACCOUNT, KEY


def code_of(error):
    """The code of an error of the SDK, which does not always take it out of the answer itself."""
    return str(getattr(getattr(error, "error_code", None), "value", None)
               or getattr(error, "error_code", None) or error.response.headers["x-ms-error-code"])


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        """The code in the body, which must be the one in the header."""
        code = self.json["odata.error"]["code"]
        assert self.headers["x-ms-error-code"] == code
        return code

    @property
    def message(self):
        return self.json["odata.error"]["message"]["value"]


class Raw:
    def __init__(self, server):
        self.port = server.ports["Table"]

    def call(self, method, path, body=b"", headers=None, version="2019-02-02", lite=False, comp=None, host=None):
        """`path` is encoded, behind the account, and may have a query. With a `host`, the account is in its name."""
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
        elif isinstance(body, str):
            body = body.encode()
        sent = {"x-ms-date": email.utils.formatdate(usegmt=True), "Accept": "application/json;odata=minimalmetadata"}
        if body:
            sent["Content-Type"] = "application/json"
        if version:
            sent["x-ms-version"] = version
        sent.update(headers or {})
        sent = {name: value for name, value in sent.items() if value is not None}
        url = path if host else f"/{ACCOUNT}{path}"
        if host:
            sent["Host"] = host
        resource = f"/{ACCOUNT}{url.split('?')[0]}" + (f"?comp={comp}" if comp else "")
        lines = [sent["x-ms-date"], resource]
        if not lite:
            lines = [method, "", sent.get("Content-Type", ""), *lines]
        signature = hmac.new(base64.b64decode(KEY), "\n".join(lines).encode(), hashlib.sha256).digest()
        scheme = "SharedKeyLite" if lite else "SharedKey"
        sent["Authorization"] = f"{scheme} {ACCOUNT}:{base64.b64encode(signature).decode()}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, url, body=body, headers=sent)
            return Answer(connection.getresponse())
        finally:
            connection.close()
