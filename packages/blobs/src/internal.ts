// Only for packages of this repository. These names are exempt from semantic versioning: any release may change or
// remove them.
export type { BlobHost, OffersBlobs } from "./blob-calls.js";
export { quotaOf } from "./blob-quota.js";
export { type BlobOffers, type Offer, Offered, type BlobReading } from "./offers.js";
export { type BlobCaller, TransferRetries } from "./transfer-retries.js";
export { changedBlob, DIGEST_TRAILER, type ReadBlob } from "./read-method.js";
export { type BlobReference, tooLarge as blobTooLarge } from "./received-blob.js";
export { PacedHash } from "./paced-hash.js";
export { createSha256, type Sha256 } from "./sha256.js";
export { describedBlob, discard as discardBlob, isRepeatable } from "./source.js";
