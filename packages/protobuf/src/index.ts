// Protobuf codecs for generated services.
export { protobufCodec } from "./codec.js";
export type { ProtobufMessage, ProtobufMethod, ProtobufService } from "./service.js";
