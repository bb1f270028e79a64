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

/** Returns the configured certificates. Throws `TypeError` if there are none. */
function certificatesOf({ tls }: ListenSettings): [ServerCertificateOptions, ...ServerCertificateOptions[]] {
  const [first, ...otherCertificates] = tls === undefined ? [] : [tls].flat();
  if (first === undefined) throw new TypeError("serve() requires the option tls for tls://, wss:// and https://");
  return [first, ...otherCertificates];
}

/** Returns the certificate (PEM) for clients whose server name matches no other certificate. */
export function firstCertificate(settings: ListenSettings): { cert: string; key: string } {
  const [{ cert, key }] = certificatesOf(settings);
  return { cert: String(text(cert)), key: String(text(key)) };
}

/** TLS options of a Node server whose certificates can be replaced while it runs. */
export class ServerTls {
  /**
   * Options for `tls.createServer`. The constructor throws `TypeError` without a certificate, and the error of Node's
   * `tls` if a certificate cannot be used.
   */
  readonly options: TlsOptions;
  private byName: (name: string) => SecureContext | undefined;

  constructor(settings: ListenSettings) {
    const { clientCertificates } = settings;
    const certificates = certificatesOf(settings);
    this.byName = contextsByName(certificates, clientCertificates);
    this.options = {
      ...contextOf(certificates[0], clientCertificates),
      SNICallback: (name, done) => done(null, this.byName(name)),
      // Node would close the connection without a reason. `certificateRefusal` provides the reason.
      ...(clientCertificates !== undefined && { requestCert: true, rejectUnauthorized: false }),
    };
  }

  /** Sets the certificates for new handshakes. Throws without changing anything if a certificate cannot be used. */
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

/** Creates a TLS context with all settings. Each context needs its own authorities and session ticket keys. */
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
      // A client must present its certificate in every handshake, because a resumed session would skip the check of the
      // certificate.
      secureOptions: constants.SSL_OP_NO_TICKET,
    }),
  };
}

/**
 * Returns a function that selects a TLS context by server name. It returns undefined if no name matches, so that Node
 * uses the first certificate.
 */
function contextsByName(
  certificates: readonly ServerCertificateOptions[],
  clientCertificates: ListenSettings["clientCertificates"],
): (name: string) => SecureContext | undefined {
  if (certificates.length === 1) return () => undefined;
  const contexts = certificates.map((certificate) => {
    const context = createSecureContext(contextOf(certificate, clientCertificates));
    const x509 = new X509Certificate(text(certificate.cert));
    const isFor = (name: string): boolean =>
      certificate.names === undefined
        ? x509.checkHost(name) !== undefined
        : certificate.names.some(
            (pattern) =>
              pattern === name || (pattern.startsWith("*.") && pattern.slice(1) === name.slice(name.indexOf("."))),
          );
    return { context, isFor };
  });
  return (name) => {
    try {
      return contexts.find(({ isFor }) => isFor(name))?.context;
    } catch {
      // No certificate can be for such a name.
      return undefined;
    }
  };
}

function text(value: string | Uint8Array): string | Buffer {
  return typeof value === "string" ? value : Buffer.from(value);
}
