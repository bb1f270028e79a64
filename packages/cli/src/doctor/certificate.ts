import type { PeerCertificate } from "node:tls";
import { connect } from "node:tls";
import { type Finding, firstLineOf, note, ok, problem } from "./finding.js";

const SOON_DAYS = 14;
const DAY_MS = 86_400_000;

/** Result of a TLS handshake over TCP that did not verify the server. */
export interface Handshake {
  readonly certificate: Pick<PeerCertificate, "valid_from" | "valid_to" | "subjectaltname" | "fingerprint256">;
  /** Reason why the certificate is not trusted, or undefined if it is trusted. */
  readonly untrusted: string | undefined;
  readonly alpn: string | undefined;
  /** Subject names of the certificate chain, beginning with the server's certificate. */
  readonly chain: readonly string[];
}

/** Performs a TLS handshake without verifying the server. Rejects if the server does not answer. */
export function handshake(
  host: string,
  port: number,
  alpn: readonly string[],
  ca: Buffer | undefined,
  timeoutMs: number,
): Promise<Handshake> {
  return new Promise((resolve, reject) => {
    const servername = /^[\d.]+$|:/.test(host) ? {} : { servername: host };
    const socket = connect({
      host,
      port,
      ...servername,
      ALPNProtocols: [...alpn],
      rejectUnauthorized: false,
      ...(ca && { ca }),
    });
    socket.setTimeout(timeoutMs, () => socket.destroy(new Error(`no TLS handshake within ${timeoutMs} ms`)));
    socket.on("error", reject);
    socket.on("secureConnect", () => {
      const certificate = socket.getPeerCertificate(true);
      const untrusted = socket.authorized ? undefined : firstLineOf(socket.authorizationError);
      const protocol = typeof socket.alpnProtocol === "string" ? socket.alpnProtocol : undefined;
      resolve({ certificate, untrusted, alpn: protocol, chain: chainOf(certificate) });
      socket.destroy();
    });
  });
}

function chainOf(certificate: PeerCertificate): string[] {
  const names: string[] = [];
  let issuer: (PeerCertificate & { readonly issuerCertificate?: PeerCertificate }) | undefined = certificate;
  // A root is its own issuer.
  for (const seen = new Set<string>(); issuer?.fingerprint256 !== undefined && !seen.has(issuer.fingerprint256); ) {
    seen.add(issuer.fingerprint256);
    names.push(String(issuer.subject?.CN ?? issuer.subject?.O ?? "no name"));
    issuer = issuer.issuerCertificate;
  }
  return names;
}

/**
 * Checks a server's certificate. If the user trusts certificate hashes (hexadecimal), the certificate must match one of
 * them. It then needs neither a trusted authority nor the right name.
 */
export function judgeCertificate(seen: Handshake, host: string, pins: readonly string[], now: number): Finding[] {
  const { certificate, untrusted, chain } = seen;
  const [from, to] = [Date.parse(certificate.valid_from), Date.parse(certificate.valid_to)];
  const days = Math.floor((to - now) / DAY_MS);
  const names = certificate.subjectaltname ?? "no names";
  const hash = certificate.fingerprint256.replaceAll(":", "").toLowerCase();
  const isPinned = pins.length > 0;
  const findings: Finding[] = [];
  if (now < from) {
    findings.push(
      problem("expiry", `valid only from ${certificate.valid_from}`, "compare the clocks of both machines"),
    );
  } else if (days < 0) {
    findings.push(
      problem(
        "expiry",
        `expired on ${certificate.valid_to}`,
        "renew it; watchTls() loads the new one into a running server",
      ),
    );
  } else if (days < SOON_DAYS && !isPinned) {
    findings.push(
      note("expiry", `expires in ${days} days`, "renew it; watchTls() loads the new one into a running server"),
    );
  } else findings.push(ok("expiry", `valid for ${days} days more`));
  const chainText = chain.join(" ← ");
  if (isPinned && !pins.includes(hash)) {
    findings.push(
      problem(
        "certificate",
        `${chainText} has the SHA-256 ${hash}, which --dev or --hash does not trust`,
        "restart the server if its certificate was renewed, or trust this one: --hash",
      ),
    );
  } else if (isPinned) findings.push(ok("certificate", `${chainText}, trusted by its hash`));
  // Expiry is reported above.
  else if (/EXPIRED|NOT_YET_VALID/.test(untrusted ?? ""))
    findings.push(note("certificate", `${chainText}; for ${names}`));
  else if (untrusted === undefined) findings.push(ok("certificate", `${chainText}; for ${names}`));
  else if (/altname/i.test(untrusted)) {
    findings.push(
      problem(
        "certificate",
        `is for ${names}, not for ${host}`,
        "connect with one of these names, or get a certificate for this one",
      ),
    );
  } else {
    const fix =
      chain.length === 1
        ? "the server sends only one certificate: configure the whole chain (fullchain.pem), or trust its root with --ca, or a development certificate with --dev"
        : "trust its root with --ca, or a development certificate with --dev";
    findings.push(problem("certificate", `${chainText} is not trusted: ${untrusted}`, fix));
  }
  return findings;
}
