// The Blob service through the official JavaScript SDK: kinds of blobs, concurrency, copies, tags, batches, listing.
// What each credential opens is in blob.credentials.test.mjs.

import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, before, test } from "node:test";

import {
  BlobSASPermissions, BlobServiceClient, generateBlobSASQueryParameters, StorageSharedKeyCredential,
} from "@azure/storage-blob";

import { start } from "./lazuli.mjs";

const MIB = 1024 * 1024;
const LARGE = Number(process.env.LAZULI_PARALLEL_GIB ?? "1") * 1024 * MIB;

let server, service;
before(async () => {
  server = await start();
  service = BlobServiceClient.fromConnectionString(server.connectionString, { retryOptions: { maxTries: 1 } });
});
after(() => server.stop());

let last = 0;
async function fresh(options) {
  const container = service.getContainerClient(`container-${(last += 1)}`);
  await container.create(options);
  return container;
}

/** The call is refused with this status and code; returns the error. */
async function refused(statusCode, code, call) {
  const error = await call().then(() => assert.fail("it was not refused"), (found) => found);
  assert.deepEqual([error.statusCode, error.code ?? error.details?.errorCode], [statusCode, code]);
  return error;
}

const put = (blob, text, options) => blob.upload(text, Buffer.byteLength(text), options);
const textOf = async (blob, ...range) => (await blob.downloadToBuffer(...range)).toString();
const namesOf = async (pages) => (await Array.fromAsync(pages)).map((item) => item.name);

/** A URL that reads the blob without any other credential. */
function readable(blob) {
  const credential = new StorageSharedKeyCredential(server.account, server.key);
  const sas = generateBlobSASQueryParameters({
    containerName: blob.containerName,
    blobName: blob.name,
    snapshotTime: new URL(blob.url).searchParams.get("snapshot") ?? undefined,
    permissions: BlobSASPermissions.parse("rt"),
    expiresOn: new Date(Date.now() + 3_600_000),
  }, credential);
  return `${blob.url}${blob.url.includes("?") ? "&" : "?"}${sas}`;
}

test("a container is created, described, leased and deleted", async () => {
  const container = await fresh({ metadata: { team: "blue" } });
  assert.equal((await container.createIfNotExists()).succeeded, false);
  await refused(409, "ContainerAlreadyExists", () => container.create());
  assert.deepEqual((await container.getProperties()).metadata, { team: "blue" });
  await container.setMetadata({ team: "red" });
  const lease = container.getBlobLeaseClient();
  await lease.acquireLease(-1);
  await put(container.getBlockBlobClient("b"), "blob writes go on under a container lease");
  await refused(412, "LeaseIdMissing", () => container.delete());
  await container.delete({ conditions: { leaseId: lease.leaseId } });
  assert.equal(await container.exists(), false);
  await container.create();
  assert.deepEqual(await namesOf(container.listBlobsFlat()), []);
});

/** Mebibytes that differ in their first bytes; what they come to is hashed as they are made. */
function* mebibytes(size, hash) {
  const piece = randomBytes(MIB);
  for (let place = 0; place < size; place += MIB) {
    const next = Buffer.from(piece);
    next.writeUInt32BE(place / MIB);
    hash.update(next);
    yield next;
  }
}

test("a large blob goes up and comes down in parallel blocks", async () => {
  const blob = (await fresh()).getBlockBlobClient("large");
  const [sent, read] = [createHash("sha256"), createHash("sha256")];
  await blob.uploadStream(Readable.from(mebibytes(LARGE, sent)), 4 * MIB, 8);
  assert.equal((await blob.getBlockList("committed")).committedBlocks.length, Math.ceil(LARGE / (4 * MIB)));
  const window = Buffer.alloc(64 * MIB);
  for (let place = 0; place < LARGE; place += window.length) {
    const count = Math.min(window.length, LARGE - place);
    await blob.downloadToBuffer(window, place, count, { blockSize: 4 * MIB, concurrency: 8 });
    read.update(window.subarray(0, count));
  }
  assert.equal(read.digest("hex"), sent.digest("hex"));
});

