import type { TransportError } from "@quicrpc/core";
import { expect, it } from "vitest";
import { transportError } from "./failure.js";

const attempted = { action: "connect to", url: "quic://localhost:4433" } as const;

it("tells a certificate of an authority from one of an unknown authority", () => {
  const untrusted = (why: string): string | undefined => {
    const error = Object.assign(new Error(`invalid peer certificate: ${why}`), {
      code: "ERR_QUIC_CERTIFICATE_UNTRUSTED",
    });
    return (transportError(error, attempted) as TransportError).hint;
  };
  expect(untrusted("Other(OtherError(CaUsedAsEndEntity))")).toContain("basicConstraints=critical,CA:FALSE");
  expect(untrusted("UnknownIssuer")).toContain("serverCertificateHashes");
});

it("names scheme, host and path for an answer that there are no sessions", () => {
  const error = Object.assign(new Error("the server answered 404"), { status: 404 });
  expect((transportError(error, attempted) as TransportError).hint).toMatch(
    /compare its scheme, host and path with the server.*httpTransport/,
  );
});
