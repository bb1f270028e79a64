// What `require` finds of each package that a Node program loads.
const { createLocalCaller } = require("@quicrpc/core");
const { encoder } = require("@quicrpc/core/codec");
const { messagePortTransport } = require("@quicrpc/core/transport");
const { dial } = require("@quicrpc/browser");
const { serve } = require("@quicrpc/node");
const { metrics } = require("@quicrpc/otel");
const { Endpoint } = require("@quicrpc/quic");
const { createQueries } = require("@quicrpc/query");
const { createHealth } = require("@quicrpc/services");

const found = {
  createLocalCaller,
  encoder,
  messagePortTransport,
  dial,
  serve,
  metrics,
  Endpoint,
  createQueries,
  createHealth,
};
for (const [name, value] of Object.entries(found)) {
  if (typeof value !== "function") throw new TypeError(`${name} is ${typeof value}`);
}
