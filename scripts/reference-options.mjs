// Writes the page of options from the interfaces that declare them.
import { Node } from "ts-morph";
import { cell, constantsOf, entries, propertiesOf, sourceOf } from "./docstrings.mjs";
import { reference, shown } from "./docs.mjs";
import { wrongDefaults } from "./defaults.mjs";

/** Interfaces whose options every session has: other sections list what they have beside these. */
const SESSION = ["core/src/session/options.ts", "SessionOptions"];
const CONNECTION = ["core/src/connection/connection.ts", "ConnectionOptions"];
const DIAL = ["node/src/dial.ts", "DialOptions"];

/**
 * The sections of the page. `of` is the interface; `beside` those whose options are in sections of their own; `defaults` is the constant that
 * completes what a program gives of such an object: any property may be missing. `only` names the options that are not on other pages.
 */
const PARTS = [
  {
    title: "Schemas",
    sections: [
      {
        title: "rpc",
        of: ["core/src/contract/service.ts", "RpcOptions"],
        text: "Options of a method in a `*.service.ts`: [Calls](calls.md).",
      },
      {
        title: "notify",
        of: ["core/src/contract/service.ts", "NotifyOptions"],
        text: "Options of a method without an answer.",
      },
      {
        title: "topic",
        of: ["core/src/contract/topic.ts", "TopicSchemaOptions"],
        text: "Third argument of `topic` of `@quicrpc/core/topics`: [Topics](topics.md).",
      },
      {
        title: "blob",
        of: ["core/src/contract/blob.ts", "BlobOptions"],
        text: "Options of a field that is a file: [Uploads](uploads.md).",
      },
      {
        title: "Cursors",
        of: ["core/src/contract/cursor.ts", "ItemCursor"],
        text: "`cursor` of a method that streams: a field's name, or this object. [Live data](durable.md).",
      },
      {
        title: "meta.mcp",
        of: ["mcp/src/meta.ts", "McpTool"],
        text: "The method is a [tool of language models](mcp.md): `true`, or this object. Other names in `meta` are the application's own.",
      },
      {
        title: "quicrpc.config.ts",
        of: ["codegen/src/project/config.ts", "Config"],
        text: "Argument of `defineConfig` of `quicrpc`. Paths start from the file's directory. [Options of the command](cli.md) win.",
      },
    ],
  },
  {
    title: "Calls",
    sections: [
      {
        title: "Each call",
        of: ["core/src/call/options.ts", "CallOptions"],
        text: "Last argument of every method of a client: [Calls](calls.md), [Timeouts](timeouts.md).",
      },
      {
        title: "RpcError",
        of: ["core/src/errors.ts", "RpcErrorOptions"],
        text: "Third argument of `new RpcError(code, message)`: [Errors](errors.md).",
      },
      {
        title: "retry",
        of: ["core/src/interceptors/retry.ts", "RetryOptions"],
        text: "An [interceptor](calls.md#interceptors) of the caller.",
      },
      {
        title: "concurrencyLimit",
        of: ["core/src/interceptors/concurrency-limit.ts", "ConcurrencyLimitOptions"],
        text: "An interceptor of either side.",
      },
      {
        title: "authentication",
        of: ["core/src/interceptors/authentication.ts", "AuthenticationOptions"],
        text: "An interceptor of the server: [Authentication](authentication.md).",
      },
      {
        title: "authorize",
        of: ["core/src/interceptors/authorize.ts", "AuthorizeOptions"],
        text: "An interceptor of the server: [permissions](authentication.md#permissions).",
      },
      {
        title: "catchUp",
        of: ["core/src/server/catch-up.ts", "CatchUpOptions"],
        text: "Of a handler whose stream goes on after a cursor: [Live data](durable.md).",
      },
      {
        title: "createOutbox",
        of: ["core/src/call/outbox.ts", "OutboxOptions"],
        text: "Of `@quicrpc/core/once`: items that are sent once each, [Effects once](once.md).",
      },
    ],
  },
  {
    title: "Sessions",
    text: "What `serve`, `connect`, `dial`, `connectPool`, `createSession` and `createLocalCaller` have in common.",
    sections: [
      { title: "Every session", of: SESSION },
      { title: "keepAlive", of: ["core/src/session/keep-alive.ts", "KeepAliveOptions"] },
      {
        title: "compression",
        of: ["core/src/contract/compression.ts", "CompressionOptions"],
        text: "[Codecs](codecs.md) says how to compress.",
      },
      { title: "once", of: ["core/src/server/once/once-options.ts", "OnceOptions"], text: "[Effects once](once.md)." },
      {
        title: "renewal",
        of: ["core/src/session/server-renewal.ts", "RenewalOptions"],
        text: "Of `createSession`. `serve` has `expiresAt` and `subjectOf` instead.",
      },
      { title: "session.drain", of: ["core/src/session/options.ts", "SessionDrainOptions"] },
      { title: "session.close", of: ["core/src/session/options.ts", "CloseOptions"] },
      { title: "session.demandCredentials", of: ["core/src/session/server-renewal.ts", "DemandOptions"] },
      {
        title: "createClientSession, createStreamSession",
        of: ["core/src/session/create-client-session.ts", "ClientSessionOptions"],
        text: "Sessions that serve nothing, for [small pages](browsers.md#size).",
      },
      {
        title: "createLocalCaller",
        of: ["core/src/connection/local-caller.ts", "LocalCallerOptions"],
        beside: [SESSION],
        text: "Calls within one process: [Testing](testing.md).",
      },
      {
        title: "Transports over one stream",
        of: ["core/src/transport/byte-stream.ts", "ByteStreamOptions"],
        text: "Last argument of `webSocketTransport`, `messagePortTransport`, `webStreamTransport`, `byteStreamTransport`, `nodeStreamTransport` and `childProcessTransport`.",
      },
      { title: "receiveGreeting, receiveProof", of: ["core/src/transport/greeting.ts", "GreetingOptions"] },
    ],
  },
  {
    title: "Serving",
    text: "[Serving](serving.md) tells when to use what.",
    sections: [
      { title: "serve", of: ["node/src/serve-options.ts", "ServeOptions"], beside: [SESSION] },
      { title: "tls of serve", of: ["quic/src/tls-options.ts", "ServerCertificateOptions"] },
      { title: "clientCertificates", of: ["quic/src/tls-options.ts", "ClientCertificateOptions"] },
      {
        title: "connectionIds",
        of: ["quic/src/connection-ids.ts", "ConnectionIdOptions"],
        text: "[Deploying](deploying.md).",
      },
      {
        title: "http of serve",
        of: ["node/src/listen/http-package.ts", "HttpOptions"],
        text: "[Plain HTTP](http.md#beside-sessions).",
      },
      { title: "loadShedding", of: ["core/src/server/overload-guard.ts", "LoadSheddingOptions"] },
      {
        title: "server.drain",
        of: ["node/src/server.ts", "ServerDrainOptions"],
        text: "Of `restart` of a group of workers, too.",
      },
      {
        title: "drainOnSignal",
        of: ["node/src/drain-on-signal.ts", "DrainOnSignalOptions"],
        beside: [["node/src/server.ts", "ServerDrainOptions"]],
      },
      {
        title: "shareUdpPorts",
        of: ["node/src/workers/shared-ports.ts", "SharedPortOptions"],
        text: "In a primary of `node:cluster` that [forks its workers itself](scaling.md#workers-that-you-fork-yourself).",
      },
      { title: "watchTls", of: ["node/src/watch-tls.ts", "WatchTlsOptions"] },
      { title: "devCertificate", of: ["node/src/dev-certificate.ts", "DevCertificateOptions"] },
      { title: "devAuthority", of: ["node/src/dev-authority.ts", "DevAuthorityOptions"] },
    ],
  },
  {
    title: "Connecting from Node",
    text: "[Connecting](connecting.md) tells when to use what.",
    sections: [
      { title: "dial", of: DIAL, beside: [SESSION], text: "One session." },
      {
        title: "connect",
        of: ["node/src/connect.ts", "ConnectOptions"],
        beside: [SESSION, DIAL],
        text: "A connection, which heals.",
      },
      { title: "fallback", of: ["node/src/dial/fallback.ts", "FallbackOptions"] },
      { title: "backoff", of: ["core/src/backoff.ts", "Backoff"], defaults: "DEFAULT_BACKOFF" },
      { title: "createConnection", of: CONNECTION, text: "A connection of whatever makes sessions." },
      { title: "connection.ready", of: ["core/src/connection/ready.ts", "ReadyOptions"] },
      { title: "connection.drain", of: ["core/src/session/options.ts", "DrainOptions"], text: "Of pools, too." },
      {
        title: "createPool",
        of: ["core/src/balance/pool.ts", "PoolOptions"],
        text: "[Several servers](connecting.md#several-servers).",
      },
      {
        title: "connectPool",
        of: ["node/src/connect-pool.ts", "ConnectPoolOptions"],
        beside: [SESSION, DIAL, ["core/src/balance/pool.ts", "PoolOptions"]],
      },
      { title: "outliers", of: ["core/src/balance/outliers.ts", "OutlierOptions"], defaults: "DEFAULT_OUTLIERS" },
      { title: "subset", of: ["core/src/balance/subset.ts", "SubsetOptions"] },
      { title: "dnsTargets", of: ["node/src/dns-targets.ts", "DnsTargetsOptions"] },
      { title: "natsTargets", of: ["nats/src/nats-targets.ts", "NatsTargetsOptions"] },
      {
        title: "failsTransport",
        of: ["fails-components/src/transport.ts", "FailsTransportOptions"],
        text: "Of [`@quicrpc/fails-components`](connecting.md#by-fails-componentswebtransport).",
      },
    ],
  },
  {
    title: "Connecting from pages",
    text: "Of `@quicrpc/browser`: [Browsers](browsers.md).",
    sections: [
      { title: "dial of a page", of: ["browser/src/dial.ts", "DialOptions"], beside: [SESSION], text: "One session." },
      {
        title: "connect of a page",
        of: ["browser/src/connect.ts", "ConnectOptions"],
        beside: [SESSION, ["browser/src/dial.ts", "DialOptions"]],
        text: "A connection, which heals.",
      },
      { title: "fallback of a page", of: ["browser/src/dial.ts", "FallbackOptions"] },
      {
        title: "connectWebTransport",
        of: ["browser/src/connect-web-transport.ts", "WebTransportConnectOptions"],
        text: "The smallest bundle: without a fallback.",
      },
    ],
  },
  {
    title: "Files",
    text: "[Uploads](uploads.md).",
    sections: [
      {
        title: "Reading a blob",
        of: ["core/src/blobs/received-blob.ts", "ReadBlobOptions"],
        text: "Of `stream`, `chunks` and `bytes` of a `ReceivedBlob`; `bytes` has `maxBytes` as well.",
      },
      { title: "fileBlob", of: ["node/src/blob-files.ts", "FileBlobOptions"] },
      { title: "saveBlob", of: ["node/src/blob-files.ts", "SaveBlobOptions"] },
      { title: "resume of saveBlob", of: ["node/src/blob-parts.ts", "PartOptions"] },
      {
        title: "fileUploads",
        of: ["node/src/file-uploads.ts", "FileUploadOptions"],
        text: "A store for `uploads` of `createFetchHandler`.",
      },
    ],
  },
  {
    title: "Topics",
    text: "[Topics](topics.md).",
    sections: [
      { title: "createTopics", of: ["core/src/topics/topics.ts", "TopicsOptions"] },
      { title: "limits of topics", of: ["core/src/topics/limits.ts", "TopicLimits"], defaults: "DEFAULT_TOPIC_LIMITS" },
      {
        title: "Serving a topic",
        of: ["core/src/topics/serve-topics.ts", "TopicOptions"],
        text: "For each topic, in the second argument of the generated `create…Topics`.",
      },
      { title: "Publishing", of: ["core/src/topics/serve-topics.ts", "TopicPublishOptions"] },
      {
        title: "fileTopics",
        of: ["node/src/topics.ts", "FileTopicsOptions"],
        text: "Of `@quicrpc/node/topics`; `workerTopics` has those of `createTopics`.",
      },
      {
        title: "natsTopics",
        of: ["nats/src/nats-topics.ts", "NatsTopicsOptions"],
        text: "Of [`@quicrpc/nats`](../packages/nats/README.md).",
      },
    ],
  },
  {
    title: "Stores of calls that are once",
    text: "[Effects once](once.md).",
    sections: [
      { title: "MemoryOnceStore", of: ["core/src/server/once/memory-once-store.ts", "MemoryOnceStoreOptions"] },
      { title: "RedisOnceStore", of: ["redis/src/redis-once-store.ts", "RedisOnceStoreOptions"] },
    ],
  },
  {
    title: "Over plain HTTP",
    text: "[Plain HTTP](http.md).",
    sections: [
      { title: "createFetchHandler", of: ["http/src/server/http-options.ts", "HttpServiceOptions"] },
      { title: "docsPage", of: ["http/src/server/docs-page.ts", "DocsPageOptions"] },
      {
        title: "openApiDocument, openApiOf",
        of: ["http/src/openapi/source.ts", "OpenApiOptions"],
        text: "[OpenAPI](openapi.md).",
      },
      { title: "httpTransport", of: ["http/src/client/options.ts", "HttpOptions"] },
      { title: "mcp", of: ["mcp/src/mcp.ts", "McpOptions"], text: "[Language models](mcp.md)." },
      { title: "serveToolsOverStdio", of: ["mcp/src/stdio.ts", "StdioOptions"] },
    ],
  },
  {
    title: "Tools",
    sections: [
      { title: "tracing", of: ["otel/src/tracing.ts", "TracingOptions"], text: "[Monitoring](monitoring.md)." },
      { title: "metrics", of: ["otel/src/metrics.ts", "MetricsOptions"] },
      { title: "createReflection", of: ["services/src/reflection.ts", "ReflectionOptions"] },
      { title: "createTimings", of: ["services/src/timings.ts", "TimingsOptions"] },
      {
        title: "tapFrames",
        of: ["core/src/transport/frame-tap.ts", "TapOptions"],
        text: "Of `@quicrpc/core/measure`.",
      },
      {
        title: "createQueries",
        of: ["query/src/queries.ts", "CreateQueriesOptions"],
        text: "[TanStack Query](query.md).",
      },
      {
        title: "streamedOptions",
        of: ["query/src/methods.ts", "StreamedCallOptions"],
        beside: [["core/src/call/options.ts", "CallOptions"]],
      },
      { title: "studio", of: ["studio/src/studio.ts", "StudioOptions"], text: "[The studio](studio.md)." },
      { title: "serveStudio", of: ["studio/src/command.ts", "ServeStudioOptions"] },
      {
        title: "quicrpc of Vite",
        of: ["vite/src/plugin.ts", "QuicrpcOptions"],
        text: "[`@quicrpc/vite`](../packages/vite/README.md).",
      },
      { title: "certificate of Vite", of: ["vite/src/certificate.ts", "CertificateOptions"] },
      { title: "openUdpLink, openTcpLink", of: ["testing/src/link.ts", "LinkOptions"], text: "[Testing](testing.md)." },
      {
        title: "openNetwork",
        of: ["testing/src/network.ts", "NetworkOptions"],
        beside: [["testing/src/link.ts", "LinkOptions"]],
      },
      { title: "Conditions of a network", of: ["testing/src/conditions.ts", "Conditions"], defaults: "FAIR" },
      { title: "createSessionPair", of: ["testing/src/sessions.ts", "SessionPairOptions"] },
      { title: "recordCalls", of: ["testing/src/record-calls.ts", "RecordOptions"] },
    ],
  },
  {
    title: "The engine alone",
    text: "Of `@quicrpc/quic`, for QUIC and WebTransport without calls: [its README](../packages/quic/README.md). Windows, timeouts and limits of connections are in [Limits](limits.md#of-a-quic-connection), and with advice in [Tuning](tuning.md).",
    sections: [
      { title: "Endpoint.bind", of: ["quic/src/bind-options.ts", "BindOptions"] },
      {
        title: "transport of the engine",
        of: ["quic/src/limits.ts", "ListenTransportOptions"],
        only: ["keepAliveIntervalMs", "handshakeTimeoutMs"],
        defaults: "DEFAULT_TRANSPORT",
        text: "Beside those in [Limits](limits.md#of-a-quic-connection).",
      },
      { title: "endpoint.listen", of: ["quic/src/endpoint.ts", "ListenOptions"] },
      { title: "endpoint.updateTls", of: ["quic/src/tls-options.ts", "ServerTlsOptions"] },
      { title: "webTransport of listen", of: ["quic/src/endpoint.ts", "WebTransportListenOptions"] },
      { title: "connect by QUIC", of: ["quic/src/dial.ts", "ConnectOptions"] },
      {
        title: "the shared endpoint of connect and connectWebTransport",
        of: ["quic/src/connect.ts", "SharedEndpointOptions"],
      },
      { title: "tls of connect", of: ["quic/src/tls-options.ts", "ClientTlsOptions"] },
      {
        title: "connectWebTransport of the engine",
        of: ["quic/src/web-transport-dial.ts", "WebTransportConnectOptions"],
      },
      { title: "WebTransport", of: ["quic/src/web-transport.ts", "WebTransportOptions"] },
      { title: "WebTransportError", of: ["quic/src/errors.ts", "WebTransportErrorOptions"] },
      { title: "PortGroup.bind", of: ["quic/src/port-group.ts", "PortGroupOptions"] },
      { title: "PortGroup.inherit", of: ["quic/src/port-group.ts", "InheritedPortOptions"] },
    ],
  },
];

