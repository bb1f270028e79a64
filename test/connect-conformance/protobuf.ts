// The suite's messages in protobuf, whose numbers are the suite's. The library of others reads and writes them: the
// suite is about what is around messages.
import { fromBinary, fromJson, type JsonObject, toBinary, toJson } from "@bufbuild/protobuf";
import type { ProtobufMessage, ProtobufMethod, ProtobufService } from "@quicrpc/protobuf";
import { plain } from "./handlers.js";
import { described, registry } from "./messages.js";

function messageOf(name: string, valueOf: (json: JsonObject) => unknown): ProtobufMessage {
  const type = described(name);
  return {
    name: type.typeName,
    read(r, end) {
      const bytes = r.bytes.subarray(r.position, end);
      r.position = end;
      return valueOf(toJson(type, fromBinary(type, bytes), { registry }) as JsonObject);
    },
    write(b, p, value) {
      const bytes = toBinary(type, fromJson(type, plain(value), { registry }));
      if (p + bytes.length <= b.length) b.set(bytes, p);
      return p + bytes.length;
    },
  };
}

const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "base64"));

/** Returns a request with the bytes of its JSON. */
function requestOf(json: JsonObject): unknown {
  return JSON.parse(JSON.stringify(json), (key, value: unknown) => {
    if (key !== "requestData" && key !== "responseData") return value;
    return Array.isArray(value) ? value.map(bytesOf) : bytesOf(value as string);
  });
}

/** Returns a response with the bytes and the bigint of its JSON. */
function responseOf(json: JsonObject): unknown {
  const { data, requestInfo, ...payload } = (json["payload"] ?? {}) as JsonObject;
  const { timeoutMs, ...info } = (requestInfo ?? {}) as JsonObject;
  return {
    payload: {
      ...payload,
      ...(data !== undefined && { data: bytesOf(data as string) }),
      requestInfo: { ...info, ...(timeoutMs !== undefined && { timeoutMs: BigInt(timeoutMs as string) }) },
    },
  };
}

function methodOf(name: string): ProtobufMethod {
  return { name, input: messageOf(`${name}Request`, requestOf), output: messageOf("Response", responseOf) };
}

export const conformanceProtobuf: ProtobufService = {
  name: "connectrpc.conformance.v1.ConformanceService",
  methods: Object.fromEntries(
    "Unary IdempotentUnary ServerStream ClientStream BidiStream Unimplemented"
      .split(" ")
      .map((name) => [name, methodOf(name)]),
  ),
};
