import { createSession, Metadata, RpcError } from "@quicrpc/core";
import { receiveGreeting } from "@quicrpc/core/transport";
import { describe, expect, it } from "vitest";
import { kindsFor, type LocalKind } from "./kinds.js";
import { methods, Witness } from "./service.js";
import { sessionOptions } from "./session-options.js";
import { collect } from "./tools.js";

describe.each(kindsFor("C77") as readonly LocalKind[])("credentials: $name", ({ join, face }) => {
  const options = sessionOptions(new Witness(), {});

  it("C77 what a client proves itself with is read before anything else of its session, which loses none of it", async () => {
    const { client, server, release } = await join();
    const caller = createSession(face(client), { credentials: "a token, ä, 字" });
    // Calls that have left before anybody was asked wait unread.
    const answers = Array.from({ length: 20 }, (_, n) => caller.unary(methods.echo, { text: `${n}` }));
    const large = caller.unary(methods.echo, { text: "x".repeat(1_000_000) });
    const items = collect(caller.serverStream(methods.items, { n: 3 }));
    const { credentials } = await receiveGreeting(face(server));
    expect(credentials).toBe("a token, ä, 字");
    const callee = createSession(face(server), { ...options, connection: credentials });
    expect(await Promise.all(answers)).toEqual(answers.map((_, n) => ({ text: `${n}` })));
    expect((await large).text).toHaveLength(1_000_000);
    expect(await items).toHaveLength(3);
    await caller.close();
    await callee.closed;
    await release();
  });

  it("C77 a client without any has sent none", async () => {
    const { client, server, release } = await join();
    const caller = createSession(face(client));
    const answer = caller.unary(methods.echo, { text: "a" });
    expect(await receiveGreeting(face(server))).toEqual({ credentials: undefined, metadata: new Metadata() });
    createSession(face(server), options);
    expect(await answer).toEqual({ text: "a" });
    await caller.close();
    await release();
  });

  it("C77 session metadata, with credentials and without", async () => {
    for (const credentials of [undefined, "token"]) {
      const { client, server, release } = await join();
      const given = { "app-version": "1.2", tenant: ["a", "ö"], "trace-bin": Uint8Array.of(0, 255) };
      const caller = createSession(face(client), {
        metadata: given,
        ...(credentials !== undefined && { credentials }),
      });
      const answer = caller.unary(methods.echo, { text: "a" });
      const greeting = await receiveGreeting(face(server));
      expect(greeting.credentials).toBe(credentials);
      expect([...greeting.metadata]).toEqual([...new Metadata(given)]);
      const callee = createSession(face(server), options);
      expect(await answer).toEqual({ text: "a" });
      await caller.close();
      await callee.closed;
      await release();
    }
  });

  it("C77 a client that says nothing", async () => {
    const { client, server, release } = await join();
    expect(await receiveGreeting(face(server), { timeoutMs: 1 })).toEqual({
      credentials: undefined,
      metadata: new Metadata(),
    });
    const callee = createSession(face(server), options);
    const caller = createSession(face(client));
    expect(await caller.unary(methods.echo, { text: "late" })).toEqual({ text: "late" });
    await caller.close();
    await callee.closed;
    await release();
  });

  it("C77 more than may be", async () => {
    const { client, server, release } = await join();
    const caller = createSession(face(client), { credentials: "x".repeat(2000) });
    const reading = receiveGreeting(face(server), { limits: { maxGreetingBytes: 1000 } });
    await expect(reading).rejects.toMatchObject({
      code: "resource_exhausted",
      message: expect.stringContaining("limits.maxGreetingBytes"),
    });
    const other = [{ credentials: "x".repeat(20_000) }, { metadata: { x: "x".repeat(20_000) } }];
    for (const large of other) expect(() => createSession(face(client), large)).toThrow(RpcError);
    server.close();
    await caller.closed;
    await release();
  });
});
