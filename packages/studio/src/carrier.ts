import type { CallTimings, ConnectionStats } from "@quicrpc/core/measure";
import { type AnyMethod, defaultServiceId, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";

/** An event that the process that carries a page's calls sends to the page. */
export type CarrierEvent =
  | {
      readonly type: "target";
      readonly url: string;
      readonly network: string;
      /** Version of the service descriptions. The page loads the descriptions again when the version changes. */
      readonly model: number;
    }
  | ({ readonly type: "network" } & NetworkSample)
  | { readonly type: "timings"; readonly call: string; readonly timings: Partial<CallTimings> };

export interface NetworkSample {
  /** Status as in `ConnectionState`. If the connection is not ready, the reason follows. */
  readonly status: string;
  readonly error?: string | undefined;
  /** Number of sessions that have been created so far. */
  readonly sessions: number;
  /** Transport that a page uses itself, and the reason if it is not the preferred one. */
  readonly transport?: string | undefined;
  readonly reason?: string | undefined;
  readonly stats: Partial<ConnectionStats>;
}

const service = { name: "quicrpc.studio.v1.Carrier", id: defaultServiceId("quicrpc.studio.v1.Carrier") };

/**
 * Method that streams events to a page, beginning with the next event. Page and process always have the same version.
 */
export const watchCarrier: AnyMethod<"server_stream"> = defineMethod(service, "server_stream", "watch", {
  id: 1,
  output: uncheckedCodec<CarrierEvent>(),
});

/**
 * Metadata key for the name that a page gives to a call, under which its timings are reported. It is not forwarded to
 * the server, like `CALL_VIA` and `CALL_COMPRESS`.
 */
export const CALL_NAME = "studio-call";
/** Metadata key that tells the process how to send a call: "lane" or "stream". */
export const CALL_VIA = "studio-via";
/** Metadata key that tells the process to compress the messages of a call: "true". */
export const CALL_COMPRESS = "studio-compress";
