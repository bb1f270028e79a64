import { lookup } from "node:dns/promises";
import { RpcError, type Session } from "@quicrpc/core";
import { dialTarget, helpFor, readPem, type TargetOptions, trustedHashes } from "../target.js";
import { type Handshake, handshake, judgeCertificate } from "./certificate.js";
import { examineClock } from "./machine.js";
import { type Finding, firstLineOf, note, ok, problem } from "./finding.js";

/** URL schemes of the transports that a server may offer on one host and port. */
const SCHEMES = ["quic:", "https:", "wss:", "tls:"] as const;
const UDP: ReadonlySet<string> = new Set(["quic:", "https:"]);
/** Number of consecutive sessions that are created to check whether all of them get the same response. */
const SESSIONS = 6;
const LEAST_MTU = 1200;

interface Attempt {
  readonly url: string;
  readonly scheme: string;
  readonly error: unknown;
  /** Remedy to show to the user. Undefined if there is none. */
  readonly help: string | undefined;
  readonly ms: number;
  readonly rttMs: number | undefined;
  readonly mtu: number | undefined;
}

/**
 * Checks the network path to a server, and the server itself as far as a client can. Rejects with `TypeError` for
 * invalid arguments.
 */
export async function examineServer(text: string, options: TargetOptions): Promise<Finding[]> {
  const url = new URL(text);
  if (!UDP.has(url.protocol) && !["wss:", "tls:"].includes(url.protocol)) return oneTransport(text, options);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const port = Number(url.port === "" ? (url.protocol === "quic:" || url.protocol === "tls:" ? 4433 : 443) : url.port);
  const addresses = await addressesOf(host);
  if (addresses.length === 0)
    return [problem("address", `${host} has no address`, "check the name, and the name server")];
  const findings = [ok("address", `${host} is ${addresses.join(", ")}`)];
  const seen = await handshake(host, port, ["quicrpc/1", "h2", "http/1.1"], caOf(options), options.timeout).catch(
    firstLineOf,
  );
  findings.push(
    ...judgeTcp(seen, host, port, await trustedHashes(options)),
    ...(await examineClock(seen, host, port, options.timeout)),
  );
  const attempts: Attempt[] = [];
  for (const scheme of [url.protocol, ...SCHEMES.filter((protocol) => protocol !== url.protocol)]) {
    attempts.push(await attempt(text.replace(url.protocol, scheme), options));
  }
  const [firstAttempt, ...otherAttempts] = attempts as [Attempt, ...Attempt[]];
  if (firstAttempt.error instanceof TypeError) throw firstAttempt.error;
  findings.push(
    judgeAsked(firstAttempt),
    ...otherAttempts.map(judgeOther),
    ...judgeUdp(attempts, seen),
    ...judgeMtu(attempts),
  );
  if (firstAttempt.error === undefined) findings.push(await judgeBalance(text, options));
  return findings;
}

async function oneTransport(text: string, options: TargetOptions): Promise<Finding[]> {
  const outcome = await attempt(text, options);
  if (outcome.error instanceof TypeError) throw outcome.error;
  return [judgeAsked(outcome), ...(outcome.error === undefined ? [await judgeBalance(text, options)] : [])];
}

async function addressesOf(host: string): Promise<string[]> {
  const addresses = await lookup(host, { all: true }).catch(() => []);
  return addresses.map(({ address }) => address);
}

function caOf({ ca }: TargetOptions): Buffer | undefined {
  return ca === undefined ? undefined : readPem(ca);
}

function judgeTcp(seen: Handshake | string, host: string, port: number, pins: readonly string[]): Finding[] {
  if (typeof seen === "string") {
    return [
      note("tcp", `TCP port ${port} does not answer with TLS (${seen}): the certificate is only checked over QUIC`),
    ];
  }
  const alpn = ok(
    "alpn",
    seen.alpn === undefined ? "no protocol was negotiated over TCP" : `${seen.alpn} was negotiated over TCP`,
  );
  return [alpn, ...judgeCertificate(seen, host, pins, Date.now())];
}

