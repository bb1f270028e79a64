// Says which code may import which: the one table behind the linter's rules.

/** Our packages: the name of each, and those that it imports. One that runs `anywhere` uses nothing of Node; one that `prints` may use the console. */
export const packages = {
  core: { name: "@quicrpc/core", imports: [], anywhere: true },
  pool: { name: "@quicrpc/pool", imports: ["core"], anywhere: true },
  blobs: { name: "@quicrpc/blobs", imports: ["core"], anywhere: true },
  topics: { name: "@quicrpc/topics", imports: ["core"], anywhere: true },
  batch: { name: "@quicrpc/batch", imports: ["core"], anywhere: true },
  protobuf: { name: "@quicrpc/protobuf", imports: ["core"], anywhere: true },
  durable: { name: "@quicrpc/durable", imports: ["core"], anywhere: true },
  quic: { name: "@quicrpc/quic", imports: [] },
  node: { name: "@quicrpc/node", imports: ["blobs", "core", "pool", "quic", "topics"] },
  browser: { name: "@quicrpc/browser", imports: ["core"], anywhere: true },
  "fails-components": { name: "@quicrpc/fails-components", imports: ["core", "node", "browser"] },
  http: { name: "@quicrpc/http", imports: ["blobs", "core"], anywhere: true },
  services: { name: "@quicrpc/services", imports: ["blobs", "core", "durable"], anywhere: true },
  grpc: { name: "@quicrpc/grpc", imports: ["core", "http", "protobuf"], anywhere: true },
  mcp: { name: "@quicrpc/mcp", imports: ["core", "http", "services"] },
  otel: { name: "@quicrpc/otel", imports: ["core"], anywhere: true },
  nats: { name: "@quicrpc/nats", imports: ["core", "pool", "topics"] },
  redis: { name: "@quicrpc/redis", imports: ["core", "durable"] },
  query: { name: "@quicrpc/query", imports: ["core"], anywhere: true },
  testing: { name: "@quicrpc/testing", imports: ["core"] },
  codegen: { name: "@quicrpc/codegen", imports: ["core", "http"] },
  vite: { name: "@quicrpc/vite", imports: ["codegen", "core", "node"] },
  studio: { name: "@quicrpc/studio", imports: ["blobs", "browser", "core", "http", "services"] },
  cli: {
    name: "quicrpc",
    imports: [
      "blobs",
      "codegen",
      "core",
      "durable",
      "grpc",
      "http",
      "mcp",
      "node",
      "protobuf",
      "quic",
      "services",
      "studio",
      "testing",
      "topics",
    ],
    prints: true,
  },
  "create-quicrpc": { name: "create-quicrpc", imports: [] },
};

/** The folder whose own folders are layered, and its files that may import all of them: its entries. */
export const layered = "packages/core/src";
export const entries = [
  "index",
  "development",
  "development-generated",
  "development-transports",
  "codecs",
  "generated",
  "internal",
  "transports",
  "measure",
  "proof",
  "records",
];

/** Folders of `layered`, lowest layer first: one imports those of lower layers, and none of its own. Other files are below them all. */
export const layers = [
  ["msgpack", "contract"],
  ["wire", "codec"],
  ["transport"],
  ["call"],
  ["client", "server"],
  ["session", "interceptors", "proof"],
  ["connection"],
];

/** Lower layers that a folder does not import all the same. */
export const apart = { wire: ["contract"], transport: ["codec"] };

/** Modules of others that one file alone imports. */
export const reserved = { msgpackr: "packages/core/src/call/messages/records-codec.ts" };

/** Workspaces that nothing imports: by folder, the names of their packages. */
export const consumers = { examples: "@quicrpc-examples/", bench: "@quicrpc-internal/", test: "@quicrpc-internal/" };

/** The folders that one of `layered` must not import. */
export function forbiddenTo(folder) {
  const layer = layers.findIndex((names) => names.includes(folder));
  const above = layers.slice(layer).flat();
  return [...(apart[folder] ?? []), ...above.filter((name) => name !== folder), ...entries];
}

/** The packages that one with these `imports` must not import, itself among them: within a package, imports are relative. */
export function foreignTo(imports) {
  return Object.keys(packages).filter((other) => !imports.includes(other));
}
