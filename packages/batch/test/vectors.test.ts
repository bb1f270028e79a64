import { readFileSync } from "node:fs";
import { createLocalCaller, interceptCaller } from "@quicrpc/core";
import type { MessageCodec } from "@quicrpc/core/generated";
import { FrameWriter, fromMarkedJson } from "@quicrpc/core/internal";
import { createBatch, createBatches } from "@quicrpc/batch";
import { expect, it } from "vitest";
import { collect, failure } from "../../../test/behaviour/tools.js";
import { type Answer, type Answers, createBatchClient, type Plan } from "../src/generated/batch.js";
import { answersCodec, planCodec } from "../src/generated/batch.codecs.js";
import { postsMethods, screenRouters, usersMethods } from "./screen.js";

interface Vector {
  readonly hex: string;
  readonly value: unknown;
}
const file = new URL("../../../test/vectors/batch.json", import.meta.url);
const vectors = JSON.parse(readFileSync(file, "utf8")) as {
  readonly plan: Vector;
  readonly answers: Vector;
  readonly timedPlan: Vector;
  readonly timedAnswers: Vector;
};
const valueOf = <T>({ value }: Vector): T => fromMarkedJson(JSON.stringify(value)) as T;
const caller = createLocalCaller([...screenRouters(), createBatches()]);

function hexOf<T>(codec: MessageCodec<T>, value: T): string {
  const out = new FrameWriter(256);
  codec.encode(value, out);
  return Buffer.from(out.written()).toString("hex");
}

it.each([
  ["plan", "answers"],
  ["timedPlan", "timedAnswers"],
] as const)("%s and %s have the bytes of test/vectors/batch.json", (planName, answersName) => {
  const { [planName]: plan, [answersName]: answers } = vectors;
  expect(hexOf(planCodec, valueOf<Plan>(plan))).toBe(plan.hex);
  expect(hexOf(answersCodec, valueOf<Answers>(answers))).toBe(answers.hex);
  const bytes = Buffer.from(answers.hex, "hex");
  expect(answersCodec.decode(bytes, 0, bytes.length)).toEqual(valueOf<Answers>(answers));
});

it("createBatch() makes the plan", async () => {
  const plans: unknown[] = [];
  const watched = interceptCaller(caller, [(call, next) => (plans.push(call.input), next(call))]);
  const batch = createBatch(watched, { users: usersMethods, posts: postsMethods });
  const user = batch.users.get({ id: "ada" });
  const posts = batch.posts.list({ author: user.id, limit: 2 });
  const authors = batch.each(posts.items, (post) => batch.users.get({ id: post.author }));
  const missing = batch.users.get({ id: "nobody" });
  expect(await failure(batch.send(authors, missing))).toMatchObject({ code: "not_found" });
  expect(plans).toEqual([valueOf(vectors.plan)]);
});

it("createBatches() answers it", async () => {
  const items = await collect(createBatchClient(caller).run(valueOf<Plan>(vectors.plan)));
  const answers = items.flatMap((item) => item.answers);
  const place = ({ step, element = -1 }: Answer): number => step * 100 + element;
  expect(answers.toSorted((a, b) => place(a) - place(b))).toEqual(valueOf<Answers>(vectors.answers).answers);
});
