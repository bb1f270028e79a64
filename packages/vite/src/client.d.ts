/** Values that the plugin `@quicrpc/vite` provides to pages. Add "@quicrpc/vite/client" to `types` in tsconfig.json. */
declare module "virtual:quicrpc" {
  /**
   * Hashes of the development certificate, for the option of the same name of `connect`. During development, the array
   * contains the hash of the certificate that `devCertificate()` returns on this machine. In a build it is empty, so
   * that the browser's root certificates are trusted.
   */
  export const serverCertificateHashes: { readonly algorithm: "sha-256"; readonly value: Uint8Array<ArrayBuffer> }[];
}
