// The times of a batch's calls, and how an interceptor of @quicrpc/services reads them.
import { createLocalCaller, interceptCaller } from "@quicrpc/core";
import { createBatch, createBatches, type BatchOptions } from "@quicrpc/batch";
import { type BatchStep, batchTimings } from "@quicrpc/services";
import { expect, it } from "vitest";
import { collect, failure } from "../behaviour/tools.js";
import { type Answer, createBatchClient, type Plan } from "../../packages/batch/src/generated/batch.js";
import { postsMethods, screenRouters, usersMethods } from "../../packages/batch/test/screen.js";

const served = (options: BatchOptions) => createLocalCaller([...screenRouters(), createBatches(options)]);
const encoder = new TextEncoder();
const template = encoder.encode('{"id":null}');
const user = { method: "screen.v1.Users/get", message: Buffer.from("81a26964a3616461", "hex") };
const boss = { method: user.method, template, references: [{ at: ["id"], from: { step: 0, path: ["boss"] } }] };

async function answersTo(plan: Omit<Plan, "version">, options: BatchOptions): Promise<Answer[]> {
  const items = await collect(createBatchClient(served(options)).run({ version: 1, ...plan }));
  return items.flatMap(({ answers }) => answers).toSorted((a, b) => a.step - b.step);
}

it("answers have the times of their calls, also of silent steps", async () => {
  const steps = [{ ...user, silent: true }, boss];
  const [first, second] = (await answersTo({ steps, timed: true }, { timings: true })) as [Answer, Answer];
  expect(first).toEqual({ step: 0, startedUs: expect.any(Number), tookUs: expect.any(Number) });
  expect(second).toMatchObject({ step: 1, message: expect.any(Uint8Array) });
  expect(second.startedUs).toBeGreaterThanOrEqual((first.startedUs as number) + (first.tookUs as number));
});

it.each([
  ["nothing asks for them", { steps: [user] }, { timings: true }],
  ["the server does not permit it", { steps: [user], timed: true }, {}],
])("answers have no times if %s", async (_, plan, options) => {
  expect(await answersTo(plan, options)).toEqual([{ step: 0, message: expect.any(Uint8Array) }]);
});

async function stepsOf(options: BatchOptions): Promise<readonly BatchStep[]> {
  let onSteps: (steps: readonly BatchStep[]) => void = () => {};
  const observed = new Promise<readonly BatchStep[]>((resolve) => {
    onSteps = resolve;
  });
  const caller = interceptCaller(served(options), [batchTimings((steps) => onSteps(steps))]);
  const batch = createBatch(caller, { users: usersMethods, posts: postsMethods });
  const ada = batch.users.get({ id: "ada" });
  const posts = batch.posts.list({ author: ada.id, limit: 2 });
  const authors = batch.each(posts.items, (post) => batch.users.get({ id: post.author }));
  const nobody = batch.users.get({ id: "nobody" });
  const unknown = batch.posts.list({ author: nobody.id });
  expect(await failure(batch.send(authors, unknown))).toMatchObject({ code: "failed_precondition" });
  return observed;
}

const plan = [
  { method: "screen.v1.Users/get", needs: [], elements: undefined },
  { method: "screen.v1.Posts/list", needs: [0], elements: undefined },
  { method: "screen.v1.Users/get", needs: [1], elements: 2, result: "ok" },
  { method: "screen.v1.Users/get", needs: [], elements: undefined, result: "not_found: there is no such user" },
  { method: "screen.v1.Posts/list", needs: [3], result: expect.stringMatching(/^failed_precondition: did not run/) },
];

it("batchTimings() returns the plan, the times and the results", async () => {
  const steps = await stepsOf({ timings: true });
  const times = { fromMs: expect.any(Number), ms: expect.any(Number) };
  expect(steps).toMatchObject([
    { ...plan[0], ...times, result: "ok" },
    { ...plan[1], ...times, result: "ok" },
    { ...plan[2], ...times },
    { ...plan[3], ...times },
    { ...plan[4], fromMs: undefined, ms: undefined },
  ]);
});

it("batchTimings() returns the plan of a batch whose server sends no times", async () => {
  const steps = await stepsOf({});
  const silent = { fromMs: undefined, ms: undefined, result: undefined };
  expect(steps).toMatchObject([{ ...plan[0], ...silent }, { ...plan[1], ...silent }, plan[2], plan[3], plan[4]]);
  expect(steps.map(({ ms }) => ms)).toEqual(Array.from({ length: 5 }, () => undefined));
});
