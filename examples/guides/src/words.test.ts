import { createLocalCaller } from "@quicrpc/core";
import { expect, it } from "vitest";
import { createWordsClient } from "./generated/words.js";
import { completeAll, completeWhileTyping, createWords } from "./words.js";

const words = createWordsClient(createLocalCaller([createWords(["apple", "apricot", "banana"])]));

class Input extends EventTarget {
  value = "";

  type(text: string): void {
    this.value = text;
    this.dispatchEvent(new Event("input"));
  }
}

it("completes what is typed until the page is left", async () => {
  const input = new Input();
  const page = new AbortController();
  const shown: (readonly string[])[] = [];
  const over = completeWhileTyping(
    words,
    input,
    (found) => {
      shown.push(found);
      if (shown.length === 1) input.type("apr");
      else page.abort();
    },
    page.signal,
  );
  input.type("a");
  await expect(over).rejects.toMatchObject({ code: "cancelled" });
  expect(shown).toEqual([["apple", "apricot"], ["apricot"]]);
});

it("answers each text in its turn, and ends with the input", async () => {
  const texts = (async function* () {
    yield* ["b", "x"];
  })();
  expect(await completeAll(words, texts)).toEqual([["banana"], []]);
});
