/** What generated files call `@quicrpc/core/codec`. */
export const WIRE: string = "wire";

/** All that generated files may import from @quicrpc/core: values, then types. */
export const CORE_VALUES: readonly string[] = ["createRouter", "defineMethod", "rawCodec"];
export const CORE_TYPES: readonly string[] = [
  "Awaitable",
  "CallContext",
  "CallOptions",
  "Caller",
  "DuplexStream",
  "ErrorDescriptor",
  "ItemStream",
  "MessageCodec",
  "MethodDescriptor",
  "Router",
  "RpcErrorOf",
  "ServiceIdentity",
  "StreamSource",
];
export const CORE_IMPORTS: readonly string[] = [...CORE_VALUES, ...CORE_TYPES, WIRE];
