// Every way into the Blob service through the official JavaScript SDK: keys, signatures, policies, no credential at all;
// the account in the path and in the host; HTTP and HTTPS.

import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import dns from "node:dns";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import {
  AccountSASPermissions, AccountSASResourceTypes, AccountSASServices, AnonymousCredential, BlobSASPermissions, BlobServiceClient,
  ContainerSASPermissions, generateAccountSASQueryParameters, generateBlobSASQueryParameters, SASProtocol,
  StorageSharedKeyCredential,
} from "@azure/storage-blob";

import { run, start } from "./lazuli.mjs";

const options = { retryOptions: { maxTries: 1 } };

let server, credential, container;
before(async () => {
  server = await start();
  credential = new StorageSharedKeyCredential(server.account, server.key);
  container = BlobServiceClient.fromConnectionString(server.connectionString, options).getContainerClient("mine");
  await container.create();
  await put(container, "dir/a b", "content");
});
after(() => server.stop());

// Not every machine's resolver knows that names below localhost are this machine.
const { lookup } = dns;
dns.lookup = (name, ...rest) => lookup(name.endsWith(".localhost") ? "127.0.0.1" : name, ...rest);

const later = (minutes = 60) => new Date(Date.now() + minutes * 60_000);
const put = (place, name, text) => place.getBlockBlobClient(name).upload(text, Buffer.byteLength(text));
const read = async (place, name = "dir/a b") => (await place.getBlobClient(name).downloadToBuffer()).toString();
const namesOf = async (pages) => (await Array.fromAsync(pages)).map((item) => item.name);

/** The container as somebody else sees it. */
const opened = (sas, url = server.blobUrl, more = {}) =>
  new BlobServiceClient(sas ? `${url}?${sas}` : url, new AnonymousCredential(), { ...options, ...more }).getContainerClient("mine");

async function refused(statusCode, code, call) {
  const error = await call().then(() => assert.fail("it was not refused"), (found) => found);
  assert.deepEqual([error.statusCode, error.code ?? error.details?.errorCode], [statusCode, code]);
}

test("the connection string and the key open everything", async () => {
  assert.equal(await read(container), "content");
  const service = new BlobServiceClient(server.blobUrl, credential, options);
  assert.deepEqual(await namesOf(service.listContainers()), ["mine"]);
  const wrong = new StorageSharedKeyCredential(server.account, Buffer.from("wrong").toString("base64"));
  await refused(403, "AuthenticationFailed", () =>
    new BlobServiceClient(server.blobUrl, wrong, options).getContainerClient("mine").getProperties());
});

test("an account SAS opens its services, types and permissions", async () => {
  const sas = (permissions, types, services = "b", more = {}) => generateAccountSASQueryParameters({
    services: AccountSASServices.parse(services).toString(),
    resourceTypes: AccountSASResourceTypes.parse(types).toString(),
    permissions: AccountSASPermissions.parse(permissions),
    expiresOn: later(),
    ...more,
  }, credential).toString();
  assert.equal(await read(opened(sas("r", "o"))), "content");
  assert.deepEqual(await namesOf(opened(sas("l", "c")).listBlobsFlat()), ["dir/a b"]);
  const table = [
    [sas("w", "o"), "AuthorizationPermissionMismatch"],
    [sas("r", "sc"), "AuthorizationResourceTypeMismatch"],
    [sas("r", "o", "q"), "AuthorizationServiceMismatch"],
    [sas("r", "o", "b", { protocol: SASProtocol.Https }), "AuthorizationProtocolMismatch"],
    [sas("r", "o", "b", { ipRange: { start: "10.1.2.3" } }), "AuthorizationSourceIPMismatch"],
    [sas("r", "o", "b", { startsOn: later(-90), expiresOn: later(-60) }), "AuthenticationFailed"],
    [sas("r", "o").replace("sp=r", "sp=rw"), "AuthenticationFailed"],
  ];
  for (const [found, code] of table) await refused(403, code, () => read(opened(found)));
});

