import { fileURLToPath } from "node:url";
import * as grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { service, type Contestant } from "../contestant.js";

type Done<T> = (error: grpc.ServiceError | null, value?: T) => void;
interface BenchClient extends grpc.Client {
  multiply(input: { a: number; b: number }, done: Done<{ pro: number }>): void;
  empty(input: object, done: Done<object>): void;
  echo(input: { data: Uint8Array }, done: Done<{ data: Uint8Array }>): void;
  wait(input: { ms: number }, done: Done<object>): void;
  items(input: { count: number }): grpc.ClientReadableStream<{ i: number }>;
  upload(done: Done<{ bytes: number }>): grpc.ClientWritableStream<{ data: Uint8Array }>;
}

const proto = loadSync(fileURLToPath(new URL("../../bench.proto", import.meta.url)));
const { Bench } = (
  grpc.loadPackageDefinition(proto) as unknown as {
    bench: { v1: { Bench: grpc.ServiceClientConstructor } };
  }
).bench.v1;
const UNLIMITED = { "grpc.max_receive_message_length": -1, "grpc.max_send_message_length": -1 };

export const grpcJs: Contestant = {
  serve(host, { cert, key }) {
    const server = new grpc.Server(UNLIMITED);
    server.addService(Bench.service, {
      multiply: ({ request: { a, b } }: { request: { a: number; b: number } }, done: Done<object>) =>
        done(null, { pro: service.multiply(a, b) }),
      empty: (_: unknown, done: Done<object>) => done(null, {}),
      echo: ({ request: { data } }: { request: { data: Uint8Array } }, done: Done<object>) => done(null, { data }),
      async wait({ request: { ms } }: { request: { ms: number } }, done: Done<object>) {
        await service.wait(ms);
        done(null, {});
      },
      items: (call: grpc.ServerWritableStream<{ count: number }, { i: number }>) => {
        let i = 0;
        const more = (): void => {
          while (i < call.request.count) if (!call.write({ i: i++ })) return void call.once("drain", more);
          call.end();
        };
        more();
      },
      upload: (call: grpc.ServerReadableStream<{ data: Uint8Array }, object>, done: Done<object>) => {
        let bytes = 0;
        call.on("data", ({ data }: { data: Uint8Array }) => (bytes += data.length));
        call.on("end", () => done(null, { bytes }));
      },
    });
    const pair = { cert_chain: Buffer.from(cert), private_key: Buffer.from(key) };
    const credentials = grpc.ServerCredentials.createSsl(null, [pair]);
    return new Promise((resolve, reject) => {
      server.bindAsync(`${host}:0`, credentials, (error, port) => (error === null ? resolve(port) : reject(error)));
    });
  },
  async connect(host, port, { cert }) {
    const credentials = grpc.credentials.createSsl(Buffer.from(cert));
    // The certificate names localhost, and every client needs its own connection.
    const options = { ...UNLIMITED, "grpc.ssl_target_name_override": "localhost", "grpc.use_local_subchannel_pool": 1 };
    const client = new Bench(`${host}:${port}`, credentials, options) as unknown as BenchClient;
    await new Promise<void>((resolve, reject) => {
      client.waitForReady(Date.now() + 10_000, (error) => (error === undefined ? resolve() : reject(error)));
    });
    const answer = <T>(call: (done: Done<T>) => void): Promise<T> =>
      new Promise((resolve, reject) => call((error, value) => (error === null ? resolve(value as T) : reject(error))));
    return {
      multiply: async (a, b) => (await answer<{ pro: number }>((done) => client.multiply({ a, b }, done))).pro,
      empty: () => answer((done) => client.empty({}, done)),
      echo: async (data) => (await answer<{ data: Uint8Array }>((done) => client.echo({ data }, done))).data,
      wait: (ms) => answer((done) => client.wait({ ms }, done)),
      async items(count) {
        let received = 0;
        for await (const _ of client.items({ count })) received++;
        return received;
      },
      async upload(data, count) {
        const { bytes } = await answer<{ bytes: number }>((done) => {
          const call = client.upload(done);
          let i = 0;
          const more = (): void => {
            while (i++ < count) if (!call.write({ data })) return void call.once("drain", more);
            call.end();
          };
          more();
        });
        return bytes;
      },
      close: () => client.close(),
    };
  },
};
