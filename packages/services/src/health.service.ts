import { rpc, service, stream } from "@quicrpc/core";
import { z } from "zod";

const HealthRequest = z.object({
  /** The service asked about; empty for the server as a whole. */
  service: z.string(),
});

const HealthStatus = z.enum(["serving", "not_serving", "unknown"]);

const HealthState = z.object({ status: HealthStatus });

/** Says whether services are able to serve. */
export const Health = service("quicrpc.v1.Health", {
  /** The status now. Fails with `not_found` for a service that is not known. */
  check: rpc({ input: HealthRequest, output: HealthState, readOnly: true }),
  /** The status now, then each change. A service that is not known is `unknown`, until it is. */
  watch: rpc({ input: HealthRequest, output: stream(HealthState), readOnly: true }),
});
