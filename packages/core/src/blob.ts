// The entry for schemas and programs with blobs.
export type { BlobContent, BlobSource, DescribedBlob } from "./blobs/source.js";
export { ReceivedBlob, type ReadBlobOptions } from "./blobs/received-blob.js";
export { createBlobId } from "./blobs/source.js";
export { blob, type BlobOptions, type BlobSchema } from "./contract/blob.js";
export type { StoredUpload, UploadFacts, UploadStore } from "./blobs/upload-store.js";
