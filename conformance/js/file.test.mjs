// Every family of operations of the File service through the official JavaScript SDK.

import assert from "node:assert/strict";
import dns from "node:dns";
import { after, before, test } from "node:test";

import {
  AccountSASPermissions, AccountSASResourceTypes, AccountSASServices, AnonymousCredential, FileSASPermissions,
  FileSystemAttributes, generateAccountSASQueryParameters, generateFileSASQueryParameters, ShareSASPermissions, ShareServiceClient,
  StorageSharedKeyCredential,
} from "@azure/storage-file-share";

import { start } from "./lazuli.mjs";

const options = { retryOptions: { maxTries: 1 } };
const SDDL = "O:S-1-5-21-2127521184-1604012920-1887927527-21560751G:S-1-5-21-2127521184-1604012920-1887927527-513" +
  "D:AI(A;;FA;;;SY)(A;;FA;;;BA)(A;;0x1200a9;;;S-1-5-21-397955417-626881126-188441444-3053964)S:NO_ACCESS_CONTROL";

let server, service, credential;
before(async () => {
  server = await start();
  service = ShareServiceClient.fromConnectionString(server.connectionString, options);
  credential = new StorageSharedKeyCredential(server.account, server.key);
});
after(() => server.stop());

// Not every machine's resolver knows that names below localhost are this machine.
const { lookup } = dns;
dns.lookup = (name, ...rest) => lookup(name.endsWith(".localhost") ? "127.0.0.1" : name, ...rest);

/** The share by the account in the host: the client makes the destination of a rename from its host and the share alone. */
const inHost = (share) =>
  new ShareServiceClient(`http://${server.account}.file.localhost:${new URL(server.fileUrl).port}`, credential, options)
    .getShareClient(share.name);

let last = 0;
async function fresh(more) {
  const share = service.getShareClient(`share-${(last += 1)}`);
  await share.create(more);
  return share;
}

/** A file in the topmost directory that holds this. */
async function made(share, name, content) {
  const file = share.rootDirectoryClient.getFileClient(name);
  await file.uploadData(Buffer.from(content));
  return file;
}

const text = async (file, ...range) => (await file.downloadToBuffer(...range)).toString();
const later = () => new Date(Date.now() + 3_600_000);
/** A share as somebody else sees it. */
const opened = (share, sas) =>
  new ShareServiceClient(`${server.fileUrl}?${sas}`, new AnonymousCredential(), options).getShareClient(share.name);

/** The call is refused with this status and code. */
async function refused(statusCode, code, call) {
  const error = await call().then(() => assert.fail("it was not refused"), (found) => found);
  assert.deepEqual([error.statusCode, error.code ?? error.details?.errorCode], [statusCode, code]);
}

test("a share is created, described, listed and deleted", async () => {
  const share = await fresh({ metadata: { team: "blue" }, quota: 5, accessTier: "Hot" });
  let found = await share.getProperties();
  assert.deepEqual([found.quota, found.metadata, found.accessTier], [5, { team: "blue" }, "Hot"]);
  assert.equal((await share.createIfNotExists()).succeeded, false);
  await refused(409, "ShareAlreadyExists", () => share.create());
  await share.setProperties({ quotaInGB: 7, accessTier: "Cool" });
  await share.setMetadata({ tier: "2" });
  found = await share.getProperties();
  assert.deepEqual([found.quota, found.metadata, found.accessTier], [7, { tier: "2" }, "Cool"]);
  assert.equal((await share.getStatistics()).shareUsageBytes, 0);
  const listed = await Array.fromAsync(service.listShares({ prefix: share.name, includeMetadata: true }));
  assert.deepEqual(listed.map((one) => [one.name, one.metadata]), [[share.name, { tier: "2" }]]);
  assert.equal(await share.exists(), true);
  await share.delete();
  assert.equal(await share.exists(), false);
  assert.equal((await share.deleteIfExists()).succeeded, false);
  await refused(404, "ShareNotFound", () => share.getProperties());
});

test("shares are listed in pages", async () => {
  const names = [0, 1, 2, 3, 4].map((number) => `listed-${number}`);
  for (const name of names) await service.createShare(name);
  const found = [];
  for await (const page of service.listShares({ prefix: "listed-" }).byPage({ maxPageSize: 2 })) {
    assert.ok(page.shareItems.length <= 2);
    found.push(...page.shareItems.map((one) => one.name));
  }
  assert.deepEqual(found, names);
});

