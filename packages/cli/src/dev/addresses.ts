import { networkInterfaces } from "node:os";

const ANY: ReadonlySet<string> = new Set(["0.0.0.0", "[::]"]);

/**
 * Returns the URLs at which clients reach a listener on `url`. Returns one URL for each network interface if it listens
 * on all of them.
 */
export function reachableUrls(
  url: string,
  interfaces: ReturnType<typeof networkInterfaces> = networkInterfaces(),
): string[] {
  const { protocol, hostname, host } = new URL(url);
  if (protocol === "unix:" || !ANY.has(hostname)) return [url];
  const at = (name: string): string => url.replace(host, host.replace(hostname, name));
  const otherAddresses = Object.values(interfaces)
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, family }) => !internal && (family === "IPv4" || hostname === "[::]"))
    // Link-local addresses need a zone, which cannot be written in a URL.
    .filter(({ address }) => !/^fe80:/i.test(address))
    .map(({ address, family }) => at(family === "IPv6" ? `[${address}]` : address));
  return [at("localhost"), ...otherAddresses];
}

export function withPort(url: string, port: number): string {
  const { port: before, host, hostname } = new URL(url);
  return before === "" ? url : url.replace(host, `${hostname}:${port}`);
}

/** Returns the port of a URL, or 0 for a URL without a port, such as `unix:`. */
export function urlPortOf(url: string): number {
  return Number(new URL(url).port);
}
