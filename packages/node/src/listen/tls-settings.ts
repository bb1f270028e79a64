import type { Socket } from "node:net";
import { createSecureContext, type SecureContextOptions, type TlsOptions, TLSSocket } from "node:tls";
import { constants, X509Certificate } from "node:crypto";
import { RpcError } from "@quicrpc/core";
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

/** What Node's `tls` takes of the settings that the QUIC engine takes. Throws `TypeError` without a certificate. */
export function serverTls(settings: ListenSettings): TlsOptions {
  const { clientCertificates } = settings;
  const certificates = certificatesOf(settings);
  const [first, ...others] = certificates;
  return {
    ...contextOf(first, clientCertificates),
    ...(others.length > 0 && { SNICallback: byName(certificates, clientCertificates) }),
    // Node would end the connection without a word: `certificateRefusal` says why.
    ...(clientCertificates !== undefined && { requestCert: true, rejectUnauthorized: false }),
  };
}

/** Why the client may not have a session: it has shown no certificate where one is required, or one that does not hold. */
export function certificateRefusal(socket: Socket, { clientCertificates }: ListenSettings): RpcError | undefined {
  if (clientCertificates === undefined || !(socket instanceof TLSSocket)) return undefined;
  if (verifiedCertificate(socket) !== undefined) return undefined;
  if (socket.isSessionReused()) return new RpcError("unauthenticated", "a resumed session shows no client certificate");
  if (socket.getPeerX509Certificate() !== undefined) {
    return new RpcError("unauthenticated", `the client's certificate is not accepted: ${socket.authorizationError}`);
  }
  const required = clientCertificates.required ?? true;
  return required ? new RpcError("unauthenticated", "a client certificate is required") : undefined;
}

/**
 * The certificate of the client, where it was asked for and is one that the authorities have issued. Node calls a client
 * authorized as well that resumes a session, with the certificate of another handshake or with none.
 */
export function verifiedCertificate(socket: Socket): X509Certificate | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized || socket.isSessionReused()) return undefined;
  return socket.getPeerX509Certificate();
}

/** What holds whatever name a client asks for: a context that a name chooses brings its own authorities and tickets. */
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
function byName(
  certificates: readonly ServerCertificateOptions[],
  clientCertificates: ListenSettings["clientCertificates"],
): TlsOptions["SNICallback"] {
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
  return (name, done) => done(null, contexts.find(({ fits }) => fits(name))?.context);
}

function text(value: string | Uint8Array): string | Buffer {
  return typeof value === "string" ? value : Buffer.from(value);
}
