import { RpcError } from "../errors.js";
import { DEFAULT_LIMITS } from "../limits.js";
import { frameAt, lookAtFirstLane, type GreetingOptions } from "../transport/greeting.js";
import type { KeyingMaterialExporter, TransportSession } from "../transport/session.js";
import { isOfProof, readOfProof, writeOfProof } from "../wire/credentials.js";
import * as FrameType from "../wire/frame-type.js";
import { readGreeting } from "../wire/greeting.js";
import { newNonce, type ProofAlgorithm, type ProofClaim, readProof, type SignedStatement } from "../wire/proof.js";
import { FrameWriter } from "../wire/writer.js";
import { isSigned, thumbprintOf, channelOf, signedBytes } from "./keys.js";

/**
 * A verified proof that a client has a private key. It is valid for this connection and for the credentials that the
 * client sent.
 */
export interface Proof {
  /**
   * Thumbprint of the client's key: SHA-256 of its JWK in base64url (RFC 7638). Compare it with `cnf.jkt` of a token,
   * which names the key that may use the token.
   */
  readonly thumbprint: string;
  readonly algorithm: ProofAlgorithm;
  /**
   * Whether the TLS connection of the client ends at this server. False if a proxy in between ends TLS, or if either
   * side's platform does not export keying material.
   */
  readonly bound: boolean;
  /**
   * URL to which the client connected, which the proof signs. Compare it with your own URL, so that another server
   * cannot reuse a proof that it received. Undefined if the client does not know it.
   */
  readonly audience: string | undefined;
}

/**
 * Asks the client of a transport session to prove its key. Call it before creating a session on the transport, like
 * `receiveGreeting`. It takes one round trip. Resolves with undefined if the client sends no proof. Rejects with
 * `RpcError`: `unauthenticated` if the proof is invalid, `invalid_argument` or `resource_exhausted` if it is malformed,
 * `deadline_exceeded` if it arrives too late.
 */
export async function receiveProof(
  transport: TransportSession,
  options: GreetingOptions = {},
): Promise<Proof | undefined> {
  const received = await receiveClaim(transport, options);
  return received && verifyProof(received.claim, received.credentials, transport);
}

/** Verifies the proof of a client. Rejects with the same errors as `receiveProof`. */
export async function verifyProof(
  { nonce, proof }: ProofClaim,
  credentials: string | undefined,
  transport: KeyingMaterialExporter,
): Promise<Proof> {
  const { algorithm, key, channel, audience, signature, said } = statementOf(proof);
  if (!(await isSigned(algorithm, key, signature, await signedBytes(nonce, credentials, said)))) {
    throw new RpcError("unauthenticated", "the proof of the client's key is not valid", {
      hint: "it must sign this connection's nonce and the credentials that were sent",
    });
  }
  const bound = channel.length > 0 && areEqual(channel, await channelOf(transport));
  const thumbprint = await thumbprintOf(algorithm, key);
  return { thumbprint, algorithm, bound, audience: audience === "" ? undefined : audience };
}

function statementOf(proof: Uint8Array): SignedStatement {
  try {
    return readProof(proof);
  } catch (error) {
    throw RpcError.from(error, "invalid_argument");
  }
}

interface ReceivedClaim {
  readonly claim: ProofClaim;
  readonly credentials: string | undefined;
}

function receiveClaim(
  transport: TransportSession,
  { prefix = new Uint8Array(0), limits, timeoutMs }: GreetingOptions,
): Promise<ReceivedClaim | undefined> {
  const { maxGreetingBytes, maxHandshakeMs } = { ...DEFAULT_LIMITS, ...limits };
  const waitMs = timeoutMs ?? maxHandshakeMs / 2;
  return new Promise((resolve, reject) => {
    let nonce: Uint8Array | undefined;
    const onTimeout = (): void => {
      if (nonce === undefined) settle(undefined);
      else
        failWith(
          new RpcError("deadline_exceeded", `the client has not proven its key within ${Math.round(waitMs)} ms`),
        );
    };
    const timer = setTimeout(onTimeout, waitMs);
    const settle = (received: ReceivedClaim | undefined): void => {
      clearTimeout(timer);
      resolve(received);
    };
    const failWith = (error: RpcError): void => {
      clearTimeout(timer);
      reject(error);
    };
    lookAtFirstLane(transport, prefix, {
      look(bytes, start, stream) {
        const hello = frameAt(bytes, start, maxGreetingBytes, readGreeting);
        if (hello === undefined) return true;
        const { credentials, proves } = hello.result;
        if (proves !== true) {
          settle(undefined);
          return false;
        }
        if (nonce === undefined) {
          nonce = newNonce();
          stream.write(challenge(nonce));
        }
        const answer = frameAt(bytes, hello.end, maxGreetingBytes, (frame) =>
          frame.type === FrameType.Credentials && isOfProof(frame) ? readOfProof(frame) : undefined,
        );
        if (answer === undefined) return true;
        const proof = answer.result;
        if (proof === undefined) {
          throw new RpcError("invalid_argument", "a client that proves its key must do so before its first call", {
            hint: "await proof.proven(session) ahead of the first call",
          });
        }
        settle({ claim: { nonce, proof }, credentials });
        return false;
      },
      onOther: () => settle(undefined),
      onFailed: failWith,
    });
  });
}

/** Returns an encoded frame that asks the client for a proof with `nonce`. */
function challenge(nonce: Uint8Array): Uint8Array {
  const out = new FrameWriter(64);
  out.frame(FrameType.Credentials, 0, () => writeOfProof(out, nonce));
  return out.written();
}

/** Compares two arrays in constant time, so that the duration does not reveal where they differ. */
function areEqual(actual: Uint8Array, other: Uint8Array): boolean {
  let difference = actual.length ^ other.length;
  for (let at = 0; at < actual.length; at++) difference |= (actual[at] as number) ^ (other[at] ?? 0);
  return difference === 0;
}
