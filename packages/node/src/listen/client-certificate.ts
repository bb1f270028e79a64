import type { X509Certificate } from "node:crypto";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { RpcError } from "@quicrpc/core";
import type { ListenSettings } from "./listener.js";

/**
 * Returns the reason to refuse a client because of its TLS certificate: the certificate is invalid, or is required but
 * missing. Returns undefined if there is no such reason.
 */
export function certificateRefusal(socket: Socket, { clientCertificates }: ListenSettings): RpcError | undefined {
  if (clientCertificates === undefined || !isTls(socket)) return undefined;
  if (verifiedCertificate(socket) !== undefined) return undefined;
  if (socket.isSessionReused()) return new RpcError("unauthenticated", "a resumed session has no client certificate");
  if (socket.getPeerX509Certificate() !== undefined) {
    return new RpcError("unauthenticated", `the client's certificate is not accepted: ${socket.authorizationError}`);
  }
  const required = clientCertificates.required ?? true;
  return required ? new RpcError("unauthenticated", "a client certificate is required") : undefined;
}

/**
 * Returns the client's certificate if the server requested one and a trusted authority issued it. This function is
 * needed because Node also reports resumed TLS sessions as authorized, with a certificate from another handshake or
 * without any.
 */
export function verifiedCertificate(socket: Socket): X509Certificate | undefined {
  if (!isTls(socket) || !socket.authorized || socket.isSessionReused()) return undefined;
  return socket.getPeerX509Certificate();
}

/**
 * Returns true if a socket uses TLS. Does not use `instanceof`, which would load `node:tls` even if no listener uses
 * TLS.
 */
function isTls(socket: Socket): socket is TLSSocket {
  return "getPeerX509Certificate" in socket;
}
