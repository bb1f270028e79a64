// Commands that call gRPC servers whose reflection is incomplete, or hostile.
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import {
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type sendUnaryData,
} from "@grpc/grpc-js";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { useProject } from "./project.js";

type File = MessageInitShape<typeof FileDescriptorProtoSchema>;

const LIST_SERVICES = 7;
const MESSAGE = 11;
const STRING = 9;
const BYTES = 12;

const { run, start, write } = useProject();

const raw = (bytes: Uint8Array): Buffer => Buffer.from(bytes);
const methodAt = (path: string, isStream: boolean) => ({
  path,
  requestStream: isStream,
  responseStream: isStream,
  requestSerialize: raw,
  requestDeserialize: raw,
  responseSerialize: raw,
  responseDeserialize: raw,
});

/** Writes a field that contains a message or a text. */
const field = (no: number, ...values: readonly (Uint8Array | string)[]): Uint8Array => {
  const writer = new BinaryWriter();
  for (const value of values) writer.uint32(no * 8 + 2).bytes(Buffer.from(value));
  return writer.finish();
};

/** Answers with files. Without any, as a server that does not have what was asked for. */
const filesAnswer = (...files: readonly File[]): Uint8Array =>
  files.length === 0
    ? field(7, field(2, "not found"))
    : field(
        4,
        field(1, ...files.map((file) => toBinary(FileDescriptorProtoSchema, create(FileDescriptorProtoSchema, file)))),
      );

/**
 * Starts a server that lists `names`, and describes each name with the files that `describe` returns. Its method S/Get
 * responds with its request, or with `response` if that is empty.
 */
async function serve(
  names: readonly string[],
  describe: (name: string) => readonly File[],
  response: Uint8Array = new Uint8Array(),
): Promise<string> {
  const server = new Server();
  const reflection = {
    Info: methodAt("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", true),
    Get: methodAt("/S/Get", false),
  };
  const list = field(6, field(1, ...names.map((name) => field(1, name))));
  server.addService(reflection, {
    Info(call: ServerDuplexStream<Buffer, Uint8Array>) {
      call.on("data", ([tag = 0, , ...text]: Buffer) =>
        call.write(tag >> 3 === LIST_SERVICES ? list : filesAnswer(...describe(Buffer.from(text).toString()))),
      );
      call.on("end", () => call.end());
    },
    Get: ({ request }: ServerUnaryCall<Buffer, Uint8Array>, done: sendUnaryData<Uint8Array>) =>
      done(null, request.length > 0 ? request : response),
  });
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  onTestFinished(() => server.forceShutdown());
  return `grpc://127.0.0.1:${port}`;
}

const serviceOf = (name: string, type: string) => ({
  name,
  method: [{ name: "Get", inputType: type, outputType: type }],
});

/** Describes the service S. */
const healthy: File = {
  name: "s.proto",
  syntax: "proto3",
  dependency: ["google/protobuf/any.proto", "options.proto"],
  messageType: [
    {
      name: "constructor",
      field: [
        { name: "text", number: 1, type: STRING, label: 1 },
        { name: "data", number: 2, type: BYTES, label: 1 },
        { name: "extra", number: 3, type: MESSAGE, typeName: ".google.protobuf.Any", label: 1 },
      ],
    },
  ],
  service: [serviceOf("S", ".constructor")],
};

test("a service whose file lacks imports is described, and the others are named", async () => {
  const missing: File = { name: "m.proto", dependency: ["gogo.proto"], service: [serviceOf("Missing", ".gogo.M")] };
  const invalid: File = {
    name: "i.proto",
    messageType: [{ name: "a-b" }],
    service: [serviceOf("Invalid", ".constructor")],
  };
  const cyclic = (name: string, other: string): File => ({
    name: `${name}.proto`,
    dependency: [`${other}.proto`],
    messageType: [{ name, field: [{ name: "f", number: 1, type: MESSAGE, typeName: `.${other}`, label: 1 }] }],
    service: [serviceOf(`${name}s`, `.${name}`)],
  });
  const files: Readonly<Record<string, readonly File[]>> = {
    S: [healthy],
    Missing: [missing],
    Invalid: [invalid],
    As: [cyclic("A", "B"), cyclic("B", "A")],
    Ghost: [healthy],
  };
  const url = await serve([...Object.keys(files), "Unknown"], (name) => files[name] ?? []);
  const { code, stdout, stderr } = await run(["ls", url]);
  expect([code, stdout]).toEqual([0, "S\n  Get  unary\n"]);
  expect(stderr.trim().split("\n")).toEqual([
    "The server's reflection does not describe As: A.proto needs B, which is missing",
    "The server's reflection does not describe Ghost: its file does not contain it",
    'The server\'s reflection does not describe Invalid: i.proto: invalid message name "a-b"',
    "The server's reflection does not describe Missing: m.proto needs gogo.M, which is missing",
    "The server's reflection does not describe Unknown: not found",
  ]);
});

test("fields of bytes, names of JavaScript, and an Any of an unknown type", async () => {
  const any = field(3, field(1, "type.googleapis.com/other.X"), field(2, "\b\u0001"));
  const url = await serve(["S"], (name) => (name === "S" ? [healthy] : []), any);
  write("photo", "\u0001testdata");
  const sent = await run(["call", url, "S/Get", "-f", "text=12", "-f", "data=@photo"]);
  expect([sent.code, sent.stdout]).toEqual([0, `{"text":"12","data":"${btoa("\u0001testdata")}"}\n`]);
  const received = await run(["call", url, "S/Get", "{}"]);
  expect([received.code, received.stdout]).toEqual([0, '{"extra":{"@type":"type.googleapis.com/other.X"}}\n']);
});

test("health names the health service of gRPC", async () => {
  const { code, stderr } = await run(["health", await serve([], () => [])]);
  expect([code, stderr]).toEqual([1, expect.stringContaining("help: quicrpc call <url> grpc.health.v1.Health/Check")]);
});

test("a message that is not valid is refused with the reason", async () => {
  const url = await serve(["S"], (name) => (name === "S" ? [healthy] : []), field(1, Uint8Array.of(255)));
  const { code, stderr } = await run(["call", url, "S/Get", "{}"]);
  expect([code, stderr]).toEqual([1, expect.stringMatching(/is not a valid constructor: .*UTF-?8/i)]);
});

const long = "a".repeat(500_000);
let imports = 0;

test.each<[string, readonly string[], (name: string) => readonly File[], string]>([
  ["many services", Array.from({ length: 2001 }, (_, i) => `S${i}`), () => [], "more than 2000 services"],
  [
    "long names",
    ["S"],
    () => [{ name: "s.proto", package: long, enumType: Array.from({ length: 200 }, (_, i) => ({ name: `E${i}` })) }],
    "the names of its types are too long",
  ],
  [
    "endless imports",
    ["S"],
    (name) => [{ name, dependency: [`f${imports++}`], messageType: [{ reservedName: Array(7).fill(long) }] }],
    "more than 67108864 bytes",
  ],
])("%s end the command", async (_, names, describe, message) => {
  const { code, stderr } = await run(["ls", await serve(names, describe)]);
  expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
});

test("a silent server does not keep the command running", async () => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `grpc://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { code, stderr } = await run(["ls", url, "--timeout", "100"]);
  expect([code, stderr]).toEqual([3, expect.stringContaining("deadline_exceeded no answer within 100 ms")]);
  const command = start(["ls", url]);
  await once(server, "connection");
  expect(await command.stop()).toBe(143);
});
