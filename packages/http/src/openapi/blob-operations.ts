import { type Components, ERROR, pascal, referenceTo } from "./components.js";
import { isSchema } from "./json-schema.js";
import type { OpenApiBlob, DescribedMethod, JsonSchema } from "./source.js";

const BINARY = { "*/*": { schema: { type: "string", format: "binary" } } };
const COUNT = { type: "integer", minimum: 0 } as const;
/** JSON Schema of a boolean in a header field (RFC 9651, structured fields). */
const BOOLEAN = { type: "string", enum: ["?0", "?1"] } as const;

const UPLOAD: JsonSchema = {
  type: "object",
  description: "A blob that was uploaded, by its URL.",
  properties: { url: { type: "string", format: "uri-reference" } },
  required: ["url"],
};
const BLOB: JsonSchema = {
  type: "object",
  description: "A blob that GET of its URL reads, for a minute after the last request.",
  properties: {
    url: { type: "string", format: "uri-reference" },
    length: { ...COUNT, description: "Bytes, where that is known." },
    type: { type: "string", description: "The media type, where there is one." },
    name: { type: "string", description: "The file's name, where there is one." },
  },
  required: ["url"],
};

/** Returns the JSON Schema of a message in JSON over HTTP, in which each blob is an object with its URL. */
export function withBlobUrls(
  schema: JsonSchema | undefined,
  blobs: readonly OpenApiBlob[] | undefined,
  isInput: boolean,
  components: Components,
): JsonSchema | undefined {
  if (schema === undefined || blobs === undefined || blobs.length === 0) return schema;
  const { properties } = schema;
  if (!isSchema(properties)) return schema;
  const blob = isInput ? components.add(UPLOAD, "Upload") : components.add(BLOB, "Blob");
  return { ...schema, properties: { ...properties, ...Object.fromEntries(blobs.map(({ name }) => [name, blob])) } };
}

/** Returns the OpenAPI path items of a method's blobs, by path. The paths are below the method's path. */
export function blobPathsOf(
  { blobs }: DescribedMethod,
  path: string,
  name: string,
  tag: string,
  components: Components,
): Record<string, JsonSchema> {
  const { input = [], output = [] } = blobs ?? {};
  const paths: Record<string, JsonSchema> = {};
  for (const field of new Set([...input, ...output].map((each) => each.name))) {
    const [sent, given] = [input, output].map((fields) => fields.find((each) => each.name === field));
    const own = { tags: [tag] };
    const id = `${name}${pascal(field)}`;
    if (sent !== undefined) paths[`${path}/${field}`] = { post: { ...own, ...begin(field, id, sent, components) } };
    paths[`${path}/${field}/{id}`] = {
      parameters: [{ name: "id", in: "path", required: true, schema: { type: "string", pattern: "^[0-9a-f]{32}$" } }],
      ...(given !== undefined && { get: { ...own, ...read(field, id) } }),
      ...(sent !== undefined && {
        head: { ...own, ...ask(field, id) },
        patch: { ...own, ...append(field, id) },
        delete: { ...own, ...cancel(field, id) },
      }),
    };
  }
  return paths;
}

function begin(field: string, id: string, { maxBytes }: OpenApiBlob, components: Components): JsonSchema {
  const most = maxBytes === undefined ? "" : ` Of at most ${maxBytes} bytes.`;
  return {
    operationId: `${id}Upload`,
    summary: `Uploads ${field}`,
    description: `Sends the bytes, or the first of them, of what the call then names by the URL that is answered.${most}`,
    parameters: [
      header("Upload-Complete", "Whether these are all bytes. Default: ?1.", BOOLEAN),
      header("Upload-Length", "Bytes of the whole.", COUNT),
      header("Content-Disposition", 'The file\'s name, as in `attachment; filename="a.txt"`.', { type: "string" }),
      header("Repr-Digest", "The SHA-256 of the whole, here or with the last bytes (RFC 9530).", { type: "string" }),
    ],
    requestBody: { content: BINARY },
    responses: {
      201: {
        description: "The upload has begun, or is complete.",
        headers: { Location: { description: "Its URL.", schema: { type: "string" } }, ...PROGRESS },
        content: { "application/json": { schema: components.add(UPLOAD, "Upload") } },
      },
      413: failed("There are more bytes than are taken."),
      default: failed("The upload failed."),
    },
  };
}

function append(field: string, id: string): JsonSchema {
  return {
    operationId: `${id}Append`,
    summary: `Goes on with an upload of ${field}`,
    parameters: [
      { ...header("Upload-Offset", "Where the bytes begin: HEAD tells.", COUNT), required: true },
      header("Upload-Complete", "Whether these are the last bytes. Default: ?0.", BOOLEAN),
      header("Repr-Digest", "The SHA-256 of the whole.", { type: "string" }),
    ],
    requestBody: { content: { "application/partial-upload": { schema: { type: "string", format: "binary" } } } },
    responses: {
      204: { description: "The bytes are there.", headers: PROGRESS },
      409: {
        description: "The upload has another offset.",
        content: {
          "application/problem+json": {
            schema: {
              type: "object",
              properties: { type: { type: "string" }, title: { type: "string" }, "expected-offset": COUNT },
            },
          },
        },
      },
      413: failed("There are more bytes than are taken."),
      default: failed("The bytes were not taken."),
    },
  };
}

function ask(field: string, id: string): JsonSchema {
  return {
    operationId: `${id}Offset`,
    summary: `Tells how much of an upload of ${field} there is`,
    responses: { 204: { description: "So much.", headers: PROGRESS }, 404: { description: "There is none." } },
  };
}

function cancel(field: string, id: string): JsonSchema {
  return {
    operationId: `${id}Cancel`,
    summary: `Takes back an upload of ${field}`,
    responses: { 204: { description: "It is gone." }, 404: failed("There is none.") },
  };
}

function read(field: string, id: string): JsonSchema {
  return {
    operationId: `${id}Read`,
    summary: `Reads ${field}`,
    parameters: [
      header("Range", "The bytes that are wanted, as in `bytes=1000-`.", { type: "string" }),
      header("If-Range", "The ETag of what the bytes before were of.", { type: "string" }),
    ],
    responses: {
      200: { description: "The blob.", headers: READ, content: BINARY },
      206: { description: "The bytes of the range.", headers: READ, content: BINARY },
      416: { description: "The blob has none of these bytes." },
      default: failed("The blob cannot be read."),
    },
  };
}

const PROGRESS = {
  "Upload-Offset": { description: "Bytes that are there.", schema: COUNT },
  "Upload-Complete": { description: "Whether these are all.", schema: BOOLEAN },
} as const;
const READ = { ETag: { schema: { type: "string" } }, "Accept-Ranges": { schema: { type: "string" } } } as const;

function header(name: string, description: string, schema: JsonSchema): JsonSchema {
  return { name, in: "header", description, schema };
}

function failed(description: string): JsonSchema {
  return { description, content: { "application/json": { schema: referenceTo(ERROR) } } };
}
