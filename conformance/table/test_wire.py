"""What is on the wire: metadata levels, headers, tunnelled verbs, Atom, batches by hand, bad input."""

import re
import threading
import xml.etree.ElementTree as ElementTree

import pytest
from lazuli import ACCOUNT

ENTITY = {"PartitionKey": "p'1", "RowKey": "r", "text": "x", "n": 5, "half": 1.5, "big@odata.type": "Edm.Int64", "big": "5",
          "at@odata.type": "Edm.DateTime", "at": "2026-01-02T03:04:05.1234567Z"}
PATH = "(PartitionKey='p%27%271',RowKey='r')"


@pytest.fixture()
def name(table):
    return table.table_name


@pytest.mark.parametrize("level", ["nometadata", "minimalmetadata", "fullmetadata"])
def test_metadata_levels(raw, name, level):
    accept = f"application/json;odata={level}"
    made = raw.call("POST", f"/{name}", ENTITY, {"Accept": accept})
    assert made.status == 201 and made.headers["content-type"].startswith(accept)
    found = raw.call("GET", f"/{name}{PATH}", headers={"Accept": accept})
    assert found.status == 200 and found.json == made.json and found.headers["etag"] == made.headers["etag"]
    entity = found.json
    assert entity["big"] == "5" and entity["n"] == 5 and entity["at"] == "2026-01-02T03:04:05.1234567Z"
    assert ("odata.metadata" in entity) == ("odata.etag" in entity) == (level != "nometadata")
    assert ("big@odata.type" in entity) == ("at@odata.type" in entity) == (level != "nometadata")
    assert "n@odata.type" not in entity and "half@odata.type" not in entity
    full = level == "fullmetadata"
    assert ("Timestamp@odata.type" in entity) == ("odata.id" in entity) == ("odata.editLink" in entity) == full
    if full:
        assert entity["odata.type"] == f"{ACCOUNT}.{name}"
        assert entity["odata.id"].endswith(f"/{ACCOUNT}/{name}{PATH}") and entity["odata.editLink"] == name + PATH
    if level != "nometadata":
        assert entity["odata.metadata"].endswith(f"/{ACCOUNT}/$metadata#{name}/@Element")
        assert entity["odata.etag"] == found.headers["etag"]
    page = raw.call("GET", f"/{name}()?$format={accept}")
    listed = {key: value for key, value in entity.items() if key != "odata.metadata"}
    assert page.json["value"] == [listed]
    assert page.json.get("odata.metadata", f"#{name}").endswith(f"#{name}")


