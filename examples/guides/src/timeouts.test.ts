import { createLocalCaller } from "@quicrpc/core";
import { expect, it } from "vitest";
import { createNotesClient, createNotesRouter } from "./generated/notes.js";
import { createNotes } from "./notes.js";
import { patient, quickly, relay } from "./timeouts.js";

const never = createNotesRouter({ ...createNotes(), get: () => new Promise<never>(() => {}) });

it("gives up after half a second", async () => {
  const notes = createNotesClient(createLocalCaller([never]));
  await expect(quickly(notes, "7")).rejects.toMatchObject({ code: "deadline_exceeded" });
});

it("gives calls a deadline of two seconds", async () => {
  const deadlines: (number | undefined)[] = [];
  const router = createNotesRouter({
    ...createNotes(),
    save: (_, { deadline }) => {
      deadlines.push(deadline);
      return { id: "7", text: "milk", changed: new Date() };
    },
  });
  const before = Date.now();
  await patient(createLocalCaller([router])).save({ text: "milk" });
  expect(deadlines[0]! - before).toBeGreaterThan(1900);
});

it("ends a call with the one it is made for", async () => {
  const behind = createNotesClient(createLocalCaller([never]));
  const front = createNotesClient(createLocalCaller([createNotesRouter({ ...createNotes(), get: relay(behind) })]));
  await expect(front.get({ id: "7" }, { timeoutMs: 50 })).rejects.toMatchObject({ code: "deadline_exceeded" });
});
