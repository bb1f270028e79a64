import type { InterceptedCall, InterceptedResponse } from "@quicrpc/core";
import { defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { expect, it } from "vitest";
import { type BatchStep, batchTimings } from "./batch-timings.js";

const any = uncheckedCodec<unknown>();
const method = defineMethod({ name: "quicrpc.v1.Batch", id: 10119 }, "server_stream", "run", {
  id: 1,
  input: any,
  output: any,
});

/** Returns the steps of a plan to which the server sends `items`. */
async function stepsOf(input: unknown, ...items: unknown[]): Promise<readonly BatchStep[] | undefined> {
  let observed: readonly BatchStep[] | undefined;
  const interceptor = batchTimings((steps) => {
    observed = steps;
  });
  const outputs = (async function* () {
    yield* items;
  })();
  const response = { output: undefined, outputs } as unknown as InterceptedResponse;
  const { outputs: received } = await interceptor({ method, input } as InterceptedCall, async () => response);
  for await (const _ of received ?? []);
  return observed;
}

it("a step with elements lasts from the start of the first to the end of the last", async () => {
  const steps = [{ method: "a.B/c" }, { method: "a.B/d", each: { step: 0, path: [] } }];
  const answers = [
    { step: 1, elements: 3 },
    { step: 1, element: 1, startedUs: 2000, tookUs: 500 },
    { step: 1, element: 0, startedUs: 1500, tookUs: 3000, failure: { code: "not_found", message: "no b" } },
  ];
  expect(await stepsOf({ version: 1, steps }, { answers })).toEqual([
    { method: "a.B/c", needs: [], elements: undefined, fromMs: undefined, ms: undefined, result: undefined },
    { method: "a.B/d", needs: [0], elements: 3, fromMs: 1.5, ms: 3, result: "1 of 3 failed, not_found: no b" },
  ]);
});

it.each([-1, Number.POSITIVE_INFINITY, Number.NaN])("ignores times such as %s", async (time) => {
  const steps = [{ method: "a.B/c" }];
  for (const times of [
    { startedUs: time, tookUs: 1 },
    { startedUs: 1, tookUs: time },
  ])
    expect(await stepsOf({ steps }, { answers: [{ step: 0, ...times }] })).toMatchObject([
      { fromMs: undefined, ms: undefined, result: "ok" },
    ]);
});

it("ignores what is not a plan, and answers of another form", async () => {
  expect(await stepsOf("no plan")).toBeUndefined();
  expect(await stepsOf({ steps: 1 })).toEqual([]);
  const step = { method: 7, each: 1, references: [{ from: { step: "0" } }, null, {}] };
  const wrong = [null, { answers: 1 }, { answers: [null, { step: "length" }, { step: -1 }, { step: 9 }] }];
  const odd = { answers: [{ step: 0, failure: { code: Object.create(null) }, startedUs: "1", tookUs: {} }] };
  const none = { method: "?", needs: [], elements: undefined, fromMs: undefined, ms: undefined };
  expect(await stepsOf({ steps: [step] }, ...wrong)).toEqual([{ ...none, result: undefined }]);
  expect(await stepsOf({ steps: [step] }, odd)).toEqual([{ ...none, result: "?: ?" }]);
});
