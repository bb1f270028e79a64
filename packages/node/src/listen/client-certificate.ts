import type { X509Certificate } from "node:crypto";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { RpcError } from "@quicrpc/core";
import type { ListenSettings } from "./listener.js";

/** Why the client may not have a session: it has shown no certificate where one is required, or one that does not hold. */
export function certificateRefusal(socket: Socket, { clientCertificates }: ListenSettings): RpcError | undefined {
  if (clientCertificates === undefined || !isTls(socket)) return undefined;
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
  if (!isTls(socket) || !socket.authorized || socket.isSessionReused()) return undefined;
  return socket.getPeerX509Certificate();
}

/** Whether a socket has TLS. It is not asked for its class, since that would load TLS where nothing listens with it. */
function isTls(socket: Socket): socket is TLSSocket {
  return "getPeerX509Certificate" in socket;
}
