import { expect, it } from "vitest";
import { describeCalls, MANY_CALLS } from "./describe-calls.js";
import { methods } from "./service.js";

describeCalls("empty and large", (on) => {
  const { options, echo } = on;

  it("C17 `{}` differs from nothing, in requests and responses", async () => {
    expect(await on.client.unary(methods.blank, {}, options())).toEqual({});
    expect(await on.client.unary(methods.blank, { text: "" }, options())).toEqual({ keys: 1 });
    expect(await on.client.unary(methods.nothing, undefined, options())).toBeUndefined();
  });

  it("C19 300 KB request and response", async () => {
    const text = "0123456789".repeat(30_000);
    expect((await echo(text)).text === text).toBe(true);
  });

  it("C21 many large calls at once", async () => {
    const texts = Array.from({ length: on.scaled(1000) }, (_, i) => `${i}:${"x".repeat(20_000)}`);
    const answers = await Promise.all(texts.map((text) => echo(text)));
    expect(answers.every(({ text }, i) => text === texts[i])).toBe(true);
  });
});

describeCalls(
  "many small calls",
  ({ echo, scaled }) => {
    it("C22 many small calls at once: no answer crosses", async () => {
      const answers = await Promise.all(Array.from({ length: scaled(20_000) }, (_, i) => echo(String(i))));
      expect(answers.every(({ text }, i) => text === String(i))).toBe(true);
    });
  },
  MANY_CALLS,
);
