import type { Callee, LaneCallee } from "../call/carrier.js";
import type { TypedCaller } from "../call/base-caller.js";
import { IncomingCallStream } from "../call/incoming-stream.js";
import type { SchemaHandshake } from "../call/messages/schema-handshake.js";
import type { Drain } from "../call/lanes/drain.js";
import { ServedLane } from "../call/lanes/served-lane.js";
import type { FormatTable } from "../call/messages/session-format.js";
import { guarded } from "../guarded.js";
import type { Limits } from "../limits.js";
import type { MemoryBudget } from "../memory-budget.js";
import type { Channel, FrameHandler } from "../transport/channel.js";
import type { SessionCompression } from "../transport/compression.js";
import { Admission, guardedShedder, type LoadShedder } from "./admission.js";
import type { PrincipalOf } from "./context.js";
import { DatagramReceiver } from "./datagram-receiver.js";
import { Dispatcher, type ErrorHook } from "./dispatch.js";
import { errorHook } from "./error-hook.js";
import { Identity } from "./identity.js";
import type { OnceOptions } from "./once/once-options.js";
import { MethodTable, type ReservedMethods, type Router } from "./router.js";
import { ServerLoad } from "./server-load.js";
import { young } from "../young.js";

/** The session whose peer's calls are served. */
export interface ServingHost extends TypedCaller {
  readonly budget: MemoryBudget;
  readonly schemas: SchemaHandshake;
  /** Methods that the peer may call without a router. */
  readonly reserved: ReservedMethods | undefined;
  /** Undefined until either side begins to drain the session. */
  readonly drainage: Pick<Drain, "refusing"> | undefined;
  /** No call is in progress any more. */
  onIdle(): void;
}

/** Options of serving. */
export interface ServingOptions<Context> {
  readonly routers?: readonly Router<Context>[] | undefined;
  readonly connection?: Context | undefined;
  readonly loadShedder?: LoadShedder | undefined;
  readonly load?: ServerLoad | undefined;
  readonly once?: OnceOptions<Context> | undefined;
  readonly principal?: PrincipalOf<Context> | undefined;
  readonly onError?: ErrorHook | undefined;
  readonly peer?: string | undefined;
  readonly onForeignDatagram?: ((bytes: Uint8Array) => void) | undefined;
}

/** How the calls that are served are carried, and within which limits. */
export interface ServingSettings {
  readonly limits: Limits;
  readonly formats: FormatTable;
  readonly compression: SessionCompression | undefined;
  readonly prefix: Uint8Array;
}

/** Serves the calls of one session's peer. */
export class Serving<Context> implements Callee {
  readonly onStream: (channel: Channel, onOver: () => void) => FrameHandler = young(
    (channel, onOver) => new IncomingCallStream(channel, this.dispatcher, onOver),
  );
  readonly onDatagram: (bytes: Uint8Array) => void;
  private readonly dispatcher: Dispatcher<Context>;
  private readonly admission: Admission;

  constructor(host: ServingHost, options: ServingOptions<Context>, settings: ServingSettings) {
    const { budget, schemas } = host;
    const { limits, formats, compression, prefix } = settings;
    const { loadShedder, load = new ServerLoad(), onForeignDatagram } = options;
    const onError = errorHook(options.onError, options.peer);
    const once = options.once && { options: options.once, since: Date.now() };
    this.admission = new Admission({
      limits,
      loadShedder: loadShedder && guardedShedder(loadShedder, onError),
      load,
      onError,
      isRefusing: () => host.drainage?.refusing === true,
      onIdle: () => host.onIdle(),
    });
    this.dispatcher = new Dispatcher<Context>({
      table: MethodTable.of(options.routers ?? []),
      connection: options.connection as Context,
      identity: new Identity(options.connection as Context),
      session: host,
      host,
      limits,
      once,
      principal: options.principal,
      schemas,
      formats,
      compression,
      onError,
      admission: this.admission,
      budget,
    });
    const onForeign =
      onForeignDatagram && guarded(onForeignDatagram, (thrown) => onError(thrown, { method: "onForeignDatagram" }));
    const datagrams = new DatagramReceiver(this.dispatcher, prefix, limits, onForeign);
    this.onDatagram = young((bytes) => datagrams.onDatagram(bytes));
  }

  get calls(): number {
    return this.admission.calls;
  }

  identify(connection: unknown): void {
    this.dispatcher.identify(connection as Context);
  }

  onLane(channel: Channel): LaneCallee {
    return new ServedLane(channel, this.dispatcher);
  }
}
