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
    `quicrpc call quic://shop.example:4433 shop.v1.Orders/get '{"id":"it'\\''s 7"}' -m 'tenant: north' --timeout 500 --via stream --compress`,
  );
  expect(asCurl(given)).toBe(
    `curl https://shop.example:4433/shop.v1.Orders/get -H 'content-type: application/json' -H 'connect-timeout-ms: 500' -H 'tenant: north' -d '{"id":"it'\\''s 7"}'`,
  );
  expect(asTypeScript(given)).toBe(
    [
      'const connection = await connect("quic://shop.example:4433");',
      "const orders = createOrdersClient(connection);",
      `const answer = await orders.get(${given.input}, { metadata: {"tenant":"north"}, timeoutMs: 500, via: "stream", compress: true });`,
    ].join("\n"),
  );
});

it("is copied without what was not set", () => {
  const plain = { method, url: given.url, input: "{}", metadata: [] };
  expect(asCommand(plain)).toBe("quicrpc call quic://shop.example:4433 shop.v1.Orders/get '{}'");
  expect(asTypeScript(plain)).toContain("orders.get({});");
});

it("by curl, a stream needs a client of its own", () => {
  expect(asCurl({ ...given, method: { ...method, kind: "duplex" } })).toBeUndefined();
});

it("is copied with the names of its files, and where its answer's go", () => {
  const blobs = { input: [{ name: "photo" }], output: [{ name: "small" }] };
  const sent = { method: { ...method, blobs }, url: given.url, input: '{"id":"7"}', metadata: [] };
  const files = { photo: { name: "the lake.jpg" } };
  expect(asCommand({ ...sent, files })).toBe(
    `quicrpc call quic://shop.example:4433 shop.v1.Orders/get '{"id":"7","photo":"@the lake.jpg"}' --out .`,
  );
  expect(asTypeScript({ ...sent, files })).toContain('{ ...{"id":"7"}, "photo": await fileBlob("the lake.jpg") }');
  expect(asCurl({ ...sent, files })).toBeUndefined();
});