test("a snapshot of a share keeps what was there", async () => {
  const share = await fresh();
  const file = await made(share, "f", "0123456789");
  const { snapshot } = await share.createSnapshot({ metadata: { when: "then" } });
  await file.uploadRange("ab", 4, 2);
  const then = share.withSnapshot(snapshot);
  assert.deepEqual((await then.getProperties()).metadata, { when: "then" });
  assert.equal(await text(then.rootDirectoryClient.getFileClient("f")), "0123456789");
  assert.equal(await text(file), "0123ab6789");
  const { ranges, clearRanges } = await file.getRangeListDiff(snapshot);
  assert.deepEqual([ranges, clearRanges ?? []], [[{ start: 4, end: 5 }], []]);
  const listed = await Array.fromAsync(service.listShares({ prefix: share.name, includeSnapshots: true }));
  assert.deepEqual(listed.map((one) => one.snapshot ?? "").sort(), ["", snapshot].sort());
  await refused(409, "ShareHasSnapshots", () => share.delete());
  await share.delete({ deleteSnapshots: "include" });
});

test("the properties of the service are set and found", async () => {
  const before = await service.getProperties();
  assert.deepEqual(before.cors ?? [], []);
  const cors = [{ allowedOrigins: "*", allowedMethods: "GET", allowedHeaders: "", exposedHeaders: "", maxAgeInSeconds: 5 }];
  await service.setProperties({ ...before, cors });
  assert.deepEqual((await service.getProperties()).cors, cors);
  await service.setProperties({ ...before, cors: [] });
});

test("leases of shares and files", async () => {
  const share = await fresh();
  const file = await made(share, "f", "abc");
  for (const [leased, remove, duration] of [
    [file, (conditions) => file.delete({ leaseAccessConditions: conditions }), -1],
    [share, (conditions) => share.delete({ leaseAccessConditions: conditions }), 15],
  ]) {
    const lease = leased.getShareLeaseClient();
    await lease.acquireLease(duration);
    await refused(412, "LeaseIdMissing", () => remove());
    await refused(409, "LeaseAlreadyPresent", () => leased.getShareLeaseClient().acquireLease(duration));
    await lease.changeLease("00000000-0000-0000-0000-00000000000a");
    await lease.releaseLease();
    await lease.acquireLease(duration);
    assert.equal((await leased.getProperties()).leaseState, "leased");
    await lease.breakLease({ breakPeriod: 0 });
    await lease.acquireLease(duration);
    await remove({ leaseId: lease.leaseId });
  }
});

test("directories are created, described, listed, moved and deleted", async () => {
  const share = await fresh();
  const { directoryClient: one } = await share.createDirectory("one", { metadata: { a: "1" } });
  const { directoryClient: two } = await one.createSubdirectory("two");
  const { fileClient: file } = await two.createFile("file.txt", 4);
  await file.uploadRange("text", 0, 4);
  assert.equal((await one.createIfNotExists()).succeeded, false);
  await refused(409, "ResourceAlreadyExists", () => one.create());
  await one.setMetadata({ b: "2" });
  await one.setProperties({ fileAttributes: FileSystemAttributes.parse("Hidden") });
  const found = await one.getProperties();
  assert.deepEqual([found.metadata, found.fileAttributes], [{ b: "2" }, "Hidden | Directory"]);
  const everything = { includeTimestamps: true, includeEtag: true, includeAttributes: true, includePermissionKey: true, includeExtendedInfo: true };
  const listed = await Array.fromAsync(one.listFilesAndDirectories(everything));
  assert.deepEqual(listed.map((entry) => [entry.kind, entry.name, entry.attributes]), [["directory", "two", "Directory"]]);
  assert.ok(listed[0].fileId && listed[0].permissionKey && listed[0].properties.etag && listed[0].properties.creationTime);
  await refused(409, "DirectoryNotEmpty", () => one.delete());
  const renamed = await inHost(share).getDirectoryClient("one/two").rename("one/three", { metadata: { c: "3" } });
  const three = renamed.destinationDirectoryClient;
  assert.equal(await text(three.getFileClient("file.txt")), "text");
  assert.deepEqual((await three.getProperties()).metadata, { c: "3" });
  assert.equal(await two.exists(), false);
  await three.deleteFile("file.txt");
  await one.deleteSubdirectory("three");
  await share.deleteDirectory("one");
  await refused(404, "ParentNotFound", () => share.getDirectoryClient("none/below").getProperties());
});

