// Commands that call gRPC servers by their reflection: one of grpc-js, and one of this library.
import {
  loadPackageDefinition,
  type Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerReadableStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  type ServiceClientConstructor,
  status,
} from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { ReflectionService } from "@grpc/reflection";
import { grpc } from "@quicrpc/grpc";
import { devCertificate, serve } from "@quicrpc/node";
import { createReflection } from "@quicrpc/services";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEchoRouter } from "../../grpc/test/generated/echo.js";
import { echoProtobuf } from "../../grpc/test/generated/echo.protobuf.js";
import { useProject } from "./project.js";

const PROTO = fileURLToPath(new URL("proto", import.meta.url));
const definition = loadSync("shop/v1/shop.proto", { includeDirs: [PROTO], keepCase: true, longs: String });

interface Order {
  readonly id?: string | undefined;
  readonly street?: string | undefined;
}

/** Metadata of the last call. */
let received: Metadata | undefined;

const handlers = {
  get(call: ServerUnaryCall<{ id: string; labels?: object }, Order>, done: sendUnaryData<object>) {
    received = call.metadata;
    const { id, labels = {} } = call.request;
    if (id === "404") {
      done({ code: status.NOT_FOUND, details: "no such order" });
      return;
    }
    done(null, {
      id,
      state: "STATE_PAID",
      seal: Buffer.from([1, 2, 255]),
      placed_at: { seconds: 1_769_860_800, nanos: 5_000_000 },
      parts: Object.keys(labels).map((name) => ({ name, parts: [{ name: "inner" }] })),
      locker: 7,
      extra: { type_url: "type.googleapis.com/shop.v1.Part", value: Buffer.from([10, 1, 97]) },
    });
  },
  count(_: ServerUnaryCall<object, object>, done: sendUnaryData<object>) {
    done(null, { value: "9007199254740993" });
  },
  watch(call: ServerWritableStream<{ id: string }, Order>) {
    for (let i = 0; i < Number(call.request.id); i++) call.write({ id: String(i) });
    call.end();
  },
  total(call: ServerReadableStream<Order, Order>, done: sendUnaryData<Order>) {
    let total = 0;
    call.on("data", ({ id }: Order) => void (total += Number(id)));
    call.on("end", () => done(null, { id: String(total) }));
  },
  trade(call: ServerDuplexStream<Order, Order>) {
    call.on("data", ({ id, street }: Order) => call.write({ id, street: `${street} 2` }));
    call.on("end", () => call.end());
  },
};

function shopServer(): Server {
  const { shop } = loadPackageDefinition(definition) as unknown as {
    shop: { v1: { Orders: ServiceClientConstructor } };
  };
  const server = new Server();
  server.addService(shop.v1.Orders.service, handlers);
  return server;
}

async function listen(server: Server): Promise<string> {
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  return `grpc://127.0.0.1:${port}`;
}

const { run } = useProject();

