// The files that docs/deploying.md shows, as far as they can be looked at without what they are for.
import { spawnSync } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DaemonSet } from "kubernetes-models/apps/v1/DaemonSet";
import { Deployment } from "kubernetes-models/apps/v1/Deployment";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1/PodDisruptionBudget";
import { Service } from "kubernetes-models/v1/Service";
import { parse, parseAllDocuments } from "yaml";
import { describe, expect, it } from "vitest";

const docs = fileURLToPath(new URL("../../docs/", import.meta.url));
const read = (file: string): Promise<string> => readFile(join(docs, file), "utf8");
/** As docs/deploying.md drains: `drainOnSignal(server, { timeoutMs: 20_000 })`. */
const DRAIN_S = 20;

describe("manifests for Kubernetes", () => {
  const MODELS = { DaemonSet, Deployment, PodDisruptionBudget, Service };
  interface Manifest {
    readonly kind: keyof typeof MODELS;
  }

  async function manifests(file: string): Promise<readonly Manifest[]> {
    return parseAllDocuments(await read(`kubernetes/${file}`)).map((document) => {
      expect(document.errors).toEqual([]);
      return document.toJS() as Manifest;
    });
  }

  it("are what Kubernetes' schemas take", async () => {
    for (const file of await readdir(join(docs, "kubernetes"))) {
      for (const manifest of await manifests(file)) {
        const model = new MODELS[manifest.kind](manifest as never);
        expect(() => model.validate(), `${file}: ${manifest.kind}`).not.toThrow();
      }
    }
  });

  it("find what they name, and give the drain its time", async () => {
    const all = await manifests("orders.yaml");
    const deployment = all.find(({ kind }) => kind === "Deployment") as unknown as Required<Deployment>;
    const { template, selector } = deployment.spec;
    const labels = template.metadata?.labels;
    expect(selector.matchLabels).toEqual(labels);
    const [container] = template.spec?.containers ?? [];
    const ports = container?.ports?.map(({ name }) => name);
    expect(ports).toContain(container?.readinessProbe?.httpGet?.port);
    expect(ports).toContain(container?.livenessProbe?.httpGet?.port);
    const volumes = template.spec?.volumes?.map(({ name }) => name);
    for (const { name } of container?.volumeMounts ?? []) expect(volumes).toContain(name);
    const pause = Number(container?.lifecycle?.preStop?.exec?.command?.[1]);
    expect(template.spec?.terminationGracePeriodSeconds).toBeGreaterThan(pause + DRAIN_S);
    const services = all.filter(({ kind }) => kind === "Service") as unknown as readonly Service[];
    expect(services).toHaveLength(2);
    for (const { spec } of services) {
      expect(spec?.selector).toEqual(labels);
      for (const { port, protocol } of spec?.ports ?? []) {
        expect(container?.ports).toContainEqual(expect.objectContaining({ containerPort: port, protocol }));
      }
    }
  });
});

describe("the files for Docker", () => {
  interface Compose {
    readonly services: Readonly<
      Record<string, { readonly ports: readonly string[]; readonly stop_grace_period: string }>
    >;
  }

  it("publish both protocols of each port of the image, and give the drain its time", async () => {
    const { services } = parse(await read("docker/compose.yaml")) as Compose;
    const exposed = /^EXPOSE (.*)$/m.exec(await read("docker/Dockerfile"))?.[1]?.split(" ");
    expect(exposed).toEqual(["4433/udp", "4433/tcp"]);
    for (const { ports, stop_grace_period: grace } of Object.values(services)) {
      expect(ports.map((port) => port.replace(/^\d+:/, ""))).toEqual(exposed);
      expect(Number.parseInt(grace, 10)).toBeGreaterThan(DRAIN_S);
    }
  });
});

describe("the units of systemd", () => {
  const isThere = spawnSync("systemd-analyze", ["--version"]).status === 0;

  it.runIf(isThere)("are what systemd takes", async () => {
    const folder = await mkdtemp(join(tmpdir(), "quicrpc-units-"));
    try {
      await cp(join(docs, "systemd"), folder, { recursive: true });
      // It looks for what is to be started.
      const service = await read("systemd/orders@.service");
      await writeFile(join(folder, "orders@.service"), service.replace("/usr/bin/node", process.execPath));
      const units = ["orders.socket", "orders@current.service"].map((unit) => join(folder, unit));
      const { status, stdout, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", ...units], {
        encoding: "utf8",
      });
      expect(`${stdout}${stderr}`).toBe("");
      expect(status).toBe(0);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("give the drain its time", async () => {
    const service = await read("systemd/orders@.service");
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(service)?.[1])).toBeGreaterThan(DRAIN_S);
  });
});