test("a listing has pages and a prefix", async () => {
  const share = await fresh();
  const root = share.rootDirectoryClient;
  for (let number = 0; number < 5; number += 1) await root.createFile(`File${number}`, 0);
  await root.createSubdirectory("other");
  const sizes = [];
  for await (const { segment } of root.listFilesAndDirectories().byPage({ maxPageSize: 4 })) {
    sizes.push(segment.fileItems.length + segment.directoryItems.length);
  }
  assert.deepEqual(sizes, [4, 2]);
  const found = await Array.fromAsync(root.listFilesAndDirectories({ prefix: "file" }));
  assert.deepEqual(found.map((entry) => entry.name), [0, 1, 2, 3, 4].map((number) => `File${number}`));
});

test("a file is written in ranges, read, cleared, resized and listed", async () => {
  const share = await fresh();
  const content = Buffer.from(Uint8Array.from({ length: 9_000_000 }, (_, place) => place % 251));
  const file = share.rootDirectoryClient.getFileClient("big.bin");
  await file.uploadData(content, { concurrency: 3, metadata: { a: "1" }, fileHttpHeaders: { fileContentType: "a/b" } });
  let found = await file.getProperties();
  assert.deepEqual([found.contentLength, found.metadata, found.contentType], [content.length, { a: "1" }, "a/b"]);
  assert.ok((await file.downloadToBuffer(0, content.length, { concurrency: 3 })).equals(content));
  const part = await file.download(1000, 50, { rangeGetContentMD5: true });
  assert.ok(part.contentMD5 && part.contentLength === 50);
  assert.equal((await share.getStatistics()).shareUsageBytes, content.length);
  await file.uploadRange("x".repeat(512), 512, 512);
  await file.clearRange(1024, 512);
  assert.ok((await file.downloadToBuffer(512, 1024)).equals(Buffer.concat([Buffer.alloc(512, "x"), Buffer.alloc(512)])));
  await file.resize(2048);
  const { rangeList } = await file.getRangeList();
  assert.deepEqual(rangeList.map(({ start, end }) => [start, end]), [[0, 1023], [1536, 2047]]);
  await file.setMetadata({ b: "2" });
  await file.setHttpHeaders({ fileContentLanguage: "de" });
  found = await file.getProperties();
  assert.deepEqual([found.metadata, found.contentLanguage, found.contentLength], [{ b: "2" }, "de", 2048]);
  await refused(416, "InvalidRange", () => file.download(4096, 1));
  await refused(400, "Md5Mismatch", () => file.uploadRange("x", 0, 1, { contentMD5: new Uint8Array(16) }));
});

test("attributes, times and descriptors", async () => {
  const share = await fresh();
  const { filePermissionKey } = await share.createPermission(SDDL);
  assert.equal((await share.getPermission(filePermissionKey)).permission, SDDL);
  const file = share.rootDirectoryClient.getFileClient("f");
  const creationTime = new Date("2019-01-02T03:04:05Z");
  const made = await file.create(1, { filePermission: SDDL, creationTime, fileAttributes: FileSystemAttributes.parse("ReadOnly | Hidden") });
  assert.equal(made.filePermissionKey, filePermissionKey);
  const found = await file.getProperties();
  assert.deepEqual([found.fileAttributes, found.fileCreatedOn], ["ReadOnly | Hidden | Archive", creationTime]);
  await refused(409, "ReadOnlyAttribute", () => file.uploadRange("x", 0, 1));
  await file.setProperties({ fileAttributes: FileSystemAttributes.parse("None"), filePermissionKey });
  await file.uploadRange("x", 0, 1);
  const { directoryClient } = await share.createDirectory("d", { filePermissionKey });
  assert.equal((await directoryClient.getProperties()).filePermissionKey, filePermissionKey);
});

test("a file is renamed, over another one when asked", async () => {
  const share = await fresh();
  const host = inHost(share);
  const [one, two] = [await made(host, "one", "1"), await made(host, "two", "2")];
  await refused(409, "ResourceAlreadyExists", () => one.rename("two"));
  const { destinationFileClient } = await one.rename("two", { replaceIfExists: true, contentType: "text/plain" });
  assert.equal(await text(destinationFileClient), "1");
  assert.equal((await two.getProperties()).contentType, "text/plain");
  assert.deepEqual([await one.exists(), await two.exists()], [false, true]);
  assert.equal((await one.deleteIfExists()).succeeded, false);
  await two.delete();
});

test("a range comes from another file", async () => {
  const share = await fresh();
  const [source, target] = [await made(share, "source", "0123456789"), await made(share, "target", "abcdefghij")];
  const url = await source.generateSasUrl({ permissions: FileSASPermissions.parse("r"), expiresOn: later() });
  await target.uploadRangeFromURL(url, 2, 4, 3);
  assert.equal(await text(target), "abcd234hij");
});

