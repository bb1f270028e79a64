import { createOnceKey, onceFailure } from "@quicrpc/durable";
import { expect, it } from "vitest";
import { describeDistinctCalls } from "./describe-calls.js";
import { once } from "./once-service.js";
import { failure } from "./tools.js";

describeDistinctCalls("once", (on) => {
  const { options, alive } = on;
  const add = (name: string, onceKey?: string, waitMs = 0) =>
    on.client.unary(once.add, { name, waitMs }, options({ onceKey }));

  it("C82 a call that takes effect once and is made again, at once or later, is answered as the first was", async () => {
    const key = createOnceKey();
    const answers = await Promise.all([add("a", key, 20), add("a", key, 20), add("a", key, 20)]);
    answers.push(await add("a", key, 20));
    expect(answers).toEqual(answers.map(() => ({ count: 1, key })));
    expect(await add("a")).toMatchObject({ count: 2 });
    await alive();
  });

  it("C82 its key with another input fails, and nothing runs", async () => {
    const key = createOnceKey();
    await add("b", key);
    expect(onceFailure(await failure(add("c", key)))).toBe("mismatch");
    expect(await add("c")).toMatchObject({ count: 1 });
  });

  it("C82 it runs to its end when its caller leaves", async () => {
    const key = createOnceKey();
    const left = await failure(
      on.client.unary(once.add, { name: "d", waitMs: 60 }, options({ onceKey: key, timeoutMs: 30 })),
    );
    expect(left.code).toBe("deadline_exceeded");
    expect(await add("d", key, 60)).toEqual({ count: 1, key });
  });
});
