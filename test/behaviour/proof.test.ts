// A client proves that it has a key, and cannot lend the proof to anybody.
import { createSession, RpcError, type Session } from "@quicrpc/core";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import {
  createProofKeys,
  keyThumbprint,
  type Proof,
  type ProofAlgorithm,
  type ProofKeys,
  type Prover,
  prover,
  receiveProof,
  verifyProof,
} from "@quicrpc/core/proof";
import type { RenewedGreeting } from "@quicrpc/core/internal";
import { receiveGreeting, type TransportSession } from "@quicrpc/core/transport";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { kindsFor, type LocalKind } from "./kinds.js";

const service = { name: "test.v1.Proof", id: 4721 };
const methods = {
  who: defineMethod(service, "unary", "who", { id: 1, output: uncheckedCodec<string>() }),
};

/** Kinds whose two ends see the same TLS connection. */
const BOUND = /^(QUIC|WebTransport|TLS|WebSocket over TLS)/;
const isBound = (name: string): boolean => BOUND.test(name);

interface Arrived {
  readonly client: Session;
  readonly far: TransportSession;
  /** What the server finds. */
  readonly proof: Promise<Proof | undefined>;
  /** Lets the client in, as its key's thumbprint. */
  admit(renew?: (greeting: RenewedGreeting) => Promise<string>): Promise<Session>;
  close(): Promise<void>;
}

