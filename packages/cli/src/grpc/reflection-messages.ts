import type { ProtobufMessage } from "@quicrpc/protobuf";
import { push, readBytes, readMessage, readString, readTag, skipField, writeString } from "@quicrpc/protobuf/generated";

/** Fields of a reflection request. A request contains one of them. */
export const FILE_BY_NAME = 3;
export const FILE_CONTAINING_SYMBOL = 4;
export const LIST_SERVICES = 7;

export interface ReflectionRequest {
  readonly field: typeof FILE_BY_NAME | typeof FILE_CONTAINING_SYMBOL | typeof LIST_SERVICES;
  readonly text: string;
}

export interface ReflectionResponse {
  /** Each is a `google.protobuf.FileDescriptorProto`. */
  readonly files: readonly Uint8Array[];
  readonly services: readonly string[];
  /** Why there is no other answer. */
  readonly error: string | undefined;
}

export const request: ProtobufMessage = {
  name: "grpc.reflection.v1.ServerReflectionRequest",
  read() {
    throw new TypeError("reflection requests are only written");
  },
  write(b, p, value) {
    const { field, text } = value as ReflectionRequest;
    b[p] = field * 8 + 2;
    return writeString(b, p + 1, text);
  },
};

export const response: ProtobufMessage = {
  name: "grpc.reflection.v1.ServerReflectionResponse",
  read(r, end, depth): ReflectionResponse {
    const files: Uint8Array[] = [];
    const services: string[] = [];
    let error: string | undefined;
    while (r.position < end) {
      const tag = readTag(r, end);
      if (tag === 34) readMessage(r, end, eachOf(10, readBytes, files), depth);
      else if (tag === 50) readMessage(r, end, eachOf(10, readName, services), depth);
      else if (tag === 58) {
        const messages: string[] = [];
        readMessage(r, end, eachOf(18, readString, messages), depth);
        error = messages.at(-1) ?? "";
      } else skipField(r, tag, end, depth);
    }
    return { files, services, error };
  },
  write() {
    throw new TypeError("reflection responses are only read");
  },
};

type ReadParameters = Parameters<ProtobufMessage["read"]>;

/** Returns a function that reads a message, and adds the values of the field with this tag to `values`. */
function eachOf<T>(
  wanted: number,
  read: (...given: ReadParameters) => T,
  values: T[],
): (...given: ReadParameters) => void {
  return (r, end, depth) => {
    while (r.position < end) {
      const tag = readTag(r, end);
      if (tag === wanted) push(values, read(r, end, depth));
      else skipField(r, tag, end, depth);
    }
  };
}

/** Reads a `ServiceResponse`, which contains a name. */
function readName(...[r, end, depth]: ReadParameters): string {
  const names: string[] = [];
  readMessage(r, end, eachOf(10, readString, names), depth);
  return names.at(-1) ?? "";
}
