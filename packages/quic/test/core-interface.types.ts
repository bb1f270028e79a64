// Compiled, never run: the classes satisfy what core asks of a transport.
import type {
  DirectSession,
  DirectStream,
  WebTransportSession,
  WebTransportStream,
} from "../../core/src/transport/session.js";
import type { QuicSession, QuicStream } from "../src/index.js";

declare const session: QuicSession;
declare const stream: QuicStream;
export const direct: DirectSession = session;
export const web: WebTransportSession = session;
export const directStream: DirectStream = stream;
export const webStream: WebTransportStream = stream;
