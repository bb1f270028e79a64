// A duplex call: see docs/streams.md.
import { createWordsRouter, type WordsClient } from "./generated/words.js";

export const createWords = (all: readonly string[]): ReturnType<typeof createWordsRouter> =>
  createWordsRouter({
    // #region handler
    async *complete(texts) {
      for await (const text of texts) yield all.filter((word) => word.startsWith(text)).slice(0, 10);
    },
    // #endregion handler
  });

// #region caller
/** Completes the text typed into `input` until the signal fires, for example when its page is left. */
export async function completeWhileTyping(
  words: WordsClient,
  input: EventTarget & { readonly value: string },
  show: (found: readonly string[]) => void,
  signal: AbortSignal,
): Promise<void> {
  const { readable, writable } = words.complete({ signal });
  const writer = writable.getWriter();
  // When the call is over, a write fails: the loop throws the reason.
  const send = (): void => void writer.write(input.value).catch(() => {});
  input.addEventListener("input", send, { signal });
  for await (const found of readable) show(found);
}
// #endregion caller

// #region files
/** Sends texts as fast as the server accepts them, ends the input, and reads all answers. */
export async function completeAll(words: WordsClient, texts: AsyncIterable<string>): Promise<string[][]> {
  const { readable, writable } = words.complete();
  const writer = writable.getWriter();
  const sending = (async () => {
    for await (const text of texts) await writer.write(text); // waits while the server is behind
    await writer.close(); // no more input: the handler's loop ends
  })();
  const answers: string[][] = [];
  for await (const found of readable) answers.push(found);
  await sending;
  return answers;
}
// #endregion files
