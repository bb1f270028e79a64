import { once } from "node:events";
import { expect, onTestFinished, test, vi } from "vitest";
import { devCertificate, serve } from "@quicrpc/node";
import { createRouter } from "@quicrpc/core/generated";

test("serve warns of a certificate that has expired", async () => {
  const tls = await devCertificate();
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 1000 * 86_400_000 });
  onTestFinished(() => void vi.useRealTimers());
  const warned = once(process, "warning");
  const server = await serve({ listen: "tls://127.0.0.1:0", tls, routers: [createRouter({}, {})] });
  onTestFinished(async () => void (await server.close()));
  const [warning] = (await warned) as [Error & { readonly code?: string }];
  expect(warning).toMatchObject({ code: "QUICRPC_CERTIFICATE_EXPIRED" });
  expect(warning.message).toMatch(/has expired on .* GMT: clients will refuse it; renew it$/);
});
