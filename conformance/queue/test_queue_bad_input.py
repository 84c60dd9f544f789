"""What no SDK sends: raw requests that must be refused clearly and must leave the queue unharmed."""

import pytest

from raw import Client, elements


@pytest.fixture(scope="module")
def client(server):
    client = Client(server.ports["Queue"])
    assert client.call("PUT", "/bad").status == 201
    return client


def message(text):
    return f"<QueueMessage><MessageText>{text}</MessageText></QueueMessage>"


def put(client, text="x", **query):
    return elements(client.call("POST", "/bad/messages", query, body=message(text)).text)


PUT, GET, POST, DELETE = "PUT", "GET", "POST", "DELETE"
ID = "00000000-0000-4000-8000-000000000000"
RECEIPT = "AQ" + "A" * 42
OUT_OF_RANGE, INVALID, MISSING = ("OutOfRangeQueryParameterValue", "InvalidQueryParameterValue",
                                  "MissingRequiredQueryParameter")

REFUSED = [
    # method, path, query, body, status, code
    (GET, "/bad/messages", {"numofmessages": "0"}, "", 400, OUT_OF_RANGE),
    (GET, "/bad/messages", {"numofmessages": "33"}, "", 400, OUT_OF_RANGE),
    (GET, "/bad/messages", {"numofmessages": "-1"}, "", 400, OUT_OF_RANGE),
    (GET, "/bad/messages", {"numofmessages": "99999999999999999999"}, "", 400, OUT_OF_RANGE),
    (GET, "/bad/messages", {"numofmessages": "x"}, "", 400, INVALID),
    (GET, "/bad/messages", {"numofmessages": "0", "peekonly": "true"}, "", 400, OUT_OF_RANGE),
    (GET, "/bad/messages", {"peekonly": "maybe"}, "", 400, INVALID),
    (GET, "/bad/messages", {"visibilitytimeout": "0"}, "", 400, OUT_OF_RANGE),
    (GET, "/bad/messages", {"visibilitytimeout": "-1"}, "", 400, OUT_OF_RANGE),
    (GET, "/bad/messages", {"visibilitytimeout": "604801"}, "", 400, OUT_OF_RANGE),
    (POST, "/bad/messages", {"visibilitytimeout": "-1"}, message("x"), 400, OUT_OF_RANGE),
    (POST, "/bad/messages", {"visibilitytimeout": "604801"}, message("x"), 400, OUT_OF_RANGE),
    (POST, "/bad/messages", {"visibilitytimeout": "5", "messagettl": "5"}, message("x"), 400, INVALID),
    (POST, "/bad/messages", {"messagettl": "0"}, message("x"), 400, INVALID),
    (POST, "/bad/messages", {"messagettl": "-2"}, message("x"), 400, INVALID),
    (POST, "/bad/messages", {"messagettl": "1.5"}, message("x"), 400, INVALID),
    (POST, "/bad/messages", {}, message("x" * 65537), 413, "RequestBodyTooLarge"),
    (POST, "/bad/messages", {}, "x" * 1_000_000, 413, "RequestBodyTooLarge"),
    (POST, "/bad/messages", {}, "", 400, "InvalidXmlDocument"),
    (POST, "/bad/messages", {}, "no xml", 400, "InvalidXmlDocument"),
    (POST, "/bad/messages", {}, "<QueueMessage><MessageText>x</QueueMessage>", 400, "InvalidXmlDocument"),
    (POST, "/bad/messages", {}, message("&#1;"), 400, "InvalidXmlDocument"),
    (POST, "/bad/messages", {}, message("\x01"), 400, "InvalidXmlDocument"),
    (POST, "/bad/messages", {}, message("<b>bold</b>"), 400, "InvalidXmlDocument"),
    (POST, "/bad/messages", {}, "<!DOCTYPE a [<!ENTITY x 'y'>]>" + message("&x;"), 400, "InvalidXmlDocument"),
    (POST, "/bad/messages", {}, "<QueueMessage/>", 400, "MissingRequiredXmlNode"),
    (POST, "/bad/messages", {}, "<Other><MessageText>x</MessageText></Other>", 400, "MissingRequiredXmlNode"),
    (DELETE, f"/bad/messages/{ID}", {}, "", 400, MISSING),
    (DELETE, f"/bad/messages/{ID}", {"popreceipt": ""}, "", 400, INVALID),
    (DELETE, f"/bad/messages/{ID}", {"popreceipt": "not a receipt"}, "", 400, INVALID),
    (DELETE, f"/bad/messages/{ID}", {"popreceipt": RECEIPT}, "", 404, "MessageNotFound"),
    (DELETE, "/bad/messages/no-guid", {"popreceipt": RECEIPT}, "", 404, "MessageNotFound"),
    (PUT, f"/bad/messages/{ID}", {"visibilitytimeout": "1"}, message("x"), 400, MISSING),
    (PUT, f"/bad/messages/{ID}", {"popreceipt": RECEIPT}, message("x"), 400, MISSING),
    (PUT, f"/bad/messages/{ID}", {"popreceipt": RECEIPT, "visibilitytimeout": "1"}, message("x"), 404,
     "MessageNotFound"),
    (PUT, f"/bad/messages/{ID}", {"popreceipt": RECEIPT, "visibilitytimeout": "604801"}, "", 400, OUT_OF_RANGE),
    (PUT, f"/bad/messages/{ID}", {"popreceipt": "?", "visibilitytimeout": "1"}, "", 400, INVALID),
    (GET, "/missing/messages", {}, "", 404, "QueueNotFound"),
    (POST, "/missing/messages", {}, message("x"), 404, "QueueNotFound"),
    (DELETE, "/missing/messages", {}, "", 404, "QueueNotFound"),
    (DELETE, f"/missing/messages/{ID}", {"popreceipt": RECEIPT}, "", 404, "QueueNotFound"),
    (GET, "/missing", {"comp": "metadata"}, "", 404, "QueueNotFound"),
    (GET, "/missing", {"comp": "acl"}, "", 404, "QueueNotFound"),
    (GET, "/bad", {"comp": "unknown"}, "", 400, INVALID),
    (GET, "/bad", {}, "", 405, "UnsupportedHttpVerb"),
    (POST, "/bad", {}, "", 405, "UnsupportedHttpVerb"),
    (PUT, "/bad/messages", {}, "", 405, "UnsupportedHttpVerb"),
    (GET, "/bad/other", {}, "", 400, "InvalidUri"),
    (GET, f"/bad/messages/{ID}/more", {}, "", 400, "InvalidUri"),
    (GET, "/", {"comp": "list", "maxresults": "0"}, "", 400, OUT_OF_RANGE),
    (GET, "/", {"comp": "list", "include": "everything"}, "", 400, INVALID),
    (GET, "/", {"comp": "list", "marker": "~"}, "", 400, INVALID),
    (PUT, "/Bad", {}, "", 400, "InvalidResourceName"),
    (PUT, "/ab", {}, "", 400, "OutOfRangeInput"),
    (PUT, "/bad", {"comp": "acl"}, "<SignedIdentifiers><x>", 400, "InvalidXmlDocument"),
]


