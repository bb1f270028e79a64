import type { ReadMessage } from "./reader.js";
import type { WriteMessage } from "./writer.js";

/** A message of a `.proto` file. */
export interface ProtobufMessage {
  /** Full name, such as "demo.v1.ArithDivideRequest". */
  readonly name: string;
  readonly read: ReadMessage;
  readonly write: WriteMessage;
}

/** A method of a `.proto` file. */
export interface ProtobufMethod {
  /** Name there, such as "Divide". */
  readonly name: string;
  readonly input: ProtobufMessage;
  readonly output: ProtobufMessage;
}

/** A service as its `.proto` file has it, from a generated file such as `arith.protobuf.ts`. */
export interface ProtobufService {
  /** Full name, such as "demo.v1.Arith". */
  readonly name: string;
  /** Its file, a `google.protobuf.FileDescriptorProto` in base64. Without it, gRPC reflection leaves the service out. */
  readonly file?: string;
  /** By their names in the schema. Methods without a form in protobuf are missing. */
  readonly methods: Readonly<Record<string, ProtobufMethod>>;
}