def test_the_etag_is_the_timestamp(raw, name):
    made = raw.call("POST", f"/{name}", ENTITY)
    stamp = made.json["Timestamp"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z", stamp)
    assert made.headers["etag"] == "W/\"datetime'" + stamp.replace(":", "%3A") + "'\""
    assert made.headers["location"].endswith(f"/{name}{PATH}")


def test_preferences(raw, name):
    for prefer, status in [(None, 201), ("return-content", 201), ("return-no-content", 204)]:
        made = raw.call("POST", f"/{name}", {"PartitionKey": "p", "RowKey": str(prefer)}, {"Prefer": prefer})
        assert made.status == status and bool(made.body) == (status == 201)
        assert made.headers.get("preference-applied") == prefer
        assert made.headers["dataserviceversion"] == "3.0;" and made.headers["etag"]
        assert ("dataserviceid" in made.headers) == (status == 204)
    refused = raw.call("POST", f"/{name}", {"PartitionKey": "p", "RowKey": "x"}, {"Prefer": "nothing"})
    assert (refused.status, refused.code) == (400, "InvalidHeaderValue")


def test_creating_and_reading_a_table(raw):
    made = raw.call("POST", "/Tables", {"TableName": "WireTable"}, {"Accept": "application/json;odata=fullmetadata"})
    assert made.status == 201 and made.json["TableName"] == "WireTable"
    assert made.json["odata.type"] == f"{ACCOUNT}.Tables" and made.json["odata.id"].endswith("/Tables('WireTable')")
    assert made.headers["location"].endswith("/Tables('WireTable')")
    found = raw.call("GET", "/Tables('wiretable')", headers={"Accept": "application/json;odata=nometadata"})
    assert found.json == {"TableName": "WireTable"}
    assert raw.call("DELETE", "/Tables('WireTable')").status == 204
    gone = raw.call("DELETE", "/Tables('WireTable')")
    assert gone.status == 404 and gone.code == "ResourceNotFound"
    assert raw.call("GET", "/Tables('WireTable')").code == "ResourceNotFound"
    quiet = raw.call("POST", "/Tables", {"TableName": "WireTable"}, {"Prefer": "return-no-content"})
    assert quiet.status == 204 and quiet.headers["preference-applied"] == "return-no-content"
    raw.call("DELETE", "/Tables('WireTable')")


def test_verbs(raw, name):
    raw.call("POST", f"/{name}", ENTITY)
    star = {"If-Match": "*"}
    for number, (verb, extra) in enumerate([("MERGE", {}), ("PATCH", {}), ("POST", {"X-HTTP-Method": "MERGE"}),
                                            ("POST", {"X-HTTP-Method": "PATCH"})]):
        assert raw.call(verb, f"/{name}{PATH}", {f"m{number}": 1}, {**star, **extra}).status == 204
    found = raw.call("GET", f"/{name}{PATH}").json
    assert found["text"] == "x" and all(found[f"m{number}"] == 1 for number in range(4))
    assert raw.call("POST", f"/{name}{PATH}", {"only": 1}, {**star, "X-HTTP-Method": "PUT"}).status == 204
    assert "text" not in raw.call("GET", f"/{name}{PATH}").json
    assert raw.call("POST", f"/{name}{PATH}", headers={**star, "X-HTTP-Method": "DELETE"}).status == 204
    table = [
        ("PUT", {"X-HTTP-Method": "MERGE"}, 400, "XMethodNotUsingPost"),
        ("POST", {"X-HTTP-Method": "GET"}, 400, "XMethodIncorrectValue"),
        ("POST", {}, 405, "MethodNotAllowed"),
    ]
    for verb, extra, status, code in table:
        refused = raw.call(verb, f"/{name}{PATH}", {}, extra)
        assert (refused.status, refused.code) == (status, code)


def test_conditions(raw, name):
    etag = raw.call("POST", f"/{name}", ENTITY).headers["etag"]
    table = [
        ("DELETE", {}, 400, "MissingRequiredHeader"),
        ("DELETE", {"If-Match": ""}, 400, "InvalidInput"),
        ("DELETE", {"If-Match": '"strong"'}, 400, "InvalidInput"),
        ("DELETE", {"If-Match": f"{etag}, {etag}"}, 400, "InvalidInput"),
        ("DELETE", {"If-Match": "*", "If-None-Match": "*"}, 400, "InvalidInput"),
        ("PUT", {"If-Match": "W/\"datetime'2020-01-01T00%3A00%3A00.0000000Z'\""}, 412, "UpdateConditionNotSatisfied"),
        ("PUT", {"If-Match": 'W/"0x5B168C7B6E589D2"'}, 412, "UpdateConditionNotSatisfied"),
        ("PUT", {"If-None-Match": "*"}, 400, "InvalidInput"),
    ]
    for verb, headers, status, code in table:
        refused = raw.call(verb, f"/{name}{PATH}", {"a": 1} if verb == "PUT" else b"", headers)
        assert (refused.status, refused.code) == (status, code), headers
    assert raw.call("DELETE", f"/{name}{PATH}", headers={"If-Match": etag}).status == 204


def test_keys_come_from_the_address(raw, name):
    raw.call("PUT", f"/{name}(RowKey='a',PartitionKey='b')", {"PartitionKey": "other", "RowKey": "other", "n": 1})
    assert raw.call("GET", f"/{name}(PartitionKey='b',RowKey='a')").json["n"] == 1


def test_bodies_that_are_no_entities(raw, name):
    table = [
        (b"", "InvalidInput"), (b"[]", "InvalidInput"), (b"{", "InvalidInput"),
        (b'{"PartitionKey":"p","RowKey":"r","a":{}}', "InvalidInput"),
        (b'{"PartitionKey":"p","RowKey":"r","a":"\xff"}', "InvalidInput"),
        (b'{"PartitionKey":"p","RowKey":"r","a@odata.type":"Edm.Int32","a":"x"}', "InvalidInput"),
        (b'{"PartitionKey":"p","RowKey":"r","a@odata.type":"Edm.Decimal","a":"5"}', "InvalidInput"),
        (b'{"PartitionKey":"p","RowKey":5}', "InvalidInput"),
        (b'{"PartitionKey":"p"}', "PropertiesNeedValue"),
        (b'{"PartitionKey":"p","RowKey":null}', "PropertiesNeedValue"),
        (b'{"PartitionKey":"p","RowKey":"r","a":1,"a":2}', "DuplicatePropertiesSpecified"),
    ]
    for body, code in table:
        refused = raw.call("POST", f"/{name}", body, {"Content-Type": "application/json"})
        assert (refused.status, refused.code) == (400, code), body
        assert "RequestId:" in refused.message and "Time:" in refused.message
    refused = raw.call("POST", f"/{name}", b"x" * 5_000_000)
    assert (refused.status, refused.code) == (413, "RequestBodyTooLarge")


def test_addresses_that_name_nothing(raw, name):
    table = [
        ("GET", f"/{name}(PartitionKey='a')", 400, "InvalidInput"),
        ("GET", f"/{name}(PartitionKey='a',RowKey='b'", 400, "InvalidUri"),
        ("GET", f"/{name}(PartitionKey='a/b',RowKey='b')", 400, "InvalidUri"),
        ("GET", f"/{name}(PartitionKey='a%2Fb',RowKey='b')", 400, "OutOfRangeInput"),
        ("GET", "/x", 400, "OutOfRangeInput"),
        ("GET", "/with-dash", 400, "InvalidResourceName"),
        ("GET", "/NotThere", 404, "TableNotFound"),
        ("GET", "/NotThere(PartitionKey='a',RowKey='b')", 404, "TableNotFound"),
        ("GET", f"/{name}?$top=x", 400, "InvalidInput"),
        ("GET", f"/{name}?$top=1001", 400, "InvalidInput"),
        ("GET", "/Tables?$top=1001", 400, "InvalidInput"),
        ("GET", f"/{name}?NextPartitionKey=x", 400, "InvalidInput"),
        ("PUT", f"/{name}", 405, "MethodNotAllowed"),
    ]
    for verb, path, status, code in table:
        refused = raw.call(verb, path)
        assert (refused.status, refused.code) == (status, code), path


def test_options_that_the_service_does_not_have_were_left_out_in_silence(raw, name):
    raw.call("POST", f"/{name}", ENTITY)
    for path in (f"/{name}()", f"/{name}{PATH}", "/Tables"):
        for option in ("$orderby=n%20desc", "$skip=1", "$inlinecount=allpages", "$expand=x", "$count=true"):
            refused = raw.call("GET", f"{path}?{option}")
            assert (refused.status, refused.code) == (501, "NotImplemented"), f"{path} {option}"
            assert option.split("=")[0] in refused.message
        assert raw.call("GET", f"{path}?$format=json&$select=n").status == 200


def test_the_service_says_what_it_has(raw):
    document = raw.call("GET", "/")
    assert (document.status, document.json["value"]) == (200, [{"name": "Tables", "url": "Tables"}])
    schema = raw.call("GET", "/$metadata", headers={"Accept": "application/xml"})
    assert schema.status == 200 and b'<EntitySet Name="Tables"' in schema.body


def test_the_filter_of_one_entity_was_not_looked_at(raw, name):
    raw.call("POST", f"/{name}", ENTITY)
    for condition, status in (("n%20eq%205", 200), ("n%20eq%206", 404), ("n%20eq", 400)):
        assert raw.call("GET", f"/{name}{PATH}?$filter={condition}").status == status, condition


def test_a_table_that_was_not_there_is_a_resource_that_was_not_found(raw):
    """TableNotFound is an error to DeleteIfExists of the .NET clients, by their source: they take no other code."""
    for verb in ("GET", "DELETE"):
        refused = raw.call(verb, "/Tables('NotThere')")
        assert (refused.status, refused.code) == (404, "ResourceNotFound"), verb


def test_a_forgotten_condition_was_an_upsert_before_there_were_upserts(raw, name):
    entity = ATOM.format("<d:PartitionKey>p</d:PartitionKey><d:RowKey>r</d:RowKey>")
    for version, status in (("2009-09-19", 400), ("2011-08-18", 204)):
        for verb in ("PUT", "MERGE"):
            headers = {"Content-Type": "application/atom+xml", "Accept": "application/atom+xml"}
            answer = raw.call(verb, f"/{name}{PATH}", entity, headers, version=version)
            assert answer.status == status, f"{verb} {version}: {answer.body}"
            if status == 400:
                assert answer.headers["x-ms-error-code"] == "MissingRequiredHeader"
    assert raw.call("PUT", f"/{name}{PATH}", entity, {**headers, "If-Match": "*"}, version="2009-09-19").status == 204


def test_shared_key_lite_and_wrong_keys(raw, name):
    assert raw.call("GET", f"/{name}", lite=True).status == 200
    wrong = raw.call("GET", f"/{name}", headers={"Authorization": None})
    assert wrong.status == 200  # the signature is added behind
    connection = raw.call("GET", f"/{name}", comp="acl")  # signed for another resource
    assert (connection.status, connection.code) == (403, "AuthenticationFailed")


def test_tokens_are_those_of_the_service(raw, name):
    for row in "abc":
        raw.call("POST", f"/{name}", {"PartitionKey": "p", "RowKey": row})
    page = raw.call("GET", f"/{name}()?$top=1")
    partition, row = (page.headers[f"x-ms-continuation-next{key}"] for key in ("partitionkey", "rowkey"))
    assert (partition, row) == ("1!4!cA--", "1!4!Yg--")
    second = raw.call("GET", f"/{name}()?$top=1&NextPartitionKey={partition}&NextRowKey={row}")
    assert [entity["RowKey"] for entity in second.json["value"]] == ["b"]
    rest = raw.call("GET", f"/{name}()?NextPartitionKey={partition}")
    assert len(rest.json["value"]) == 3 and "x-ms-continuation-nextpartitionkey" not in rest.headers


ATOM = """<?xml version="1.0" encoding="utf-8"?>
<entry xmlns:d="http://schemas.microsoft.com/ado/2007/08/dataservices"
 xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata" xmlns="http://www.w3.org/2005/Atom">
 <title /><updated>2013-01-01T00:00:00Z</updated><author><name /></author><id />
 <content type="application/xml"><m:properties>{}</m:properties></content></entry>"""
NAMES = {"a": "http://www.w3.org/2005/Atom", "d": "http://schemas.microsoft.com/ado/2007/08/dataservices",
         "m": "http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"}


def test_atom_in_old_versions(raw):
    old = {"Content-Type": "application/atom+xml", "Accept": "application/atom+xml,application/xml"}
    made = raw.call("POST", "/Tables", ATOM.format("<d:TableName>AtomTable</d:TableName>"), old, version="2012-02-12")
    assert made.status == 201 and made.headers["dataserviceversion"] == "1.0;"
    properties = ("<d:PartitionKey>p</d:PartitionKey><d:RowKey>r</d:RowKey><d:Text>a &lt; b</d:Text>"
                  "<d:Big m:type=\"Edm.Int64\">5</d:Big><d:Score m:type=\"Edm.Double\">INF</d:Score>"
                  "<d:Gone m:null=\"true\" />")
    made = raw.call("POST", "/AtomTable", ATOM.format(properties), old, version="2012-02-12")
    assert made.status == 201
    root = ElementTree.fromstring(made.body)
    found = {element.tag.split("}")[1]: element for element in root.find(".//m:properties", NAMES)}
    assert found["Text"].text == "a < b" and found["Big"].text == "5" and found["Score"].text == "INF"
    assert found["Big"].get("{%s}type" % NAMES["m"]) == "Edm.Int64" and "Gone" not in found
    assert root.get("{%s}etag" % NAMES["m"]) == made.headers["etag"]
    feed = ElementTree.fromstring(raw.call("GET", "/AtomTable()", headers=old, version="2012-02-12").body)
    assert len(feed.findall("a:entry", NAMES)) == 1
    tables = ElementTree.fromstring(raw.call("GET", "/Tables", headers=old, version="2012-02-12").body)
    assert "AtomTable" in [element.text for element in tables.findall(".//d:TableName", NAMES)]
    refused = raw.call("GET", "/AtomTable(PartitionKey='x',RowKey='x')", headers=old, version="2012-02-12")
    error = ElementTree.fromstring(refused.body)
    assert refused.status == 404 and error.find("m:code", NAMES).text == "ResourceNotFound"
    assert raw.call("GET", "/AtomTable", headers=old).status == 415  # since 2015-12-11
    assert raw.call("GET", "/AtomTable", version="2012-02-12").status == 415  # JSON since 2013-08-15
    assert raw.call("GET", "/AtomTable", version="2013-08-15").json["value"][0]["big" if False else "Big"] == "5"
    raw.call("DELETE", "/Tables('AtomTable')")


def change(verb, url, body="", headers=""):
    return (f"--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\nContent-ID: 7\r\n\r\n"
            f"{verb} {url} HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json;odata=nometadata\r\n"
            f"{headers}\r\n{body}\r\n")


def batch(raw, *parts, host=None):
    body = "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n" + "".join(parts) + "--c--\r\n--b--\r\n"
    return raw.call("POST", "/$batch", body, {"Content-Type": "multipart/mixed; boundary=b"}, host=host)


def test_batches_by_hand(raw, name):
    one = '{"PartitionKey":"p","RowKey":"%s"}'
    addresses = [f"http://127.0.0.1/{ACCOUNT}/{name}", f"https://{ACCOUNT}.table.core.windows.net/{name}",
                 f"/{ACCOUNT}/{name}", f"/{name}"]
    done = batch(raw, *(change("POST", url, one % number) for number, url in enumerate(addresses)))
    assert done.status == 202 and done.headers["content-type"].startswith("multipart/mixed; boundary=batchresponse_")
    text = done.body.decode()
    assert text.count("HTTP/1.1 201 Created") == 4 and text.count("Content-ID: 7") == 4 and text.count("ETag: W/") == 4
    failed = batch(raw, change("POST", f"/{name}", one % "x"), change("POST", f"/{name}", one % "0"))
    text = failed.body.decode()
    assert failed.status == 202 and text.count("HTTP/1.1") == 1 and "HTTP/1.1 409 Conflict" in text
    assert '"value":"1:The specified entity already exists.' in text
    mixed = batch(raw, change("POST", f"/{name}", one % "x"), change("POST", f"/{name}", (one % "y").replace('"p"', '"q"')))
    assert '"CommandsInBatchActOnDifferentPartitions"' in mixed.body.decode() and '"1:All commands' in mixed.body.decode()
    broken = batch(raw, change("POST", f"/{name}", one % "x"), change("POST", f"/{name}", "{"))
    assert "HTTP/1.1 400" in broken.body.decode() and '"value":"1:' in broken.body.decode()
    tunnelled = batch(raw, change("POST", f"/{name}(PartitionKey='p',RowKey='0')", '{"n":1}', "X-HTTP-Method: MERGE\r\n"))
    assert "HTTP/1.1 204" in tunnelled.body.decode()
    assert len(raw.call("GET", f"/{name}").json["value"]) == 4


def test_everything_works_with_the_account_in_the_name_of_the_host(raw, name):
    host = f"{ACCOUNT}.table.localhost:{raw.port}"
    made = raw.call("POST", f"/{name}", ENTITY, {"Accept": "application/json;odata=fullmetadata"}, host=host)
    assert made.status == 201 and made.json["odata.id"].startswith(f"http://{host}/{name}(")
    assert made.headers["location"].startswith(f"http://{host}/{name}(")
    one = '{"PartitionKey":"p","RowKey":"%s"}'
    done = batch(raw, *(change("POST", url, one % number) for number, url in
                        enumerate([f"http://{host}/{name}", f"/{name}", f"{name}"])), host=host)
    text = done.body.decode()
    assert done.status == 202 and text.count("HTTP/1.1 201 Created") == 3 and f"Location: http://{host}/{name}(" in text
    failed = batch(raw, change("POST", f"http://{host}/{name}", one % "0"), host=host)
    assert failed.status == 202 and '"0:The specified entity already exists.' in failed.body.decode()
    found = raw.call("GET", f"/{name}()", host=host)
    assert len(found.json["value"]) == 4 and found.json == {**raw.call("GET", f"/{name}()").json, "odata.metadata":
                                                            f"http://{host}/$metadata#{name}"}


def test_a_query_in_a_batch(raw, name):
    raw.call("POST", f"/{name}", {"PartitionKey": "p", "RowKey": "r", "n": 5})
    part = (f"--b\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
            f"GET http://127.0.0.1/{ACCOUNT}/{name}(PartitionKey='p',RowKey='%s') HTTP/1.1\r\n"
            f"Accept: application/json;odata=nometadata\r\n\r\n\r\n")
    kind = {"Content-Type": "multipart/mixed; boundary=b"}
    found = raw.call("POST", "/$batch", part % "r" + "--b--", kind)
    assert found.status == 202 and "HTTP/1.1 200 OK" in found.body.decode() and '"n":5' in found.body.decode()
    absent = raw.call("POST", "/$batch", part % "x" + "--b--", kind)
    assert absent.status == 202 and "HTTP/1.1 404" in absent.body.decode() and "ResourceNotFound" in absent.body.decode()
    two = raw.call("POST", "/$batch", part % "r" + part % "r" + "--b--", kind)
    assert (two.status, two.code) == (400, "InvalidInput")


@pytest.mark.parametrize("body", ["", "--b", "--b--", "text", "--b\r\n\r\n--b--", "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c--\r\n--b--"])
def test_a_batch_that_is_none(raw, body):
    refused = raw.call("POST", "/$batch", body, {"Content-Type": "multipart/mixed; boundary=b"})
    assert (refused.status, refused.code) == (400, "InvalidInput")


def test_many_inserts_into_one_partition_at_once(raw, name):
    statuses = []

    def insert(start):
        for number in range(start, start + 50):
            statuses.append(raw.call("POST", f"/{name}", {"PartitionKey": "p", "RowKey": f"{number}"}).status)

    threads = [threading.Thread(target=insert, args=(50 * number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [201] * 400
    assert len(raw.call("GET", f"/{name}").json["value"]) == 400
