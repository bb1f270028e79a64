import { expect, it } from "vitest";
import { allNotes, find, follow } from "./lists.js";
import { localNotes } from "./local.js";

it("reads every page", async () => {
  const notes = localNotes();
  for (let n = 0; n < 250; n++) await notes.save({ text: `note ${n}` });
  const texts: string[] = [];
  for await (const { text } of allNotes(notes)) texts.push(text);
  expect(texts).toEqual(Array.from({ length: 250 }, (_, n) => `note ${n}`));
});

it("finds a note in a stream", async () => {
  const notes = localNotes();
  await notes.save({ text: "milk" });
  await notes.save({ text: "bread" });
  expect(await find(notes, "bread")).toMatchObject({ text: "bread" });
  expect(await find(notes, "wine")).toBeUndefined();
});

it("shows what there is, then each change", async () => {
  const notes = localNotes();
  const seen: string[] = [];
  const stop = new AbortController();
  await notes.save({ text: "milk" });
  const over = follow(
    notes,
    ({ text }) => {
      seen.push(text);
      if (text === "milk") void notes.save({ text: "bread" });
      else stop.abort();
    },
    stop.signal,
  );
  await over;
  expect(seen).toEqual(["milk", "bread"]);
});
