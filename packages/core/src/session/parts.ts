import type { Callee, CarrierSettings } from "../call/carrier.js";
import type { ExplainFault } from "../call/fault.js";
import type { Via } from "../contract/descriptor.js";
import type { ServingHost } from "../server/serving.js";
import type { ClientSide, ProvingHost } from "../transport/prover.js";
import type { DirectStream, TransportSession } from "../transport/session.js";
import type { ForeignStreams } from "../transport/foreign-stream.js";
import type { BulkLane } from "./bulk-lane.js";
import type { sayDeparture } from "./create-session.js";
import type { LaneSession } from "./lane-session.js";
import type { ServerRenewal, ServerRenewalHost } from "./server-renewal.js";
import type { StreamSession } from "./stream-session.js";

/** The optional parts of a session. A bundle does not contain parts that are not passed. */
export interface SessionParts {
  readonly settings: CarrierSettings;
  readonly via?: Via | undefined;
  readonly peer?: string | undefined;
  /** Creates the object that serves the peer's calls. If absent, the session serves nothing. */
  readonly callee?: (host: ServingHost) => Callee;
  /** Creates the object that handles the server's requests for new credentials or for a proof of the client's key. */
  readonly clientSide?: ((host: ProvingHost) => ClientSide) | undefined;
  readonly serverRenewal?: ((host: ServerRenewalHost) => ServerRenewal) | undefined;
  readonly sayDeparture?: typeof sayDeparture | undefined;
  /** Accepts a stream that the peer has opened. */
  readonly acceptStream: (session: StreamSession<TransportSession>, stream: DirectStream) => void;
  readonly explain: ExplainFault;
  readonly onForeign?: ForeignStreams | undefined;
  /**
   * Creates the second lane, for large messages over short round-trip times. If absent, each call with large messages
   * has its own stream.
   */
  readonly bulkLane?: ((session: LaneSession<TransportSession>) => BulkLane) | undefined;
}