@pytest.mark.parametrize("method,path,query,body,status,code", REFUSED,
                         ids=[f"{row[0]} {row[1]} {row[2]} {row[3][:20]!r}" for row in REFUSED])
def test_refused(client, method, path, query, body, status, code):
    answer = client.call(method, path, query, body=body)
    assert (answer.status, answer.code) == (status, code), answer.text
    assert elements(answer.text)["Code"] == code
    if code == OUT_OF_RANGE:
        assert {"QueryParameterName", "QueryParameterValue", "MinimumAllowed",
                "MaximumAllowed"} <= set(elements(answer.text))


def test_a_range_is_told(client):
    found = elements(client.call(GET, "/bad/messages", {"numofmessages": "33"}).text)
    assert (found["QueryParameterName"], found["QueryParameterValue"]) == ("numofmessages", "33")
    assert (found["MinimumAllowed"], found["MaximumAllowed"]) == ("1", "32")
    found = elements(client.call(DELETE, f"/bad/messages/{ID}", {"popreceipt": "x"}).text)
    assert (found["QueryParameterName"], found["Reason"]) == ("popreceipt", "invalid receipt format")
    found = elements(client.call(POST, "/bad/messages", body=message("x" * 65537)).text)
    assert found["MaxLimit"] == "65536"