test("a buffer and a file go up and come down in parallel blocks", async () => {
  const blob = (await fresh()).getBlockBlobClient("large");
  const bytes = randomBytes(40 * MIB + 17);
  const options = { blockSize: 4 * MIB, concurrency: 8, maxSingleShotSize: MIB };
  await blob.uploadData(bytes, options);
  assert.equal((await blob.getBlockList("committed")).committedBlocks.length, 11);
  assert.ok((await blob.downloadToBuffer(0, undefined, options)).equals(bytes));
  const directory = mkdtempSync(join(tmpdir(), "lazuli-"));
  const [from, to] = [join(directory, "from"), join(directory, "to")];
  writeFileSync(from, bytes.subarray(0, 20 * MIB));
  const contentMD5 = createHash("md5").update(bytes.subarray(0, 20 * MIB)).digest();
  await blob.uploadFile(from, { ...options, blobHTTPHeaders: { blobContentType: "x/y", blobContentMD5: contentMD5 } });
  await blob.downloadToFile(to);
  assert.ok(readFileSync(to).equals(readFileSync(from)));
  rmSync(directory, { recursive: true });
  const found = await blob.getProperties();
  assert.deepEqual([found.contentLength, found.contentType], [20 * MIB, "x/y"]);
  assert.ok(Buffer.from(found.contentMD5).equals(contentMD5));
});

test("a stream goes up, and a part of it comes down with its checksum", async () => {
  const blob = (await fresh()).getBlockBlobClient("streamed");
  const bytes = randomBytes(9 * MIB + 17);
  await blob.uploadStream(Readable.from([bytes.subarray(0, 5), bytes.subarray(5)]), 2 * MIB, 3);
  const part = await blob.download(4 * MIB, 1000, { rangeGetContentMD5: true });
  const chunks = await Array.fromAsync(part.readableStreamBody);
  const wanted = bytes.subarray(4 * MIB, 4 * MIB + 1000);
  assert.ok(Buffer.concat(chunks).equals(wanted));
  assert.ok(Buffer.from(part.contentMD5).equals(createHash("md5").update(wanted).digest()));
  await refused(416, "InvalidRange", () => blob.download(10 * MIB, 1));
});

test("blocks are staged, and committed by their list", async () => {
  const blob = (await fresh()).getBlockBlobClient("b");
  const id = (number) => Buffer.from(`block-${number}`).toString("base64");
  await Promise.all([0, 1, 2].map((number) => blob.stageBlock(id(number), `<${number}>`, 3)));
  assert.equal((await blob.getBlockList("uncommitted")).uncommittedBlocks.length, 3);
  await blob.commitBlockList([id(2), id(0)], { metadata: { k: "v" } });
  assert.equal(await textOf(blob), "<2><0>");
  await refused(400, "InvalidBlockList", () => blob.commitBlockList([id(1)]));
  await refused(400, "Md5Mismatch", () =>
    blob.stageBlock(id(1), "x", 1, { transactionalContentMD5: new Uint8Array(16) }));
});

test("of two writers with the same ETag, the second is refused", async () => {
  const blob = (await fresh()).getBlockBlobClient("b");
  const { etag } = await put(blob, "0");
  const conditions = { ifMatch: etag };
  await put(blob, "1", { conditions });
  await refused(412, "ConditionNotMet", () => put(blob, "2", { conditions }));
  await refused(409, "BlobAlreadyExists", () => put(blob, "2", { conditions: { ifNoneMatch: "*" } }));
  const now = await blob.getProperties();
  const unchanged = await blob.download(0, undefined, { conditions: { ifNoneMatch: now.etag } }).then(
    (answer) => answer._response.status, (error) => error.statusCode);
  assert.equal(unchanged, 304);
  const racers = await Promise.allSettled([...Array(16).keys()].map((number) =>
    put(blob, `racer ${number}`, { conditions: { ifMatch: now.etag } })));
  assert.equal(racers.filter((racer) => racer.status === "fulfilled").length, 1);
  assert.ok(racers.every((racer) => racer.status === "fulfilled" || racer.reason.code === "ConditionNotMet"));
});

