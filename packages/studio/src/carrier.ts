import type { CallTimings, ConnectionStats } from "@quicrpc/core/measure";
import { type AnyMethod, defaultServiceId, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";

/** Event that the process that carries calls sends to its page. */
export type CarrierEvent =
  | {
      readonly type: "target";
      readonly url: string;
      readonly network: string;
      /** Counts what told the page what the server serves: another number, another model. */
      readonly model: number;
    }
  | ({ readonly type: "network" } & NetworkSample)
  | { readonly type: "timings"; readonly call: string; readonly timings: Partial<CallTimings> };

/** The state of a connection at one time. */
export interface NetworkSample {
  /** Status as `ConnectionState` has it, and why it is not ready. */
  readonly status: string;
  readonly error?: string | undefined;
  /** Sessions that were ready so far. */
  readonly sessions: number;
  /** The transport of a page that connects by itself, and why it is not the first. */
  readonly transport?: string | undefined;
  readonly reason?: string | undefined;
  readonly stats: Partial<ConnectionStats>;
}

const service = { name: "quicrpc.studio.v1.Carrier", id: defaultServiceId("quicrpc.studio.v1.Carrier") };

/** The events of the process, from the present on: the page's and the process's versions are one. */
export const watchCarrier: AnyMethod<"server_stream"> = defineMethod(service, "server_stream", "watch", {
  id: 1,
  output: uncheckedCodec<CarrierEvent>(),
});

/** Metadata by which a page names a call, for its timings; like the following it ends at the process. */
export const CALL_NAME = "studio-call";
/** Metadata by which a page says how the process sends a call: "lane" or "stream". */
export const CALL_VIA = "studio-via";
/** Metadata by which a page has the process compress what it sends for a call: "true". */
export const CALL_COMPRESS = "studio-compress";
