import { importText } from "./imports.js";

/** What generated files call `@quicrpc/core/codec`. */
export const WIRE: string = "wire";

const CORE_VALUES: readonly string[] = [
  "createRouter",
  "describeMethod",
  "rawCodec",
  "unaryCalls",
  "notifyCalls",
  "datagramCalls",
  "serverStreamCalls",
  "clientStreamCalls",
  "duplexCalls",
];
const CORE_TYPES: readonly string[] = [
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
];
/** What generated files have by name of @quicrpc/core. */
export const CORE_IMPORTS: readonly string[] = [...CORE_VALUES, ...CORE_TYPES, "MessageCodec", WIRE];

/** Comments, texts, and names of members. */
const NOT_CODE = /\/\*[^]*?\*\/|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\.\w+|(?<=[{;\s])\w+\??(?=:)/g;

/** The import of what the code in `text` uses of @quicrpc/core. */
export function coreImport(text: string): string {
  const code = text.replace(NOT_CODE, "");
  const used = (name: string): boolean => new RegExp(`\\b${name}\\b`).test(code);
  const values = CORE_VALUES.filter(used);
  const types = CORE_TYPES.filter(used);
  return values.length === 0
    ? importText("import type", types, "@quicrpc/core")
    : importText("import", [...values, ...types.map((name) => `type ${name}`)], "@quicrpc/core");
}
