/** Names that other libraries use for our options. */
const ALIASES: Readonly<Record<string, string>> = {
  address: "host",
  auth: "authenticate",
  caCert: "ca",
  certificate: "cert",
  cors: "allowedOrigins",
  handshakeTimeoutMs: "maxHandshakeMs",
  keepAliveIntervalMs: "keepAlive",
  maxConcurrentStreams: "maxStreams",
  maxMessageBytes: "maxFrameBytes",
  maxMessageSize: "maxFrameBytes",
  middleware: "interceptors",
  origins: "allowedOrigins",
  readMaxBytes: "maxFrameBytes",
  rejectUnauthorized: "serverCertificateHashes",
  retry: "reconnect",
  rootCerts: "ca",
  router: "routers",
  servername: "serverName",
  services: "routers",
  ssl: "tls",
  timeout: "timeoutMs",
  token: "credentials",
  url: "listen",
};

/** Returns the known name that is most similar to `name`, within `edits` changed letters; undefined if there is none. */
export function nearest(
  name: string,
  names: readonly string[],
  edits: number = Math.max(1, Math.floor(name.length / 3)),
): string | undefined {
  const alias = Object.hasOwn(ALIASES, name) ? ALIASES[name] : undefined;
  if (alias !== undefined && names.includes(alias)) return alias;
  // A missing unit is the most frequent mistake.
  const variants = [name, `${name}Ms`, `${name}Bytes`].map((variant) => variant.toLowerCase());
  const same = names.find((known) => variants.includes(known.toLowerCase()));
  if (same !== undefined) return same;
  let [best, fewest]: [string | undefined, number] = [undefined, edits];
  for (const known of names) {
    const needed = distance(name.toLowerCase(), known.toLowerCase(), fewest);
    if (needed > fewest || (needed === fewest && best !== undefined)) continue;
    [best, fewest] = [known, needed];
  }
  return best;
}

/**
 * Returns how many letters must be added, removed, replaced or swapped with a neighbour. If it exceeds `max`, the
 * result is any larger number.
 */
function distance(name: string, other: string, max: number): number {
  if (Math.abs(name.length - other.length) > max) return max + 1;
  let before: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let i = 1; i <= name.length; i++) {
    const row = [i];
    for (let j = 1; j <= other.length; j++) {
      const changed = (last[j - 1] as number) + (name[i - 1] === other[j - 1] ? 0 : 1);
      let edits = Math.min(changed, (last[j] as number) + 1, (row[j - 1] as number) + 1);
      if (i > 1 && j > 1 && name[i - 1] === other[j - 2] && name[i - 2] === other[j - 1]) {
        edits = Math.min(edits, (before[j - 2] as number) + 1);
      }
      row.push(edits);
    }
    [before, last] = [last, row];
  }
  return last[other.length] as number;
}
