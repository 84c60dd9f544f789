// Every operation of the Queue service through the official JavaScript SDK.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { QueueServiceClient } from "@azure/storage-queue";

import { start } from "./lazuli.mjs";

let server, service;
before(async () => {
  server = await start();
  const retryOptions = { maxTries: 1 };
  service = QueueServiceClient.fromConnectionString(server.connectionString, { retryOptions });
});
after(() => server.stop());

let last = 0;
async function fresh(metadata) {
  const queue = service.getQueueClient(`queue-${(last += 1)}`);
  await queue.create({ metadata });
  return queue;
}

/** The call is refused with this status and code; returns the error. */
async function refused(statusCode, code, call) {
  const error = await call().then(() => assert.fail("it was not refused"), (found) => found);
  assert.deepEqual([error.statusCode, error.code], [statusCode, code]);
  return error;
}

test("a queue is created, described and deleted", async () => {
  const queue = await fresh({ team: "blue" });
  assert.equal((await queue.createIfNotExists({ metadata: { team: "blue" } })).succeeded, false);
  await refused(409, "QueueAlreadyExists", () => queue.create({ metadata: { team: "red" } }));
  let found = await queue.getProperties();
  assert.deepEqual([found.metadata, found.approximateMessagesCount], [{ team: "blue" }, 0]);
  await queue.setMetadata({ tier: "2" });
  found = await queue.getProperties();
  assert.deepEqual(found.metadata, { tier: "2" });
  assert.equal(await queue.exists(), true);
  await queue.delete();
  assert.equal(await queue.exists(), false);
  assert.equal((await queue.deleteIfExists()).succeeded, false);
  await refused(404, "QueueNotFound", () => queue.sendMessage("x"));
  await queue.create();
});

test("queues are listed in pages, with metadata", async () => {
  const names = [0, 1, 2, 3, 4].map((number) => `listed-${number}`);
  for (const name of names) await service.createQueue(name, { metadata: { number: name.at(-1) } });
  const found = [];
  for await (const page of service.listQueues({ prefix: "listed-", includeMetadata: true }).byPage({ maxPageSize: 2 })) {
    assert.ok(page.queueItems.length <= 2);
    found.push(...page.queueItems);
  }
  assert.deepEqual(found.map((queue) => queue.name), names);
  assert.equal(found[3].metadata.number, "3");
});

test("a message goes through its life", async () => {
  const queue = await fresh();
  const text = "hello <&> \"wörld\" 😀";
  const sent = await queue.sendMessage(text);
  assert.ok(sent.messageId && sent.popReceipt && sent.expiresOn > sent.insertedOn);
  const peeked = (await queue.peekMessages()).peekedMessageItems;
  assert.deepEqual(peeked.map((message) => [message.messageId, message.messageText, message.dequeueCount]), [
    [sent.messageId, text, 0],
  ]);
  const before = Date.now();
  const [got] = (await queue.receiveMessages({ visibilityTimeout: 40 })).receivedMessageItems;
  assert.deepEqual([got.messageId, got.messageText, got.dequeueCount], [sent.messageId, text, 1]);
  const hidden = got.nextVisibleOn.getTime() - before;
  assert.ok(hidden > 39_000 - 1 && hidden < 42_000, `hidden for ${hidden} ms`);
  assert.equal((await queue.receiveMessages()).receivedMessageItems.length, 0);
  await refused(404, "MessageNotFound", () => queue.deleteMessage(sent.messageId, sent.popReceipt));
  const updated = await queue.updateMessage(got.messageId, got.popReceipt, "changed", 0);
  const [again] = (await queue.receiveMessages()).receivedMessageItems;
  assert.deepEqual([again.messageText, again.dequeueCount], ["changed", 2]);
  await refused(404, "MessageNotFound", () => queue.updateMessage(got.messageId, updated.popReceipt, "late", 0));
  const kept = await queue.updateMessage(again.messageId, again.popReceipt, undefined, 0);
  assert.equal((await queue.peekMessages()).peekedMessageItems[0].messageText, "changed");
  await queue.deleteMessage(again.messageId, kept.popReceipt);
  assert.equal((await queue.getProperties()).approximateMessagesCount, 0);
});

