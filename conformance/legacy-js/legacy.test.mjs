// Blob, Queue and Table through the last JavaScript client of the first generation, `azure-storage` 2.10.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { start } from "../js/lazuli.mjs";

// It is older than modules, and says on every start that it is deprecated.
process.noDeprecation = true;
const azure = createRequire(import.meta.url)("azure-storage");

/** A client whose functions return promises, except for those that only compute. */
const promised = (client) =>
  new Proxy(client, {
    get(target, name) {
      const found = target[name];
      if (typeof found !== "function") return found;
      return /^(generate|getUrl)/.test(name) ? found.bind(target) : promisify(found).bind(target);
    },
  });

let server, blobs, queues, tables;
before(async () => {
  server = await start();
  blobs = promised(azure.createBlobService(server.connectionString));
  queues = promised(azure.createQueueService(server.connectionString));
  tables = promised(azure.createTableService(server.connectionString));
});
after(() => server.stop());

async function refused(statusCode, code, call) {
  const error = await call().then(() => assert.fail("it was not refused"), (found) => found);
  assert.deepEqual([error.statusCode, error.code], [statusCode, code]);
}

const later = () => new Date(Date.now() + 3_600_000);
const namesOf = (found) => found.entries.map((entry) => entry.name);

test("blobs are put, read and listed", async () => {
  await blobs.createContainer("texts", { metadata: { team: "blue" } });
  await refused(409, "ContainerAlreadyExists", () => blobs.createContainer("texts"));
  assert.deepEqual((await blobs.getContainerMetadata("texts")).metadata, { team: "blue" });
  for (const name of ["a/1", "a/2", "b & <c>"])
    await blobs.createBlockBlobFromText("texts", name, `wörld ${name}`, { metadata: { k: "v" } });
  assert.equal(await blobs.getBlobToText("texts", "b & <c>"), "wörld b & <c>");
  assert.deepEqual((await blobs.getBlobProperties("texts", "a/1")).metadata, { k: "v" });
  assert.deepEqual(namesOf(await blobs.listBlobsSegmented("texts", null)), ["a/1", "a/2", "b & <c>"]);
  const first = await blobs.listBlobsSegmented("texts", null, { maxResults: 2 });
  const second = await blobs.listBlobsSegmented("texts", first.continuationToken);
  assert.deepEqual([namesOf(first), namesOf(second)], [["a/1", "a/2"], ["b & <c>"]]);
  assert.deepEqual(namesOf(await blobs.listBlobDirectoriesSegmented("texts", null)), ["a/"]);
  await blobs.deleteBlob("texts", "a/1");
  assert.equal((await blobs.doesBlobExist("texts", "a/1")).exists, false);
  await refused(404, "BlobNotFound", () => blobs.getBlobToText("texts", "a/1"));
  await blobs.deleteContainer("texts");
});

test("a large blob goes up in blocks", async () => {
  await blobs.createContainer("large");
  const text = "0123456789abcdef".repeat(2 * 1024 * 1024);
  const { Readable } = await import("node:stream");
  const stream = Readable.from([Buffer.from(text)]);
  await blobs.createBlockBlobFromStream("large", "b", stream, text.length, { parallelOperationThreadCount: 4, blockSize: 4 * 1024 * 1024 });
  assert.equal(await blobs.getBlobToText("large", "b"), text);
  assert.equal((await blobs.listBlocks("large", "b", "committed")).CommittedBlocks.length, 8);
});

test("an ETag and a lease guard a blob", async () => {
  await blobs.createContainer("guarded");
  const put = (text, options = {}) => blobs.createBlockBlobFromText("guarded", "b", text, options);
  const { etag } = await put("0");
  await put("1", { accessConditions: { EtagMatch: etag } });
  await refused(412, "ConditionNotMet", () => put("2", { accessConditions: { EtagMatch: etag } }));
  const { id } = await blobs.acquireLease("guarded", "b", { leaseDuration: 15 });
  await refused(409, "LeaseAlreadyPresent", () => blobs.acquireLease("guarded", "b", { leaseDuration: 15 }));
  await refused(412, "LeaseIdMissing", () => put("2"));
  await put("3", { leaseId: id });
  await blobs.renewLease("guarded", "b", id);
  await blobs.releaseLease("guarded", "b", id);
  await put("4");
});

