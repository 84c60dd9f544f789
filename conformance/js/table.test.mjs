// Every operation of the Table service through the official JavaScript SDK.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { TableClient, TableServiceClient, TableTransaction, odata } from "@azure/data-tables";

import { start } from "./lazuli.mjs";

let server, service;
const options = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };
before(async () => {
  server = await start();
  service = TableServiceClient.fromConnectionString(server.connectionString, options);
});
after(() => server.stop());

let last = 0;
async function fresh() {
  const table = TableClient.fromConnectionString(server.connectionString, `Table${(last += 1)}`, options);
  await table.createTable();
  return table;
}

async function all(pages) {
  const found = [];
  for await (const entity of pages) found.push(entity);
  return found;
}

/** The call is refused with this status and code; returns the error. */
async function refused(statusCode, code, call) {
  const error = await call().then(() => assert.fail("it was not refused"), (found) => found);
  assert.deepEqual([error.statusCode, error.code ?? error.details?.odataError?.code], [statusCode, code]);
  return error;
}

test("tables are created, listed and deleted", async () => {
  await service.createTable("JavaScript");
  const names = (await all(service.listTables())).map((table) => table.name);
  assert.ok(names.includes("JavaScript"));
  const filtered = await all(service.listTables({ queryOptions: { filter: odata`TableName eq ${"javascript"}` } }));
  assert.deepEqual(filtered.map((table) => table.name), ["JavaScript"]);
  await service.deleteTable("JavaScript");
  const gone = TableClient.fromConnectionString(server.connectionString, "JavaScript", options);
  await refused(404, "TableNotFound", () => gone.createEntity({ partitionKey: "p", rowKey: "r" }));
});

test("every type comes back", async () => {
  const table = await fresh();
  const moment = new Date("2026-01-02T03:04:05.678Z");
  const sent = {
    partitionKey: "it's", rowKey: "ä 😀", text: "x\n\"", whole: 5, half: 1.5, yes: true, big: 9007199254740993n,
    bytes: new Uint8Array([0, 1, 255]), moment, guid: { type: "Guid", value: "c9da6455-213d-42c9-9a79-3e9149a57833" },
    int64: { type: "Int64", value: "-5" }, double: { type: "Double", value: "5" },
  };
  await table.createEntity(sent);
  const found = await table.getEntity("it's", "ä 😀");
  assert.ok(found.etag && found.timestamp);
  for (const name of ["text", "whole", "half", "yes", "big"]) assert.deepEqual(found[name], sent[name], name);
  assert.deepEqual(new Uint8Array(found.bytes), sent.bytes);
  assert.equal(new Date(found.moment).getTime(), moment.getTime());
  assert.deepEqual(found.guid, sent.guid);
  assert.equal(found.int64, -5n);
  assert.equal(found.double, 5);
});

test("update, merge and upsert with and without an ETag", async () => {
  const table = await fresh();
  const key = { partitionKey: "p", rowKey: "r" };
  const { etag } = await table.createEntity({ ...key, a: 1, b: 2 });
  await refused(409, "EntityAlreadyExists", () => table.createEntity(key));
  await table.updateEntity({ ...key, b: 3 }, "Merge", { etag });
  await refused(412, "UpdateConditionNotSatisfied", () => table.updateEntity({ ...key, b: 4 }, "Replace", { etag }));
  await refused(412, "UpdateConditionNotSatisfied", () => table.deleteEntity("p", "r", { etag }));
  let found = await table.getEntity("p", "r");
  assert.deepEqual([found.a, found.b], [1, 3]);
  await table.upsertEntity({ ...key, c: 5 }, "Replace");
  found = await table.getEntity("p", "r");
  assert.deepEqual([found.a, found.c], [undefined, 5]);
  await table.upsertEntity({ ...key, d: 6 }, "Merge");
  await table.deleteEntity("p", "r");
  await refused(404, "ResourceNotFound", () => table.getEntity("p", "r"));
  await refused(404, "ResourceNotFound", () => table.updateEntity(key, "Merge"));
});

test("queries filter, select and come in pages", async () => {
  const table = await fresh();
  const transaction = new TableTransaction();
  for (let n = 0; n < 30; n += 1) {
    transaction.createEntity({ partitionKey: "p", rowKey: String(n).padStart(2, "0"), n, big: BigInt(n), name: `it's ${n}` });
  }
  assert.equal((await table.submitTransaction(transaction.actions)).status, 202);
  const query = (filter, select) => all(table.listEntities({ queryOptions: { filter, select } }));
  assert.deepEqual((await query(odata`PartitionKey eq ${"p"} and n ge ${28}`)).map((e) => e.n), [28, 29]);
  assert.deepEqual((await query(odata`name eq ${"it's 7"}`)).map((e) => e.n), [7]);
  assert.deepEqual((await query(odata`big lt ${2n}`)).map((e) => e.n), [0, 1]);
  const selected = await query("n eq 5", ["n"]);
  assert.deepEqual([selected[0].n, selected[0].name], [5, undefined]);
  const sizes = [];
  let token;
  for await (const page of table.listEntities().byPage({ maxPageSize: 7 })) {
    sizes.push(page.length);
    token ??= page.continuationToken;
  }
  assert.deepEqual(sizes, [7, 7, 7, 7, 2]);
  const second = await table.listEntities().byPage({ maxPageSize: 7, continuationToken: token }).next();
  assert.equal(second.value[0].n, 7);
  const error = await refused(400, "InvalidInput", () => query("n eq"));
  assert.match(JSON.stringify(error.details ?? error.message), /position 4/);
});

test("a transaction is all or nothing", async () => {
  const table = await fresh();
  await table.createEntity({ partitionKey: "p", rowKey: "there", n: 1 });
  const done = await table.submitTransaction([
    ["create", { partitionKey: "p", rowKey: "new" }],
    ["update", { partitionKey: "p", rowKey: "there", n: 2 }, "Merge"],
    ["upsert", { partitionKey: "p", rowKey: "up" }, "Replace"],
    ["delete", { partitionKey: "p", rowKey: "up2" }],
  ].slice(0, 3));
  assert.deepEqual(done.subResponses.map((part) => part.status), [204, 204, 204]);
  assert.ok(done.subResponses.every((part) => part.etag));
  const failed = table.submitTransaction([
    ["create", { partitionKey: "p", rowKey: "more" }],
    ["create", { partitionKey: "p", rowKey: "there" }],
  ]);
  const error = await failed.then(() => assert.fail("it was not refused"), (found) => found);
  assert.equal(error.code, "EntityAlreadyExists");
  assert.equal((await all(table.listEntities())).length, 3);
});

test("policies come back", async () => {
  const table = await fresh();
  const startsOn = new Date("2026-01-02T03:04:05Z");
  await table.setAccessPolicy([{ id: "one", accessPolicy: { start: startsOn, permission: "r" } }]);
  const found = await table.getAccessPolicy();
  assert.equal(found.length ?? found.signedIdentifiers?.length, 1);
});

test("service properties come back", async () => {
  const found = await service.getProperties();
  assert.ok(found.hourMetrics && found.cors !== undefined);
});
