// Blobs in progress are bounded for each principal, over sessions of every kind.
import { createSession, type Router, ServerLoad, type Session } from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import type { BlobSource } from "@quicrpc/blobs";
import { createRouter } from "@quicrpc/core/generated";
import { describe, expect, it } from "vitest";
import { type Deferred, deferred } from "../../packages/core/src/deferred.js";
import { blobMethods } from "./blob-service.js";
import { distinctKinds, kindsFor, type LocalKind } from "./kinds.js";

const limits = { maxPrincipalBlobs: 3, maxPrincipalBlobBytes: 1_000_000 };

/** A handler of uploads that ends when a test says so. */
function waiting(): { router: Router; entered: () => number; end: () => void } {
  let entered = 0;
  let over: Deferred<void> = deferred();
  const router = createRouter(blobMethods, {
    async upload() {
      entered++;
      await over.promise;
      return 1;
    },
    download: () => ({ file: new Blob([]) }),
  });
  const end = (): void => {
    over.resolve();
    over = deferred();
  };
  return { router, entered: () => entered, end };
}

let read = 0;
const sized = (length: number): { file: BlobSource } => ({
  file: {
    length,
    content: () => {
      read++;
      return new Blob([]).stream();
    },
  },
});
const upload = (session: Session, length: number): Promise<number> => session.unary(blobMethods.upload, sized(length));

describe.each(kindsFor("C90", distinctKinds) as readonly LocalKind[])("quotas of blobs: $name", (kind) => {
  it("C90 one too many, in number or bytes, is refused before it is read, until others are over", async () => {
    const { router, entered, end } = waiting();
    const pair = await kind.connect(limits, { server: { routers: [router], onError: () => {} } });
    read = 0;
    const refused = (setting: string): object => ({
      code: "resource_exhausted",
      message: expect.stringContaining(`limits.${setting} is ${limits[setting as keyof typeof limits]}`),
    });
    const first = [upload(pair.client, 400_000), upload(pair.client, 400_000)];
    await expect.poll(entered, { interval: 1 }).toBe(2);
    await expect(upload(pair.client, 200_001)).rejects.toMatchObject(refused("maxPrincipalBlobBytes"));
    first.push(upload(pair.client, 200_000));
    await expect.poll(entered, { interval: 1 }).toBe(3);
    await expect(upload(pair.client, 0)).rejects.toMatchObject(refused("maxPrincipalBlobs"));
    expect([entered(), read]).toEqual([3, 0]);
    end();
    expect(await Promise.all(first)).toEqual([1, 1, 1]);
    const after = upload(pair.client, 1_000_000);
    await expect.poll(entered, { interval: 1 }).toBe(4);
    end();
    expect(await after).toBe(1);
    await pair.close();
  });
});

describe("quotas of principals", () => {
  it("C90 are over all sessions of a principal, of unknown lengths too, and given back however calls end", async () => {
    const { router, entered, end } = waiting();
    const load = new ServerLoad();
    const connected = (connection: string): Session => {
      const [ours, theirs] = createMemoryPair();
      createSession(theirs, { routers: [router], limits, load, connection, onError: () => {} });
      return createSession(ours);
    };
    const [alice, again, bob] = [connected("alice"), connected("alice"), connected("bob")];
    const calls = [upload(alice, 500_000), upload(again, 500_000)];
    await expect.poll(entered, { interval: 1 }).toBe(2);
    await expect(upload(again, 1)).rejects.toMatchObject({ code: "resource_exhausted" });
    calls.push(upload(bob, 1_000_000));
    await expect.poll(entered, { interval: 1 }).toBe(3);
    // As many bytes as one of unknown length may have.
    const unknown = bob.unary(blobMethods.upload, { file: new Blob([]).stream() });
    await expect(unknown).rejects.toMatchObject({ code: "resource_exhausted" });
    const lost = calls.map((call) => call.catch(() => "lost"));
    await alice.close({ closeCode: 9 });
    // The handler has not settled.
    await expect(upload(again, 500_000)).rejects.toMatchObject({ code: "resource_exhausted" });
    end();
    expect(await Promise.all(lost)).toEqual(["lost", 1, 1]);
    const whole = upload(again, 1_000_000);
    await expect.poll(entered, { interval: 1 }).toBe(4);
    end();
    expect(await whole).toBe(1);
    await Promise.all([again.close(), bob.close()]);
  });

  it("C90 are those of sessions where nobody is told apart", async () => {
    const { router, entered, end } = waiting();
    const load = new ServerLoad();
    const sessions = [1, 2].map(() => {
      const [ours, theirs] = createMemoryPair();
      createSession(theirs, { routers: [router], limits, load, onError: () => {} });
      return createSession(ours);
    });
    const calls = sessions.map((session) => upload(session, 1_000_000));
    await expect.poll(entered, { interval: 1 }).toBe(2);
    end();
    expect(await Promise.all(calls)).toEqual([1, 1]);
    await Promise.all(sessions.map((session) => session.close()));
  });
});