test("snapshots, copies, pages and appends", async () => {
  await blobs.createContainer("kinds");
  await blobs.createBlockBlobFromText("kinds", "b", "old");
  const snapshotId = await blobs.createBlobSnapshot("kinds", "b");
  await blobs.createBlockBlobFromText("kinds", "b", "new");
  assert.equal(await blobs.getBlobToText("kinds", "b", { snapshotId }), "old");
  const copy = await blobs.startCopyBlob(blobs.getUrl("kinds", "b"), "kinds", "copy");
  assert.equal(copy.copy.status, "success");
  assert.equal(await blobs.getBlobToText("kinds", "copy"), "new");
  await blobs.createPageBlob("kinds", "disk", 2048);
  const { Readable } = await import("node:stream");
  await blobs.createPagesFromStream("kinds", "disk", Readable.from([Buffer.alloc(512, "p")]), 512, 1023);
  assert.deepEqual(await blobs.listPageRanges("kinds", "disk"), [{ start: 512, end: 1023 }]);
  await blobs.createAppendBlobFromText("kinds", "log", "one,");
  await blobs.appendFromText("kinds", "log", "two");
  assert.equal(await blobs.getBlobToText("kinds", "log"), "one,two");
});

test("a SAS opens what it names", async () => {
  await blobs.createContainer("signed");
  await blobs.createBlockBlobFromText("signed", "b", "content");
  const sas = blobs.generateSharedAccessSignature("signed", "b", { AccessPolicy: { Permissions: "r", Expiry: later() } });
  const opened = promised(azure.createBlobServiceWithSas(server.blobUrl, sas));
  assert.equal(await opened.getBlobToText("signed", "b"), "content");
  await refused(403, "AuthorizationPermissionMismatch", () => opened.createBlockBlobFromText("signed", "b", "x"));
  const policies = { readers: { Permissions: "rl", Expiry: later() } };
  await blobs.setContainerAcl("signed", policies);
  const stored = promised(azure.createBlobServiceWithSas(server.blobUrl, blobs.generateSharedAccessSignature("signed", null, { Id: "readers" })));
  assert.deepEqual(namesOf(await stored.listBlobsSegmented("signed", null)), ["b"]);
  await blobs.setContainerAcl("signed", {});
  await refused(403, "AuthenticationFailed", () => stored.listBlobsSegmented("signed", null));
});

test("a queue keeps messages", async () => {
  await queues.createQueue("work");
  await queues.createMessage("work", "hello <&> wörld");
  assert.equal((await queues.peekMessage("work")).messageText, "hello <&> wörld");
  const got = await queues.getMessage("work", { visibilityTimeout: 30 });
  assert.equal(got.messageText, "hello <&> wörld");
  assert.equal(await queues.getMessage("work"), undefined);
  const { popReceipt } = await queues.updateMessage("work", got.messageId, got.popReceipt, 0, { messageText: "changed" });
  assert.equal((await queues.peekMessage("work")).messageText, "changed");
  await queues.deleteMessage("work", got.messageId, popReceipt);
  assert.equal((await queues.getQueueMetadata("work")).approximateMessageCount, 0);
  assert.deepEqual(namesOf(await queues.listQueuesSegmented(null)), ["work"]);
  await queues.deleteQueue("work");
});

test("a table keeps entities", async () => {
  const { entityGenerator: make } = azure.TableUtilities;
  await tables.createTable("people");
  await refused(409, "TableAlreadyExists", () => tables.createTable("people"));
  const entity = (row, age) => ({
    PartitionKey: make.String("p"), RowKey: make.String(row), age: make.Int32(age), big: make.Int64("9007199254740993"),
    born: make.DateTime(new Date("2001-02-03T04:05:06Z")), name: make.String("wörld 'x'"),
  });
  await tables.insertEntity("people", entity("1", 30));
  await refused(409, "EntityAlreadyExists", () => tables.insertEntity("people", entity("1", 30)));
  const found = await tables.retrieveEntity("people", "p", "1");
  assert.deepEqual([found.age._, found.big._, found.born._.toISOString(), found.name._],
    [30, "9007199254740993", "2001-02-03T04:05:06.000Z", "wörld 'x'"]);
  await tables.insertOrMergeEntity("people", { PartitionKey: make.String("p"), RowKey: make.String("1"), age: make.Int32(31) });
  await refused(412, "UpdateConditionNotSatisfied", () => tables.replaceEntity("people", { ...found, age: make.Int32(5) }));
  const batch = new azure.TableBatch();
  for (const row of ["2", "3"]) batch.insertEntity(entity(row, Number(row)));
  assert.equal((await tables.executeBatch("people", batch)).length, 2);
  const query = new azure.TableQuery().where("PartitionKey eq ? and age lt ?", "p", 10);
  const { entries } = await tables.queryEntities("people", query, null);
  assert.deepEqual(entries.map((entry) => entry.RowKey._), ["2", "3"]);
  await tables.deleteEntity("people", entity("2", 0));
  await tables.deleteTable("people");
});
