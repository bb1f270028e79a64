import { type Finding, firstLineOf, note, ok, problem } from "./finding.js";
import { request } from "node:https";
import type { Handshake } from "./certificate.js";

const LEAST_NODE = [20, 19] as const;
const KIB = 1024;

/** Checks this machine, without contacting a server. */
export async function examineMachine(): Promise<Finding[]> {
  return [nodeVersion(process.versions.node), ...(await engine())];
}

export function nodeVersion(version: string): Finding {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [leastMajor, leastMinor] = LEAST_NODE;
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return ok("node", `Node ${version}`);
  return problem("node", `Node ${version} is too old`, `install Node ${LEAST_NODE.join(".")} or newer`);
}

/**
 * Checks that the native engine loads and can bind a UDP socket, and the sizes of the socket buffers that the system
 * grants.
 */
async function engine(): Promise<Finding[]> {
  let stats: { receiveBuffer: number; sendBuffer: number; bufferAdvice: string | undefined };
  try {
    const { Endpoint } = await import("@quicrpc/quic");
    const endpoint = Endpoint.bind();
    stats = endpoint.stats();
    await endpoint.close();
  } catch (error) {
    const fix = "or use transports without the engine: wss://, tls:// and http";
    if ((error as NodeJS.ErrnoException).code === "ERR_QUIC_NATIVE_MISSING") {
      return [problem("engine", `no QUIC engine: ${firstLineOf(error)}`, `install its package, ${fix}`)];
    }
    return [problem("engine", `no UDP socket: ${firstLineOf(error)}`, `allow this program UDP, ${fix}`)];
  }
  const { receiveBuffer, sendBuffer, bufferAdvice } = stats;
  const sizes = `UDP buffers of ${Math.round(receiveBuffer / KIB)} KiB to receive, ${Math.round(sendBuffer / KIB)} KiB to send`;
  const buffers = bufferAdvice === undefined ? ok("buffers", sizes) : note("buffers", sizes, bufferAdvice);
  return [ok("engine", `QUIC engine for ${process.platform}-${process.arch}`), buffers];
}

/**
 * Permitted difference between two clocks in seconds. It is not smaller, because a Date header has whole seconds and a
 * response takes time.
 */
const TOLERANCE_S = 5;

/**
 * Compares this machine's clock with the clock of the server, which must answer over HTTP. Returns no result if it does
 * not.
 */
export async function examineClock(
  seen: Handshake | string,
  host: string,
  port: number,
  timeoutMs: number,
): Promise<Finding[]> {
  if (typeof seen === "string") return [];
  const date = await new Promise<string | undefined>((resolve) => {
    const headRequest = request(
      { host, port, path: "/", method: "HEAD", rejectUnauthorized: false, timeout: timeoutMs },
      (response) => {
        resolve(response.headers.date);
        response.destroy();
      },
    );
    headRequest.on("timeout", () => headRequest.destroy());
    headRequest.on("error", () => resolve(undefined));
    headRequest.end();
  });
  return date === undefined ? [] : [judgeClock(Date.now(), Date.parse(date))];
}

/** Checks the difference between two clocks. Both times are in milliseconds since the epoch. */
export function judgeClock(localMs: number, remoteMs: number): Finding {
  const seconds = Math.round((localMs - remoteMs) / 1000);
  if (Math.abs(seconds) <= TOLERANCE_S) return ok("clock", "agrees with the server's");
  const text = `is ${Math.abs(seconds)} s ${seconds > 0 ? "ahead of" : "behind"} the server's`;
  return problem("clock", text, "correct the wrong one with NTP: certificates and credentials depend on it");
}
