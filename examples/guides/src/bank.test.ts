import { createLocalCaller } from "@quicrpc/core";
import { createOnceKey, MemoryOnceStore } from "@quicrpc/durable";
import sqlite from "node-sqlite3-wasm";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type BankClient, createBankClient } from "./generated/bank.js";
import { createBank, prepare, tookEffect } from "./bank.js";

let database: InstanceType<typeof sqlite.Database>;

beforeEach(() => {
  database = new sqlite.Database();
  prepare(database);
  database.exec("insert into account (name, cents) values ('ann', 1000), ('bob', 0)");
});
afterEach(() => {
  database.close();
});

/** A client of a server that has just started, and remembers nothing but what is in the database. */
function startedBank(): BankClient {
  const once = { store: new MemoryOnceStore(), principal: () => "ann" };
  return createBankClient(createLocalCaller([createBank(database)], { once }));
}

const transfer = { from: "ann", to: "bob", cents: 300 };

it("commits the key with the effect", async () => {
  const bank = startedBank();
  const onceKey = createOnceKey();
  const { id } = await bank.transfer(transfer, { onceKey });
  expect(await bank.transfer(transfer, { onceKey })).toEqual({ id });
  expect(tookEffect(database, id)).toBe(true);
  expect(await bank.balance({ account: "bob" })).toEqual({ cents: 300 });
});

it("takes no effect twice where the store has forgotten the call", async () => {
  const bank = startedBank();
  // After the server has started: it refuses what it may have forgotten.
  const onceKey = createOnceKey();
  await bank.transfer(transfer, { onceKey });
  const forgetful = startedBank();
  await expect(forgetful.transfer(transfer, { onceKey })).rejects.toBeDefined();
  expect(await forgetful.balance({ account: "bob" })).toEqual({ cents: 300 });
});

it("commits neither where the effect is impossible", async () => {
  const bank = startedBank();
  await expect(bank.transfer({ ...transfer, cents: 5000 })).rejects.toMatchObject({ reason: "TOO_POOR" });
  expect(database.get("select count(*) as n from done")).toEqual({ n: 0 });
  expect(await bank.balance({ account: "ann" })).toEqual({ cents: 1000 });
});
