// The messages between the suite's runner and the programs under test, and those that errors carry, described by hand.
import {
  create,
  createFileRegistry,
  type DescMessage,
  type FileRegistry,
  fromJson,
  type JsonObject,
} from "@bufbuild/protobuf";
import {
  AnySchema,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  file_google_protobuf_any,
  file_google_protobuf_descriptor,
} from "@bufbuild/protobuf/wkt";

const PACKAGE = "connectrpc.conformance.v1";

/**
 * A field's number and its type: that of a scalar, or the name of a message; followed by `[]` if repeated, or `?` if
 * its absence is significant.
 */
type Fields = Readonly<Record<string, readonly [number: number, type: string]>>;

const SCALARS: Readonly<Record<string, string>> = {
  string: "TYPE_STRING",
  bytes: "TYPE_BYTES",
  bool: "TYPE_BOOL",
  uint32: "TYPE_UINT32",
  int64: "TYPE_INT64",
};

const CODES =
  "UNSPECIFIED CANCELED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED " +
  "FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED";

const RESPONSE: Fields = { payload: [1, "ConformancePayload"] };

const MESSAGES: Readonly<Record<string, Fields>> = {
  TLSCreds: { cert: [1, "bytes"], key: [2, "bytes"] },
  ServerCompatRequest: {
    protocol: [1, "uint32"],
    http_version: [2, "uint32"],
    use_tls: [4, "bool"],
    client_tls_cert: [5, "bytes"],
    message_receive_limit: [6, "uint32"],
    server_creds: [7, "TLSCreds"],
  },
  ServerCompatResponse: { host: [1, "string"], port: [2, "uint32"], pem_cert: [3, "bytes"] },
  ClientCompatRequest: {
    test_name: [1, "string"],
    http_version: [2, "uint32"],
    protocol: [3, "uint32"],
    compression: [5, "uint32"],
    host: [6, "string"],
    port: [7, "uint32"],
    server_tls_cert: [8, "bytes"],
    message_receive_limit: [10, "uint32"],
    method: [12, "string"],
    stream_type: [13, "uint32"],
    use_get_http_method: [14, "bool"],
    request_headers: [15, "Header[]"],
    request_messages: [16, "Any[]"],
    timeout_ms: [17, "uint32?"],
    request_delay_ms: [18, "uint32"],
    cancel: [19, "ClientCompatRequest.Cancel"],
  },
  "ClientCompatRequest.Cancel": {
    before_close_send: [1, "UnimplementedRequest"],
    after_close_send_ms: [2, "uint32?"],
    after_num_responses: [3, "uint32?"],
  },
  ClientResponseResult: {
    response_headers: [1, "Header[]"],
    payloads: [2, "ConformancePayload[]"],
    error: [3, "Error"],
    response_trailers: [4, "Header[]"],
    num_unsent_requests: [5, "uint32"],
  },
  ClientErrorResult: { message: [1, "string"] },
  ClientCompatResponse: {
    test_name: [1, "string"],
    response: [2, "ClientResponseResult"],
    error: [3, "ClientErrorResult"],
  },
  UnimplementedRequest: {},
  Header: { name: [1, "string"], value: [2, "string[]"] },
  Error: { code: [1, "enum Code"], message: [2, "string?"], details: [3, "Any[]"] },
  UnaryResponseDefinition: {
    response_headers: [1, "Header[]"],
    response_data: [2, "bytes?"],
    error: [3, "Error"],
    response_trailers: [4, "Header[]"],
    raw_response: [5, "RawHTTPResponse"],
    response_delay_ms: [6, "uint32"],
  },
  StreamResponseDefinition: {
    response_headers: [1, "Header[]"],
    response_data: [2, "bytes[]"],
    response_delay_ms: [3, "uint32"],
    error: [4, "Error"],
    response_trailers: [5, "Header[]"],
    raw_response: [6, "RawHTTPResponse"],
  },
  RawHTTPResponse: {
    status_code: [1, "uint32"],
    headers: [2, "Header[]"],
    unary: [3, "MessageContents"],
    stream: [4, "StreamContents"],
    trailers: [5, "Header[]"],
  },
  MessageContents: {
    binary: [1, "bytes?"],
    text: [2, "string?"],
    binary_message: [3, "Any"],
    compression: [4, "uint32"],
  },
  StreamContents: { items: [1, "StreamContents.StreamItem[]"] },
  "StreamContents.StreamItem": { flags: [1, "uint32"], length: [2, "uint32?"], payload: [3, "MessageContents"] },
  UnaryRequest: { response_definition: [1, "UnaryResponseDefinition"], request_data: [2, "bytes"] },
  IdempotentUnaryRequest: { response_definition: [1, "UnaryResponseDefinition"], request_data: [2, "bytes"] },
  ServerStreamRequest: { response_definition: [1, "StreamResponseDefinition"], request_data: [2, "bytes"] },
  ClientStreamRequest: { response_definition: [1, "UnaryResponseDefinition"], request_data: [2, "bytes"] },
  BidiStreamRequest: {
    response_definition: [1, "StreamResponseDefinition"],
    full_duplex: [2, "bool"],
    request_data: [3, "bytes"],
  },
  "ConformancePayload.RequestInfo": {
    request_headers: [1, "Header[]"],
    timeout_ms: [2, "int64?"],
    requests: [3, "Any[]"],
    connect_get_info: [4, "ConformancePayload.ConnectGetInfo"],
  },
  "ConformancePayload.ConnectGetInfo": { query_params: [1, "Header[]"] },
  /** The response of every method. */
  Response: RESPONSE,
  // Their names in messages of any type.
  UnaryResponse: RESPONSE,
  ServerStreamResponse: RESPONSE,
  ClientStreamResponse: RESPONSE,
  BidiStreamResponse: RESPONSE,
  ConformancePayload: { data: [1, "bytes"], request_info: [2, "ConformancePayload.RequestInfo"] },
};

