// Sessions share the items that the streams of a process send in a turn of the event loop.
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { expect, it } from "vitest";
import { endless, readEndlessly, turn } from "./turns.js";

const service = { name: "test.v1.ItemTurns", id: 7105 };
const give = defineMethod(service, "server_stream", "give", { id: 1, output: uncheckedCodec<number>() });
const router = createRouter({ give }, { give: endless });

it.each([
  [1, 400],
  [1, 2000],
  [2, 1300],
  [400, 1],
])("a session with one stream receives as many items as each of %d with %d streams", async (sessions, streams) => {
  const others = Array.from({ length: sessions }, () => readEndlessly(router, give, streams));
  const all = (): number => others.reduce((sum, items) => sum + items(), 0) / sessions;
  while (all() < 500) await turn();
  const modest = readEndlessly(router, give, 1);
  while (modest() === 0) await turn();
  const [before, own] = [all(), modest()];
  for (let i = 0; i < 100; i++) await turn();
  expect((all() - before) / (modest() - own)).toBeLessThan(1.5);
});
