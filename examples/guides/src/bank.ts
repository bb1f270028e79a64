// The key of a call, committed in the transaction of its effect: see docs/once.md.
import { rpcError } from "@quicrpc/core";
import type { Database } from "node-sqlite3-wasm";
import { bankMethods, createBankRouter } from "./generated/bank.js";

export function prepare(database: Database): void {
  database.exec(`
    create table if not exists account (name text primary key, cents integer not null check (cents >= 0));
    create table if not exists done (id text primary key, at integer not null) without rowid;
  `);
}

// #region transaction
/** Runs `change` in a transaction. */
function transaction<Result>(database: Database, change: () => Result): Result {
  database.exec("begin immediate");
  try {
    const result = change();
    database.exec("commit");
    return result;
  } catch (error) {
    database.exec("rollback");
    throw error;
  }
}
// #endregion transaction

export const createBank = (database: Database): ReturnType<typeof createBankRouter> =>
  createBankRouter({
    // #region transfer
    transfer({ from, to, cents }, { once }) {
      const id = once?.id ?? "";
      transaction(database, () => {
        database.run("insert into done (id, at) values (?, ?)", [id, Date.now()]); // unique: a second one fails
        const paid = database.run("update account set cents = cents - ? where name = ? and cents >= ?", [
          cents,
          from,
          cents,
        ]);
        if (paid.changes === 0) throw rpcError(bankMethods.transfer, "TOO_POOR");
        database.run("update account set cents = cents + ? where name = ?", [cents, to]);
      });
      return { id };
    },
    // #endregion transfer
    balance({ account }) {
      const row = database.get("select cents from account where name = ?", account);
      return { cents: Number(row?.["cents"] ?? 0) };
    },
  });

// #region looked-up
/** Returns whether a call took effect, even if the server that ran it has failed since. */
export function tookEffect(database: Database, id: string): boolean {
  return database.get("select 1 from done where id = ?", id) !== null;
}
// #endregion looked-up
