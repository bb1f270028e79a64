// Schemas and programs with blobs.
export type { BlobContent, BlobSource, DescribedBlob } from "./source.js";
export { ReceivedBlob, type ReadBlobOptions } from "./received-blob.js";
export { createBlobId } from "./source.js";
export { blob, type BlobOptions, type BlobSchema } from "./blob.js";
export type { StoredUpload, UploadInfo, UploadStore } from "./upload-store.js";
