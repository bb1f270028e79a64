// What a peer that knows only bytes may not do, in process; what concerns every transport is in behaviour/raw-*.test.ts.
import { createSession, type RpcError, type Session } from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import { beforeEach, describe, expect, it } from "vitest";
import { behaviourRouter, methods, Witness } from "../../../test/behaviour/service.js";
import { failure } from "../../../test/behaviour/tools.js";
import { HELLO, PROTOCOL_ERROR, RawPeer, type RawStream, SERVER_HELLO, settle } from "./raw-peer.js";

/** echo({ text: "hi" }) of the test service, with this call id. */
const echo = (id: string) => `400e 01 ${id} 1234 01 81 a474657874 a26869`;
const ECHOED = (id: string) => `400b03${id}81a474657874a26869`;

let peer: RawPeer;
let session: Session;
let witness: Witness;
beforeEach(() => {
  const [ours, theirs] = createMemoryPair();
  witness = new Witness();
  peer = new RawPeer(theirs);
  session = createSession(ours, { routers: [behaviourRouter(witness)], onError: () => {} });
});

/** The bytes of the server's hello, as they are received. */
const GREETING = SERVER_HELLO.replaceAll(" ", "");

/** The session still serves a peer that behaves. */
async function alive(): Promise<void> {
  const lane = await peer.open().send(`02 ${HELLO} ${echo("00")}`);
  expect(lane.received).toBe(`${GREETING}${ECHOED("00")}`);
}

describe("what a peer may not send costs it the stream, and nothing else", () => {
  it.each([
    ["C40 a reserved key of metadata", "0b 71756963727063 2d 782d79 00", "03"],
    ["C40 a key in upper case", "01 41 00", "03"],
    ["a key of no characters", "00 00", "03"],
  ])("%s fails the call, not the lane", async (_, entry, code) => {
    const bytes = entry.replaceAll(" ", "").length / 2;
    const hex = (n: number): string => n.toString(16).padStart(2, "0");
    const head = `${hex(bytes + 2)} 03 ${hex(bytes)} ${entry}`;
    const lane = await peer.open().send(`02 ${HELLO} 40${hex(bytes + 17)} 11 00 1234 01 ${head} 81 a474657874 a26869`);
    expect(lane.received.slice(GREETING.length)).toMatch(new RegExp(`^40..0400${code}`));
    expect((await lane.send(echo("02"))).received).toContain(ECHOED("02"));
  });

  it("C41 metadata beyond maxMetadataBytes fails the call, not the lane", async () => {
    const value = "78".repeat(16_384);
    const lane = await peer
      .open()
      .send(`02 ${HELLO} 8000401d 11 00 1234 01 8000400b 03 80004006 01 6b 80004000 ${value} 81 a474657874 a26869`);
    expect(lane.received.slice(GREETING.length)).toMatch(/^40..040008/);
    expect((await lane.send(echo("02"))).received).toContain(ECHOED("02"));
  });

  it("a message for a method that takes a stream is refused", async () => {
    const stream = await peer.open().send("01 4006 01 00 1234 0c c0", true);
    expect(stream.received.slice(4, 10)).toBe("04000c");
  });

  it("C59 an unknown head field: passed over with an odd key, refused with an even one", async () => {
    const body = "81 a474657874 a26869";
    const odd = await peer.open().send(`01 4012 11 00 1234 01 03 21 01 ff ${body}`, true);
    expect(odd.received).toBe(ECHOED("00"));
    const even = await peer.open().send(`01 4012 11 00 1234 01 03 22 01 ff ${body}`, true);
    expect(even.received.slice(4, 10)).toBe("04000c");
    await alive();
  });

  it("a payload that is no MessagePack, or more than one value, is invalid_argument", async () => {
    for (const payload of ["c1", "81a474657874", "8080"]) {
      const length = (5 + payload.length / 2).toString(16).padStart(2, "0");
      const stream = await peer.open().send(`01 40${length} 01 00 1234 01 ${payload}`, true);
      expect({ payload, answer: stream.received.slice(4, 10) }).toEqual({ payload, answer: "040003" });
    }
    await alive();
  });
});

