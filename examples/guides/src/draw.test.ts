// A call that outlives its session: see docs/durable.md.
import { connect, serve } from "@quicrpc/node";
import { expect, it, onTestFinished } from "vitest";
import { createDrawClient, createDrawRouter } from "./generated/draw.js";

it("strokes go on after a lost session, and none is missing", async () => {
  let entered = 0;
  const router = createDrawRouter({
    async *strokes(strokes) {
      entered++;
      for await (const { x, y } of strokes) yield { x: y, y: x };
    },
  });
  const server = await serve({ listen: "tcp://127.0.0.1:0", routers: [router] });
  onTestFinished(async () => void (await server.close()));
  const connection = await connect(server.urls[0] ?? "");
  onTestFinished(async () => void (await connection.close()));
  const { readable, writable } = createDrawClient(connection).strokes();
  const writer = writable.getWriter();
  const strokes = readable[Symbol.asyncIterator]();
  for (let x = 0; x < 6; x++) {
    void writer.write({ x, y: -1 });
    expect((await strokes.next()).value).toEqual({ x: -1, y: x });
    if (x === 2) await Promise.all([...server.sessions].map((session) => session.close()));
  }
  await writer.close();
  expect(await strokes.next()).toMatchObject({ done: true });
  expect(entered).toBe(1);
});
