import { createSecureServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { create, createFileRegistry, type DescService } from "@bufbuild/protobuf";
import {
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
  FileDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { connectNodeAdapter, createConnectTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { service, type Contestant } from "../contestant.js";

/** `bench.proto` as a descriptor, in place of code that connect would otherwise generate. */
export function connectBench(): DescService {
  const field = (name: string, number: number, type: Type) => ({
    name,
    jsonName: name,
    number,
    type,
    label: Label.OPTIONAL,
  });
  const message = (name: string, fields: ReturnType<typeof field>[] = []) => ({ name, field: fields });
  const file = create(FileDescriptorProtoSchema, {
    name: "bench.proto",
    package: "bench.v1",
    syntax: "proto3",
    messageType: [
      message("Factors", [field("a", 1, Type.INT32), field("b", 2, Type.INT32)]),
      message("Product", [field("pro", 1, Type.INT32)]),
      message("Nothing"),
      message("Data", [field("data", 1, Type.BYTES)]),
      message("Pause", [field("ms", 1, Type.INT32)]),
      message("Count", [field("count", 1, Type.INT32)]),
      message("Item", [field("i", 1, Type.INT32)]),
      message("Total", [field("bytes", 1, Type.DOUBLE)]),
    ],
    service: [
      {
        name: "Bench",
        method: [
          { name: "Multiply", inputType: ".bench.v1.Factors", outputType: ".bench.v1.Product" },
          { name: "Empty", inputType: ".bench.v1.Nothing", outputType: ".bench.v1.Nothing" },
          { name: "Echo", inputType: ".bench.v1.Data", outputType: ".bench.v1.Data" },
          { name: "Wait", inputType: ".bench.v1.Pause", outputType: ".bench.v1.Nothing" },
          { name: "Items", inputType: ".bench.v1.Count", outputType: ".bench.v1.Item", serverStreaming: true },
          { name: "Upload", inputType: ".bench.v1.Data", outputType: ".bench.v1.Total", clientStreaming: true },
        ],
      },
    ],
  });
  const found = createFileRegistry(file, () => undefined).getService("bench.v1.Bench");
  if (found === undefined) throw new Error("bench.v1.Bench is not in its own file");
  return found;
}

/** Types of bench.proto, since a service without generated code has none. */
export interface UntypedBench {
  multiply(input: { a: number; b: number }): Promise<{ pro: number }>;
  empty(input: object): Promise<object>;
  echo(input: { data: Uint8Array }): Promise<{ data: Uint8Array }>;
  wait(input: { ms: number }): Promise<object>;
  items(input: { count: number }): AsyncIterable<{ i: number }>;
  upload(input: AsyncIterable<{ data: Uint8Array }>): Promise<{ bytes: number }>;
}

export const connectNode: Contestant = {
  async serve(host, { cert, key }) {
    const bench = connectBench();
    const handlers = {
      multiply: ({ a, b }: { a: number; b: number }) => ({ pro: service.multiply(a, b) }),
      empty: () => ({}),
      echo: ({ data }: { data: Uint8Array }) => ({ data }),
      async wait({ ms }: { ms: number }) {
        await service.wait(ms);
        return {};
      },
      async *items({ count }: { count: number }) {
        for (let i = 0; i < count; i++) yield { i };
      },
      async upload(chunks: AsyncIterable<{ data: Uint8Array }>) {
        let bytes = 0;
        for await (const { data } of chunks) bytes += data.length;
        return { bytes };
      },
    };
    const handler = connectNodeAdapter({
      routes: (router) => void router.service(bench, handlers as never),
    });
    const server = createSecureServer({ cert, key, minVersion: "TLSv1.3" }, handler as never);
    await new Promise<void>((resolve) => server.listen(0, host, resolve));
    return (server.address() as AddressInfo).port;
  },
  async connect(host, port, { cert }) {
    const baseUrl = `https://${host}:${port}`;
    const sessionManager = new Http2SessionManager(baseUrl, {}, { ca: cert, servername: "localhost" });
    const transport = createConnectTransport({ baseUrl, httpVersion: "2", sessionManager });
    await sessionManager.connect();
    const client = createClient(connectBench(), transport) as unknown as UntypedBench;
    return {
      multiply: async (a, b) => (await client.multiply({ a, b })).pro,
      empty: () => client.empty({}),
      echo: async (data) => (await client.echo({ data })).data,
      wait: (ms) => client.wait({ ms }),
      async items(count) {
        let received = 0;
        for await (const _ of client.items({ count })) received++;
        return received;
      },
      async upload(data, count) {
        const source = (async function* () {
          for (let i = 0; i < count; i++) yield { data };
        })();
        return (await client.upload(source)).bytes;
      },
      close: () => sessionManager.abort(),
    };
  },
};
