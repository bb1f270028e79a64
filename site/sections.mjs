/** The site's sections, each with the pages of `docs/` in the order one reads them. A page that is in none fails the build. */
export const SECTIONS = [
  { text: "Start", pages: ["start", "tutorial"] },
  {
    text: "Guides: calls",
    pages: ["calls", "streams", "errors", "timeouts", "lists", "durable", "once", "topics", "uploads", "testing"],
  },
  {
    text: "Guides: clients and servers",
    pages: [
      "connecting",
      "serving",
      "transports",
      "authentication",
      "browsers",
      "query",
      "http",
      "openapi",
      "grpc",
      "mcp",
    ],
  },
  {
    text: "Guides: production",
    pages: ["deploying", "scaling", "tuning", "monitoring", "security", "evolution"],
  },
  { text: "Coming from", pages: ["from-trpc", "from-grpc", "from-socket-io"] },
  {
    text: "Reference",
    pages: [
      "options",
      "advanced-options",
      "error-codes",
      "limits",
      "cli",
      "studio",
      "codecs",
      "guarantees",
      "platforms",
      "protocol",
      "glossary",
    ],
  },
  {
    text: "Inside",
    pages: [
      "design",
      "one-call",
      "engine",
      "compiled-codecs",
      "performance",
      "benchmarks",
      "benchmarks/tables",
      "conformance",
      "connect-conformance",
      "interop",
    ],
  },
];
