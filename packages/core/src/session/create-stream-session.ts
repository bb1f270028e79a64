import type { CallOptions } from "../call/options.js";
import { SchemaHandshake } from "../call/schemas.js";
import { callingOf } from "../client/calling.js";
import type { AnyMethod } from "../contract/descriptor.js";
import { deferred } from "../deferred.js";
import { asError, RpcError } from "../errors.js";
import { completeLimits } from "../limits.js";
import { closeError, lostCall, neverSent } from "../transport/close-codes.js";
import type { CloseInfo, WebTransportSession } from "../transport/session.js";
import { streamMaker } from "../transport/stream-maker.js";
import { webDatagrams } from "../transport/web-datagrams.js";
import { GoawayStage, StreamKind } from "../wire/frame.js";
import type { ClientSessionOptions } from "./create-client-session.js";
import type { SessionEnd } from "./options.js";
import type { ClientSession } from "./session.js";
import { type LaneHost, takePeerStream } from "./streams/peer-streams.js";
import { openPipe, type Pipe } from "./streams/pipe.js";
import { streamCall, type StreamCallHost } from "./streams/stream-call.js";

/**
 * As `createClientSession`, with a stream for every call, whatever its `via`: cancelling is a reset, and flow control QUIC's own. It
 * neither drains nor pings; where the peer drains the session, it makes no more calls and says when it is done.
 */
export function createStreamSession<Transport extends WebTransportSession>(
  transport: Transport,
  { limits: givenLimits, prefix: givenPrefix = new Uint8Array(0) }: Omit<ClientSessionOptions, "via"> = {},
): ClientSession<Transport> {
  const limits = completeLimits(givenLimits);
  const prefix = givenPrefix.slice();
  const calls = new Set<Pipe>();
  const lanes = new Set<Pipe>();
  const { promise: closed, resolve: onClosed } = deferred<SessionEnd>();
  const { promise: draining, resolve: onDraining } = deferred<void>();
  const maker = streamMaker(() => transport.createBidirectionalStream());
  let ended = false;
  let lost: RpcError | undefined;
  /** Notifications that the peer may not have yet. */
  let unconfirmed = 0;
  let onConfirmed: (() => void) | undefined;
  /** Says that this side has the answers of all it made; set once the peer goes away. */
  let sayFinished: (() => void) | undefined;
  let refused = false;
  let datagrams: ReturnType<typeof webDatagrams>;

  const check = (): void => {
    if (ended) throw neverSent(lost);
    if (refused) throw new RpcError("unavailable", "the peer takes no more calls: it goes away", { refused: true });
  };
  const checkIdle = (): void => {
    if (calls.size > 0) return;
    sayFinished?.();
    sayFinished = undefined;
  };
  const shared = { limits, prefix, budget: { usedBytes: 0, maxBytes: limits.maxUnfinishedBytes } };
  const callHost: StreamCallHost = {
    ...shared,
    before: Uint8Array.of(...prefix, StreamKind.Call),
    schemas: new SchemaHandshake(),
    check,
    open(handler, isNotification) {
      const wanted = maker.make();
      if (isNotification) unconfirmed++;
      const pipe = openPipe(wanted.promise, shared, {
        ...handler,
        get paused() {
          return handler.paused;
        },
        onDone() {
          wanted.dropped = true;
          calls.delete(pipe);
          if (isNotification) {
            unconfirmed--;
            onConfirmed?.();
          }
          checkIdle();
        },
      });
      calls.add(pipe);
      return pipe;
    },
  };
  const laneHost: LaneHost = {
    ...shared,
    lanes,
    onGoaway(stage, say) {
      if (stage !== GoawayStage.Refusing || refused) return;
      refused = true;
      sayFinished = () => say(GoawayStage.Finished);
      onDraining();
      checkIdle();
    },
  };
  const end = ({ closeCode = 0, reason = "" }: CloseInfo, error: Error | undefined): void => {
    ended = true;
    if (error !== undefined) lost = lostCall(error);
    for (const pipe of [...calls, ...lanes]) pipe.close(lostCall(error));
    maker.end();
    onClosed({ closeCode, reason, error });
  };
  // Taken at once: where the application reads the streams already, this throws.
  const reader = transport.incomingBidirectionalStreams.getReader();
  const accept = async (): Promise<void> => {
    for (;;) {
      // A rejection means that the session has ended: `closed` says how.
      const next = await reader.read().catch(() => undefined);
      if (next?.value === undefined) return;
      takePeerStream(laneHost, next.value);
    }
  };
  void accept();
  transport.closed.then(
    (info) => end(info ?? {}, closeError(info ?? {})),
    (error: unknown) => end({}, asError(error)),
  );
  // A failed `ready` fails `closed` as well; it must not surface as an unhandled rejection.
  transport.ready.catch(() => {});

  const start = (method: AnyMethod, input: unknown, options: CallOptions | undefined): never =>
    callingOf(method).start(streamCall(callHost, method, options), input) as never;
  const session: ClientSession<Transport> = {
    transport,
    closed,
    draining,
    unary: start,
    async notify(method, input, options) {
      const { byDatagram } = callingOf(method);
      if (byDatagram !== undefined && options?.via === undefined) {
        check();
        datagrams ??= webDatagrams(transport.datagrams);
        if (byDatagram(datagrams, { prefix, format: undefined }, { method, options, limits }, input)) return;
      }
      start(method, input, options);
    },
    serverStream: start,
    clientStream: start,
    duplex: (method, options) => start(method, undefined, options),
    async close(info = {}) {
      const wait = !ended && (info.closeCode ?? 0) === 0 && unconfirmed > 0;
      ended = true;
      if (wait) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, limits.maxCloseMs);
          onConfirmed = () => {
            if (unconfirmed > 0) return;
            clearTimeout(timer);
            resolve();
          };
        });
      }
      transport.close(info);
      return closed;
    },
    [Symbol.asyncDispose]: async () => void (await session.close()),
  };
  return session;
}
