/** Name of the virtual module. */
export const VIRTUAL = "virtual:quicrpc";

/**
 * Returns the source of the virtual module. The certificate is the one that `devCertificate` returns on this machine
 * for the same options.
 */
export async function certificateModule(isDevelopment: boolean, options: CertificateOptions): Promise<string> {
  if (!isDevelopment) return "export const serverCertificateHashes = [];\n";
  const { devCertificate } = await import("@quicrpc/node");
  const { hash } = await devCertificate(options);
  const value = `Uint8Array.of(${hash.value.join(", ")})`;
  return `export const serverCertificateHashes = [{ algorithm: "sha-256", value: ${value} }];\n`;
}

/** Options of `devCertificate`. Pass the same values as the server. */
export interface CertificateOptions {
  /** Host names and addresses. Default: localhost, 127.0.0.1 and ::1. */
  readonly hosts?: readonly string[];
  /** Folder of the certificate. Default: the user's cache folder. */
  readonly directory?: string;
}
