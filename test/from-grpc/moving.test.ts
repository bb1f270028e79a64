// The service of docs/from-grpc.md: an old server and old stubs of grpc-js, with a server of quicrpc between them.
import {
  type ClientReadableStream,
  credentials,
  loadPackageDefinition,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerReadableStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  type ServiceClientConstructor,
} from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { importProtos } from "@quicrpc/codegen/import";
import { devCertificate } from "@quicrpc/node";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { callNew, clientOfOld, serveBeside } from "./moving.js";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));

interface Delivery {
  readonly article: string;
  readonly amount: number;
}

const { shop } = loadPackageDefinition(
  loadSync(`${FOLDER}stock.proto`, { longs: String, defaults: true, oneofs: true }),
) as unknown as { shop: { v1: { Stock: ServiceClientConstructor } } };
const { Stock } = shop.v1;
const COUNTED = { seconds: "1700000000", nanos: 5_000_000 };

async function serveOld(): Promise<number> {
  const level = (article: string, amount: number): object => ({ article, amount, unit: 7, countedAt: COUNTED });
  const server = new Server();
  server.addService(Stock.service, {
    GetLevel(call: ServerUnaryCall<Delivery, object>, done: sendUnaryData<object>) {
      done(null, level(call.request.article, 1));
    },
    WatchLevel(call: ServerWritableStream<Delivery, object>) {
      for (const amount of [1, 2]) call.write(level(call.request.article, amount));
      call.end();
    },
    Deliver(call: ServerReadableStream<Delivery, object>, done: sendUnaryData<object>) {
      const levels: Record<string, object> = {};
      let totalDeliveries = 0;
      call.on("data", ({ article, amount }: Delivery) => {
        levels[article] = level(article, amount);
        totalDeliveries++;
      });
      call.on("end", () => done(null, { levels, totalDeliveries }));
    },
    Reserve(call: ServerDuplexStream<Delivery, object>) {
      call.on("data", ({ article, amount }: Delivery) =>
        call.write(amount > 5 ? { refused: "too many" } : { reserved: level(article, amount) }),
      );
      call.on("end", () => call.end());
    },
  });
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  onTestFinished(() => server.forceShutdown());
  return port;
}

const OLD = { article: "tea", unit: 7, countedAt: new Date(1_700_000_000_005) };
const DELIVERIES: readonly Delivery[] = [
  { article: "tea", amount: 3 },
  { article: "salt", amount: 9 },
];

async function listOf<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
}

test("a client that was generated from imported schemas calls a grpc-js server", async () => {
  const { old, close } = clientOfOld(`http://127.0.0.1:${await serveOld()}`);
  onTestFinished(close);
  expect(await old.getLevel({ article: "tea" })).toEqual({ ...OLD, amount: 1 });
  expect(await listOf(old.watchLevel({ article: "tea" }))).toEqual([1, 2].map((amount) => ({ ...OLD, amount })));
  expect(await old.deliver(DELIVERIES)).toEqual({
    levels: { tea: { ...OLD, amount: 3 }, salt: { ...OLD, article: "salt", amount: 9 } },
    totalDeliveries: 2n,
  });
  const { readable, writable } = old.reserve();
  const writer = writable.getWriter();
  for (const each of DELIVERIES) await writer.write(each);
  await writer.close();
  expect(await listOf(readable)).toEqual([
    { outcome: { case: "reserved", value: { ...OLD, amount: 3 } } },
    { outcome: { case: "refused", value: "too many" } },
  ]);
});

test("old stubs call the new server, which passes on what has not moved", async () => {
  const { old, close } = clientOfOld(`http://127.0.0.1:${await serveOld()}`);
  onTestFinished(close);
  const tls = await devCertificate();
  const server = await serveBeside(old, new Map([["tea", 40]]), 0, tls);
  onTestFinished(async () => void (await server.close()));
  const { port } = server.address;
  const stub = new Stock(`localhost:${port}`, credentials.createSsl(Buffer.from(tls.cert)));
  onTestFinished(() => stub.close());
  const unary = (name: string, input: object): Promise<unknown> =>
    new Promise((resolve, reject) =>
      (stub[name] as (input: object, done: (error: Error | null, output: unknown) => void) => void).call(
        stub,
        input,
        (error, output) => (error === null ? resolve(output) : reject(error)),
      ),
    );
  expect(await unary("GetLevel", { article: "tea" })).toMatchObject({ article: "tea", amount: 40, unit: 1 });
  const watched = (stub["WatchLevel"] as (input: object) => ClientReadableStream<object>).call(stub, {
    article: "tea",
  });
  expect(await listOf(watched)).toMatchObject([1, 2].map((amount) => ({ article: "tea", amount, countedAt: COUNTED })));
  const delivered = new Promise((resolve, reject) => {
    const call = (
      stub["Deliver"] as (done: (error: Error | null, output: unknown) => void) => NodeJS.WritableStream & {
        write(item: object): void;
      }
    ).call(stub, (error, output) => (error === null ? resolve(output) : reject(error)));
    for (const each of DELIVERIES) call.write(each);
    call.end();
  });
  expect(await delivered).toMatchObject({ levels: { salt: { amount: 9 } }, totalDeliveries: "2" });
  const reserve = (
    stub["Reserve"] as () => ClientReadableStream<object> & { write(item: object): void; end(): void }
  ).call(stub);
  for (const each of DELIVERIES) reserve.write(each);
  reserve.end();
  expect(await listOf(reserve)).toMatchObject([
    { reserved: { article: "tea", amount: 3 }, outcome: "reserved" },
    { refused: "too many", outcome: "refused" },
  ]);
  expect(await callNew(`quic://localhost:${port}`, tls.cert)).toEqual({ article: "tea", amount: 40, unit: 1 });
});

test("the schemas are those that quicrpc import writes", () => {
  const { files, diagnostics, warnings } = importProtos({ files: ["stock.proto"], cwd: FOLDER });
  expect([diagnostics, warnings, files.map(({ changed }) => changed)]).toEqual([[], [], [false]]);
});
