import type { Connection, Session } from "@quicrpc/core";
import { connect, type ConnectOptions, type DevCertificate, type DialOptions } from "@quicrpc/node";
import type { QuicSession } from "@quicrpc/quic";
import { onTestFinished } from "vitest";

/** How a client trusts a test's server: a transport without TLS takes no hashes of certificates. */
export function trustOf(
  url: string | URL,
  { hash }: Pick<DevCertificate, "hash">,
): Pick<DialOptions, "serverCertificateHashes"> {
  return /^(tcp|ws|unix):/.test(String(url)) ? {} : { serverCertificateHashes: [hash] };
}

/** Connects to a port of this machine over QUIC. The connection is closed at the end of the test. */
export async function connectedTo(
  scheme: "quic" | "https",
  certificate: Pick<DevCertificate, "hash">,
  port: number,
  options: ConnectOptions = {},
): Promise<Connection<Session<QuicSession>>> {
  const trust = trustOf(`${scheme}:`, certificate);
  const connection = await connect(`${scheme}://127.0.0.1:${port}/`, { ...trust, ...options });
  onTestFinished(() => void connection.close());
  return connection as Connection<Session<QuicSession>>;
}
