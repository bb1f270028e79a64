import { createCaller, RpcError } from "@quicrpc/core";
import { expect, it } from "vitest";
import { save, textOf } from "./errors.js";
import { createNotesClient } from "./generated/notes.js";
import { localNotes } from "./local.js";

it("reads the details of a declared error", async () => {
  expect(await textOf(localNotes(), "7")).toBe("there is no note 7");
});

it("saves again what was refused, and nothing else", async () => {
  const failures = [new RpcError("unavailable", "busy", { refused: true }), new RpcError("unavailable", "lost")];
  let calls = 0;
  const notes = createNotesClient(
    createCaller(() => {
      calls += 1;
      return Promise.reject(failures.shift()) as never;
    }),
  );
  await expect(save(notes, "milk")).rejects.toThrow("lost");
  expect(calls).toBe(2);
});
