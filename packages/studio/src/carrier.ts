import type { CallTimings, ConnectionStats } from "@quicrpc/core/measure";
import { type AnyMethod, defaultServiceId, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";

/** An event that the carrying process sends to its page. */
export type CarrierEvent =
  | {
      readonly type: "target";
      readonly url: string;
      readonly network: string;
      /** Version of the service descriptions. The page loads them again when it changes. */
      readonly model: number;
    }
  | ({ readonly type: "network" } & NetworkSample)
  | { readonly type: "timings"; readonly call: string; readonly timings: Partial<CallTimings> };

/** The state of a connection at one time. */
export interface NetworkSample {
  /** Status as in `ConnectionState`, and the reason if it is not ready. */
  readonly status: string;
  readonly error?: string | undefined;
  /** Number of sessions that have been ready so far. */
  readonly sessions: number;
  /** The transport that a page uses itself, and why it is not the preferred one. */
  readonly transport?: string | undefined;
  readonly reason?: string | undefined;
  readonly stats: Partial<ConnectionStats>;
}

const service = { name: "quicrpc.studio.v1.Carrier", id: defaultServiceId("quicrpc.studio.v1.Carrier") };

/** Streams the process's events from now on. Page and process always have the same version. */
export const watchCarrier: AnyMethod<"server_stream"> = defineMethod(service, "server_stream", "watch", {
  id: 1,
  output: uncheckedCodec<CarrierEvent>(),
});

/** Metadata with the name that a page gives to a call, for its timings. Like the two below, it is not forwarded to the server. */
export const CALL_NAME = "studio-call";
/** Metadata that tells the process how to send a call: "lane" or "stream". */
export const CALL_VIA = "studio-via";
/** Metadata that tells the process to compress the messages of a call: "true". */
export const CALL_COMPRESS = "studio-compress";