test("a lease goes through its life", async () => {
  const blob = (await fresh()).getBlockBlobClient("b");
  await put(blob, "0");
  const lease = blob.getBlobLeaseClient();
  await lease.acquireLease(15);
  await refused(409, "LeaseAlreadyPresent", () => blob.getBlobLeaseClient().acquireLease(15));
  await refused(412, "LeaseIdMissing", () => put(blob, "1"));
  const other = { conditions: { leaseId: "00000000-0000-0000-0000-000000000001" } };
  await refused(412, "LeaseIdMismatchWithBlobOperation", () => put(blob, "1", other));
  await put(blob, "1", { conditions: { leaseId: lease.leaseId } });
  await lease.renewLease();
  const old = lease.leaseId;
  await lease.changeLease("00000000-0000-0000-0000-000000000002");
  await refused(412, "LeaseIdMismatchWithBlobOperation", () => blob.delete({ conditions: { leaseId: old } }));
  const found = await blob.getProperties();
  assert.deepEqual([found.leaseState, found.leaseStatus, found.leaseDuration], ["leased", "locked", "fixed"]);
  assert.equal((await lease.breakLease(0)).leaseTime, 0);
  await refused(409, "LeaseIsBrokenAndCannotBeRenewed", () => lease.renewLease());
  await lease.releaseLease();
  assert.equal((await blob.getProperties()).leaseState, "available");
  await put(blob, "2");
});

test("snapshots stay as they were", async () => {
  const blob = (await fresh()).getBlockBlobClient("b");
  await put(blob, "old", { metadata: { of: "base" } });
  const { snapshot } = await blob.createSnapshot({ metadata: { of: "snapshot" } });
  await put(blob, "new");
  const then = blob.withSnapshot(snapshot);
  assert.deepEqual([await textOf(then), await textOf(blob)], ["old", "new"]);
  assert.deepEqual((await then.getProperties()).metadata, { of: "snapshot" });
  await blob.syncCopyFromURL(readable(then));
  assert.equal(await textOf(blob), "old");
  await refused(409, "SnapshotsPresent", () => blob.delete());
  await blob.delete({ deleteSnapshots: "only" });
  await refused(404, "BlobNotFound", () => then.download());
  await blob.createSnapshot();
  await blob.delete({ deleteSnapshots: "include" });
  assert.equal(await blob.exists(), false);
});

test("a page blob is written, cleared, compared, resized and numbered", async () => {
  const blob = (await fresh()).getPageBlobClient("disk");
  await blob.create(4096, { blobSequenceNumber: 7 });
  const page = (letter) => letter.repeat(512);
  await blob.uploadPages(page("a"), 512, 512);
  await blob.uploadPages(page("b") + page("c"), 1536, 1024);
  // The SDK's count is the distance from the first byte to the last.
  const ranges = (found) => found.map(({ offset, count }) => [offset, count + 1]);
  assert.deepEqual(ranges((await blob.getPageRanges()).pageRange), [[512, 512], [1536, 1024]]);
  const { snapshot } = await blob.createSnapshot();
  await blob.clearPages(512, 512);
  await blob.uploadPages(page("d"), 3584, 512);
  const difference = await blob.getPageRangesDiff(0, 4096, snapshot);
  assert.deepEqual([ranges(difference.pageRange), ranges(difference.clearRange)], [[[3584, 512]], [[512, 512]]]);
  const listed = await Array.fromAsync(blob.listPageRanges(0, 4096));
  assert.deepEqual(listed.map(({ start, end }) => [start, end]), [[1536, 2559], [3584, 4095]]);
  await refused(416, "InvalidPageRange", () => blob.uploadPages(page("e"), 4096, 512));
  await blob.resize(8192);
  await blob.updateSequenceNumber("increment");
  const found = await blob.getProperties();
  assert.deepEqual([found.contentLength, found.blobSequenceNumber], [8192, 8]);
  await refused(412, "SequenceNumberConditionNotMet", () =>
    blob.uploadPages(page("e"), 0, 512, { conditions: { ifSequenceNumberLessThan: 8 } }));
});

