// Callers that do not keep to the protocol, over every kind of transport.
import type { DirectStream } from "@quicrpc/core/transport";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HELLO, PROTOCOL_ERROR, SERVER_HELLO } from "../../packages/core/test/raw-peer.js";
import { distinctKinds, type LocalKind } from "./kinds.js";
import { type Exposed, expose, framed, givenUp, OPENING, viasOf } from "./raw.js";
import { methods } from "./service.js";

/** echo({ text: "hi" }) of the test service, with this call id. */
const echo = (id: string): string => `400e 01 ${id} 1234 01 81 a474657874 a26869`;
const ECHOED = (id: string): string => `400b 03 ${id} 81 a474657874 a26869`;
/** wait({ text: "a" }), as call 0. */
const WAIT = "400d 01 00 1234 07 81 a474657874 a161";
const hex = (text: string): string => Buffer.from(text).toString("hex");

/** The session still serves a peer that behaves, or where it has ended, others do. */
async function alive({ peer }: Exposed, kind: LocalKind): Promise<void> {
  if (viasOf(kind).length > 1) {
    await peer
      .open()
      .write(`02 ${HELLO} ${echo("00")}`)
      .untilReceived(`${SERVER_HELLO} ${ECHOED("00")}`);
    return;
  }
  const other = await kind.connect();
  expect(await other.client.unary(methods.echo, { text: "hi" })).toEqual({ text: "hi" });
  await other.close();
}

const ON_LANE: readonly (readonly [what: string, hex: string])[] = [
  ["a frame too short", `02 ${HELLO} 4001 01`],
  ["a frame longer than any", `02 ${HELLO} c000000080000000 01 00`],
  ["reserved flags", `02 ${HELLO} 4005 41 00 1234 03`],
  ["a head where none may be", `02 ${HELLO} 4003 17 00 01`],
  ["a head field longer than its head", `02 ${HELLO} 400a 11 00 1234 01 03 21 3f 00 80`],
  ["a timeout of no bytes", `02 ${HELLO} 4009 11 00 1234 01 02 01 00 80`],
  ["a request that ends within its fields", `02 ${HELLO} 4003 01 00 12`],
  ["a head longer than its frame", `02 ${HELLO} 4007 11 00 1234 01 3f 00`],
  ["a lane without hello", `02 ${echo("00")}`],
  ["a lane of another version", "02 4003 00 00 02"],
  ["an unknown frame type", `02 ${HELLO} 4002 0f 00`],
  ["an answer to no call", `02 ${HELLO} 4002 03 01`],
  ["a call id beyond the limit", `02 ${HELLO} 4010 01 80020000 1234 01 81 a474657874 a26869`],
  ["a second hello", `02 ${HELLO} ${HELLO}`],
];

const ON_STREAM: readonly (readonly [what: string, hex: string])[] = [
  ["a frame too short", "01 4001 01"],
  ["a frame longer than any", "01 c000000080000000 01 00"],
  ["reserved flags", "01 4005 41 00 1234 03"],
  ["a head field longer than its head", "01 400a 11 00 1234 01 03 21 3f 00 80"],
  ["a timeout of no bytes", "01 4009 11 00 1234 01 02 01 00 80"],
  ["a request that ends within its fields", "01 4003 01 00 12"],
  ["a head longer than its frame", "01 4007 11 00 1234 01 3f 00"],
  ["a response nobody asked for", "01 4002 03 00"],
  ["a call id on a call's own stream", `01 ${echo("02")}`],
];

