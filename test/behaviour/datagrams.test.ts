import { createRouter, defineMethod, zodCodec } from "@quicrpc/core/generated";
import { json, type Session } from "@quicrpc/core";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { kinds, type Pair } from "./kinds.js";
import { Witness } from "./service.js";
import { failure } from "./tools.js";

const service = { name: "test.v1.Datagrams", id: 80 };
const methods = {
  cursor: defineMethod(service, "notify", "cursor", {
    id: 1,
    delivery: "datagram",
    input: zodCodec(z.object({ x: z.int(), at: z.date(), pad: z.string().optional() })),
  }),
};
const at = new Date(5);

/** Whether this kind of session has datagrams at all. */
const hasDatagrams = (session: Session): boolean =>
  "datagrams" in session.transport && session.transport.datagrams !== undefined;

describe.each(kinds)("notifications by datagram: $name", (kind) => {
  async function connect(options: object = {}): Promise<{ pair: Pair; witness: Witness }> {
    const witness = new Witness();
    const router = createRouter(methods, {
      cursor: ({ x, at }, { metadata }) => witness.saw(`${x} ${at.getTime()} ${metadata.get("from") ?? ""}`),
    });
    const pair = await kind.connect({}, { client: options, server: { ...options, routers: [router] } });
    return { pair, witness };
  }

  it("C14 arrive, with their metadata and in the session's codec, unless they are lost", async () => {
    for (const options of [{}, { codec: json }, { prefix: new Uint8Array([1, 2, 3]) }]) {
      const { pair, witness } = await connect(options);
      const sending = setInterval(
        () => void pair.client.notify(methods.cursor, { x: 1, at }, { metadata: { from: "me" } }),
        5,
      );
      void pair.client.notify(methods.cursor, { x: 1, at }, { metadata: { from: "me" } });
      await witness.until("1 5 me");
      clearInterval(sending);
      await pair.close();
    }
  });

  it("what no datagram can carry goes by lane, or fails where the caller wants no other way", async () => {
    const { pair, witness } = await connect();
    const pad = "x".repeat(100_000);
    await pair.client.notify(methods.cursor, { x: 2, at, pad });
    await witness.until("2 5 ");
    const error = await failure(pair.client.notify(methods.cursor, { x: 3, at, pad }, { fallback: "none" }));
    expect(error.code).toBe(hasDatagrams(pair.client) ? "resource_exhausted" : "unimplemented");
    expect(error.message).toMatch(
      hasDatagrams(pair.client)
        ? /^test.v1.Datagrams\/cursor makes a datagram of 1000\d\d bytes, and this session carries \d+$/
        : /^test.v1.Datagrams\/cursor is sent as a datagram, and this session has none$/,
    );
    await pair.close();
    expect(await failure(pair.client.notify(methods.cursor, { x: 4, at }))).toMatchObject({ code: "unavailable" });
  });

  it("C50 a message that does not fit its schema is refused", async () => {
    const { pair } = await connect();
    const wrong = { x: "1", at } as unknown as { x: number; at: Date };
    expect(await failure(pair.client.notify(methods.cursor, wrong))).toMatchObject({ code: "invalid_argument" });
    await pair.close();
  });
});
