import {
  createSecureContext,
  type SecureContext,
  type SecureContextOptions,
  type Server,
  type TlsOptions,
} from "node:tls";
import { constants, X509Certificate } from "node:crypto";
import type { ServerCertificateOptions } from "@quicrpc/quic";
import type { ListenSettings } from "./listener.js";

/** The certificates given. Throws `TypeError` where there is none. */
function certificatesOf({ tls }: ListenSettings): [ServerCertificateOptions, ...ServerCertificateOptions[]] {
  const [first, ...others] = tls === undefined ? [] : [tls].flat();
  if (first === undefined) throw new TypeError("serve() needs the option tls for tls://, wss:// and https://");
  return [first, ...others];
}

/** The certificate for clients that name no server that another is for, PEM. */
export function firstCertificate(settings: ListenSettings): { cert: string; key: string } {
  const [{ cert, key }] = certificatesOf(settings);
  return { cert: String(text(cert)), key: String(text(key)) };
}

/** The TLS of one of Node's servers: what it is made with, and what replaces its certificates later. */
export class ServerTls {
  /** Throws `TypeError` without a certificate, and the error of Node's `tls` for one that cannot be used. */
  readonly options: TlsOptions;
  private byName: (name: string) => SecureContext | undefined;

  constructor(settings: ListenSettings) {
    const { clientCertificates } = settings;
    const certificates = certificatesOf(settings);
    this.byName = contextsByName(certificates, clientCertificates);
    this.options = {
      ...contextOf(certificates[0], clientCertificates),
      SNICallback: (name, done) => done(null, this.byName(name)),
      // Node would end the connection without a word: `certificateRefusal` says why.
      ...(clientCertificates !== undefined && { requestCert: true, rejectUnauthorized: false }),
    };
  }

  /** Sets the certificate of handshakes that begin from now on. Throws, and leaves everything as it is, where a certificate cannot be used. */
  update(server: Server, settings: ListenSettings): void {
    const certificates = certificatesOf(settings);
    const byName = contextsByName(certificates, settings.clientCertificates);
    const options = contextOf(certificates[0], settings.clientCertificates);
    // The server's own method throws halfway.
    createSecureContext(options);
    server.setSecureContext(options);
    this.byName = byName;
  }
}

/** Makes a context, with all settings that hold for every server name: a context that a name chooses brings its own authorities and tickets. */
function contextOf(
  { cert, key }: ServerCertificateOptions,
  clientCertificates: ListenSettings["clientCertificates"],
): SecureContextOptions {
  return {
    cert: text(cert),
    key: text(key),
    minVersion: "TLSv1.3",
    ...(clientCertificates !== undefined && {
      ca: text(clientCertificates.ca),
      // Whoever must show a certificate shows it each time: a ticket would stand for one that nobody judges again.
      secureOptions: constants.SSL_OP_NO_TICKET,
    }),
  };
}

/** Chooses a certificate by the name that the client asks for; undefined lets Node take the first. */
function contextsByName(
  certificates: readonly ServerCertificateOptions[],
  clientCertificates: ListenSettings["clientCertificates"],
): (name: string) => SecureContext | undefined {
  if (certificates.length === 1) return () => undefined;
  const contexts = certificates.map((certificate) => {
    const context = createSecureContext(contextOf(certificate, clientCertificates));
    const x509 = new X509Certificate(text(certificate.cert));
    const fits = (name: string): boolean =>
      certificate.names === undefined
        ? x509.checkHost(name) !== undefined
        : certificate.names.some(
            (own) => own === name || (own.startsWith("*.") && own.slice(1) === name.slice(name.indexOf("."))),
          );
    return { context, fits };
  });
  return (name) => {
    try {
      return contexts.find(({ fits }) => fits(name))?.context;
    } catch {
      // No certificate can be for such a name.
      return undefined;
    }
  };
}

function text(value: string | Uint8Array): string | Buffer {
  return typeof value === "string" ? value : Buffer.from(value);
}
