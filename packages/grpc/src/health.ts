import type { ProtobufMethod, ProtobufService } from "@quicrpc/protobuf";
import { HEALTH_FILE } from "./known-files.js";
import { Enumeration, readString, readTag, skipField } from "@quicrpc/protobuf/generated";

/** Name of the service that answers gRPC health checks. */
export const HEALTH = "quicrpc.v1.Health";

const status = new Enumeration([
  ["serving", 1],
  ["not_serving", 2],
  ["unknown", 3],
]);

/** Input and output message of both health methods: `{ string service = 1; }` and `{ ServingStatus status = 1; }`. */
const MESSAGES: Pick<ProtobufMethod, "input" | "output"> = {
  input: {
    name: "grpc.health.v1.HealthCheckRequest",
    read(r, end, depth) {
      let service = "";
      while (r.position < end) {
        const tag = readTag(r, end);
        if (tag === 10) service = readString(r, end);
        else skipField(r, tag, end, depth);
      }
      return { service };
    },
    write() {
      throw new TypeError("health requests are only read");
    },
  },
  output: {
    name: "grpc.health.v1.HealthCheckResponse",
    read() {
      throw new TypeError("health responses are only written");
    },
    write(b, p, value) {
      b[p] = 8;
      return status.write(b, p + 1, (value as { readonly status: string }).status);
    },
  },
};

/** Maps `quicrpc.v1.Health` to the service `grpc.health.v1.Health`, which gRPC clients call. */
export const health: ProtobufService = {
  name: "grpc.health.v1.Health",
  file: HEALTH_FILE,
  methods: { check: { name: "Check", ...MESSAGES }, watch: { name: "Watch", ...MESSAGES } },
};