test("an append blob grows at its end, until it is sealed", async () => {
  const blob = (await fresh()).getAppendBlobClient("log");
  await blob.create();
  const first = await blob.appendBlock("one,", 4);
  assert.deepEqual([first.blobAppendOffset, first.blobCommittedBlockCount], ["0", 1]);
  await refused(412, "AppendPositionConditionNotMet", () =>
    blob.appendBlock("x", 1, { conditions: { appendPosition: 0 } }));
  await refused(412, "MaxBlobSizeConditionNotMet", () => blob.appendBlock("x", 1, { conditions: { maxSize: 4 } }));
  const lines = [...Array(32).keys()].map((number) => `${String(number).padStart(3, "0")},`);
  await Promise.all(lines.map((line) => blob.appendBlock(line, 4)));
  const text = await textOf(blob);
  assert.deepEqual(text.slice(4).match(/.{4}/g).sort(), lines);
  await blob.seal();
  await refused(409, "BlobIsSealed", () => blob.appendBlock("x", 1));
  assert.equal((await blob.getProperties()).isSealed, true);
});

test("blobs of each kind are copied", async () => {
  const container = await fresh();
  const block = container.getBlockBlobClient("block");
  const page = container.getPageBlobClient("page");
  const append = container.getAppendBlobClient("append");
  await put(block, "block", { metadata: { of: "source" }, blobHTTPHeaders: { blobContentType: "text/x" } });
  await page.create(1024);
  await page.uploadPages("p".repeat(512), 512, 512);
  await append.create();
  await append.appendBlock("append", 6);
  for (const source of [block, page, append]) {
    const copy = container.getBlobClient(`copy of ${source.name}`);
    const done = await (await copy.beginCopyFromURL(source.url)).pollUntilDone();
    assert.equal(done.copyStatus, "success");
    const [here, there] = [await copy.getProperties(), await source.getProperties()];
    assert.deepEqual(
      [here.blobType, here.contentLength, here.contentType, here.metadata, here.copyProgress, here.copyId],
      [there.blobType, there.contentLength, there.contentType, there.metadata, `${there.contentLength}/${there.contentLength}`, done.copyId],
    );
    assert.equal(await textOf(copy), await textOf(source));
    await refused(409, "NoPendingCopyOperation", () => copy.abortCopyFromURL(done.copyId));
  }
});

test("a copy takes conditions of both sides, metadata, tags and a tier", async () => {
  const container = await fresh();
  const [source, copy] = [container.getBlockBlobClient("source"), container.getBlockBlobClient("copy")];
  const { etag } = await put(source, "0", { tags: { of: "source" }, metadata: { of: "source" } });
  const poll = async (options) => (await copy.beginCopyFromURL(source.url, options)).pollUntilDone();
  await refused(412, "SourceConditionNotMet", () => poll({ sourceConditions: { ifNoneMatch: etag } }));
  await poll({ sourceConditions: { ifMatch: etag }, metadata: { of: "copy" }, tags: { of: "copy" }, tier: "Cool" });
  const found = await copy.getProperties();
  assert.deepEqual([found.metadata, found.accessTier, (await copy.getTags()).tags], [{ of: "copy" }, "Cool", { of: "copy" }]);
  await refused(412, "ConditionNotMet", () => poll({ conditions: { ifMatch: etag } }));
  await copy.syncCopyFromURL(readable(source), { copySourceTags: "COPY" });
  assert.deepEqual((await copy.getTags()).tags, { of: "source" });
  const lease = copy.getBlobLeaseClient();
  await lease.acquireLease(-1);
  await refused(412, "LeaseIdMissing", () => poll());
  await poll({ conditions: { leaseId: lease.leaseId } });
});