describe.each(distinctKinds)("callers of bytes: $name", (kind) => {
  const run = (test: (exposed: Exposed) => Promise<void>): Promise<void> => expose(kind, "caller", test);
  const vias = viasOf(kind);
  const shared = vias.length > 1;

  it.each([...ON_LANE, ...(shared ? ON_STREAM : [])])("C61 %s (%s)", (_, bytes) =>
    run(async (exposed) => {
      await givenUp(exposed, kind, exposed.peer.open().write(bytes));
      await alive(exposed, kind);
    }),
  );

  it("C61 a call id that is still in progress", () =>
    run(async (exposed) => {
      const { peer, witness } = exposed;
      const lane = peer.open().write(`${OPENING.lane} ${WAIT}`);
      await witness.until("wait a");
      lane.write(WAIT);
      await givenUp(exposed, kind, lane);
      await witness.until("aborted a cancelled");
      await alive(exposed, kind);
    }));

  it("C61 garbage, whatever it is", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom("", ...vias.map((via) => OPENING[via])), fc.uint8Array({ maxLength: 80 })), {
          minLength: 1,
          maxLength: shared ? 20 : 1,
        }),
        (pieces) =>
          run(async (exposed) => {
            const { peer } = exposed;
            for (const [start, bytes] of pieces)
              peer.finish(peer.open().write(start + Buffer.from(bytes).toString("hex")));
            await alive(exposed, kind);
          }),
      ),
      { numRuns: 10 },
    ));

  it("C58 a lane that ends within a call's items: the handler is told, and does not take them for all", () =>
    run(async (exposed) => {
      const { peer, witness } = exposed;
      // sum, and one item
      const lane = peer.open().write(`${OPENING.lane} 4005 01 00 1234 0c 4003 05 00 01`);
      await witness.until("sum");
      peer.finish(lane);
      await witness.until("sum cancelled");
      await alive(exposed, kind);
    }));

  describe.each(vias)("by %s", (via) => {
    it("C57 items in a call that takes one message", () =>
      run(async (exposed) => {
        const { peer, witness } = exposed;
        await peer
          .open()
          .write(`${OPENING[via]} ${WAIT} 4003 05 00 80`)
          .until(({ received }) => received.includes("04000c"));
        await witness.until("aborted a unimplemented");
        await alive(exposed, kind);
      }));

    it("C55 __proto__ is a key like any other", () =>
      run(async ({ peer }) => {
        const request = framed(`01 00 1234 01 82 a9 ${hex("__proto__")} 80 a474657874 a26869`);
        await peer.open().write(`${OPENING[via]} ${request}`).untilReceived(ECHOED("00"));
        expect(({} as Record<string, unknown>)["text"]).toBeUndefined();
      }));

    it.each([
      // fail({ code, message, details }), of details of any shape
      [
        "deep nesting",
        `83 a4 ${hex("code")} a1 61 a7 ${hex("message")} a1 61 a7 ${hex("details")} ${"91".repeat(10_000)} c0`,
        "04",
      ],
      [
        "an array of 2^32 - 1 values",
        `83 a4 ${hex("code")} a1 61 a7 ${hex("message")} a1 61 a7 ${hex("details")} dd ffffffff 01`,
        "04",
      ],
      ["text of 4 GiB", "81 a474657874 db ffffffff 78", "01"],
      ["bytes of 4 GiB", "81 a474657874 c6 ffffffff 78", "01"],
      ["a map of 2^32 - 1 entries", "df ffffffff a474657874 a26869", "01"],
    ])("C55 %s: the call fails, before memory is allocated for it", (_, payload, method) =>
      run(async (exposed) => {
        const before = process.memoryUsage();
        const stream = exposed.peer.open().write(`${OPENING[via]} ${framed(`01 00 1234 ${method} ${payload}`)}`);
        // error, of call 0, invalid_argument
        await stream.until(({ received }) => received.includes("040003"));
        const after = process.memoryUsage();
        expect(after.heapUsed - before.heapUsed).toBeLessThan(64 * 1024 * 1024);
        expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(64 * 1024 * 1024);
        await alive(exposed, kind);
      }),
    );
  });

  it("C55 items without credit end the lane", () =>
    run(async (exposed) => {
      const item = `8000ea65 05 00 da ea60 ${"78".repeat(60_000)}`;
      const lane = exposed.peer.open().write(`${OPENING.lane} 4005 01 00 1234 0e`);
      await exposed.witness.until("sink");
      for (let i = 0; i < 6; i++) lane.write(item);
      await givenUp(exposed, kind, lane);
      await alive(exposed, kind);
    }));

  it.runIf(shared)("C61 an unknown kind of stream is refused", () =>
    run(async (exposed) => {
      const stream = exposed.peer.open().write("3f 00 00");
      await stream.until(({ resetCode, stopCode }) => resetCode !== undefined && stopCode !== undefined);
      expect(stream).toMatchObject({ resetCode: 0x21, stopCode: 0x21 });
      await alive(exposed, kind);
    }),
  );

  it.runIf(!shared)("C61 another protocol's first bytes end the session", () =>
    run(async (exposed) => {
      exposed.peer.open().write(hex("GET / HTTP/1.1\r\n\r\n"));
      expect(await exposed.session.closed).toMatchObject({ reason: expect.stringContaining("does not speak quicrpc") });
      await alive(exposed, kind);
    }),
  );

  describe.runIf(shared)("on a call's own stream", () => {
    const cancels: Record<string, (stream: DirectStream) => void> = {
      stop: (stream) => stream.stopSending(1),
      reset: (stream) => stream.reset(1),
      "stop and reset": (stream) => {
        stream.stopSending(1);
        stream.reset(1);
      },
    };
    const request = `01 ${WAIT}`.replaceAll(" ", "");
    const places = {
      "before its first byte": 0,
      "after its kind": 1,
      "within its request": 5,
      "after its request": 99,
    };
    const cases = Object.keys(cancels).flatMap((cancel) =>
      Object.entries(places).map(([place, sent]) => [cancel, place, sent] as const),
    );

    it.each(cases)("C24 %s %s: no handler runs on", (cancel, _, sent) =>
      run(async (exposed) => {
        const { peer, witness } = exposed;
        const stream = peer.open();
        if (sent > 0) stream.write(request.slice(0, 2 * sent));
        await alive(exposed, kind);
        cancels[cancel]?.(stream.stream);
        await alive(exposed, kind);
        // Nothing is sent behind a reset.
        stream.write(request.slice(2 * sent), true);
        await alive(exposed, kind);
        if (witness.events.includes("wait a")) await witness.until("aborted a cancelled");
      }),
    );

    it("C57 two requests: the first is answered, the second stopped", () =>
      run(async (exposed) => {
        const stream = exposed.peer.open().write(`01 ${echo("00")} ${echo("00")}`);
        await stream.until(({ ended, stopCode }) => ended && stopCode !== undefined);
        expect(stream).toMatchObject({ received: ECHOED("00").replaceAll(" ", ""), stopCode: PROTOCOL_ERROR });
        await alive(exposed, kind);
      }));

    it("C57 no request", () =>
      run(async (exposed) => {
        const stream = exposed.peer.open().write("01", true);
        expect(await stream.until(({ resetCode }) => resetCode !== undefined)).toMatchObject({
          resetCode: PROTOCOL_ERROR,
        });
        await alive(exposed, kind);
      }));

    it("C58 FIN before the end of the items fails the call", () =>
      run(async (exposed) => {
        const stream = exposed.peer.open().write("01 4005 01 00 1234 0c", true);
        await stream.until(({ received }) => received.includes("040003"));
        await exposed.witness.until("sum invalid_argument");
        await alive(exposed, kind);
      }));

    it("C58 FIN within a frame, or before the stream has said what it is", () =>
      run(async (exposed) => {
        for (const bytes of ["01 400e 01", "40"]) {
          const stream = exposed.peer.open().write(bytes, true);
          await stream.until(({ resetCode }) => resetCode !== undefined);
        }
        await alive(exposed, kind);
      }));
  });
});
