// Reflection, as tools such as grpcurl ask for it.
import { Client, credentials, type ServiceError, status } from "@grpc/grpc-js";
import { type Interceptor, type Router, RpcError } from "@quicrpc/core";
import { createFetchHandler, type HttpServiceOptions, toNodeHandler } from "@quicrpc/http";
import { createHealth, createReflection } from "@quicrpc/services";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { grpc } from "../src/index.js";
import { createEchoRouter } from "./generated/echo.js";
import { echoProtobuf } from "./generated/echo.protobuf.js";

const echo = createEchoRouter({
  say: (item) => item,
  async *repeat() {},
  join: () => ({ text: "", count: 0 }),
  async *each() {},
  nothing() {},
  async *fail() {},
});

async function serve(routers: readonly Router[], options: Partial<HttpServiceOptions> = {}): Promise<Client> {
  const handler = createFetchHandler({ routers, extensions: [grpc(echoProtobuf)], ...options });
  const server = createServer().on("stream", toNodeHandler(handler).http2 as never);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  onTestFinished(() => {
    client.close();
    server.close();
  });
  return client;
}

/** Fields of requests. */
const FILE_BY_NAME = 3;
const FILE_CONTAINING_SYMBOL = 4;
const FILE_CONTAINING_EXTENSION = 5;
const EXTENSION_NUMBERS = 6;
const LIST_SERVICES = 7;

function field(number: number, text: string): Buffer {
  return Buffer.concat([Buffer.from([number * 8 + 2, text.length]), Buffer.from(text)]);
}

/** A field with a message, in Latin-1. */
function messageField(number: number, ...fields: readonly Buffer[]): string {
  return field(number, Buffer.concat(fields).toString("latin1")).toString("latin1");
}

/** Sends requests, and returns the responses without the requests that they repeat, in Latin-1. */
async function ask(client: Client, requests: readonly Buffer[], version = "v1"): Promise<string[]> {
  const same = (bytes: Buffer): Buffer => bytes;
  const path = `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`;
  const call = client.makeBidiStreamRequest(path, same, same);
  for (const request of requests) call.write(request);
  call.end();
  const answers: string[] = [];
  for await (const bytes of call as AsyncIterable<Buffer>) {
    const repeated = field(2, requests[answers.length]?.toString("latin1") ?? "");
    expect(bytes.subarray(0, repeated.length)).toEqual(repeated);
    answers.push(bytes.subarray(repeated.length).toString("latin1"));
  }
  return answers;
}

async function failureOf(client: Client): Promise<ServiceError | undefined> {
  try {
    await ask(client, [field(LIST_SERVICES, "*")]);
    return undefined;
  } catch (error) {
    return error as ServiceError;
  }
}

test.each(["v1", "v1alpha"])("%s lists the services, and finds their files", async (version) => {
  const routers = [echo, createHealth().router];
  const client = await serve([...routers, createReflection(routers)]);
  const [list, ...files] = await ask(
    client,
    [
      field(LIST_SERVICES, "*"),
      field(FILE_BY_NAME, "test/v1/test.proto"),
      field(FILE_CONTAINING_SYMBOL, "test.v1.Echo"),
      field(FILE_CONTAINING_SYMBOL, "test.v1.Echo.Say"),
      field(FILE_CONTAINING_SYMBOL, "test.v1.EchoSayRequest"),
      field(FILE_CONTAINING_SYMBOL, "test.v1.EchoFailRequest.How"),
      field(FILE_CONTAINING_SYMBOL, "grpc.health.v1.Health"),
      field(FILE_BY_NAME, "google/protobuf/struct.proto"),
      field(FILE_CONTAINING_SYMBOL, "google.protobuf.Timestamp"),
    ],
    version,
  );
  const names = ["grpc.health.v1.Health", "test.v1.Echo"].map((name) => Buffer.from(messageField(1, field(1, name))));
  expect(list).toBe(messageField(6, ...names));
  const file = Buffer.from(echoProtobuf.file ?? "", "base64").toString("latin1");
  expect(files.slice(0, 5).map((answer) => answer.endsWith(file))).toEqual(Array(5).fill(true));
  expect(files.slice(5)).toEqual([
    expect.stringContaining("grpc/health/v1/health.proto"),
    expect.stringContaining("google/protobuf/struct.proto"),
    expect.stringContaining("google/protobuf/timestamp.proto"),
  ]);
});