test("bytes of other blobs are taken by URL", async () => {
  const container = await fresh();
  const source = container.getBlockBlobClient("source");
  const text = randomBytes(1024).toString("hex");
  await put(source, text);
  const url = readable(source);
  const checksum = (part) => ({ sourceContentMD5: createHash("md5").update(part).digest() });

  const block = container.getBlockBlobClient("block");
  await block.syncUploadFromURL(url, { metadata: { k: "v" } });
  assert.equal(await textOf(block), text);
  await block.stageBlockFromURL("AAAA", url, 10, 20, checksum(text.slice(10, 30)));
  await refused(400, "Md5Mismatch", () => block.stageBlockFromURL("AAAB", url, 10, 20, checksum("else")));
  await block.commitBlockList(["AAAA"]);
  assert.equal(await textOf(block), text.slice(10, 30));

  const append = container.getAppendBlobClient("append");
  await append.create();
  await append.appendBlockFromURL(url, 5, 10, checksum(text.slice(5, 15)));
  await append.appendBlockFromURL(url, 0, 5);
  assert.equal(await textOf(append), text.slice(5, 15) + text.slice(0, 5));

  const page = container.getPageBlobClient("page");
  await page.create(2048);
  await page.uploadPagesFromURL(url, 512, 1024, 512, checksum(text.slice(512, 1024)));
  assert.equal(await textOf(page, 1024, 512), text.slice(512, 1024));
});

test("blobs are found by their tags", async () => {
  const container = await fresh();
  for (const [name, team] of [["a", "blue"], ["b", "red"], ["c", "blue"]])
    await put(container.getBlockBlobClient(name), name, { tags: { team, kind: "js" } });
  const where = `team='blue' AND kind='js'`;
  assert.deepEqual(await namesOf(container.findBlobsByTags(where)), ["a", "c"]);
  const everywhere = service.findBlobsByTags(`@container='${container.containerName}' AND ${where}`);
  assert.deepEqual(await namesOf(everywhere), ["a", "c"]);
  const blob = container.getBlockBlobClient("a");
  await blob.setTags({ team: "red" });
  assert.deepEqual((await blob.getTags()).tags, { team: "red" });
  assert.deepEqual(await namesOf(container.findBlobsByTags(where)), ["c"]);
  await put(blob, "x", { conditions: { tagConditions: `"team" = 'red'` }, tags: { team: "green" } });
  await refused(412, "ConditionNotMet", () => put(blob, "x", { conditions: { tagConditions: `"team" = 'red'` } }));
});

test("a batch deletes and sets tiers, each part for itself", async () => {
  const container = await fresh();
  const blobs = ["a", "b", "ü 1"].map((name) => container.getBlockBlobClient(name));
  for (const blob of blobs) await put(blob, "x");
  const batch = container.getBlobBatchClient();
  const tiered = await batch.setBlobsAccessTier(blobs, "Cool");
  assert.deepEqual(tiered.subResponses.map((part) => part.status), [200, 200, 200]);
  assert.equal((await blobs[2].getProperties()).accessTier, "Cool");
  const deleted = await batch.deleteBlobs([...blobs, container.getBlobClient("none")]);
  assert.deepEqual(deleted.subResponses.map((part) => [part.status, part.errorCode]),
    [[202, undefined], [202, undefined], [202, undefined], [404, "BlobNotFound"]]);
  assert.deepEqual([deleted.subResponsesSucceededCount, deleted.subResponsesFailedCount], [3, 1]);
  await put(blobs[0], "x");
  const ofService = await service.getBlobBatchClient().deleteBlobs([blobs[0]]);
  assert.equal(ofService.subResponsesSucceededCount, 1);
  assert.deepEqual(await namesOf(container.listBlobsFlat()), []);
});