test("messages come in order, at most 32 at once, and are cleared", async () => {
  const queue = await fresh();
  for (let number = 0; number < 40; number += 1) await queue.sendMessage(`${number}`);
  const got = (await queue.receiveMessages({ numberOfMessages: 32 })).receivedMessageItems;
  assert.deepEqual(got.map((message) => message.messageText), [...Array(32).keys()].map(String));
  assert.equal((await queue.peekMessages({ numberOfMessages: 32 })).peekedMessageItems.length, 8);
  await queue.clearMessages();
  assert.equal((await queue.getProperties()).approximateMessagesCount, 0);
  await refused(404, "MessageNotFound", () => queue.deleteMessage(got[0].messageId, got[0].popReceipt));
});

test("delay and time to live", async () => {
  const queue = await fresh();
  const never = await queue.sendMessage("never", { messageTimeToLive: -1 });
  assert.equal(never.expiresOn.getUTCFullYear(), 9999);
  const delayed = await queue.sendMessage("delayed", { visibilityTimeout: 600, messageTimeToLive: 1200 });
  assert.equal(delayed.nextVisibleOn - delayed.insertedOn, 600_000);
  assert.equal(delayed.expiresOn - delayed.insertedOn, 1_200_000);
  assert.deepEqual((await queue.peekMessages({ numberOfMessages: 32 })).peekedMessageItems.map((m) => m.messageText), [
    "never",
  ]);
});

test("a text of 64 KiB fits, one byte more does not", async () => {
  const queue = await fresh();
  const text = "<".repeat(65_536);
  await queue.sendMessage(text);
  assert.equal((await queue.receiveMessages()).receivedMessageItems[0].messageText, text);
  await refused(413, "RequestBodyTooLarge", () => queue.sendMessage(`${text}<`));
});

test("what is out of range is refused with its range", async () => {
  const queue = await fresh();
  const { messageId, popReceipt } = await queue.sendMessage("x");
  const table = [
    [() => queue.receiveMessages({ numberOfMessages: 0 }), "numofmessages", "1", "32"],
    [() => queue.receiveMessages({ numberOfMessages: 33 }), "numofmessages", "1", "32"],
    [() => queue.peekMessages({ numberOfMessages: 33 }), "numofmessages", "1", "32"],
    [() => queue.receiveMessages({ visibilityTimeout: 604_801 }), "visibilitytimeout", "1", "604800"],
    [() => queue.sendMessage("x", { visibilityTimeout: -1 }), "visibilitytimeout", "0", "604800"],
    [() => queue.updateMessage(messageId, popReceipt, "x", 604_801), "visibilitytimeout", "0", "604800"],
  ];
  for (const [call, name, minimum, maximum] of table) {
    const error = await refused(400, "OutOfRangeQueryParameterValue", call);
    const told = error.details.additionalProperties;
    assert.deepEqual([told.QueryParameterName, told.MinimumAllowed, told.MaximumAllowed], [name, minimum, maximum]);
  }
  await refused(400, "InvalidQueryParameterValue", () => queue.sendMessage("x", { messageTimeToLive: 0 }));
  await refused(400, "InvalidQueryParameterValue", () => queue.deleteMessage(messageId, "invented"));
});

test("stored access policies are kept", async () => {
  const queue = await fresh();
  const [startsOn, expiresOn] = [new Date("2026-05-01T12:30:15Z"), new Date("2026-05-04T00:00:00Z")];
  await queue.setAccessPolicy([{ id: "full", accessPolicy: { startsOn, expiresOn, permissions: "raup" } }]);
  const { signedIdentifiers } = await queue.getAccessPolicy();
  assert.deepEqual(signedIdentifiers, [{ id: "full", accessPolicy: { startsOn, expiresOn, permissions: "raup" } }]);
  await queue.setAccessPolicy([]);
  assert.deepEqual((await queue.getAccessPolicy()).signedIdentifiers, []);
});

test("of sixteen consumers at once, one gets each message", async () => {
  const queue = await fresh();
  const count = 200;
  await Promise.all([...Array(count).keys()].map((number) => queue.sendMessage(`${number}`)));
  const got = [];
  const consume = async () => {
    for (;;) {
      const batch = (await queue.receiveMessages({ numberOfMessages: 2, visibilityTimeout: 300 })).receivedMessageItems;
      if (batch.length === 0) return;
      for (const message of batch) {
        got.push(Number(message.messageText));
        await queue.deleteMessage(message.messageId, message.popReceipt);
      }
    }
  };
  await Promise.all(Array.from({ length: 16 }, consume));
  assert.deepEqual(got.sort((one, other) => one - other), [...Array(count).keys()]);
});
