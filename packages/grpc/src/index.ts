// Services for gRPC clients.
export { grpc } from "./grpc.js";
