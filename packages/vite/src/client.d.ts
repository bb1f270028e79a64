/** The values that `@quicrpc/vite` hands to pages. Add "@quicrpc/vite/client" to `types` of tsconfig.json. */
declare module "virtual:quicrpc" {
  /**
   * For `connect`: while developing, the hash of the certificate that `devCertificate()` gives the server on this machine; nothing in a
   * build, so that the system's roots count.
   */
  export const serverCertificateHashes: { readonly algorithm: "sha-256"; readonly value: Uint8Array<ArrayBuffer> }[];
}
