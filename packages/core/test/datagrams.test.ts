import { createSession } from "@quicrpc/core";
import { createRouter, defineMethod, zodCodec } from "@quicrpc/core/generated";
import { createMemoryPair, type DirectSession } from "@quicrpc/core/transport";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { settle } from "./raw-peer.js";

const method = defineMethod({ name: "test.v1.Datagrams", id: 0x1234 }, "notify", "cursor", {
  id: 1,
  delivery: "datagram",
  input: zodCodec(z.int()),
});
const bytesOf = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex.replaceAll(" ", ""), "hex"));
/** cursor(5) */
const CURSOR = "01 4006 02 00 1234 01 05";

function peers(onForeignDatagram?: (bytes: Uint8Array) => void): {
  raw: DirectSession;
  received: string[];
  seen: number[];
  notify: (n: number) => Promise<void>;
} {
  const [ours, theirs] = createMemoryPair();
  const seen: number[] = [];
  const received: string[] = [];
  const session = createSession(ours, {
    routers: [createRouter({ cursor: method }, { cursor: (n) => void seen.push(n) })],
    onError: (error) => void seen.push(String(error).length * -1),
    ...(onForeignDatagram !== undefined && { onForeignDatagram }),
  });
  theirs.attach({
    onStream: () => {},
    onDatagram: (bytes) => void received.push(Buffer.from(bytes).toString("hex")),
    onClosed: () => {},
  });
  return { raw: theirs, received, seen, notify: (n) => session.notify(method, n) };
}

describe("datagrams", () => {
  it("are what docs/protocol.md says, both ways", async () => {
    const { raw, received, seen, notify } = peers();
    await notify(5);
    raw.datagrams?.send(bytesOf(CURSOR));
    await settle();
    expect(received).toEqual([CURSOR.replaceAll(" ", "")]);
    expect(seen).toEqual([5]);
  });

  it.each([
    ["of no bytes", ""],
    ["of another kind", "02 4006 02 00 1234 01 05"],
    ["cut short", "01 4006 02 00 1234"],
    ["of a frame too short", "01 4001 02"],
    ["with a request", "01 4006 01 00 1234 01 05"],
    ["with more than one frame", `${CURSOR} 4006 02 00 1234 01 05`],
    ["of a kind beyond 2^53", "ffffffffffffffff 4006 02 00 1234 01 05"],
    ["that ends within its kind", "40"],
    ["with flags that mean nothing", "01 4006 c2 00 1234 01 05"],
  ])("C61 one %s is as good as lost", async (_, hex) => {
    const { raw, seen } = peers();
    raw.datagrams?.send(bytesOf(hex));
    raw.datagrams?.send(bytesOf(CURSOR));
    await settle();
    expect(seen).toEqual([5]);
  });

  it("C69 those of other kinds reach the application untouched", async () => {
    const foreign: string[] = [];
    const { raw, seen } = peers((bytes) => void foreign.push(Buffer.from(bytes).toString("hex")));
    for (const hex of ["3f0102", "", CURSOR]) raw.datagrams?.send(bytesOf(hex));
    await settle();
    expect(foreign).toEqual(["3f0102", ""]);
    expect(seen).toEqual([5]);
  });
});
