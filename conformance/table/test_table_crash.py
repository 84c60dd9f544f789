"""`kill -9` while entities are written and entity group transactions move money: nothing that was acknowledged is lost,
no transaction is there in part, and the store is clean."""

from azure.core import MatchConditions
from azure.core.exceptions import AzureError, ResourceExistsError
from azure.data.tables import TableServiceClient, TableTransactionError, UpdateMode

from crash import Ledger, WRITERS, kill_under_load, was_refused

ACCOUNTS = [f"account {number}" for number in range(6)]
OPENING = 1000


def unchanged(etag):
    return {"etag": etag, "match_condition": MatchConditions.IfNotModified}


def connect(server):
    service = TableServiceClient.from_connection_string(server.connection_string, retry_total=0, connection_timeout=5,
                                                        read_timeout=10)
    try:
        table = service.create_table("crash")
    except ResourceExistsError:
        return service.get_table_client("crash")
    table.submit_transaction([("create", {"PartitionKey": "bank", "RowKey": row, "balance": OPENING, "moves": 0})
                              for row in ACCOUNTS])
    return table


class Entities:
    """Inserts, updates and deletes of entities that one writer has for itself, each with the ETag of its last answer.
    A value is the text and the ETag; the ETag of a change without an answer is not known."""

    def __init__(self):
        self.ledger = Ledger()

    def write(self, table, writer, dice):
        name = (f"partition {writer % 3}", f"{writer}-{dice.randrange(10)}")
        text = dice.choice(["", "short", "long " * 2000]) + str(dice.random())
        entity = {"PartitionKey": name[0], "RowKey": name[1], "text": text}
        held = self.ledger[name]
        try:
            if held is None:
                self.ledger.attempt(name, text)
                etag = table.create_entity(entity)["etag"]
            elif dice.random() < 0.7:
                self.ledger.attempt(name, text)
                etag = table.update_entity(entity, mode=UpdateMode.REPLACE, **unchanged(held[1]))["etag"]
            else:
                self.ledger.attempt(name, None)
                table.delete_entity(entity, **unchanged(held[1]))
                text = None
        except AzureError as error:
            # Nobody else writes this entity, so an answer can be no refusal: an ETag that was acknowledged holds.
            assert not was_refused(error), f"{name}: {error}"
            return False
        self.ledger.acknowledge(name, None if text is None else (text, etag))
        return True

    def verify(self, table):
        found = {(entity["PartitionKey"], entity["RowKey"]): (entity["text"], entity.metadata["etag"])
                 for entity in table.query_entities("PartitionKey ne 'bank'")}
        assert set(found) <= self.ledger.names()
        for name in self.ledger.names():
            stored = found.get(name)
            under_way = self.ledger.attempts.get(name)
            if stored is not None and stored[0] == under_way:
                self.ledger.attempt(name, stored)
            assert self.ledger.settle(name, stored), f"{name} holds {stored}"


class Bank:
    """Transactions over three entities: two accounts that everybody uses, and the writer's own count of its transfers."""

    def __init__(self):
        self.counts = Ledger()

    def write(self, table, writer, dice):
        name = f"writer {writer}"
        giver, taker = dice.sample(ACCOUNTS, 2)
        amount = dice.randrange(1, 100)
        count = (self.counts[name] or 0) + 1
        try:
            changes = [("upsert", {"PartitionKey": "bank", "RowKey": name, "transfers": count},
                        {"mode": dice.choice([UpdateMode.REPLACE, UpdateMode.MERGE])})]
            for row, change in ((giver, -amount), (taker, amount)):
                found = table.get_entity("bank", row)
                moved = {**found, "balance": found["balance"] + change, "moves": found["moves"] + 1}
                changes.append(("update", moved, {"mode": UpdateMode.REPLACE, **unchanged(found.metadata["etag"])}))
            dice.shuffle(changes)
            self.counts.attempt(name, count)
            table.submit_transaction(changes)
        except TableTransactionError as refused:
            assert refused.status_code == 412, str(refused)
            self.counts.acknowledge(name, count - 1)  # somebody was faster, and nothing happened
            return True
        except AzureError as error:
            assert not was_refused(error), f"{name}: {error}"
            return False
        self.counts.acknowledge(name, count)
        return True

    def verify(self, table):
        rows = {entity["RowKey"]: entity for entity in table.query_entities("PartitionKey eq 'bank'")}
        assert set(rows) <= set(ACCOUNTS) | self.counts.names()
        for name in self.counts.names():
            stored = rows[name]["transfers"] if name in rows else 0
            self.counts.acknowledged.setdefault(name, 0)
            assert self.counts.settle(name, stored), f"{name} made {stored} transfers"
        assert sum(rows[row]["balance"] for row in ACCOUNTS) == OPENING * len(ACCOUNTS), "money came or went"
        moves = sum(rows[row]["moves"] for row in ACCOUNTS)
        assert moves == 2 * self.transfers(), "a transaction is there in part"

    def transfers(self):
        return sum(self.counts[name] for name in self.counts.names())


def test_no_entity_is_lost_and_no_transaction_is_torn():
    entities, bank = Entities(), Bank()

    def write(table, writer, dice):
        return (entities if dice.random() < 0.5 else bank).write(table, writer, dice)

    def verify(table):
        entities.verify(table)
        bank.verify(table)

    kill_under_load(connect, write, verify)
    assert len(entities.ledger.names()) > WRITERS and bank.transfers() > WRITERS, "the writers hardly came to write"
