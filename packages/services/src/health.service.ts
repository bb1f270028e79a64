import { rpc, service, stream } from "@quicrpc/core";
import { z } from "zod";

const HealthRequest = z.object({
  /** The service asked about; empty for the server as a whole. */
  service: z.string(),
});

const HealthStatus = z.enum(["serving", "not_serving", "unknown"]);

const HealthState = z.object({ status: HealthStatus });

/** Reports whether services are able to serve. */
export const Health = service("quicrpc.v1.Health", {
  /** Returns the current status. Fails with `not_found` for an unknown service. */
  check: rpc({ input: HealthRequest, output: HealthState, readOnly: true }),
  /** Sends the current status, then each change. The status of an unknown service is `unknown`. */
  watch: rpc({ input: HealthRequest, output: stream(HealthState), readOnly: true }),
});
