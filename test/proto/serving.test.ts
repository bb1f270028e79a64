// The servers of docs/grpc.md answer gRPC clients.
import { Client, credentials } from "@grpc/grpc-js";
import { devCertificate } from "@quicrpc/node";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { callByGrpc, servePlainly, serveDrawings } from "./serving.js";

const handlers = {
  add: ({ title, shapes, madeAt }: { title: string; shapes: readonly object[]; madeAt: Date }) => ({
    id: title.length * 100 + shapes.length + madeAt.getUTCFullYear() * 1000,
  }),
};

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** Adds a drawing with the title "hi", a circle, and a date of 1970. */
const REQUEST = Buffer.from([10, 2, 104, 105, 24, 1, 34, 11, 10, 9, 9, 0, 0, 0, 0, 0, 0, 240, 63, 42, 0]);

function add(client: Client): Promise<Buffer | Error> {
  closing.push(() => client.close());
  const same = (bytes: Buffer): Buffer => bytes;
  return new Promise((resolve) =>
    client.makeUnaryRequest("/art.v1.DrawingService/Add", same, same, REQUEST, (error, answer) =>
      resolve(error ?? answer ?? new Error("no answer")),
    ),
  );
}

/** `{ id: 1970201 }` */
const ANSWER = Buffer.from([8, 0x99, 0xa0, 0x78]);

test("over TLS, at the port of the other clients", async () => {
  const tls = await devCertificate();
  const server = await serveDrawings(0, tls, handlers);
  closing.push(() => server.close());
  const port = new URL(server.urls.find((url) => url.startsWith("wss:")) ?? server.urls[0] ?? "").port;
  const trusted = credentials.createSsl(Buffer.from(tls.cert));
  expect(await add(new Client(`localhost:${port}`, trusted))).toEqual(ANSWER);
  const { drawings, close } = callByGrpc(`https://localhost:${port}`, tls.cert);
  closing.push(close);
  const shapes = [{ kind: "circle" as const, radius: 1 }];
  expect(await drawings.add({ title: "hi", status: "draft", shapes, madeAt: new Date(0) })).toEqual({ id: 1970201 });
});

test("without TLS", async () => {
  const server = servePlainly(handlers).listen(0, "127.0.0.1");
  closing.push(() => server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  expect(await add(new Client(`127.0.0.1:${port}`, credentials.createInsecure()))).toEqual(ANSWER);
});
