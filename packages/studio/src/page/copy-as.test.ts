import { expect, it } from "vitest";
import { asCommand, asCurl, asTypeScript, type Copyable } from "./copy-as.js";

const method = {
  service: "shop.v1.Orders",
  name: "get",
  kind: "unary",
  takes: "value",
  streamsInput: false,
  blobs: {},
} as Copyable["method"];
const given: Copyable = {
  method,
  url: "quic://shop.example:4433",
  input: '{\n  "id": "it\'s 7"\n}',
  metadata: [["tenant", "north"]],
  timeoutMs: 500,
  via: "stream",
  compress: true,
};

it("is copied with what was set of it", () => {
  expect(asCommand(given)).toBe(
    `quicrpc call -m 'tenant: north' --timeout 500 --via stream --compress quic://shop.example:4433 shop.v1.Orders/get '{"id":"it'\\''s 7"}'`,
  );
  expect(asCurl(given)).toBe(
    `# Of a server that has HTTP too: serve({ …, http: true })
curl https://shop.example:4433/shop.v1.Orders/get -H 'content-type: application/json' -H 'connect-timeout-ms: 500' -H 'tenant: north' -d '{"id":"it'\\''s 7"}'`,
  );
  expect(asTypeScript(given)).toBe(`import { connect, nodeCompressions } from "@quicrpc/node";
import { createOrdersClient } from "./generated/orders.js"; // where quicrpc gen has put it

const connection = await connect("quic://shop.example:4433", { advanced: { compression: { algorithms: nodeCompressions(), minBytes: Infinity } } });
const client = createOrdersClient(connection);
console.log(await client.get({ id: "it's 7" }, { metadata: [["tenant", "north"]], timeoutMs: 500, via: "stream", compress: true }));
await connection.close();
`);
});

const plain: Copyable = { method, url: given.url, input: "{}", metadata: [] };

it("is copied without what was not set", () => {
  expect(asCommand(plain)).toBe("quicrpc call quic://shop.example:4433 shop.v1.Orders/get '{}'");
  expect(asTypeScript(plain)).toContain("client.get({})");
});

it("is copied as the server is trusted", () => {
  const trust = { dev: true, credentialsFrom: "TOKEN" };
  const trusting = { ...plain, trust, httpUrl: "https://shop.example/api" };
  expect(asCommand(trusting)).toContain("call --dev --credentials-from TOKEN quic:");
  expect(asCurl(trusting)).toBe(
    `curl --insecure https://shop.example/api/shop.v1.Orders/get -H 'content-type: application/json' -H "authorization: Bearer $TOKEN" -d '{}'`,
  );
  expect(asTypeScript({ ...plain, trust })).toContain(
    'connect("quic://shop.example:4433", { serverCertificateHashes: [(await devCertificate()).hash], credentials: process.env["TOKEN"] ?? "" })',
  );
  expect(asCommand({ ...plain, trust: { ca: "my roots.pem" } })).toContain("--ca 'my roots.pem'");
  expect(asTypeScript({ ...plain, trust: { hash: "ab" } })).toContain('value: Buffer.from("ab", "hex")');
});

it("of plain HTTP behind TLS, is copied as that", () => {
  const url = "https://shop.example/api";
  const over = { ...plain, url, httpUrl: url, trust: { dev: true } };
  expect(asCommand(over)).toBe("quicrpc call --plain-http --dev https://shop.example/api shop.v1.Orders/get '{}'");
  expect(asCurl(over)).toContain("curl --insecure https://shop.example/api/shop.v1.Orders/get");
  expect(asTypeScript(over)).toContain(
    'await connect("https://shop.example/api", { advanced: { transports: [httpTransport()] } })',
  );
  expect(asTypeScript(over)).not.toContain("devCertificate");
});

it("in TypeScript, values are what the schema means", () => {
  const properties = {
    at: { type: "string", "x-quicrpc-type": "date" },
    big: { type: "integer", "x-quicrpc-type": "bigint" },
    data: { type: "string", "x-quicrpc-type": "bytes" },
    tags: { type: "array", "x-quicrpc-type": "set", items: { type: "string" } },
    map: {
      "x-quicrpc-type": "map",
      items: { prefixItems: [{ type: "integer" }, { type: "integer", "x-quicrpc-type": "bigint" }] },
    },
  };
  const input =
    '{"at":"2026-01-02T03:04:05Z","big":"9007199254740993","data":"AQL/","tags":["a"],"map":{"7":"1"},"a b":-1}';
  const text = asTypeScript({ ...plain, input, method: { ...method, input: { type: "object", properties } } });
  for (const part of [
    'at: new Date("2026-01-02T03:04:05.000Z")',
    "big: 9007199254740993n",
    "data: Uint8Array.of(1, 2, 255)",
    'tags: new Set(["a"])',
    "map: new Map([[7, 1n]])",
    '"a b": -1',
  ])
    expect(text).toContain(part);
});

it("metadata in bytes is bytes, and a key that repeats does so", () => {
  const metadata = [
    ["x-bin", "AQI="],
    ["a", "1"],
    ["a", "2"],
  ] as const;
  expect(asTypeScript({ ...plain, metadata })).toContain(
    'metadata: [["x-bin", Uint8Array.of(1, 2)], ["a", "1"], ["a", "2"]]',
  );
});

it("of a stream, messages come in by stdin as they were typed", () => {
  const stream = {
    ...plain,
    input: '"a\\n\'b"',
    method: { ...method, kind: "client_stream", streamsInput: true } as const,
  };
  expect(asCommand(stream)).toBe(
    `printf '%s\\n' '"a\\n'\\''b"' | quicrpc call quic://shop.example:4433 shop.v1.Orders/get`,
  );
  expect(asCommand({ ...plain, input: "-5" })).toBe("quicrpc call -- quic://shop.example:4433 shop.v1.Orders/get -5");
});

it("bytes come in by stdin, or from the file that was chosen", () => {
  const bytes = {
    ...plain,
    input: "it's",
    method: { ...method, takes: "bytes", kind: "duplex", streamsInput: true } as const,
  };
  expect(asCommand(bytes)).toBe(`printf %s 'it'\\''s' | quicrpc call quic://shop.example:4433 shop.v1.Orders/get`);
  expect(asCommand({ ...bytes, bytesFile: "a.bin" })).toBe(
    "quicrpc call quic://shop.example:4433 shop.v1.Orders/get < a.bin",
  );
});

it("by curl, what HTTP cannot say is refused with the reason", () => {
  expect(() => asCurl({ ...given, method: { ...method, kind: "duplex" } })).toThrow("streaming calls");
});

it("is copied with the names of its files, and where its answer's go", () => {
  const blobs = { input: [{ name: "photo" }], output: [{ name: "small" }] };
  const sent = { method: { ...method, blobs }, url: given.url, input: '{"id":"7"}', metadata: [] };
  const files = { photo: { name: "the lake.jpg" } };
  expect(asCommand({ ...sent, files })).toBe(
    `quicrpc call --out . quic://shop.example:4433 shop.v1.Orders/get '{"id":"7","photo":"@the lake.jpg"}'`,
  );
  expect(asTypeScript({ ...sent, files })).toContain('{ ...{ id: "7" }, "photo": await fileBlob("the lake.jpg") }');
  expect(() => asCurl({ ...sent, files })).toThrow(
    "curl cannot send or receive blobs: use the quicrpc command or a client",
  );
});
