// Services for gRPC clients, and clients of gRPC servers.
export { grpc } from "./grpc.js";
export {
  grpcTransport,
  type GrpcTransportOptions,
  grpcWebTransport,
  type GrpcWebTransportOptions,
} from "./grpc-transport.js";
