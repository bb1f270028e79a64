import type { Callee, CarrierSettings } from "../call/carrier.js";
import type { ExplainFault } from "../call/fault.js";
import type { Via } from "../contract/descriptor.js";
import type { ServingHost } from "../server/serving.js";
import type { ClientSide, ProvingHost } from "../transport/prover.js";
import type { DirectSessionHandler, TransportSession } from "../transport/session.js";
import type { ForeignStreams } from "../transport/stream-sorter.js";
import type { BulkLane } from "./bulk-lane.js";
import type { sayDeparture } from "./create-session.js";
import type { LaneSession } from "./lane-session.js";
import type { StreamTaker } from "./peer-streams.js";
import type { ServerRenewal, ServerRenewalHost } from "./server-renewal.js";
import type { StreamSession } from "./stream-session.js";

/** Parts of a session other than the calling side. A part that is not passed stays out of a bundle. */
export interface SessionParts {
  readonly settings: CarrierSettings;
  readonly via?: Via | undefined;
  /** The peer's name in errors, such as its URL. */
  readonly peer?: string | undefined;
  /** Creates the part that serves the peer's calls. Without it nothing is served. */
  readonly callee?: (host: ServingHost) => Callee;
  /** Creates the part that handles events of the transport. Without it the session handles them, and ignores datagrams. */
  readonly events?: (session: StreamSession<TransportSession>) => DirectSessionHandler;
  /** Creates the part that answers the server's requests to this client: for new credentials, and for a proof of its key. */
  readonly clientSide?: ((host: ProvingHost) => ClientSide) | undefined;
  /** Creates the part that receives new credentials of the peer. */
  readonly serverRenewal?: ((host: ServerRenewalHost) => ServerRenewal) | undefined;
  /** Announces the address for further calls when this side drains. */
  readonly sayDeparture?: typeof sayDeparture | undefined;
  /** Creates the part that accepts the streams that the peer opens. */
  readonly peerStreams: (session: StreamSession<TransportSession>) => StreamTaker;
  /** Completes errors of the peer. */
  readonly explain: ExplainFault;
  /** Receives the peer's streams of other protocols. */
  readonly onForeign?: ForeignStreams | undefined;
  /** Creates the lane for large messages on short paths. Without it, each such call has its own stream. */
  readonly bulkLane?: ((session: LaneSession<TransportSession>) => BulkLane) | undefined;
}
