import { importText } from "./imports.js";

/** The name that generated files give to the namespace of `@quicrpc/core/generated`. */
export const WIRE: string = "wire";

const CORE_VALUES: readonly string[] = [
  "createRouter",
  "createTopicRouter",
  "serveTopics",
  "describeMethod",
  "bytesCodec",
  "unaryCalls",
  "notifyCalls",
  "datagramCalls",
  "serverStreamCalls",
  "cursorStreamCalls",
  "clientStreamCalls",
  "duplexCalls",
  "resumableServerStreamCalls",
  "resumableClientStreamCalls",
  "resumableDuplexCalls",
  "onceCalls",
  "blobCalls",
  "foreignUnaryCalls",
  "foreignNotifyCalls",
  "foreignServerStreamCalls",
  "foreignCursorStreamCalls",
  "foreignClientStreamCalls",
  "foreignDuplexCalls",
];
const CORE_TYPES: readonly string[] = [
  "Any",
  "Awaitable",
  "BlobSource",
  "CallContext",
  "CallOptions",
  "Caller",
  "DuplexStream",
  "ErrorDescriptor",
  "ItemStream",
  "MethodDescriptor",
  "ReceivedBlob",
  "Router",
  "RpcErrorOf",
  "ProcessTopics",
  "ServedTopic",
  "ServedTopicOptions",
  "ServedTopics",
  "ServiceIdentity",
  "StreamSource",
  "UnsharedBytes",
];
/** Exports of `@quicrpc/core/generated` that generated files import by name. */
export const CORE_IMPORTS: readonly string[] = [...CORE_VALUES, ...CORE_TYPES, "MessageCodec", WIRE];

/** The import of those of `used` that are names of `@quicrpc/core/generated`. */
export function coreImport(used: ReadonlySet<string>): string {
  const values = CORE_VALUES.filter((name) => used.has(name));
  const types = CORE_TYPES.filter((name) => used.has(name));
  return values.length === 0
    ? importText("import type", types, "@quicrpc/core/generated")
    : importText("import", [...values, ...types.map((name) => `type ${name}`)], "@quicrpc/core/generated");
}
