import { createMemoryPair, createSession, type RpcError, type Session } from "@quicrpc/core";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { behaviourRouter, methods, Witness } from "./behaviour/service.js";
import { failure } from "./behaviour/tools.js";
import { RawPeer, type RawStream, settle } from "./raw-peer.js";

const HELLO = "4003 00 00 01";
const PROTOCOL_ERROR = 0x20;
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

/** The session still serves a peer that behaves. */
async function alive(): Promise<void> {
  const lane = await peer.open().send(`02 ${HELLO} ${echo("00")}`);
  expect(lane.received).toBe(`4003000001${ECHOED("00")}`);
}

describe("what a peer may not send costs it the stream, and nothing else", () => {
  it.each([
    ["an unknown kind of stream", "3f 00 00", 0x21],
    ["a frame too short", "01 4001 01", PROTOCOL_ERROR],
    ["a frame longer than any", "01 c000000080000000 01 00", PROTOCOL_ERROR],
    ["reserved flags", "01 4005 41 00 1234 03", PROTOCOL_ERROR],
    ["a head where none may be", `02 ${HELLO} 4003 17 00 01`, PROTOCOL_ERROR],
    ["a head field longer than its head", "01 400a 11 00 1234 01 03 21 3f 00 80", PROTOCOL_ERROR],
    ["a timeout of no bytes", "01 4009 11 00 1234 01 02 01 00 80", PROTOCOL_ERROR],
    ["a request that ends within its fields", "01 4003 01 00 12", PROTOCOL_ERROR],
    ["a head longer than its frame", "01 4007 11 00 1234 01 3f 00", PROTOCOL_ERROR],
    ["a response nobody asked for", "01 4002 03 00", PROTOCOL_ERROR],
    ["a call id on a call's own stream", `01 ${echo("02")}`, PROTOCOL_ERROR],
    ["a lane without hello", `02 ${echo("00")}`, PROTOCOL_ERROR],
    ["a lane of another version", "02 4003 00 00 02", PROTOCOL_ERROR],
    ["an unknown frame type on a lane", `02 ${HELLO} 4002 0f 00`, PROTOCOL_ERROR],
    ["an answer to no call on a lane", `02 ${HELLO} 4002 03 01`, PROTOCOL_ERROR],
    ["a call id beyond the limit", `02 ${HELLO} 4010 01 80020000 1234 01 81 a474657874 a26869`, PROTOCOL_ERROR],
    ["a second hello", `02 ${HELLO} ${HELLO}`, PROTOCOL_ERROR],
  ])("C61 %s", async (_, hex, code) => {
    const stream = await peer.open().send(hex);
    expect(stream).toMatchObject({ resetCode: code, stopCode: code });
    await alive();
  });

  it.each([
    ["C40 a reserved key of metadata", "0b 71756963727063 2d 782d79 00", "03"],
    ["C40 a key in upper case", "01 41 00", "03"],
    ["a key of no characters", "00 00", "03"],
  ])("%s fails the call, not the lane", async (_, entry, code) => {
    const bytes = entry.replaceAll(" ", "").length / 2;
    const hex = (n: number): string => n.toString(16).padStart(2, "0");
    const head = `${hex(bytes + 2)} 03 ${hex(bytes)} ${entry}`;
    const lane = await peer.open().send(`02 ${HELLO} 40${hex(bytes + 17)} 11 00 1234 01 ${head} 81 a474657874 a26869`);
    expect(lane.received.slice(10, 20)).toMatch(new RegExp(`^40..0400${code}`));
    expect((await lane.send(echo("02"))).received).toContain(ECHOED("02"));
  });

  it("C41 metadata beyond maxMetadataBytes fails the call, not the lane", async () => {
    const value = "78".repeat(16_384);
    const lane = await peer
      .open()
      .send(`02 ${HELLO} 8000401d 11 00 1234 01 8000400b 03 80004006 01 6b 80004000 ${value} 81 a474657874 a26869`);
    expect(lane.received.slice(10, 20)).toMatch(/^40..040008/);
    expect((await lane.send(echo("02"))).received).toContain(ECHOED("02"));
  });

  it("C57 items in a call that takes one message", async () => {
    const stream = await peer.open().send("01 400d 01 00 1234 07 81 a474657874 a161 4003 05 00 80");
    expect(stream.received.slice(4, 10)).toBe("04000c");
    await witness.until("aborted a unimplemented");
    await alive();
  });

  it("C58 FIN before the end of the items fails the call", async () => {
    const stream = await peer.open().send("01 4005 01 00 1234 0c", true);
    expect(stream.received.slice(4, 10)).toBe("040003");
    await witness.until("sum invalid_argument");
    await alive();
  });

  it("a message for a method that takes a stream is refused", async () => {
    const stream = await peer.open().send("01 4006 01 00 1234 0c c0", true);
    expect(stream.received.slice(4, 10)).toBe("04000c");
  });

  it("C55 items without credit end the lane", async () => {
    const item = `8000ea65 05 00 da ea60 ${"78".repeat(60_000)}`;
    const lane = await peer.open().send(`02 ${HELLO} 4005 01 00 1234 0e`);
    for (let i = 0; i < 5; i++) await lane.send(item);
    expect(lane.resetCode).toBeUndefined();
    await lane.send(item);
    expect(lane.resetCode).toBe(PROTOCOL_ERROR);
    await alive();
  });

  it("C61 two requests on a call's own stream: the first is answered, the second stopped", async () => {
    const stream = await peer.open().send(`01 ${echo("00")} ${echo("00")}`);
    expect(stream).toMatchObject({ received: ECHOED("00"), ended: true, stopCode: PROTOCOL_ERROR });
    await alive();
  });

  it("C61 a call id that is still in progress", async () => {
    const lane = await peer.open().send(`02 ${HELLO} 400d 01 04 1234 07 81 a474657874 a161`);
    await witness.until("wait a");
    await lane.send("400d 01 04 1234 07 81 a474657874 a161");
    expect(lane.resetCode).toBe(PROTOCOL_ERROR);
    await witness.until("aborted a cancelled");
    await alive();
  });

  it("C61 garbage, whatever it is", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 80 }),
        fc.constantFrom("", "01", `02 ${HELLO}`),
        async (bytes, start) => {
          await peer.open().send(start + Buffer.from(bytes).toString("hex"), true);
        },
      ),
      { numRuns: 300 },
    );
    await alive();
  });

  it("C58 FIN within a frame, or before a request", async () => {
    expect(await peer.open().send("01 400e 01", true)).toMatchObject({ resetCode: PROTOCOL_ERROR });
    expect(await peer.open().send("01", true)).toMatchObject({ resetCode: PROTOCOL_ERROR });
    expect(await peer.open().send("", true)).toMatchObject({ resetCode: PROTOCOL_ERROR });
    await alive();
  });

  it("C59 an unknown head field: passed over with an odd key, refused with an even one", async () => {
    const body = "81 a474657874 a26869";
    const odd = await peer.open().send(`01 4012 11 00 1234 01 03 21 01 ff ${body}`, true);
    expect(odd.received).toBe(ECHOED("00"));
    const even = await peer.open().send(`01 4012 11 00 1234 01 03 22 01 ff ${body}`, true);
    expect(even.received.slice(4, 10)).toBe("04000c");
    await alive();
  });

  it("C55 names from the wire index nothing: __proto__ and constructor keys are just unknown", async () => {
    const key = Buffer.from("__proto__").toString("hex");
    const stream = await peer.open().send(`01 4019 01 00 1234 01 82 a9${key} 80 a474657874 a26869`, true);
    expect(stream.received).toBe(ECHOED("00"));
    expect(({} as Record<string, unknown>)["text"]).toBeUndefined();
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

  it.each([
    ["C57 no response", "", "internal", "the stream ended before the call did"],
    ["C57 a stream's end instead of a response", "4002 06 00", "internal", "the call ended without a response"],
    ["C57 an item instead of a response", "4003 05 00 80", "internal", "an item in a call with one answer"],
    ["C58 a FIN within the response", "4008 03 00", "internal", "protocol error: the stream ends within a frame"],
    [
      "C50 a response that its schema forbids",
      "4003 03 00 80",
      "internal",
      "the answer of test.v1.Behaviour/echo does not fit its schema",
    ],
    ["C48 an error frame cut short", "4003 04 00 05", "internal", "protocol error: a frame ends before its fields do"],
    ["C48 an error frame with an unknown code", "4004 04 00 c8 00", "unknown", ""],
    ["C48 an error frame with unreadable details", "4005 04 00 05 00 c1", "not_found", ""],
  ])("%s", async (_, hex, code, message) => {
    const { stream, outcome } = await call("stream");
    await stream.send(hex, true);
    const error = await outcome;
    expect(error.code).toBe(code);
    expect(error.message).toContain(message);
  });

  it("C57 two responses: the first counts, the second is refused", async () => {
    const result = session.unary(methods.echo, input, { via: "stream" });
    await settle();
    const stream = peer.accepted.at(-1) as RawStream;
    await stream.send(`${ECHOED("00")} ${ECHOED("00")}`);
    expect(await result).toEqual({ text: "hi" });
    expect(stream.stopCode).toBe(PROTOCOL_ERROR);
  });

  it("C57 two responses on a lane end it: the second answers no call", async () => {
    const result = session.unary(methods.echo, input, { via: "lane" });
    await settle();
    const stream = peer.accepted.at(-1) as RawStream;
    await stream.send(`${HELLO} ${ECHOED("00")} ${ECHOED("00")}`);
    expect(await result).toEqual({ text: "hi" });
    expect(stream.resetCode).toBe(PROTOCOL_ERROR);
  });

  it("C58 items that stop without an end: those that came, then an error", async () => {
    const items = session.serverStream(methods.items, { n: 2 }, { via: "stream" });
    await settle();
    await (peer.accepted.at(-1) as RawStream).send("4006 05 00 81 a169 00", true);
    const iterator = items[Symbol.asyncIterator]();
    expect(await iterator.next()).toEqual({ done: false, value: { i: 0 } });
    await expect(iterator.next()).rejects.toMatchObject({ code: "internal" });
  });

  it("a lane whose peer calls back and reads no answer is given up at maxUnsentBytes and one frame more", async () => {
    const [ours, theirs] = createMemoryPair();
    const deaf = new RawPeer(theirs);
    const limits = { maxUnsentBytes: 100_000, maxFrameBytes: 50_000 };
    const caller = createSession(ours, { limits, routers: [behaviourRouter(witness)], onError: () => {} });
    const waiting = failure(caller.unary(methods.echo, input, { via: "lane" }));
    await settle();
    const lane = deaf.accepted.at(-1) as RawStream;
    lane.stream.pause();
    await lane.send(HELLO);
    const request = `8000271e 01 01 1234 01 81 a474657874 da2710 ${"78".repeat(10_000)}`;
    let sent = 0;
    for (; sent < 100 && lane.stopCode === undefined; sent++) await lane.send(request);
    // What the transport itself holds comes on top.
    expect(sent * 10_000).toBeGreaterThan(limits.maxUnsentBytes + limits.maxFrameBytes);
    expect(sent).toBeLessThan(100);
    expect(lane.stopCode).toBe(0x08);
    expect(await waiting).toMatchObject({ message: expect.stringContaining("limits.maxUnsentBytes is 100000") });
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
    await lane.send(item);
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
