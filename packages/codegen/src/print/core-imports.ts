import { importText } from "./imports.js";

/** Name under which generated code imports `@quicrpc/core/codec`. */
export const WIRE: string = "wire";

const CORE_VALUES: readonly string[] = [
  "createRouter",
  "describeMethod",
  "bytesCodec",
  "unaryCalls",
  "notifyCalls",
  "datagramCalls",
  "serverStreamCalls",
  "cursorStreamCalls",
  "clientStreamCalls",
  "duplexCalls",
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
  "CallContext",
  "CallOptions",
  "Caller",
  "DuplexStream",
  "ErrorDescriptor",
  "ItemStream",
  "MethodDescriptor",
  "Router",
  "RpcErrorOf",
  "ServiceIdentity",
  "StreamSource",
  "UnsharedBytes",
];
/** Modules from which generated files import names, with the names of the values and the types of each. */
const MODULES: readonly (readonly [specifier: string, values: readonly string[], types: readonly string[]])[] = [
  ["@quicrpc/core/generated", CORE_VALUES, CORE_TYPES],
  ["@quicrpc/durable/generated", ["onceCalls", "resumableCalls", "durableRouter"], []],
  ["@quicrpc/blobs/generated", ["blobCalls"], ["BlobSource", "ReceivedBlob"]],
  [
    "@quicrpc/topics/generated",
    ["createTopicRouter", "serveTopics"],
    ["ProcessTopics", "ServedTopic", "ServedTopicOptions", "ServedTopics"],
  ],
];
export const CORE_IMPORTS: readonly string[] = [
  ...MODULES.flatMap(([, values, types]) => [...values, ...types]),
  "MessageCodec",
  WIRE,
];

/** Returns the import declarations for the names in `used`. The values of the map are their names in the file. */
export function coreImport(used: ReadonlyMap<string, string>): string {
  const imported = (names: readonly string[]): string[] =>
    names.flatMap((name) => {
      const local = used.get(name);
      return local === undefined ? [] : [local === name ? name : `${name} as ${local}`];
    });
  return MODULES.map(([specifier, valueNames, typeNames]) => {
    const [values, types] = [imported(valueNames), imported(typeNames)];
    return values.length === 0
      ? importText("import type", types, specifier)
      : importText("import", [...values, ...types.map((name) => `type ${name}`)], specifier);
  }).join("");
}