test("names keep their case and find each other without it", async () => {
  const share = await fresh();
  const { directoryClient } = await share.createDirectory("Mixed");
  await directoryClient.getFileClient("Ünï code & %20.TXT").uploadData(Buffer.from("1"));
  const found = share.getDirectoryClient("MIXED").getFileClient("ünï CODE & %20.txt");
  assert.equal(await text(found), "1");
  const listed = await Array.fromAsync(directoryClient.listFilesAndDirectories());
  assert.deepEqual(listed.map((entry) => entry.name), ["Ünï code & %20.TXT"]);
});

test("handles are listed and closed where there are none", async () => {
  const share = await fresh();
  const file = await made(share, "f", "1");
  assert.deepEqual(await Array.fromAsync(share.rootDirectoryClient.listHandles({ recursive: true })), []);
  assert.equal((await share.rootDirectoryClient.forceCloseAllHandles({ recursive: true })).closedHandlesCount, 0);
  assert.equal((await file.forceCloseAllHandles()).closedHandlesCount, 0);
});

test("signatures open what they are for", async () => {
  const share = await fresh();
  await made(share, "f", "content");
  const of = (place) => place.rootDirectoryClient.getFileClient("f");
  const ofShare = (permissions, more = {}) => generateFileSASQueryParameters({
    shareName: share.name, permissions: ShareSASPermissions.parse(permissions), expiresOn: later(), ...more,
  }, credential).toString();
  const ofFile = (permissions, filePath) => generateFileSASQueryParameters({
    shareName: share.name, filePath, permissions: FileSASPermissions.parse(permissions), expiresOn: later(),
  }, credential).toString();
  const ofAccount = (permissions, types, services = "f") => generateAccountSASQueryParameters({
    services: AccountSASServices.parse(services).toString(), resourceTypes: AccountSASResourceTypes.parse(types).toString(),
    permissions: AccountSASPermissions.parse(permissions), expiresOn: later(),
  }, credential).toString();
  for (const sas of [ofShare("r"), ofFile("r", "f"), ofAccount("r", "o")]) assert.equal(await text(of(opened(share, sas))), "content");
  const listed = await Array.fromAsync(opened(share, ofShare("l")).rootDirectoryClient.listFilesAndDirectories());
  assert.deepEqual(listed.map((entry) => entry.name), ["f"]);
  await of(opened(share, ofShare("w"))).uploadRange("C", 0, 1);
  const table = [
    [ofShare("l"), "AuthorizationPermissionMismatch"],
    [ofFile("w", "f"), "AuthorizationPermissionMismatch"],
    [ofFile("r", "g"), "AuthenticationFailed"],
    [ofAccount("r", "c"), "AuthorizationResourceTypeMismatch"],
    [ofAccount("r", "o", "b"), "AuthorizationServiceMismatch"],
    [ofShare("r", { startsOn: new Date(1e12), expiresOn: new Date(1.1e12) }), "AuthenticationFailed"],
    [ofShare("r").replace("sp=r", "sp=rw"), "AuthenticationFailed"],
  ];
  for (const [sas, code] of table) await refused(403, code, () => text(of(opened(share, sas))));
  const wrong = new StorageSharedKeyCredential(server.account, Buffer.from("wrong").toString("base64"));
  await refused(403, "AuthenticationFailed", () =>
    new ShareServiceClient(server.fileUrl, wrong, options).getShareClient(share.name).getProperties());
});

test("a stored policy can be changed and taken away", async () => {
  const share = await fresh();
  await made(share, "f", "content");
  const [startsOn, expiresOn] = [new Date("2020-05-01T12:30:15Z"), later()];
  expiresOn.setMilliseconds(0);
  await share.setAccessPolicy([{ id: "mine", accessPolicy: { startsOn, expiresOn, permissions: "rl" } }]);
  const { signedIdentifiers } = await share.getAccessPolicy();
  assert.deepEqual(signedIdentifiers, [{ id: "mine", accessPolicy: { startsOn, expiresOn, permissions: "rl" } }]);
  const sas = generateFileSASQueryParameters({ shareName: share.name, identifier: "mine" }, credential).toString();
  const file = opened(share, sas).rootDirectoryClient.getFileClient("f");
  assert.equal(await text(file), "content");
  await refused(403, "AuthorizationPermissionMismatch", () => file.delete());
  await share.setAccessPolicy([{ id: "mine", accessPolicy: { expiresOn, permissions: "d" } }]);
  await refused(403, "AuthorizationPermissionMismatch", () => file.download());
  await share.setAccessPolicy([]);
  await refused(403, "AuthenticationFailed", () => file.delete());
});