test("what is not known is an error in the response", async () => {
  const client = await serve([echo, createReflection([echo])]);
  const answers = await ask(client, [
    field(FILE_BY_NAME, "other.proto"),
    field(FILE_CONTAINING_SYMBOL, "test.v1.Other"),
    field(FILE_CONTAINING_SYMBOL, "test.v1"),
    field(FILE_CONTAINING_EXTENSION, ""),
    field(EXTENSION_NUMBERS, "test.v1.Other"),
    field(EXTENSION_NUMBERS, "test.v1.EchoSayRequest"),
    field(FILE_CONTAINING_SYMBOL, "grpc.health.v1.Health"),
  ]);
  const notFound = (what: string): string => messageField(7, Buffer.from([8, 5]), field(2, `${what} is not known`));
  expect(answers).toEqual([
    notFound("other.proto"),
    notFound("test.v1.Other"),
    notFound("test.v1"),
    notFound("the extension"),
    notFound("test.v1.Other"),
    messageField(5, field(1, "test.v1.EchoSayRequest")),
    notFound("grpc.health.v1.Health"),
  ]);
});

test("a request without a known field is refused", async () => {
  const client = await serve([echo, createReflection([echo])]);
  await expect(ask(client, [field(1, "host")])).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
});

test("it is served if the server serves reflection", async () => {
  expect(await failureOf(await serve([echo]))).toMatchObject({ code: status.UNIMPLEMENTED });
});

test("callers need the permission to call describe", async () => {
  const asked: string[] = [];
  const client = await serve([echo, createReflection([echo])], {
    authenticate({ method }) {
      asked.push(method);
      throw new RpcError("unauthenticated", "no token");
    },
  });
  expect(await failureOf(client)).toMatchObject({ code: status.UNAUTHENTICATED });
  expect(asked).toEqual(["quicrpc.v1.Reflection/describe"]);
  const refuse: Interceptor = ({ method }) => {
    throw new RpcError("permission_denied", `${method.service.name}/${method.name}`);
  };
  const guarded = await serve([echo, createReflection([echo])], { interceptors: [refuse] });
  expect(await failureOf(guarded)).toMatchObject({
    code: status.PERMISSION_DENIED,
    details: "quicrpc.v1.Reflection/describe",
  });
});

test("without that permission, a request that cannot be read fails for the permission", async () => {
  const refuse: Interceptor = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    throw new RpcError("permission_denied", "not you");
  };
  const client = await serve([echo, createReflection([echo])], { interceptors: [refuse] });
  await expect(ask(client, [Buffer.from([255])])).rejects.toMatchObject({ code: status.PERMISSION_DENIED });
});

test("a long name is cut between characters", async () => {
  const client = await serve([echo, createReflection([echo])]);
  const name = Buffer.from(`${"a".repeat(199)}\u{1F600}`);
  const request = Buffer.concat([
    Buffer.from([FILE_BY_NAME * 8 + 2, (name.length & 127) | 128, name.length >> 7]),
    name,
  ]);
  const path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
  const same = (bytes: Buffer): Buffer => bytes;
  const call = client.makeBidiStreamRequest(path, same, same);
  call.end(request);
  const answers: Buffer[] = [];
  for await (const bytes of call as AsyncIterable<Buffer>) answers.push(bytes);
  expect(answers.map((answer) => answer.toString().includes(`${"a".repeat(199)} is not known`))).toEqual([true]);
});
