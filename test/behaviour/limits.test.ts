import { describe, expect, it } from "vitest";
import { kinds } from "./kinds.js";
import { methods } from "./service.js";
import { failure } from "./tools.js";

describe.each(kinds)("limits: $name", (kind) => {
  it("C51 a message exactly at maxFrameBytes passes · C52 one byte more names the limit, and the session lives", async () => {
    const pair = await kind.connect({ maxFrameBytes: 10_000 });
    try {
      // length 4, type 1, id 1, service 2, method 1, map 1, key 5, string head 3
      const most = 10_000 - 18;
      const text = "x".repeat(most);
      expect((await pair.client.unary(methods.echo, { text }, { via: "stream" })).text.length).toBe(most);
      const error = await failure(pair.client.unary(methods.echo, { text: `${text}x` }, { via: "stream" }));
      expect(error).toMatchObject({ code: "resource_exhausted" });
      expect(error.message).toMatch(/10001 bytes.*limits\.maxFrameBytes is 10000/);
      expect(await pair.client.unary(methods.echo, { text: "alive" })).toEqual({ text: "alive" });
    } finally {
      await pair.close();
    }
  });
});