def test_an_update_past_the_expiry_tells_what_is_left(client):
    sent = put(client, messagettl="100")
    answer = client.call(PUT, f"/bad/messages/{sent['MessageId']}",
                         {"popreceipt": sent["PopReceipt"], "visibilitytimeout": "200"})
    found = elements(answer.text)
    assert (answer.status, answer.code, found["QueryParameterValue"]) == (400, OUT_OF_RANGE, "200")
    assert 90 <= int(found["MaximumAllowed"]) <= 100
    assert client.call(DELETE, "/bad/messages").status == 204


@pytest.mark.parametrize("version,says,longest", [("2015-12-11", False, False), ("2016-05-31", True, False),
                                                  ("2017-07-29", True, True)])
def test_versions_differ(server, client, version, says, longest):
    old = Client(server.ports["Queue"], version)
    answer = old.call(POST, "/bad/messages", body=message("x"))
    assert (answer.status, "PopReceipt" in elements(answer.text)) == (201, says)
    for ttl in ("-1", "604801"):
        answer = old.call(POST, "/bad/messages", {"messagettl": ttl}, body=message("x"))
        assert answer.status == (201 if longest else 400), (version, ttl)
    assert client.call(DELETE, "/bad/messages").status == 204


def test_answers_have_the_documented_form(client):
    assert client.call(PUT, "/bad").status == 204
    assert client.call(PUT, "/bad", headers={"x-ms-meta-a": "b"}).code == "QueueAlreadyExists"
    sent = put(client, "text")
    assert set(sent) == {"MessageId", "InsertionTime", "ExpirationTime", "PopReceipt", "TimeNextVisible"}
    peeked = elements(client.call(GET, "/bad/messages", {"peekonly": "true"}).text)
    assert set(peeked) == {"MessageId", "InsertionTime", "ExpirationTime", "DequeueCount", "MessageText"}
    answer = client.call(GET, "/bad/messages")
    got = elements(answer.text)
    assert set(got) == set(peeked) | {"PopReceipt", "TimeNextVisible"}
    assert answer.headers["Content-Type"] == "application/xml"
    updated = client.call(PUT, f"/bad/messages/{got['MessageId']}",
                          {"popreceipt": got["PopReceipt"], "visibilitytimeout": "0"})
    assert (updated.status, updated.text) == (204, "")
    assert updated.headers["x-ms-time-next-visible"].endswith(" GMT")
    gone = client.call(DELETE, f"/bad/messages/{got['MessageId'].upper()}",
                       {"popreceipt": updated.headers["x-ms-popreceipt"]})
    assert gone.status == 204
    head = client.call("HEAD", "/bad", {"comp": "metadata"})
    assert (head.status, head.headers["x-ms-approximate-messages-count"]) == (200, "0")


def test_somebody_else_is_not_let_in(client):
    stranger = "AAAA" + "A" * 84 + "=="
    for method, path in ((GET, "/bad/messages"), (DELETE, "/bad"), (POST, "/bad/messages")):
        answer = client.call(method, path, body=message("x") if method == POST else "", key=stranger)
        assert (answer.status, answer.code) == (403, "AuthenticationFailed")
