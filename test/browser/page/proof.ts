import { connect, connectWebTransport } from "@quicrpc/browser";
import { createProofKeys, keyThumbprint, type ProofKeys, prover } from "@quicrpc/core/proof";
import { methods } from "../../behaviour/service.js";

/** Opens the page's store of keys. */
function keyStore(mode: IDBTransactionMode): Promise<IDBObjectStore> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open("keys");
    opening.onupgradeneeded = () => opening.result.createObjectStore("keys");
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => resolve(opening.result.transaction("keys", mode).objectStore("keys"));
  });
}

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** The page's own keys, which stay in its browser. */
async function ownKeys(): Promise<ProofKeys> {
  const kept = await settled((await keyStore("readonly")).get("own") as IDBRequest<ProofKeys | undefined>);
  if (kept !== undefined) return kept;
  const keys = await createProofKeys();
  await settled((await keyStore("readwrite")).put(keys, "own"));
  return keys;
}

/** Connects with a proof of the page's key; returns the server's result and the page's own data. */
async function prove(url: string, hash: readonly number[], way: "connect" | "connectWebTransport"): Promise<unknown> {
  const keys = await ownKeys();
  const options = {
    serverCertificateHashes: [{ algorithm: "sha-256" as const, value: new Uint8Array(hash) }],
    credentials: "a token",
    proof: prover(keys),
  };
  const isWebSocket = url.startsWith("wss:");
  const connection =
    way === "connect"
      ? await connect(
          url,
          isWebSocket ? { credentials: options.credentials, advanced: { proof: options.proof } } : options,
        )
      : await connectWebTransport(url, options);
  const { text } = await connection.unary(methods.echo, { text: "" });
  await connection.close();
  return {
    found: JSON.parse(text),
    thumbprint: await keyThumbprint(keys),
    extractable: keys.privateKey.extractable,
    exports: !isWebSocket && "exportKeyingMaterial" in WebTransport.prototype,
  };
}

Object.assign(globalThis, { prove });
