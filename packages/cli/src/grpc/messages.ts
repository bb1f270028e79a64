import {
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonValue,
  type Registry,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import type { ProtobufMessage } from "@quicrpc/protobuf";

/** Returns a message whose values are canonical proto JSON. A value that is undefined stands for an empty message. */
export function jsonMessage(message: DescMessage, registry: Registry): ProtobufMessage {
  // A message in an Any may have a type that the registry lacks: its JSON has only the name of the type.
  const getMessage = (typeName: string): DescMessage => registry.getMessage(typeName) ?? { ...EmptySchema, typeName };
  const forOutput = Object.assign({}, registry, { getMessage });
  return {
    name: message.typeName,
    read(r, end) {
      const bytes = r.bytes.subarray(r.position, end);
      r.position = end;
      return toJson(message, fromBinary(message, bytes), { registry: forOutput });
    },
    write(b, p, value = {}) {
      const bytes = toBinary(message, fromJson(message, value as JsonValue, { registry }));
      const end = p + bytes.length;
      if (end <= b.length) b.set(bytes, p);
      return end;
    },
  };
}