test("a container SAS opens the container, a blob SAS one blob", async () => {
  const sas = (values) => generateBlobSASQueryParameters({ containerName: "mine", expiresOn: later(), ...values }, credential).toString();
  const whole = opened(sas({ permissions: ContainerSASPermissions.parse("racwdl") }));
  await put(whole, "by-sas", "1");
  assert.deepEqual(await namesOf(whole.listBlobsFlat()), ["by-sas", "dir/a b"]);
  await whole.deleteBlob("by-sas");

  const one = opened(sas({ blobName: "dir/a b", permissions: BlobSASPermissions.parse("r"), contentType: "text/other" }));
  assert.equal((await one.getBlobClient("dir/a b").getProperties()).contentType, "text/other");
  await refused(403, "AuthenticationFailed", () => read(one, "another"));
  await refused(403, "AuthorizationPermissionMismatch", () => put(one, "dir/a b", "2"));
  assert.equal(await read(container), "content");

  const { snapshot } = await container.getBlobClient("dir/a b").createSnapshot();
  const then = opened(sas({ blobName: "dir/a b", snapshotTime: snapshot, permissions: BlobSASPermissions.parse("r") }));
  const client = then.getBlobClient("dir/a b");
  assert.equal((await client.withSnapshot(snapshot).downloadToBuffer()).toString(), "content");
  await refused(403, "AuthenticationFailed", () => client.download());
  await container.getBlobClient("dir/a b").delete({ deleteSnapshots: "only" });
});

test("a stored policy that is taken back is taken back at once", async () => {
  const policy = { expiresOn: later(), startsOn: later(-5), permissions: "rl" };
  await container.setAccessPolicy(undefined, [{ id: "readers", accessPolicy: policy }]);
  const sas = generateBlobSASQueryParameters({ containerName: "mine", identifier: "readers" }, credential).toString();
  assert.equal(await read(opened(sas)), "content");
  await refused(403, "AuthorizationPermissionMismatch", () => put(opened(sas), "x", "x"));
  await container.setAccessPolicy(undefined, [{ id: "readers", accessPolicy: { ...policy, permissions: "w" } }]);
  await refused(403, "AuthorizationPermissionMismatch", () => read(opened(sas)));
  await container.setAccessPolicy(undefined, []);
  await refused(403, "AuthenticationFailed", () => read(opened(sas)));
});

test("without a credential, only what is public is read", async () => {
  const anonymous = opened();
  await refused(401, "NoAuthenticationInformation", () => anonymous.getBlobClient("dir/a b").download());
  await container.setAccessPolicy("blob");
  assert.equal(await read(anonymous), "content");
  await refused(401, "NoAuthenticationInformation", () => namesOf(anonymous.listBlobsFlat()));
  await container.setAccessPolicy("container");
  assert.deepEqual(await namesOf(anonymous.listBlobsFlat()), ["dir/a b"]);
  await refused(401, "NoAuthenticationInformation", () => put(anonymous, "x", "x"));
  await container.setAccessPolicy();
});

test("the account is also in the host", async () => {
  const { port } = new URL(server.blobUrl);
  const url = `http://${server.account}.blob.localhost:${port}`;
  const service = new BlobServiceClient(url, credential, options);
  const there = service.getContainerClient("mine");
  assert.equal(await read(there), "content");
  await put(there, "by host", "1");
  const copied = await (await there.getBlobClient("copy").beginCopyFromURL(there.getBlobClient("by host").url)).pollUntilDone();
  assert.equal(copied.copyStatus, "success");
  const blobs = ["by host", "copy"].map((name) => there.getBlobClient(name));
  const deleted = await service.getBlobBatchClient().deleteBlobs(blobs);
  assert.deepEqual(deleted.subResponses.map((part) => part.status), [202, 202]);
  const sas = generateBlobSASQueryParameters(
    { containerName: "mine", permissions: ContainerSASPermissions.parse("r"), expiresOn: later() }, credential).toString();
  assert.equal(await read(opened(sas, url)), "content");
});

