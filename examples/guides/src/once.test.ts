import sqlite from "node-sqlite3-wasm";
import { connect } from "@quicrpc/node";
import { expect, it } from "vitest";
import { createBank, prepare } from "./bank.js";
import { createBankClient } from "./generated/bank.js";
import { type Outbox, serveOnce, transferByOutbox, transferOnce } from "./once.js";

it("a call with a key takes effect once, also when it is made again", async () => {
  const database = new sqlite.Database();
  prepare(database);
  database.exec("insert into account (name, cents) values ('ann', 1000), ('bob', 0)");
  const server = await serveOnce({ listen: "tcp://127.0.0.1:0" }, [createBank(database)], () => ({ userId: "ann" }));
  const url = server.urls[0] ?? "";
  expect(await transferOnce(url)).toEqual({ id: expect.any(String) });
  const connection = await connect(url);
  const bank = createBankClient(connection);
  const saved: Parameters<Outbox["save"]>[0][] = [];
  const outbox: Outbox = { save: async (entry) => void saved.push(entry) };
  await transferByOutbox(bank, outbox, { from: "ann", to: "bob", cents: 100 });
  for (const { transfer, onceKey } of saved) await bank.transfer(transfer, { onceKey });
  expect(await bank.balance({ account: "bob" })).toEqual({ cents: 600 });
  await connection.close();
  await server.close();
  database.close();
});
