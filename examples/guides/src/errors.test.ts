import { createCaller, RpcError } from "@quicrpc/core";
import { expect, it } from "vitest";
import { fieldErrors, save, textOf } from "./errors.js";
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

it("has the validation errors of a form, by field", async () => {
  const error = await localNotes()
    .save({ text: "" })
    .catch((thrown: unknown) => thrown);
  expect(fieldErrors(error)).toEqual(new Map([["text", "a note needs a text"]]));
  expect((error as RpcError).message).toBe("a note needs a text at text");
  expect(fieldErrors(new Error("something else"))).toEqual(new Map());
});
