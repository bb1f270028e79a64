import { guarded } from "../guarded.js";
import { completeLimits } from "../limits.js";
import { Serving } from "../server/serving.js";
import { foreignStreams } from "../transport/foreign-stream.js";
import type { TransportSession } from "../transport/session.js";
import { carrierSettings } from "./carrier-settings.js";
import { Layouts } from "./layouts.js";
import type { SessionOptions } from "./options.js";
import { RpcSession } from "./rpc-session.js";
import type { Session } from "./session.js";
import { soleLane } from "./sole-lane.js";

/** Runs the protocol over a transport session. */
export function createSession<Context = unknown, Transport extends TransportSession = TransportSession>(
  transport: Transport,
  options: SessionOptions<Context> = {},
): Session<Transport> {
  const { via, keepAlive = {}, onForeignStream } = options;
  const settings = carrierSettings(options, completeLimits(options.limits));
  const { formats, compression, prefix } = settings;
  return new RpcSession(transport, {
    settings,
    via,
    callee: (host) => new Serving(host, { ...options, formats, compression, prefix }),
    onForeign: onForeignStream && foreignStreams(guarded(onForeignStream)),
    layouts: (host) => new Layouts(host),
    sole: (sole, callee, owner, probe) => soleLane(sole, callee, settings, owner, keepAlive, probe),
  });
}
