import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { chartFolder, helm } from "./src/helm.ts";
import { renderArguments } from "./src/render.ts";
import { variants } from "./src/variants.ts";

const chart = async () => parse(await readFile(join(chartFolder, "Chart.yaml"), "utf8"));

const linted = ["defaults", "staging", "production"] as const;

test.each(linted)("helm lint finds nothing: %s", async (variant) => {
  const { files = [] } = variants[variant] ?? {};
  const { code, stdout, stderr } = await helm(["lint", "--strict", chartFolder, ...renderArguments({ files })]);
  expect([code, stdout + stderr]).toEqual([0, expect.not.stringMatching(/WARNING|ERROR/)]);
});

test("the chart has the workspace's version", async () => {
  const root = JSON.parse(await readFile(join(chartFolder, "../../package.json"), "utf8"));
  expect(await chart()).toMatchObject({ version: root.version, appVersion: root.version });
});

test("its images are those of deploy/images, with the same user as its pods", async () => {
  const dockerfile = await readFile(join(chartFolder, "../../deploy/images/Dockerfile"), "utf8");
  const { controlPlane, injector, pep } = parse(await readFile(join(chartFolder, "values.yaml"), "utf8"));
  for (const [program, { image }] of Object.entries({ "control-plane": controlPlane, injector, pep })) {
    expect(image.repository).toBe(`agent-authorization-service/${program}`);
    // The migration job and the test pod rely on these.
    const [, stage = ""] = dockerfile.split(new RegExp(`^FROM \\S+ AS ${program}$`, "m"));
    expect(stage.split(/^FROM /m)[0]).toMatch(/^ENTRYPOINT \["node", .*"dist\/main\.js"\]$/m);
  }
  expect(dockerfile).toContain("\nUSER 10001:10001\n");
});

test("the package contains rules and dashboards, and renders like the folder", async () => {
  const folder = await mkdtemp(join(tmpdir(), "svc-chart-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  expect(await helm(["package", chartFolder, "--destination", folder])).toMatchObject({ code: 0 });
  const [archive = ""] = await readdir(folder);
  const { name, version } = await chart();
  expect(archive).toBe(`${name}-${version}.tgz`);
  // Certificates differ between renderings.
  const rendering = renderArguments(variants.production ?? {});
  const [packed, unpacked] = await Promise.all(
    [join(folder, archive), chartFolder].map((from) => helm(["template", "authz", from, ...rendering])),
  );
  expect(packed?.stdout).toContain("kind: PrometheusRule");
  expect(packed?.stdout.replaceAll(/^# Source.*$/gm, "")).toBe(unpacked?.stdout.replaceAll(/^# Source.*$/gm, ""));
});

test("an unsupported Kubernetes version is refused", async () => {
  const { code, stderr } = await helm(["template", "authz", chartFolder, "--kube-version", "1.28.9"]);
  expect([code, stderr]).toEqual([1, expect.stringContaining("requires kubeVersion: >=1.29.0-0")]);
});