beforeEach(() => {
  // Renewals that the server demands are spread at random: here they come at once.
  vi.spyOn(Math, "random").mockReturnValue(0);
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** What a client sends in place of proofs: changes of honest ones, each with the nonce that it is to answer. */
type Forge = (proof: Uint8Array, nonce: Uint8Array) => Promise<Uint8Array> | Uint8Array;

/** A dishonest client, whose proofs pass through `forge`. */
function forging(honest: Prover, forge: Forge): Prover {
  return {
    fields: honest.fields,
    follow(session, credentials, renewal) {
      let nonce = new Uint8Array(0);
      const openLane: typeof session.openLane = () => {
        const lane = session.openLane();
        return (
          lane && {
            sendCredentials(write) {
              const written: Uint8Array[] = [];
              write({ varint: () => {}, bytes: (bytes: Uint8Array) => void written.push(bytes.slice()) } as never);
              void (async () => {
                const forged = await forge(written[0] as Uint8Array, nonce);
                lane.sendCredentials((out) => {
                  out.varint(3);
                  out.bytes(forged);
                });
              })();
            },
          }
        );
      };
      const { transport, peer, limits, closed } = session;
      const close = session.close.bind(session);
      const inner = honest.follow({ transport, peer, limits, closed, close, openLane }, credentials, renewal);
      return {
        onFrame(frame) {
          nonce = frame.bytes.slice(frame.start + 1, frame.end);
          inner.onFrame(frame);
        },
        onHello: () => inner.onHello?.(),
        onUnauthenticated: () => inner.onUnauthenticated(),
        stop: () => inner.stop(),
      };
    },
    prove: (session, credentials) => honest.prove(session, credentials),
    proven: (session) => honest.proven(session),
  };
}

/** A client that asks to be challenged, and does not answer. */
async function silentProver(): Promise<Prover> {
  const { fields } = prover(await createProofKeys());
  const follow: Prover["follow"] = () => ({ onFrame() {}, onUnauthenticated() {}, stop() {} });
  return { fields, follow, prove: async () => undefined, proven: async () => {} };
}

describe.each(kindsFor("C91") as readonly LocalKind[])("proof of a key: $name", ({ name, join, face }) => {
  async function arrive(options: Parameters<typeof createSession>[1]): Promise<Arrived> {
    const { client: near, server, release } = await join();
    const far = face(server);
    const client = createSession(face(near), { peer: "quic://orders.test", ...options });
    // Before `receiveGreeting` is over nobody else looks.
    let asked: Promise<Proof | undefined> | undefined;
    const prove = (): Promise<Proof | undefined> => (asked ??= receiveProof(far));
    let admitted: Session | undefined;
    return {
      client,
      far,
      get proof() {
        return prove();
      },
      async admit(renew) {
        const router = createRouter<typeof methods, string>(methods, { who: (_, { connection }) => connection });
        admitted = createSession<string>(far, {
          routers: [router],
          connection: (await prove())?.thumbprint ?? "nobody",
          ...(renew && { renewal: { renew: async (greeting) => ({ connection: await renew(greeting) }) } }),
        });
        await options?.proof?.proven(client);
        return admitted;
      },
      async close() {
        if (admitted === undefined) far.close();
        else await client.close();
        await client.closed;
        await admitted?.closed;
        await release();
      },
    };
  }

  it.each(["ES256", "Ed25519"] satisfies ProofAlgorithm[])(
    "C91 by %s, with the token that names the key",
    async (algorithm) => {
      const keys = await createProofKeys(algorithm);
      const arrived = await arrive({ credentials: "a token", proof: prover(keys) });
      const { credentials } = await receiveGreeting(arrived.far);
      expect(credentials).toBe("a token");
      expect(await arrived.proof).toEqual({
        thumbprint: await keyThumbprint(keys),
        algorithm,
        bound: isBound(name),
        audience: "quic://orders.test",
      });
      await arrived.admit();
      const answers = Array.from({ length: 20 }, () => arrived.client.unary(methods.who, undefined));
      for (const answer of answers) expect(await answer).toBe(await keyThumbprint(keys));
      await arrived.close();
    },
  );

  it("C91 a server that does not ask lets the client in, and one that asks a client without a key waits for none", async () => {
    const { client: near, server, release } = await join();
    const proof = prover(await createProofKeys());
    const client = createSession(face(near), { proof });
    createSession(face(server), { routers: [createRouter<typeof methods>(methods, { who: () => "anybody" })] });
    await proof.proven(client);
    expect(await client.unary(methods.who, undefined)).toBe("anybody");
    await client.close();
    await release();
    const without = await arrive({ credentials: "a token" });
    const answer = without.client.unary(methods.who, undefined);
    expect(await without.proof).toBeUndefined();
    await without.admit();
    expect(await answer).toBe("nobody");
    await without.close();
  });

  const attack = async (forge: Forge, credentials = "a token"): Promise<unknown> => {
    const arrived = await arrive({ credentials, proof: forging(prover(await createProofKeys()), forge) });
    const outcome = await arrived.proof.catch((error: unknown) => error);
    await arrived.close();
    return outcome;
  };

  it("C91 a proof that was seen on another connection does not hold", async () => {
    const seen: Uint8Array[] = [];
    const first = await attack((proof) => {
      seen.push(proof);
      return proof;
    });
    expect(first).toMatchObject({ audience: "quic://orders.test" });
    expect(await attack(() => seen[0] as Uint8Array)).toMatchObject({ code: "unauthenticated" });
  });

  it("C91 a proof with another key, channel, audience or algorithm than was signed does not hold", async () => {
    const other = new Uint8Array(
      await crypto.subtle.exportKey("raw", (await createProofKeys()).publicKey as CryptoKey),
    );
    const changed =
      (at: number) =>
      (proof: Uint8Array): Uint8Array => {
        const copy = proof.slice();
        (copy[at] as number) ^= 1;
        return copy;
      };
    const anotherKey: Forge = (proof) => {
      const copy = proof.slice();
      copy.set(other.subarray(1), 1);
      return copy;
    };
    const refused = { code: "unauthenticated", message: expect.stringContaining("is not valid") };
    expect(await attack(anotherKey)).toMatchObject(refused);
    // The signature, and the last byte before it, which is of the audience.
    for (const at of [-1, -65]) {
      expect(await attack((proof) => changed(proof.length + at)(proof))).toMatchObject(refused);
    }
    const channelAt = 1 + 64 + 1;
    if (isBound(name)) expect(await attack(changed(channelAt))).toMatchObject(refused);
    const numbers = [0, 3, 255];
    for (const number of numbers) {
      const outcome = await attack((proof) => Uint8Array.of(number, ...proof.subarray(1)));
      expect(outcome).toMatchObject({ code: "invalid_argument", message: expect.stringContaining("algorithm") });
    }
  });

  it("C91 a proof that is too long, too short or none costs its session and nobody else", async () => {
    const tooLong = await attack(() => new Uint8Array(20_000));
    expect(tooLong).toMatchObject({ code: "resource_exhausted", message: expect.stringContaining("maxGreetingBytes") });
    for (const forge of [
      () => new Uint8Array(0),
      (p: Uint8Array) => p.subarray(0, 80),
      (p: Uint8Array) => Uint8Array.of(...p, 0),
    ]) {
      expect(await attack(forge)).toMatchObject({ code: "invalid_argument" });
    }
  });

  it("C91 a client that asks to be challenged and does not answer is refused in time, and so is one that calls before", async () => {
    const silent = await silentProver();
    const { client: near, server, release } = await join();
    const client = createSession(face(near), { proof: silent });
    // What has arrived is looked at again: only the answer is late.
    await receiveGreeting(face(server));
    await expect(receiveProof(face(server), { timeoutMs: 20 })).rejects.toMatchObject({ code: "deadline_exceeded" });
    face(server).close();
    await client.closed;
    await release();
    const hasty = await arrive({ proof: silent, via: "lane" });
    const call = hasty.client.unary(methods.who, undefined);
    call.catch(() => {});
    await expect(hasty.proof).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining("before its first call"),
    });
    await hasty.close();
    await expect(call).rejects.toBeInstanceOf(RpcError);
  });

  it("C91 new credentials are proven anew, each with a nonce of its own", async () => {
    const keys: ProofKeys = await createProofKeys();
    const tokens = ["token 1", "token 2", "token 3"];
    let asked = 0;
    const arrived = await arrive({
      credentials: tokens[0] as string,
      renewCredentials: async () => tokens[++asked],
      proof: prover(keys),
    });
    await arrived.proof;
    const renewals: (RenewedGreeting & { proof: Proof })[] = [];
    const renew = async (greeting: RenewedGreeting): Promise<string> => {
      const { claim, credentials } = greeting;
      if (claim === undefined) throw new RpcError("unauthenticated", "nothing is proven");
      // It proves these credentials and no others.
      await expect(verifyProof(claim, "another token", arrived.far)).rejects.toMatchObject({ code: "unauthenticated" });
      renewals.push({ ...greeting, proof: await verifyProof(claim, credentials, arrived.far) });
      return credentials ?? "none";
    };
    const server = await arrived.admit(renew);
    const now = performance.now.bind(performance);
    for (const [count, token] of tokens.slice(1).entries()) {
      // Two renewals are some seconds apart.
      vi.spyOn(performance, "now").mockImplementation(() => now() + count * 6000);
      server.demandCredentials();
      await vi.waitFor(async () => expect(await arrived.client.unary(methods.who, undefined)).toBe(token), {
        interval: 1,
        timeout: 10_000,
      });
    }
    expect(renewals.map(({ proof }) => proof.thumbprint)).toEqual(Array(2).fill(await keyThumbprint(keys)));
    expect(renewals.every(({ proof }) => proof.bound === isBound(name))).toBe(true);
    const [one, two] = renewals.map(({ claim }) => Buffer.from(claim?.nonce as Uint8Array).toString("hex"));
    expect(one).not.toBe(two);
    await arrived.close();
  });
});

/** The far end of a connection sees other keying material than the near one, as behind a proxy that ends TLS. */
describe("proof of a key through a proxy", () => {
  it("C91 a proof holds by its nonce, and is not bound", async () => {
    const { createMemoryPair } = await import("@quicrpc/core/transport");
    const material = (byte: number) => async () => new Uint8Array(32).fill(byte);
    const [near, far] = createMemoryPair();
    Object.assign(near, { exportKeyingMaterial: material(1) });
    Object.assign(far, { exportKeyingMaterial: material(2) });
    const keys = await createProofKeys();
    createSession(near, { proof: prover(keys) });
    expect(await receiveProof(far)).toMatchObject({ bound: false, thumbprint: await keyThumbprint(keys) });
    far.close();
  });
});