describe("a server of grpc-js", () => {
  const server = shopServer();
  let url: string;
  beforeAll(async () => {
    new ReflectionService(definition).addToServer(server);
    url = await listen(server);
  });
  afterAll(() => server.forceShutdown());

  test("ls lists its services", async () => {
    const { code, stdout, stderr } = await run(["ls", url, "shop.v1.Orders"]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toBe(
      "shop.v1.Orders\n  Get    unary, read-only\n  Count  unary\n  Watch  server_stream\n  Total  client_stream\n  Trade  duplex\n",
    );
  });

  test("describe prints the JSON of its messages", async () => {
    const { code, stdout } = await run(["describe", url, "shop.v1.Orders/Get"]);
    expect(code).toBe(0);
    expect(stdout).toBe(
      [
        "shop.v1.Orders",
        "  Get({",
        "    id?: string; // int64",
        "    labels?: Record<string, string>;",
        "  }): {",
        "    id?: string; // int64",
        '    state?: "STATE_UNSPECIFIED" | "STATE_PAID";',
        "    seal?: string; // bytes",
        "    placedAt?: string; // google.protobuf.Timestamp",
        "    parts?: Array<shop.v1.Part>;",
        "    street?: string; // one of way",
        "    locker?: integer; // uint32, one of way",
        "    extra?: {",
        "      @type?: string;",
        "    }; // google.protobuf.Any",
        "  } // read-only",
        "",
      ].join("\n"),
    );
  });

  test("call takes and prints canonical proto JSON", async () => {
    const input = '{"id":"9007199254740993","labels":{"a":"b"}}';
    const { code, stdout, stderr } = await run([
      "call",
      url,
      "shop.v1.Orders/Get",
      input,
      "-m",
      "tenant: north",
      "-H",
      "x-key: 1",
    ]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toEqual({
      id: "9007199254740993",
      state: "STATE_PAID",
      seal: "AQL/",
      placedAt: "2026-01-31T12:00:00.005Z",
      parts: [{ name: "a", parts: [{ name: "inner" }] }],
      locker: 7,
      extra: { "@type": "type.googleapis.com/shop.v1.Part", name: "a" },
    });
    expect([received?.get("tenant"), received?.get("x-key")]).toEqual([["north"], ["1"]]);
    const number = await run(["call", url, "shop.v1.Orders/Get", '{"id":9007199254740993}']);
    expect(number.stdout).toContain('"id":"9007199254740993"');
    expect((await run(["call", url, "shop.v1.Orders/Count"])).stdout).toBe('"9007199254740993"\n');
    expect((await run(["call", url, "shop.v1.Orders/Get", "-f", "id=5", "-f", "labels.x=1"])).stdout).toContain(
      '"id":"5"',
    );
  });

  test("call streams in both directions", async () => {
    const orders = '[{"id":1,"street":"A"},{"id":"2","street":"B"}]';
    expect((await run(["call", url, "shop.v1.Orders/Watch", '{"id":2}'])).stdout).toBe('{}\n{"id":"1"}\n');
    expect((await run(["call", url, "shop.v1.Orders/Total", orders])).stdout).toBe('{"id":"3"}\n');
    expect((await run(["call", url, "shop.v1.Orders/Trade", orders])).stdout).toBe(
      '{"id":"1","street":"A 2"}\n{"id":"2","street":"B 2"}\n',
    );
  });

  test("errors name what is wrong, and what there is", async () => {
    const failed = await run(["call", url, "shop.v1.Orders/Get", '{"id":"404"}']);
    expect([failed.code, failed.stderr]).toEqual([1, "not_found no such order\n"]);
    const method = await run(["call", url, "shop.v1.Orders/Gte", "{}"]);
    expect([method.code, method.stderr]).toEqual([
      1,
      expect.stringContaining("shop.v1.Orders has no method Gte: did you mean Get? it has Get, Count"),
    ]);
    const service = await run(["call", url, "shop.v1.Order/Get", "{}"]);
    expect(service.stderr).toContain("the server has no service shop.v1.Order: did you mean shop.v1.Orders?");
    const input = await run(["call", url, "shop.v1.Orders/Get", '{"id":"x"}']);
    expect([input.code, input.stderr]).toEqual([
      1,
      expect.stringMatching(/^invalid_argument .*shop\.v1\.GetRequest.*id/),
    ]);
    const schema = await run(["ls", url, "--schema", "shop.service.ts"]);
    expect([schema.code, schema.stderr]).toEqual([2, expect.stringContaining("--schema cannot be used with gRPC")]);
  });

  test("load calls a unary method", async () => {
    const args = ["-n", "20", "-c", "2", "-p", "4", "--warm-up", "0", "--json"];
    const { code, stdout } = await run(["load", url, "shop.v1.Orders/Get", '{"id":1}', ...args]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ calls: 20, failed: {} });
  });

  test("ping measures the round trip by HTTP/2", async () => {
    const { code, stdout } = await run(["ping", url, "-n", "1", "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ count: 1 });
  });
});

test("a server of this library, with TLS", async () => {
  const echo = createEchoRouter({
    say: ({ text, count }) => ({ text, count: count + 1 }),
    async *repeat() {},
    join: () => ({ text: "", count: 0 }),
    async *each() {},
    nothing() {},
    async *fail() {},
  });
  const tls = await devCertificate();
  const routers = [echo, createReflection([echo])];
  await using server = await serve({ port: 0, tls, routers, extensions: [grpc(echoProtobuf)] });
  const [url = ""] = server.urls.map((each) => each.replace("quic:", "grpcs:"));
  const untrusted = await run(["ls", url]);
  expect([untrusted.code, untrusted.stderr]).toEqual([3, expect.stringContaining("--dev for this machine's")]);
  expect((await run(["ls", url, "test.v1.Echo", "--dev"])).stdout).toContain("  Each     duplex\n");
  const said = await run(["call", url, "test.v1.Echo/Say", '{"text":"a","count":1}', "--dev"]);
  expect([said.code, said.stdout]).toEqual([0, '{"text":"a","count":"2"}\n']);
});

test("a server whose reflection is v1alpha", async () => {
  const server = shopServer();
  const add: Server["addService"] = (service, implementation) => {
    const { path } = Object.values(service)[0] as { path: string };
    if (path.includes(".v1alpha.")) server.addService(service, implementation);
  };
  new ReflectionService(definition).addToServer({ addService: add });
  const { code, stdout } = await run(["call", await listen(server), "shop.v1.Orders/Get", '{"id":5}', "--compress"]);
  server.forceShutdown();
  expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ id: "5" })]);
});

test("a server without reflection", async () => {
  const server = shopServer();
  const { code, stderr } = await run(["ls", await listen(server)]);
  server.forceShutdown();
  expect(code).toBe(1);
  expect(stderr).toMatch(/^failed_precondition the server has no gRPC reflection/);
  expect(stderr).toMatch(/help: register the reflection service/);
});

test("a port at which no server listens, or none of HTTP/2, gives no session", async () => {
  const other = createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const { port } = other.address() as { port: number };
  const answered = await run(["ls", `grpc://127.0.0.1:${port}`]);
  other.close();
  expect([answered.code, answered.stderr]).toEqual([
    3,
    expect.stringMatching(/Protocol error\nhelp: is a gRPC server /),
  ]);
  const refused = await run(["ls", `grpc://127.0.0.1:${port}`]);
  expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining("ECONNREFUSED")]);
});
