// Resumable streams use the share of items that their session has in a turn of the event loop.
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { expect, it } from "vitest";
import { endless, readEndlessly, turn } from "../../core/test/turns.js";
import { durableRouter, resumableCalls } from "../src/generated.js";

const service = { name: "test.v1.ResumableTurns", id: 7106 };
const output = uncheckedCodec<number>();
const kept = defineMethod(service, "server_stream", "kept", { id: 1, output, extension: resumableCalls });
const plain = defineMethod(service, "server_stream", "plain", { id: 2, output });
const router = durableRouter(createRouter({ kept, plain }, { kept: endless, plain: endless }));

it("a client with one stream receives as many items as another with many resumable ones", async () => {
  const greedy = readEndlessly(router, kept, 200);
  while (greedy() < 20_000) await turn();
  const modest = readEndlessly(router, plain, 1);
  while (modest() === 0) await turn();
  const [before, own] = [greedy(), modest()];
  for (let i = 0; i < 200; i++) await turn();
  expect((greedy() - before) / (modest() - own)).toBeLessThan(2);
});
