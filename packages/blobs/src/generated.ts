// The entry for generated code.
export { blobCalls } from "./blob-calls.js";
export type { ReceivedBlob } from "./received-blob.js";
export type { BlobSource } from "./source.js";