test("the development storage is what the default ports serve", () => {
  const service = BlobServiceClient.fromConnectionString("UseDevelopmentStorage=true");
  assert.equal(service.url, `http://127.0.0.1:10000/${server.account}`);
  assert.equal(service.credential.accountName, server.account);
});

/** Runs with a server that speaks HTTPS and believes an issuer, whose tokens `token` makes. */
async function overTls(body) {
  const directory = mkdtempSync(join(tmpdir(), "lazuli-"));
  const [cert, key, keys] = ["cert.pem", "key.pem", "jwks.json"].map((name) => join(directory, name));
  run("cert", "--cert", cert, "--key", key);
  const issuer = generateKeyPairSync("ec", { namedCurve: "P-256" });
  writeFileSync(keys, JSON.stringify({ keys: [{ ...issuer.publicKey.export({ format: "jwk" }), kid: "1", use: "sig", alg: "ES256" }] }));
  const iss = "https://issuer.test/tenant-1/";
  const token = (...roles) => {
    const claims = { iss, aud: "https://storage.azure.com", oid: "object-1", tid: "tenant-1", exp: Math.floor(later() / 1000), roles };
    const signed = [{ alg: "ES256", kid: "1" }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
    return `${signed}.${sign("sha256", signed, { key: issuer.privateKey, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
  };
  const secure = await start("--tls-cert", cert, "--tls-key", key, "--bearer-issuer", iss, "--bearer-keys", keys);
  try {
    await body(secure, { ...options, tlsOptions: { ca: readFileSync(cert) } }, token);
  } finally {
    await secure.stop();
    rmSync(directory, { recursive: true });
  }
}

test("everything also goes over HTTPS", () => overTls(async (secure, trusting) => {
  const service = BlobServiceClient.fromConnectionString(secure.connectionString, trusting);
  assert.match(service.url, /^https:/);
  await service.getContainerClient("mine").create();
  await put(service.getContainerClient("mine"), "b", "over TLS");
  const sas = generateBlobSASQueryParameters(
    { containerName: "mine", permissions: ContainerSASPermissions.parse("r"), expiresOn: later(), protocol: SASProtocol.Https },
    credential).toString();
  for (const url of [secure.blobUrl, `https://${secure.account}.blob.localhost:${new URL(secure.blobUrl).port}`])
    assert.equal(await read(opened(sas, url, trusting), "b"), "over TLS");
  const distrusting = BlobServiceClient.fromConnectionString(secure.connectionString, options);
  await assert.rejects(distrusting.getProperties(), /self.signed|certificate/i);
}));

test("a token opens what its roles say, and makes a user delegation SAS", () => overTls(async (secure, trusting, token) => {
  const as = (...roles) => new BlobServiceClient(secure.blobUrl, {
    getToken: async () => ({ token: token(...roles), expiresOnTimestamp: later().getTime() }),
  }, trusting);
  const writer = as("Storage Blob Data Contributor");
  await writer.getContainerClient("mine").create();
  await put(writer.getContainerClient("mine"), "b", "by token");
  const reader = as("Storage Blob Data Reader").getContainerClient("mine");
  assert.equal(await read(reader, "b"), "by token");
  await refused(403, "AuthorizationPermissionMismatch", () => put(reader, "b", "x"));
  await refused(403, "AuthorizationPermissionMismatch", () => as().getContainerClient("mine").getBlobClient("b").download());

  const delegation = await writer.getUserDelegationKey(later(-5), later());
  const sas = generateBlobSASQueryParameters(
    { containerName: "mine", blobName: "b", permissions: BlobSASPermissions.parse("r"), expiresOn: later(30) },
    delegation, secure.account).toString();
  const by = opened(sas, secure.blobUrl, trusting);
  assert.equal(await read(by, "b"), "by token");
  await refused(403, "AuthorizationPermissionMismatch", () => put(by, "b", "x"));
  await refused(403, "AuthenticationFailed", () => opened(sas.replace("object-1", "object-2"), secure.blobUrl, trusting).getBlobClient("b").download());
}));