describe("a callee that does not keep to the protocol", () => {
  const input = { text: "" };
  async function call(via: "lane" | "stream"): Promise<{ stream: RawStream; outcome: Promise<RpcError> }> {
    const outcome = session.unary(methods.echo, input, { via }).then(
      () => Promise.reject(new Error("the call succeeded")),
      (error: RpcError) => error,
    );
    await settle();
    return { stream: peer.accepted.at(-1) as RawStream, outcome };
  }

  it("C50 a response that its schema forbids", async () => {
    const { stream, outcome } = await call("stream");
    await stream.send("4003 03 00 80", true);
    expect(await outcome).toMatchObject({
      code: "internal",
      message: expect.stringContaining("the answer of test.v1.Behaviour/echo does not fit its schema"),
    });
  });

  it("a lane whose peer calls back and reads no answer is given up at maxSessionBytes and one frame more", async () => {
    const [ours, theirs] = createMemoryPair();
    const deaf = new RawPeer(theirs);
    const limits = { maxSessionBytes: 100_000, maxFrameBytes: 50_000 };
    const caller = createSession(ours, { limits, routers: [behaviourRouter(witness)], onError: () => {} });
    const waiting = failure(caller.unary(methods.echo, input, { via: "lane" }));
    await settle();
    const lane = deaf.accepted.at(-1) as RawStream;
    lane.stream.pause();
    await lane.send(HELLO);
    const request = `8000271e 01 01 1234 01 81 a474657874 da2710 ${"78".repeat(10_000)}`;
    let sent = 0;
    for (; sent < 2000 && lane.stopCode === undefined; sent++) await lane.send(request);
    // What the transport itself holds comes on top.
    expect(sent * 10_000).toBeGreaterThan(limits.maxSessionBytes + limits.maxFrameBytes);
    expect(sent).toBeLessThan(2000);
    expect(lane.stopCode).toBe(0x08);
    expect(await waiting).toMatchObject({ message: expect.stringContaining("limits.maxSessionBytes is 100000") });
    // The next call gets another lane.
    const next = failure(caller.unary(methods.echo, input, { via: "lane" }));
    await settle();
    expect(deaf.accepted.at(-1)).not.toBe(lane);
    await caller.close();
    expect(await next).toMatchObject({ code: "unavailable" });
  });

  it("an answer to a call that was never made ends the lane, and the next call opens another", async () => {
    const { stream, outcome } = await call("lane");
    await stream.send(`${HELLO} 4003 03 04 80`);
    expect(await outcome).toMatchObject({ code: "internal" });
    expect(stream.resetCode).toBe(PROTOCOL_ERROR);
    const next = await call("lane");
    expect(next.stream).not.toBe(stream);
    await next.stream.send(`${HELLO} 4008 04 00 05 04 67 6f 6e 65`);
    expect(await next.outcome).toMatchObject({ code: "not_found", message: "gone" });
  });

  it("what belongs to a call ends the lane where it comes ahead of the hello", async () => {
    const { stream, outcome } = await call("lane");
    await stream.send("4002 0e 00");
    expect(await outcome).toMatchObject({ code: "internal", message: expect.stringContaining("hello") as string });
    expect(stream.resetCode).toBe(PROTOCOL_ERROR);
  });

  it("items sent without credit end the lane", async () => {
    const stream = session.serverStream(methods.items, { n: 100 }, { via: "lane" });
    await settle();
    const lane = peer.accepted.at(-1) as RawStream;
    const pad = Buffer.from("x".repeat(60_000)).toString("hex");
    // 60,017 bytes of frame: the fifth crosses 262,144, the sixth has no credit.
    const item = `8000ea6d 05 00 82 a169 00 a3706164 daea60 ${pad}`;
    await lane.send(HELLO);
    for (let i = 0; i < 5; i++) await lane.send(item);
    expect(lane.resetCode).toBeUndefined();
    await lane.write(item).until(({ resetCode }) => resetCode !== undefined);
    expect(lane.resetCode).toBe(PROTOCOL_ERROR);
    const seen: unknown[] = [];
    const reading = (async () => {
      for await (const { i } of stream) seen.push(i);
    })();
    await expect(reading).rejects.toMatchObject({ code: "internal" });
    expect(seen).toHaveLength(5);
  });

  it("C61 an item after a half end", async () => {
    const stream = session.serverStream(methods.items, { n: 1 }, { via: "stream" });
    await settle();
    const raw = peer.accepted.at(-1) as RawStream;
    await raw.send("4002 0e 00 4003 05 00 80");
    expect(raw).toMatchObject({ stopCode: PROTOCOL_ERROR });
    await stream.cancel();
    await session.close();
  });

  it("a cancelled call's late answer is dropped, and its id is free only then", async () => {
    const abort = new AbortController();
    const cancelled = session.unary(methods.echo, input, { signal: abort.signal });
    await settle();
    abort.abort();
    await expect(cancelled).rejects.toMatchObject({ code: "cancelled" });
    const second = session.unary(methods.echo, { text: "2" });
    await settle();
    const lane = peer.accepted.at(-1) as RawStream;
    // The second call has id 2, since id 0 is still the cancelled one's.
    expect(lane.received).toContain("4003070001");
    expect(lane.received).toContain("400d0102123401");
    await lane.send(`${HELLO} ${ECHOED("00")} 400a 03 02 81 a474657874 a132`);
    expect(await second).toEqual({ text: "2" });
    void session.unary(methods.echo, { text: "3" }).catch(() => {});
    await settle();
    expect(lane.received).toContain("400d0102123401");
    expect(lane.received.endsWith("81a474657874a133")).toBe(true);
    await session.close();
  });
});