test("listings are flat or by hierarchy, in pages, with what was asked for", async () => {
  const container = await fresh();
  const names = ["a/1", "a/2", "a/b/3", "c & <d>", "e'\"%20", "ü/4"];
  for (const name of names) await put(container.getBlockBlobClient(name), name, { metadata: { k: "v" }, tags: { t: "1" } });
  assert.deepEqual(await namesOf(container.listBlobsFlat()), names);
  const pages = await Array.fromAsync(container.listBlobsFlat().byPage({ maxPageSize: 4 }));
  assert.deepEqual(pages.map((page) => page.segment.blobItems.map((blob) => blob.name)), [names.slice(0, 4), names.slice(4)]);
  const level = async (prefix) =>
    (await Array.fromAsync(container.listBlobsByHierarchy("/", { prefix }))).map((item) => `${item.kind} ${item.name}`).sort();
  assert.deepEqual(await level(), ["blob c & <d>", "blob e'\"%20", "prefix a/", "prefix ü/"]);
  assert.deepEqual(await level("a/"), ["blob a/1", "blob a/2", "prefix a/b/"]);
  await container.getBlockBlobClient("a/1").createSnapshot();
  await container.getBlockBlobClient("staged").stageBlock("AAAA", "x", 1);
  const options = { includeMetadata: true, includeTags: true, includeSnapshots: true, includeUncommitedBlobs: true };
  const all = await Array.fromAsync(container.listBlobsFlat(options));
  assert.deepEqual(all.map((blob) => [blob.name, Boolean(blob.snapshot)]).slice(0, 2), [["a/1", true], ["a/1", false]]);
  assert.deepEqual([all[2].metadata, all[2].tags], [{ k: "v" }, { t: "1" }]);
  assert.ok(all.some((blob) => blob.name === "staged" && blob.properties.contentLength === 0));
  for (const name of names) assert.equal(await textOf(container.getBlobClient(name)), name);
  const found = await Array.fromAsync(service.listContainers({ prefix: container.containerName, includeMetadata: true }));
  assert.ok(found.some((item) => item.name === container.containerName));
});

test("properties, metadata and tiers are set", async () => {
  const blob = (await fresh()).getBlockBlobClient("b");
  await put(blob, "x");
  const headers = {
    blobCacheControl: "no-store", blobContentDisposition: "inline", blobContentEncoding: "br",
    blobContentLanguage: "de", blobContentType: "text/plain",
  };
  await blob.setHTTPHeaders(headers);
  await blob.setMetadata({ Case: "kept", other: "world" });
  await blob.setAccessTier("Archive");
  const found = await blob.getProperties();
  assert.deepEqual(
    [found.cacheControl, found.contentDisposition, found.contentEncoding, found.contentLanguage, found.contentType, found.accessTier],
    ["no-store", "inline", "br", "de", "text/plain", "Archive"],
  );
  assert.deepEqual(found.metadata, { case: "kept", other: "world" });
  await refused(409, "BlobArchived", () => blob.download());
});

test("what does not exist, or cannot be, has its code", async () => {
  const container = await fresh();
  const blob = container.getBlockBlobClient("b");
  await put(blob, "x");
  const table = [
    [404, "BlobNotFound", () => container.getBlobClient("none").download()],
    [404, "ContainerNotFound", () => put(service.getContainerClient("none").getBlockBlobClient("b"), "x")],
    [400, "InvalidResourceName", () => service.getContainerClient("UPPER").create()],
    [409, "InvalidBlobType", () => container.getAppendBlobClient("b").appendBlock("x", 1)],
    [409, "LeaseNotPresentWithLeaseOperation", () => blob.getBlobLeaseClient().breakLease(0)],
    [412, "LeaseNotPresentWithBlobOperation", () => blob.delete({ conditions: { leaseId: "00000000-0000-0000-0000-000000000001" } })],
    [400, "InvalidBlobOrBlock", () => blob.stageBlock("AA==", "x", 1).then(() => blob.stageBlock("AAAA", "x", 1))],
    [404, "CannotVerifyCopySource", async () => (await blob.beginCopyFromURL(container.getBlobClient("none").url)).pollUntilDone()],
  ];
  for (const [status, code, call] of table) await refused(status, code, call);
});
