import { readFileSync } from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import { RpcError } from "../errors.js";
import { DEFAULT_LIMITS } from "../limits.js";
import { createClientSession } from "../session/create-client-session.js";
import { createSession } from "../session/create-session.js";
import { createMemoryPair } from "../transport/memory.js";
import type { WebTransportSession } from "../transport/session.js";
import { readProof, writeStatement } from "../wire/proof.js";
import { createProofKeys, keyThumbprint, type ProofKeys } from "./keys.js";
import { prover } from "./prover.js";
import { receiveProof, verifyProof } from "./receive-proof.js";

const bytesOf = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex.replaceAll(" ", ""), "hex"));
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

interface Vectors {
  readonly frames: readonly { readonly name: string; readonly frame: { readonly ofProof?: string } }[];
}
const { frames } = JSON.parse(
  readFileSync(new URL("../../../../test/vectors/frames.json", import.meta.url), "utf8"),
) as Vectors;
const [nonce, proof] = frames.flatMap(({ frame: { ofProof } }) =>
  ofProof === undefined ? [] : [bytesOf(ofProof)],
) as [Uint8Array, Uint8Array];

async function imported(jwk: JsonWebKey, algorithm: { name: string; namedCurve?: string }): Promise<ProofKeys> {
  const publicKey = await crypto.subtle.importKey("jwk", jwk, algorithm, true, ["verify"]);
  return { publicKey, privateKey: publicKey };
}

afterEach(() => {
  vi.useRealTimers();
});

describe("the proof of test/vectors/frames.json", () => {
  it("holds for its nonce and credentials, and for no others", async () => {
    expect(await verifyProof({ nonce, proof }, "abc", {})).toEqual({
      thumbprint: "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
      algorithm: "Ed25519",
      bound: false,
      audience: "quic://b.test:1",
    });
    const others: [Uint8Array, string | undefined][] = [
      [nonce, "abd"],
      [nonce, undefined],
      [nonce.slice().reverse(), "abc"],
    ];
    for (const [given, credentials] of others) {
      await expect(verifyProof({ nonce: given, proof }, credentials, {})).rejects.toMatchObject({
        code: "unauthenticated",
      });
    }
  });

  it("is written as it is read", () => {
    const { said, signature, ...statement } = readProof(proof);
    expect(hexOf(writeStatement(statement)) + hexOf(signature)).toBe(hexOf(proof));
    expect(hexOf(said)).toBe(hexOf(proof.subarray(0, -64)));
  });
});

describe("names of keys", () => {
  it("of P-256, as RFC 9449 has one", async () => {
    const keys = await imported(
      {
        kty: "EC",
        crv: "P-256",
        x: "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs",
        y: "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA",
      },
      { name: "ECDSA", namedCurve: "P-256" },
    );
    expect(await keyThumbprint(keys)).toBe("0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I");
  });

  it("of Ed25519, as RFC 8037 has one", async () => {
    const jwk = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" };
    expect(await keyThumbprint(await imported(jwk, { name: "Ed25519" }))).toBe(
      "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
    );
  });
});

it("the private half of keys is not extractable", async () => {
  for (const algorithm of ["ES256", "Ed25519"] as const) {
    const { privateKey } = await createProofKeys(algorithm);
    expect(privateKey.extractable).toBe(false);
    await expect(crypto.subtle.exportKey("pkcs8", privateKey as CryptoKey)).rejects.toThrow("extractable");
  }
});

it("keys of other algorithms are refused", async () => {
  const rsa = { name: "RSA-PSS", modulusLength: 2048, publicExponent: Uint8Array.of(1, 0, 1), hash: "SHA-256" };
  const pairs = [
    await crypto.subtle.generateKey(rsa, false, ["sign", "verify"]),
    await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-384" }, false, ["sign", "verify"]),
  ];
  for (const keys of pairs) expect(() => prover(keys)).toThrow(TypeError);
});

it("a point that is on no curve is refused as a key, and nothing else fails", async () => {
  const es256 = Uint8Array.of(1, ...new Uint8Array(64).fill(7), 0, 0, ...new Uint8Array(64));
  await expect(verifyProof({ nonce, proof: es256 }, "abc", {})).rejects.toMatchObject({ code: "unauthenticated" });
});

it("a server that says nothing is waited for no longer than maxHandshakeMs", async () => {
  vi.useFakeTimers();
  const [near] = createMemoryPair();
  const mine = prover(await createProofKeys());
  const session = createSession(near, { proof: mine, peer: "quic://silent.test" });
  const waiting = mine.proven(session).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(DEFAULT_LIMITS.maxHandshakeMs);
  expect(await waiting).toMatchObject({
    code: "deadline_exceeded",
    message: expect.stringMatching(/quic:.*silent.*maxHandshakeMs/),
  });
  expect((await session.closed).closeCode).not.toBe(0);
});

it("keys that cannot sign end the session, and say so", async () => {
  const [near, far] = createMemoryPair();
  const { publicKey } = await createProofKeys();
  const session = createSession(near, { proof: prover({ publicKey, privateKey: publicKey }) });
  await expect(receiveProof(far)).rejects.toBeInstanceOf(RpcError);
  expect((await session.closed).reason).toContain("could not prove");
});

it("keying material of a page's WebTransport is asked for as W3C has it, and its failure is that of a platform without", async () => {
  const label = "EXPORTER-Channel-Binding";
  const asked: unknown[] = [];
  for (const fails of [false, true]) {
    const [near, far] = createMemoryPair();
    const material = new Uint8Array(32).fill(5);
    Object.assign(far, { exportKeyingMaterial: async () => material });
    const page = Object.assign(near, {
      async exportKeyingMaterial(name: Uint8Array, context: Uint8Array, length: number): Promise<ArrayBuffer> {
        asked.push([new TextDecoder().decode(name), context.length, length]);
        if (fails) throw new DOMException("not here", "NotSupportedError");
        return material.buffer;
      },
    });
    createClientSession(page as unknown as WebTransportSession, { proof: prover(await createProofKeys()) });
    expect(await receiveProof(far)).toMatchObject({ bound: !fails });
    far.close();
  }
  expect(asked).toEqual([
    [label, 0, 32],
    [label, 0, 32],
  ]);
});