/** Interfaces that are on other pages, or that only packages of this project give each other. */
const ELSEWHERE = new Set([
  "core/src/limits.ts Limits", // docs/limits.md
  "quic/src/limits.ts TransportOptions", // docs/limits.md
  "core/src/connection/connection.ts ImprovingOptions", // of packages that make connections
  "core/src/call/options.ts Attempt", // internal
  "quic/src/tls-options.ts CertificateOptions", // a part of others
  "quic/src/bind-options.ts EngineOptions", // internal
]);
/** Entries for packages of this project and for generated code. */
const TOOLING = new Set([
  "@quicrpc/core/generated",
  "@quicrpc/core/transport",
  "@quicrpc/node/transport",
  "@quicrpc/codegen",
]);
const NAMES = /(?:Options|Config|Limits|Backoff|Conditions)$/;

const sections = PARTS.flatMap((part) => part.sections);
const keyOf = ([path, name]) => `${path} ${name}`;
const byKey = new Map(sections.map((section) => [keyOf(section.of), section]));

/** The anchor of a heading, as GitHub and the site have it. */
function slug(title) {
  return title
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, "")
    .replaceAll(" ", "-");
}

/** The default that a comment states, where that is short, and the rest of the comment. */
export function splitDefault(text) {
  const match = /(?:^| )Default:? ((?:`[^`]*`|"[^"]*"|\.(?=\S)|[^.])+?)(?:[.;](?= |$)|$)/.exec(text);
  if (match === null || match[1].length > 48) return { text };
  const rest = `${text.slice(0, match.index)}${text.slice(match.index + match[0].length)}`;
  return { value: match[1].trim(), text: rest.trim() };
}

/** The interfaces of ours that a type names, whose declarations are in `packages`. */
function namedIn(node) {
  const found = [];
  for (const identifier of node.getDescendants().filter(Node.isIdentifier)) {
    if (!NAMES.test(identifier.getText())) continue;
    const symbol = identifier.getSymbol();
    for (const declaration of (symbol?.getAliasedSymbol() ?? symbol)?.getDeclarations() ?? []) {
      const path = /\/packages\/(.*)$/.exec(declaration.getSourceFile().getFilePath())?.[1];
      if (path !== undefined) found.push({ path, name: identifier.getText(), declaration });
    }
  }
  return found;
}

function typeOf({ node }) {
  const typeNode = node.getTypeNode();
  if (typeNode === undefined) return "";
  if (typeNode.getText() === "Partial<Limits>" || /^NonNullable<SessionOptions.*limits/.test(typeNode.getText()))
    return "[limits](limits.md)";
  if (/^(?:Quic(?:Listen)?Options|(?:Listen)?TransportOptions)$/.test(typeNode.getText()))
    return "[options](limits.md#of-a-quic-connection)";
  const nested = namedIn(typeNode).find(({ path, name }) => byKey.has(`${path} ${name}`));
  if (nested !== undefined) {
    const { title } = byKey.get(`${nested.path} ${nested.name}`);
    return `[options](#${slug(title)})`;
  }
  const text = typeNode
    .getText()
    .replaceAll(/\s+/g, " ")
    .replace(/^\| /, "")
    .replaceAll(/ \| undefined$/g, "");
  if (text.includes("=>") || node.getType().getNonNullableType().getCallSignatures().length > 0) return "function";
  return text.length <= 44 ? `\`${cell(text)}\`` : "object";
}

const faults = [];

/** What an option is: its type, then its comment. */
function described(property, text) {
  return `${typeOf(property)} · ${cell(text)}`;
}

/** The rows of a table of options; notes the options whose comments do not say enough. */
function rowsOf({ of, beside = [], defaults, only }) {
  const constants = defaults === undefined ? undefined : constantsOf(of[0], defaults);
  const elsewhere = new Set(beside.flatMap(([path, name]) => propertiesOf(path, name).map(({ node }) => node)));
  const own = propertiesOf(...of).filter(({ name, node }) => !elsewhere.has(node) && only?.includes(name) !== false);
  return own.map((property) => {
    const { name, isOptional } = property;
    const { value, text } = splitDefault(property.text);
    if (text === "") faults.push(`${keyOf(of)}: ${name} has no comment`);
    if (constants !== undefined) {
      const constant = constants.get(name);
      if (value !== undefined && Number(value.replaceAll(",", "").split(":")[0]) !== constant)
        faults.push(`${keyOf(of)}: the comment of ${name} says ${value}, and ${defaults} has ${constant}`);
      return [`\`${name}\``, shown(name, constant), described(property, text)];
    }
    if (!isOptional) return [`\`${name}\``, "**required**", described(property, property.text)];
    if (!/\bdefault\b/i.test(property.text)) faults.push(`${keyOf(of)}: the comment of ${name} states no default`);
    return [`\`${name}\``, cell(value ?? ""), described(property, text)];
  });
}

const HEAD = ["| option | default | |", "|---|---|---|"];

function sectionText(section) {
  const lines = [`### ${section.title}`];
  if (section.text !== undefined) lines.push(section.text);
  const rows = rowsOf(section);
  if (rows.length > 0) lines.push(reference(HEAD, rows));
  const also = (section.beside ?? []).map((of) => {
    const { title } = byKey.get(keyOf(of));
    return `[${title}](#${slug(title)})`;
  });
  if (also.length > 0) lines.push(`And those of ${also.join(", ").replace(/, ([^,]*)$/, " and $1")}.`);
  return lines.join("\n\n");
}

/** Options of what users call that the page does not have. */
function missing() {
  const found = new Set();
  const see = (node) => {
    for (const { path, name, declaration } of namedIn(node)) {
      const key = `${path} ${name}`;
      if (Node.isInterfaceDeclaration(declaration) && !byKey.has(key) && !ELSEWHERE.has(key)) found.add(key);
    }
  };
  for (const [entry, source] of entries) {
    if (TOOLING.has(entry)) continue;
    for (const declarations of sourceOf(source.slice("packages/".length)).getExportedDeclarations().values()) {
      for (const declaration of declarations) {
        const signatures = Node.isFunctionDeclaration(declaration)
          ? [declaration, ...declaration.getOverloads()]
          : Node.isClassDeclaration(declaration)
            ? [...declaration.getConstructors(), ...declaration.getMethods(), ...declaration.getStaticMethods()]
            : Node.isInterfaceDeclaration(declaration)
              ? declaration.getMethods()
              : [];
        for (const parameter of signatures.flatMap((signature) => signature.getParameters())) {
          const type = parameter.getTypeNode();
          if (type !== undefined) see(type);
        }
      }
    }
  }
  for (const section of sections) {
    for (const { node } of propertiesOf(...section.of)) {
      const type = node.getTypeNode();
      if (type !== undefined) see(type);
    }
  }
  return Array.from(found, (key) => `${key} is not on the page of options (scripts/reference-options.mjs)`);
}

/** The page; and what keeps it from being whole. */
export function optionsPage() {
  const parts = PARTS.map(({ title, text, sections: own }) =>
    [`## ${title}`, ...(text === undefined ? [] : [text]), ...own.map(sectionText)].join("\n\n"),
  );
  const text = `# Options

Every option of every function, with its default. This page is written from the code by \`npm run reference:docs\`. Limits, windows and timeouts of connections are on a page of their own, [Limits](limits.md); flags of the
command are in [The command](cli.md); the types of everything else are in the [API reference](../packages/core/README.md).

An option that does not exist is a \`TypeError\`, with a guess at what was meant.

${parts.join("\n\n")}
`;
  return { text, faults: [...faults, ...missing()] };
}

const byTitle = new Map(sections.map((section) => [section.title, section]));

/** The table of a section for a place in another page. Throws for a section that is not there. */
export function optionsTable(title) {
  const section = byTitle.get(title);
  if (section === undefined) throw new Error(`the page of options has no section "${title}"`);
  return reference(
    HEAD,
    rowsOf(section).map((row) =>
      row.map((text) => text.replace(/^(?:`[^`]*`|\[options\]\([^)]*\)|function|object) · /, "")),
    ),
  );
}

/** Lines for the options whose comments state another default than the code has. Reads all sources, which changes the order of options in tables: they are written before. */
export function defaultFaults() {
  const found = new Map();
  for (const { of, defaults, only } of sections) {
    if (defaults !== undefined) continue;
    for (const { name, node, text, isOptional } of propertiesOf(...of)) {
      const { value } = splitDefault(text);
      if (isOptional && value !== undefined && !found.has(node) && only?.includes(name) !== false)
        found.set(node, { option: `${of[1]}.${name}`, value });
    }
  }
  return wrongDefaults(Array.from(found, ([node, rest]) => ({ node, ...rest })));
}
