import type { Socket } from "node:net";
import { createSecureContext, type SecureContextOptions, type TlsOptions, TLSSocket } from "node:tls";
import { X509Certificate } from "node:crypto";
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
    ...pem(first),
    minVersion: "TLSv1.3",
    ...(others.length > 0 && { SNICallback: byName(certificates) }),
    ...(clientCertificates !== undefined && {
      requestCert: true,
      ca: text(clientCertificates.ca),
      // Node would end the connection without a word: `certificateRefusal` says why.
      rejectUnauthorized: false,
    }),
  };
}

/** Why the client may not have a session: it has shown no certificate where one is required, or one that does not hold. */
export function certificateRefusal(socket: Socket, { clientCertificates }: ListenSettings): RpcError | undefined {
  if (clientCertificates === undefined || !(socket instanceof TLSSocket) || socket.authorized) return undefined;
  if (socket.getPeerX509Certificate() !== undefined) {
    return new RpcError("unauthenticated", `the client's certificate is not accepted: ${socket.authorizationError}`);
  }
  const required = clientCertificates.required ?? true;
  return required ? new RpcError("unauthenticated", "a client certificate is required") : undefined;
}

/** The certificate of the client, where it was asked for and is one that the authorities have issued. */
export function verifiedCertificate(socket: Socket): X509Certificate | undefined {
  return socket instanceof TLSSocket && socket.authorized ? socket.getPeerX509Certificate() : undefined;
}

/** Chooses a certificate by the name that the client asks for; undefined lets Node take the first. */
function byName(certificates: readonly ServerCertificateOptions[]): TlsOptions["SNICallback"] {
  const contexts = certificates.map((certificate) => {
    const context = createSecureContext(pem(certificate));
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

function pem({ cert, key }: ServerCertificateOptions): SecureContextOptions {
  return { cert: text(cert), key: text(key) };
}

function text(value: string | Uint8Array): string | Buffer {
  return typeof value === "string" ? value : Buffer.from(value);
}
