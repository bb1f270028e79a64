import { fileURLToPath } from "node:url";
import * as grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import type { Contestant } from "../contestant.js";

interface Product {
  pro: number;
}
type Done = (error: grpc.ServiceError | null, product?: Product) => void;
interface ArithClient extends grpc.Client {
  multiply(input: { a: number; b: number }, done: Done): void;
}

const proto = loadSync(fileURLToPath(new URL("../../arith.proto", import.meta.url)));
const { Arith } = (
  grpc.loadPackageDefinition(proto) as unknown as {
    demo: { v1: { Arith: grpc.ServiceClientConstructor } };
  }
).demo.v1;

export const grpcJs: Contestant = {
  name: "@grpc/grpc-js",
  async serve({ cert, key }) {
    const server = new grpc.Server();
    server.addService(Arith.service, {
      multiply: ({ request: { a, b } }: { request: { a: number; b: number } }, done: Done) =>
        done(null, { pro: a * b }),
    });
    const pair = { cert_chain: Buffer.from(cert), private_key: Buffer.from(key) };
    const credentials = grpc.ServerCredentials.createSsl(null, [pair]);
    return new Promise((resolve, reject) => {
      server.bindAsync("127.0.0.1:0", credentials, (error, port) => (error === null ? resolve(port) : reject(error)));
    });
  },
  async connect(port, { cert }) {
    const credentials = grpc.credentials.createSsl(Buffer.from(cert));
    const client = new Arith(`localhost:${port}`, credentials) as unknown as ArithClient;
    await new Promise<void>((resolve, reject) => {
      client.waitForReady(Date.now() + 10_000, (error) => (error === undefined ? resolve() : reject(error)));
    });
    return {
      multiply: (a, b) =>
        new Promise((resolve, reject) => {
          client.multiply({ a, b }, (error, product) => {
            if (error === null && product !== undefined) resolve(product.pro);
            else reject(error ?? new Error("no product"));
          });
        }),
      close: () => client.close(),
    };
  },
};