async function attempt(url: string, options: TargetOptions): Promise<Attempt> {
  const scheme = new URL(url).protocol;
  const began = performance.now();
  let session: Session | undefined;
  try {
    session = await dialTarget(url, options);
    const ms = performance.now() - began;
    const rttMs = await session.ping();
    const stats = (session.transport as { stats?: () => { readonly mtu?: number } }).stats?.();
    return { url, scheme, error: undefined, help: undefined, ms, rttMs, mtu: stats?.mtu };
  } catch (error) {
    return {
      url,
      scheme,
      error,
      help: helpFor(error, options),
      ms: performance.now() - began,
      rttMs: undefined,
      mtu: undefined,
    };
  } finally {
    await session?.close();
  }
}

function judgeAsked({ scheme, error, ms, rttMs, help }: Attempt): Finding {
  const name = scheme.slice(0, -1);
  if (error === undefined) return ok(name, `answers in ${ms.toFixed(1)} ms, round trip ${(rttMs ?? 0).toFixed(2)} ms`);
  const title = isRefusal(error) ? "the server answers, but refuses this client" : "no session";
  return problem(name, `${title}: ${firstLineOf(error)}`, help ?? "see above");
}

/** Returns true if the server refused the session. The transport itself then works. */
function isRefusal(error: unknown): boolean {
  return error instanceof RpcError && error.refused;
}

function judgeOther(attempted: Attempt): Finding {
  const findings = judgeAsked(attempted);
  return findings.status === "ok" || isRefusal(attempted.error)
    ? findings
    : note(findings.check, `not offered, or unreachable: ${firstLineOf(attempted.error)}`);
}

/** Checks whether UDP reaches the server. If the server answers over TCP but not over UDP, a firewall may block UDP. */
function judgeUdp(attempts: readonly Attempt[], seen: Handshake | string): Finding[] {
  const udp = attempts.filter(({ scheme }) => UDP.has(scheme));
  if (udp.some(({ error }) => error === undefined || isRefusal(error))) return [ok("udp", "passes, there and back")];
  const isSilent = udp.every(({ error }) => (error as { code?: unknown }).code === "ERR_QUIC_HANDSHAKE_TIMEOUT");
  if (typeof seen === "string" || !isSilent) return [note("udp", "no session over UDP: see quic and https")];
  const fix =
    "open the UDP port in firewalls and security groups, and publish it as /udp from containers; or use serve({ webSocket: true }) and connect with a fallback";
  return [problem("udp", "TCP works but UDP does not: packets get no answer", fix)];
}

function judgeMtu(attempts: readonly Attempt[]): Finding[] {
  const [mtu] = attempts.flatMap((attempt) => attempt.mtu ?? []);
  if (mtu === undefined) return [];
  const text = `packets of ${mtu} bytes`;
  if (mtu > LEAST_MTU) return [ok("mtu", text)];
  return [
    note(
      "mtu",
      `${text}, the minimum for QUIC`,
      "a tunnel or VPN reduces the packet size, or a network drops larger packets: raise its MTU",
    ),
  ];
}

/**
 * Creates several sessions one after another and compares the results. If only some fail, a balancer may distribute
 * them among different servers.
 */
async function judgeBalance(url: string, options: TargetOptions): Promise<Finding> {
  const attempts: Attempt[] = [];
  for (let i = 0; i < SESSIONS; i++) attempts.push(await attempt(url, options));
  const failed = attempts.filter(({ error }) => error !== undefined);
  if (failed.length === 0) return ok("balance", `${SESSIONS} sessions of ${SESSIONS}`);
  const text = `${failed.length} sessions of ${SESSIONS} failed: ${firstLineOf(failed[0]?.error)}`;
  const fix =
    "some of several servers behind this address do not serve, or their balancer sends a session's packets to the wrong one: see docs/deploying.md";
  return problem("balance", text, fix);
}
