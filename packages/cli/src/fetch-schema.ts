import { parseSnapshot, type SchemaSnapshot, SNAPSHOT_VERSION } from "@quicrpc/codegen";
import { sanitizeForLog, type Session } from "@quicrpc/core";
import { createReflectionClient } from "@quicrpc/services";
import { SnapshotError } from "./compared-snapshot.js";
import { dialTarget, helpFor, type TargetOptions } from "./target.js";

/** First version of `SHAPE_FORMAT` whose descriptions contain the names that `breaking` compares. */
const FIRST_FORMAT = 3;

export function isServerUrl(reference: string): boolean {
  // A letter alone is a drive.
  return /^[a-z]{2,}:\//.test(reference);
}

/**
 * Reads the services of a server from its reflection service, without the services for health and reflection. Throws
 * `SnapshotError` if the server cannot be reached or has no reflection.
 */
export async function fetchSchema(url: string, options: TargetOptions): Promise<SchemaSnapshot> {
  let session: Session | undefined;
  try {
    session = await dialTarget(url, options);
    const callOptions = { timeoutMs: options.timeout };
    const reflection = createReflectionClient(session);
    const { services } = await reflection.list(callOptions);
    const names = services.map(({ name }) => name).filter((name) => !name.startsWith("quicrpc."));
    const described = await Promise.all(
      names.map(async (service) => [service, (await reflection.describe({ service }, callOptions)).snapshot] as const),
    );
    const snapshot = parseSnapshot(
      JSON.stringify({ version: SNAPSHOT_VERSION, services: Object.fromEntries(described) }),
    );
    if (Object.values(snapshot.services).some(({ format = 0 }) => format < FIRST_FORMAT)) {
      throw new SnapshotError(
        `The schemas of ${url} were written by an earlier version of quicrpc, and cannot be compared.`,
        "Update quicrpc on the server, or compare with a file that quicrpc gen of this version writes.",
      );
    }
    return snapshot;
  } catch (error) {
    if (error instanceof SnapshotError) throw error;
    const { code, message } = error as { readonly code?: unknown; readonly message: string };
    const text = sanitizeForLog(typeof code === "string" ? `${message} (${code})` : message);
    throw new SnapshotError(`${url} did not return its schema: ${text}.`, helpFor(error, options));
  } finally {
    await session?.close();
  }
}
