import { type Finding, messageOf, note, ok, problem } from "./finding.js";

const LEAST_NODE = [20, 19] as const;
const KIB = 1024;

/** Checks this machine, without a server. */
export async function examineMachine(): Promise<Finding[]> {
  return [nodeVersion(process.versions.node), ...(await engine())];
}

/** Checks the version of Node. */
export function nodeVersion(version: string): Finding {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [leastMajor, leastMinor] = LEAST_NODE;
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return ok("node", `Node ${version}`);
  return problem("node", `Node ${version} is too old`, `install Node ${LEAST_NODE.join(".")} or newer`);
}

/** Checks that the engine loads, that it can bind a UDP socket, and the buffer sizes that the kernel grants. */
async function engine(): Promise<Finding[]> {
  let stats: { receiveBuffer: number; sendBuffer: number; bufferAdvice: string | undefined };
  try {
    const { Endpoint } = await import("@quicrpc/quic");
    const endpoint = Endpoint.bind();
    stats = endpoint.stats();
    await endpoint.close();
  } catch (error) {
    const fix = "or use what needs no engine: wss://, tls:// and http";
    if ((error as NodeJS.ErrnoException).code === "ERR_QUIC_NATIVE_MISSING") {
      return [problem("engine", `no QUIC engine: ${messageOf(error)}`, `install its package, ${fix}`)];
    }
    return [problem("engine", `no UDP socket: ${messageOf(error)}`, `allow this program UDP, ${fix}`)];
  }
  const { receiveBuffer, sendBuffer, bufferAdvice } = stats;
  const sizes = `UDP buffers of ${Math.round(receiveBuffer / KIB)} KiB to receive, ${Math.round(sendBuffer / KIB)} KiB to send`;
  const buffers = bufferAdvice === undefined ? ok("buffers", sizes) : note("buffers", sizes, bufferAdvice);
  return [ok("engine", `QUIC engine for ${process.platform}-${process.arch}`), buffers];
}
