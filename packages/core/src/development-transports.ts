// `transports.ts` with a check of option names: the entry of development builds and of Node, like `development.ts`.
import { withOptionCheck, type OptionNames } from "./check-options.js";
import type { ByteStreamOptions } from "./transport/byte-stream.js";
import * as plain from "./transports.js";

// A declaration below replaces the export of the same name.
export * from "./transports.js";

const BYTE_STREAM: OptionNames<ByteStreamOptions> = {
  closeTimeoutMs: true,
  exportKeyingMaterial: true,
  maxHeldBytes: true,
  onGreeted: true,
};

export const byteStreamTransport: typeof plain.byteStreamTransport = withOptionCheck(
  "byteStreamTransport()",
  plain.byteStreamTransport,
  2,
  BYTE_STREAM,
);
export const messagePortTransport: typeof plain.messagePortTransport = withOptionCheck(
  "messagePortTransport()",
  plain.messagePortTransport,
  2,
  BYTE_STREAM,
);
export const webSocketTransport: typeof plain.webSocketTransport = withOptionCheck(
  "webSocketTransport()",
  plain.webSocketTransport,
  2,
  BYTE_STREAM,
);
export const webStreamTransport: typeof plain.webStreamTransport = withOptionCheck(
  "webStreamTransport()",
  plain.webStreamTransport,
  2,
  BYTE_STREAM,
);
