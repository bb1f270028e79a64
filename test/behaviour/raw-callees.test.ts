// Callees that do not keep to the protocol, over every kind of transport.
import type { RpcError } from "@quicrpc/core";
import { describe, expect, it } from "vitest";
import { HELLO, PROTOCOL_ERROR, type RawStream } from "../../packages/core/test/raw-peer.js";
import { distinctKinds } from "./kinds.js";
import { type Exposed, expose, givenUp, viasOf } from "./raw.js";
import { methods } from "./service.js";
import { failure } from "./tools.js";

const ECHOED = "400b 03 00 81 a474657874 a26869";

describe.each(distinctKinds)("callees of bytes: $name", (kind) => {
  const run = (test: (exposed: Exposed) => Promise<void>): Promise<void> => expose(kind, "callee", test);

  describe.each(viasOf(kind))("by %s", (via) => {
    /** Answers begin with hello on a lane. */
    const opening = via === "lane" ? HELLO : "";

    /** The stream of a call of `echo` whose request has arrived, and what will come of it. */
    async function called({ peer, session }: Exposed): Promise<{ stream: RawStream; outcome: Promise<RpcError> }> {
      const outcome = failure(session.unary(methods.echo, { text: "" }, { via }));
      // It may fail before the test looks at it.
      outcome.catch(() => {});
      return { stream: await (await peer.first()).untilReceived("1234 01 81 a474657874 a0"), outcome };
    }

    it.each([
      [
        "C48 an error frame cut short",
        "4003 04 00 05",
        "internal",
        "protocol error: a frame ends before its fields do",
      ],
      ["C48 an error frame with an unknown code", "4004 04 00 c8 00", "unknown", ""],
      ["C48 an error frame with unreadable details", "4005 04 00 05 00 c1", "not_found", ""],
      ["C57 a stream's end instead of a response", "4002 06 00", "internal", "the call ended without a response"],
      ["C57 an item instead of a response", "4003 05 00 80", "internal", "an item in a call with one answer"],
    ])("%s", (_, bytes, code, message) =>
      run(async (exposed) => {
        const { stream, outcome } = await called(exposed);
        stream.write(`${opening} ${bytes}`);
        const error = await outcome;
        expect(error.code).toBe(code);
        expect(error.message).toContain(message);
      }),
    );

    it("C48 unknown fields of an error's head are passed over", () =>
      run(async (exposed) => {
        const { stream, outcome } = await called(exposed);
        // a head with the unknown field 0x21, of 1 byte; not_found, "gone"
        stream.write(`${opening} 400c 14 00 03 21 01 ff 05 04 676f6e65`);
        expect(await outcome).toMatchObject({ code: "not_found", message: "gone" });
      }));

    it("C57 two responses: the first counts", () =>
      run(async (exposed) => {
        const result = exposed.session.unary(methods.echo, { text: "" }, { via });
        const stream = await (await exposed.peer.first()).untilReceived("1234 01");
        stream.write(`${opening} ${ECHOED} ${ECHOED}`);
        expect(await result).toEqual({ text: "hi" });
        if (via === "lane") await givenUp(exposed, kind, stream);
        else
          expect(await stream.until(({ stopCode }) => stopCode !== undefined)).toMatchObject({
            stopCode: PROTOCOL_ERROR,
          });
      }));

    it.each([
      ["C57 no response", ""],
      ["C58 an end within the response", "4008 03 00"],
    ])("%s", (_, bytes) =>
      run(async (exposed) => {
        const { stream, outcome } = await called(exposed);
        exposed.peer.finish(stream.write(`${opening} ${bytes}`));
        expect((await outcome).code).toMatch(via === "lane" ? /^(unavailable|internal)$/ : /^internal$/);
      }),
    );

    it("C58 items that stop without an end: those that came, then an error", () =>
      run(async (exposed) => {
        const items = exposed.session.serverStream(methods.items, { n: 2 }, { via });
        const iterator = items[Symbol.asyncIterator]();
        const stream = await (await exposed.peer.first()).untilReceived("1234 0a");
        stream.write(`${opening} 4006 05 00 81 a169 00`);
        expect(await iterator.next()).toEqual({ done: false, value: { i: 0 } });
        exposed.peer.finish(stream);
        const error = await failure(iterator.next());
        expect(error.code).toBe(via === "lane" ? "unavailable" : "internal");
      }));
  });
});
