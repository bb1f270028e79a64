import { streamsInput, streamsOutput } from "@quicrpc/core/internal";
import type { Components } from "./components.js";
import { withBlobUrls } from "./blob-operations.js";
import { errorResponses } from "./error-responses.js";
import type { DescribedMethod, DescribedService, JsonSchema } from "./source.js";

const JSON_TYPE = "application/json";
const STREAM_TYPE = "application/connect+json";
const EVENTS_TYPE = "text/event-stream";

/**
 * Returns the OpenAPI path item of a method: a POST operation, and a GET operation if the method is `readOnly`.
 *
 * @param name prefix of the names of the operations and messages
 */
export function operationsOf(
  service: DescribedService,
  method: DescribedMethod,
  name: string,
  components: Components,
): JsonSchema {
  const { kind, blobs } = method;
  const input = withBlobUrls(method.input, blobs?.input, true, components);
  const output = withBlobUrls(method.output, blobs?.output, false, components);
  const [takesItems, givesItems] = [streamsInput(method), streamsOutput(method)];
  const taken = input && components.add(input, `${name}${takesItems ? "InputItem" : "Input"}`);
  const given = output && components.add(output, `${name}${givesItems ? "OutputItem" : "Output"}`);
  const texts = textsOf(service, method);
  const isStream = takesItems || givesItems;
  const hasGet = method.readOnly && !takesItems && kind !== "notify";
  const errors = isStream && !hasGet ? {} : errorResponses(method, name, components);
  const post = {
    operationId: name,
    ...texts,
    ...(method.once === true && { parameters: [ONCE_KEY] }),
    requestBody: requestBody(taken, isStream),
    responses: isStream
      ? {
          200: { description: STREAM_ANSWER, content: { [STREAM_TYPE]: { schema: itemsOf(given) } } },
          415: { description: `The content type is not ${STREAM_TYPE}.` },
        }
      : { 200: response(given), ...errors },
  };
  if (!hasGet) return { post };
  const get = {
    operationId: `${name}ByGet`,
    ...texts,
    parameters: parametersOf(taken, givesItems),
    responses: givesItems
      ? { 200: { description: EVENTS_ANSWER, content: { [EVENTS_TYPE]: { schema: itemsOf(given) } } }, ...errors }
      : { 200: response(given), ...errors },
  };
  return { post, get };
}

const ONCE_KEY: JsonSchema = {
  name: "Idempotency-Key",
  in: "header",
  required: true,
  description:
    "A UUIDv7. A call that is made again with the same key gets the first one's answer and does not run again.",
  schema: { type: "string", format: "uuid" },
};

const STREAM_ANSWER =
  "A stream of messages in the envelopes of the Connect protocol. The last says whether the call failed, and why.";
const EVENTS_ANSWER =
  "Server-sent events: a message is the data of each. An event `end` comes last, or an event `error` with the error's JSON.";

function requestBody(schema: JsonSchema | undefined, isStream: boolean): JsonSchema {
  if (isStream) {
    const description = "Messages in the envelopes of the Connect protocol.";
    return { required: true, description, content: { [STREAM_TYPE]: { schema: itemsOf(schema) } } };
  }
  return { required: true, content: { [JSON_TYPE]: { schema: schema ?? NOTHING } } };
}

function response(schema: JsonSchema | undefined): JsonSchema {
  const description = schema === undefined ? "Done." : "The result.";
  return { description, content: { [JSON_TYPE]: { schema: schema ?? NOTHING } } };
}

/** JSON Schema of a message that the method does not have. */
const NOTHING: JsonSchema = { type: "object" };

/**
 * Returns the schema of a stream of messages: a text that describes them, because OpenAPI 3.1 cannot describe streams.
 */
function itemsOf(schema: JsonSchema | undefined): JsonSchema {
  return { type: "string", contentMediaType: JSON_TYPE, contentSchema: schema ?? NOTHING };
}

function parametersOf(input: JsonSchema | undefined, isEvents: boolean): JsonSchema[] {
  if (input === undefined) return [];
  const encoding = { name: "encoding", in: "query", required: true, schema: { type: "string", const: "json" } };
  const message = {
    name: "message",
    in: "query",
    required: true,
    description: "The message, as JSON.",
    schema: { type: "string", contentMediaType: JSON_TYPE, contentSchema: input },
  };
  return isEvents ? [message] : [encoding, message];
}

/** Returns the fields of an operation that describe a method to readers: tags, summary and description. */
function textsOf({ name: tag }: DescribedService, { name, docs, meta }: DescribedMethod): JsonSchema {
  const said = (meta ?? {}) as Readonly<Record<string, unknown>>;
  const text = (key: string): string | undefined => (typeof said[key] === "string" ? said[key] : undefined);
  const [body = "", ...deprecation] = (docs ?? "").split(/^@deprecated\b/m);
  const whole = body.trim();
  const [first = ""] = whole.split("\n");
  const summary = text("summary") ?? (first === "" ? name : first);
  const description = text("description") ?? (whole === first ? undefined : whole);
  const tags = Array.isArray(said["tags"]) ? said["tags"].filter((each) => typeof each === "string") : [];
  return {
    tags: [tag, ...tags],
    summary,
    ...(description !== undefined && { description }),
    ...((said["deprecated"] === true || deprecation.length > 0) && { deprecated: true }),
  };
}
