import type { DevCertificate, DialOptions } from "@quicrpc/node";

/** How a client trusts a test's server: a transport without TLS takes no hashes of certificates. */
export function trustOf(
  url: string | URL,
  { hash }: Pick<DevCertificate, "hash">,
): Pick<DialOptions, "serverCertificateHashes"> {
  return /^(tcp|ws|unix):/.test(String(url)) ? {} : { serverCertificateHashes: [hash] };
}
