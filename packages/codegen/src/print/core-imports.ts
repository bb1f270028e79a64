import { importText } from "./imports.js";

/** Name of the namespace of `@quicrpc/core/generated` in generated files. */
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

/** Returns the import of the names in `used` from `@quicrpc/core/generated`, with their names in the file. */
export function coreImport(used: ReadonlyMap<string, string>): string {
  const imported = (names: readonly string[]): string[] =>
    names.flatMap((name) => {
      const local = used.get(name);
      return local === undefined ? [] : [local === name ? name : `${name} as ${local}`];
    });
  const [values, types] = [imported(CORE_VALUES), imported(CORE_TYPES)];
  return values.length === 0
    ? importText("import type", types, "@quicrpc/core/generated")
    : importText("import", [...values, ...types.map((name) => `type ${name}`)], "@quicrpc/core/generated");
}
