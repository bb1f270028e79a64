// A separate entry point, because few applications use proofs of a client's key.
export { createProofKeys, keyThumbprint, type ProofKey, type ProofKeys } from "./proof/keys.js";
export { prover } from "./proof/prover.js";
export { type Proof, receiveProof, verifyProof } from "./proof/receive-proof.js";
export type { ClientSide, Prover, ProvingHost } from "./transport/prover.js";
export type { ProofAlgorithm, ProofClaim } from "./wire/proof.js";
