import { createSession, type Session } from "@quicrpc/core";
import { expect } from "vitest";
import { HELLO, PROTOCOL_ERROR, RawPeer, type RawStream } from "../../packages/core/test/raw-peer.js";
import type { LocalKind } from "./kinds.js";
import { Witness } from "./service.js";
import { sessionOptions } from "./session-options.js";

/** First bytes of a stream that carries calls so. */
export const OPENING: Readonly<Record<"lane" | "stream", string>> = { lane: `02 ${HELLO}`, stream: "01" };

/** A session under test, and a peer that sends what a test likes. */
export interface Exposed {
  readonly session: Session;
  readonly witness: Witness;
  readonly peer: RawPeer;
}

/** Runs `test` against a peer that only knows bytes, which dials where `role` is "caller". */
export async function expose(
  kind: LocalKind,
  role: "caller" | "callee",
  test: (exposed: Exposed) => Promise<void>,
): Promise<void> {
  const { client, server, release } = await kind.join();
  const [raw, own] = role === "caller" ? [client, server] : [server, client];
  const peer = new RawPeer(raw);
  const witness = new Witness();
  const session = createSession(kind.face(own), sessionOptions(witness, {}));
  try {
    await test({ session, witness, peer });
  } finally {
    await session.close({ closeCode: 1 });
    await release();
  }
}

/** Returns how calls can travel over a kind: if its only stream cannot be shared, there is no other. */
export function viasOf({ exceptions }: LocalKind): readonly ("lane" | "stream")[] {
  return exceptions?.has("C69") === true ? ["lane"] : ["lane", "stream"];
}

/** Resolves when the session under test has abandoned the stream in both directions, or itself if it has no other. */
export async function givenUp({ session }: Exposed, kind: LocalKind, stream: RawStream): Promise<void> {
  if (viasOf(kind).length === 1) {
    expect(await session.closed).toMatchObject({ closeCode: PROTOCOL_ERROR });
    return;
  }
  await stream.until(({ resetCode, stopCode }) => resetCode !== undefined && stopCode !== undefined);
  expect(stream).toMatchObject({ resetCode: PROTOCOL_ERROR, stopCode: PROTOCOL_ERROR });
}

/** Returns a frame with this body: its length, then its bytes. In hex; spaces are ignored. */
export function framed(body: string): string {
  const hex = body.replaceAll(" ", "");
  const bytes = hex.length / 2;
  return `${(bytes < 0x4000 ? 0x4000 + bytes : 0x8000_0000 + bytes).toString(16)} ${hex}`;
}
