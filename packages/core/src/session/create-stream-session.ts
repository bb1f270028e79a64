import type { CallOptions } from "../call/options.js";
import { SchemaHandshake } from "../call/schemas.js";
import { callingOf } from "../client/calling.js";
import type { AnyMethod } from "../contract/descriptor.js";
import { deferred } from "../deferred.js";
import { asError, ProtocolError, type RpcError } from "../errors.js";
import { streamLimits } from "../limits.js";
import { closeError, lostCall, neverSent, turnedAway } from "../transport/close-codes.js";
import type { CloseInfo, WebTransportSession } from "../transport/session.js";
import { streamMaker } from "../transport/stream-maker.js";
import type { ClientSessionOptions } from "./create-client-session.js";
import type { SessionEnd } from "./options.js";
import type { ClientSession } from "./session.js";
import type { StreamHost } from "./streams/host.js";
import { takePeerStream } from "./streams/peer-stream.js";
import { openPipe, type Pipe } from "./streams/pipe.js";
import { streamCall } from "./streams/stream-call.js";
import * as StreamKind from "../wire/stream-kind.js";
import * as GoawayStage from "../wire/goaway-stage.js";

/**
 * As `createClientSession`, over a W3C session and with a stream for every call, whatever its `via`: cancelling is a reset, and flow
 * control QUIC's own. It neither drains nor pings; where the peer drains the session, it makes no more calls and says when it is
 * done. Written apart from the other sessions, for the smallest bundles: closures, whose names bundlers shorten.
 */
export function createStreamSession<Transport extends WebTransportSession>(
  transport: Transport,
  { limits: givenLimits, prefix = new Uint8Array(0) }: Omit<ClientSessionOptions, "via"> = {},
): ClientSession<Transport> {
  const limits = streamLimits(givenLimits);
  const calls = new Set<Pipe>();
  const { promise: closed, resolve: onClosed } = deferred<SessionEnd>();
  const { promise: draining, resolve: onDraining } = deferred<void>();
  const maker = streamMaker(() => transport.createBidirectionalStream());
  // Taken at once: where the application reads the streams already, this throws.
  const incoming = transport.incomingBidirectionalStreams.getReader();
  let ended = false;
  /** Bytes of unfinished frames. */
  let held = 0;
  let lost: RpcError | undefined;
  /** Notifications that the peer may not have yet. */
  let unconfirmed = 0;
  /** Notifications that it did not receive. */
  let unreceived = 0;
  let onConfirmed: (() => void) | undefined;
  let refused = false;
  /** Says that this side has the answers of all it made. */
  let sayFinished: (() => void) | undefined;

  const checkIdle = (): void => {
    if (calls.size > 0) return;
    sayFinished?.();
    sayFinished = undefined;
  };
  const host: StreamHost = {
    limits,
    spend(bytes) {
      held += bytes;
      if (held > limits.maxSessionBytes) throw new ProtocolError("unfinished frames exceed maxSessionBytes");
    },
    prefix: prefix.slice(),
    before: Uint8Array.of(...prefix, StreamKind.Call),
    schemas: new SchemaHandshake(),
    peers: new Set(),
    check() {
      if (ended) throw neverSent(lost);
      if (refused) throw turnedAway("the peer takes no more calls: it goes away");
    },
    open(handler, isNotification, priority) {
      const wanted = maker.make();
      if (isNotification) unconfirmed++;
      wanted.promise.then(({ writable }) => {
        // A `WebTransportSendStream` (W3C WebTransport §8), where the platform's streams are such.
        if (priority !== undefined && "sendOrder" in writable) writable.sendOrder = priority;
      }, nothing);
      const pipe = openPipe(wanted.promise, host, handler, (isReceived) => {
        // Where it is not made yet, it need not be. Chromium ends a connection that has a thousand resets under way.
        wanted.dropped = true;
        calls.delete(pipe);
        if (isNotification) {
          if (!isReceived) unreceived++;
          if (--unconfirmed === 0) onConfirmed?.();
        }
        checkIdle();
      });
      calls.add(pipe);
      return pipe;
    },
    onGoaway(stage, say) {
      if (stage !== GoawayStage.Refusing || refused) return;
      refused = true;
      sayFinished = () => say(GoawayStage.Finished);
      onDraining();
      checkIdle();
    },
  };
  const accept = async (): Promise<void> => {
    for (;;) {
      // A rejection means that the session has ended: `closed` says how.
      const { value } = await incoming.read();
      if (value === undefined) return;
      takePeerStream(host, value);
    }
  };
  accept().catch(nothing);
  const end = ({ closeCode = 0, reason = "" }: CloseInfo, error: Error | undefined): void => {
    ended = true;
    const ending = lostCall(error);
    if (error !== undefined) lost = ending;
    for (const pipe of [...calls, ...host.peers]) pipe.close(ending);
    maker.end();
    onClosed({ closeCode, reason, error });
  };
  transport.closed.then(
    (info) => end(info ?? {}, closeError(info ?? {})),
    (error: unknown) => end({}, asError(error)),
  );
  // A failed `ready` fails `closed` as well; it must not surface as an unhandled rejection.
  transport.ready.catch(nothing);

  const start = (method: AnyMethod, input: unknown, options: CallOptions | undefined): never =>
    callingOf(method).start(streamCall(host, method, options), input) as never;
  const session: ClientSession<Transport> = {
    transport,
    closed,
    get takesCalls() {
      return !ended && !refused;
    },
    draining,
    unary: start,
    async notify(method, input, options) {
      const calling = callingOf(method);
      if (calling.byDatagram !== undefined && options?.via === undefined) {
        host.check();
        const settings = { prefix: host.prefix, format: undefined };
        if (calling.byDatagram(transport.datagrams, settings, { method, options, limits }, input)) return;
      }
      start(method, input, options);
    },
    serverStream: start,
    clientStream: start,
    duplex: (method, options) => start(method, undefined, options),
    get unacknowledged() {
      return unconfirmed + unreceived;
    },
    async close({ timeoutMs = limits.maxAcknowledgeMs, ...info } = {}) {
      const open = !ended;
      ended = true;
      if (open && unconfirmed > 0 && !info.closeCode) {
        await new Promise<void>((resolve) => {
          onConfirmed = resolve;
          const timer = setTimeout(resolve, Math.min(timeoutMs, limits.maxTimeoutMs));
          void closed.then(() => clearTimeout(timer));
        });
      }
      transport.close(info);
      return { ...(await closed), unacknowledged: session.unacknowledged };
    },
    [Symbol.asyncDispose]: async () => void (await session.close()),
  };
  return session;
}

function nothing(): void {}