function fieldOf(name: string, number: number, type: string, optionals: string[]): JsonObject {
  const [, enumName, base = "", suffix] = /^(enum )?([\w.]+?)(\[\]|\?)?$/.exec(type) ?? [];
  const label = suffix === "[]" ? "LABEL_REPEATED" : "LABEL_OPTIONAL";
  const jsonName = name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  const field = { name, jsonName, number, label };
  const scalar = SCALARS[base];
  if (suffix === "?") {
    optionals.push(`_${name}`);
    return { ...field, type: scalar as string, proto3Optional: true, oneofIndex: optionals.length - 1 };
  }
  if (scalar !== undefined) return { ...field, type: scalar };
  if (enumName !== undefined) return { ...field, type: "TYPE_ENUM", typeName: `.${PACKAGE}.${base}` };
  const typeName = base === "Any" ? ".google.protobuf.Any" : `.${PACKAGE}.${base}`;
  return { ...field, type: "TYPE_MESSAGE", typeName };
}

function messageOf(name: string): JsonObject {
  const optionals: string[] = [];
  const fields = Object.entries(MESSAGES[name] as Fields).map(([field, [number, type]]) =>
    fieldOf(field, number, type, optionals),
  );
  const nested = Object.keys(MESSAGES).filter((other) => other.startsWith(`${name}.`));
  return {
    name: name.split(".").at(-1) as string,
    field: fields,
    oneofDecl: optionals.map((oneof) => ({ name: oneof })),
    nestedType: nested.map(messageOf),
  };
}

const file = fromJson(FileDescriptorProtoSchema, {
  name: "conformance.proto",
  package: PACKAGE,
  syntax: "proto3",
  dependency: ["google/protobuf/any.proto"],
  messageType: Object.keys(MESSAGES)
    .filter((name) => !name.includes("."))
    .map(messageOf),
  enumType: [{ name: "Code", value: CODES.split(" ").map((code, number) => ({ name: `CODE_${code}`, number })) }],
});

/** The messages, by their names. */
export const registry: FileRegistry = createFileRegistry(
  create(FileDescriptorSetSchema, {
    file: [file_google_protobuf_any.proto, file_google_protobuf_descriptor.proto, file],
  }),
);

export { AnySchema };

/** The description of one of the suite's messages. */
export function described(name: string): DescMessage {
  const found = registry.getMessage(`${PACKAGE}.${name}`);
  if (found === undefined) throw new TypeError(`there is no message ${name}`);
  return found;
}
