// As `transports.ts`, with options checked by name: the entry of development builds and of Node, as `development.ts` is.
import { checked, type OptionNames } from "./check-options.js";
import type { ByteStreamOptions } from "./transport/byte-stream.js";
import * as plain from "./transports.js";

// What is declared below takes the place of the same name there.
export * from "./transports.js";

const BYTE_STREAM: OptionNames<ByteStreamOptions> = {
  closeTimeoutMs: true,
  exportKeyingMaterial: true,
  maxHeldBytes: true,
  onGreeted: true,
};

export const byteStreamTransport: typeof plain.byteStreamTransport = checked(
  "byteStreamTransport()",
  plain.byteStreamTransport,
  2,
  BYTE_STREAM,
);
export const messagePortTransport: typeof plain.messagePortTransport = checked(
  "messagePortTransport()",
  plain.messagePortTransport,
  2,
  BYTE_STREAM,
);
export const webSocketTransport: typeof plain.webSocketTransport = checked(
  "webSocketTransport()",
  plain.webSocketTransport,
  2,
  BYTE_STREAM,
);
export const webStreamTransport: typeof plain.webStreamTransport = checked(
  "webStreamTransport()",
  plain.webStreamTransport,
  2,
  BYTE_STREAM,
);
