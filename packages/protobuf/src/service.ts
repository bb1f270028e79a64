import type { ReadMessage } from "./reader.js";
import type { WriteMessage } from "./writer.js";

/** A message as a `.proto` file declares it, with its reader and writer. */
export interface ProtobufMessage {
  /** Full name in the `.proto` file, such as "demo.v1.ArithDivideRequest". */
  readonly name: string;
  readonly read: ReadMessage;
  readonly write: WriteMessage;
}

/** A method as a `.proto` file declares it. */
export interface ProtobufMethod {
  /** Name in the `.proto` file, such as "Divide". */
  readonly name: string;
  readonly input: ProtobufMessage;
  readonly output: ProtobufMessage;
}

/** A service as its `.proto` file declares it. Generated files such as `arith.protobuf.ts` export it. */
export interface ProtobufService {
  /** Full name in the `.proto` file, such as "demo.v1.Arith". */
  readonly name: string;
  /**
   * The `.proto` file as a `google.protobuf.FileDescriptorProto` in base64. Without it, gRPC reflection does not list
   * the service.
   */
  readonly file?: string;
  /** The service's methods by their names in the schema, without methods that protobuf cannot represent. */
  readonly methods: Readonly<Record<string, ProtobufMethod>>;
}
