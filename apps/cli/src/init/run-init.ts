import { dirname, join } from "node:path";
import { manifestSchema } from "@svc/core";
import { printJson } from "../output.ts";
import { runEnforcementPoint } from "../upstreams/run-enforcement-point.ts";
import { answersTo, manifestFile, pathsOf, type Wanted } from "./answers.ts";
import { discoveryDocument, planDiscovery } from "./discovery.ts";
import { manifestYaml } from "./manifest-yaml.ts";
import { nextCommands, submitCommand } from "./next-commands.ts";
import type { Offer } from "./offer.ts";
import { asJson, printFound } from "./report.ts";
import { upstreamsYaml } from "./upstreams-yaml.ts";
import { type NewFile, refuseExisting, refuseInvalid, writeFiles } from "./write-files.ts";

/** Asks the servers what they offer, and writes the enforcement point's file and a manifest. @throws {Fault} */
export async function runInit(wanted: Wanted): Promise<void> {
  const answers = await answersTo(wanted);
  const { agent, scope, offers } = answers;
  const plan = planDiscovery(offers);
  const files = { upstreams: wanted.upstreams, manifest: manifestFile(wanted, agent) };
  const texts = {
    manifest: manifestYaml({ agent, scope, offers, plan }, ".svc/manifest.schema.json"),
    ...(files.upstreams !== undefined && { upstreams: upstreamsYaml(offers, ".svc/upstreams.schema.json") }),
  };
  await refuseInvalid(texts);
  const documents = wanted.discoveryDocuments ? documentsOf(offers, files.manifest) : [];
  await refuseExisting([...pathsOf(files), ...documents.map(({ path }) => path)], wanted.force);
  const written = await writeFiles(
    [
      ...(files.upstreams === undefined || texts.upstreams === undefined
        ? []
        : [{ path: files.upstreams, text: texts.upstreams }, await upstreamsSchemaFile(files.upstreams)]),
      { path: files.manifest, text: texts.manifest },
      {
        path: join(dirname(files.manifest), ".svc", "manifest.schema.json"),
        text: `${JSON.stringify(manifestSchema(), null, 2)}\n`,
        isKept: true,
      },
      ...documents,
    ],
    wanted.force,
  );
  const next =
    files.upstreams === undefined
      ? [submitCommand({ manifest: files.manifest, unread: plan.unread })]
      : nextCommands({ ...answers, user: wanted.user, ...files, upstreams: files.upstreams, unread: plan.unread });
  const found = { answers, plan, written, next };
  if (wanted.json) printJson(asJson(found));
  else printFound(found, files.manifest);
}

async function upstreamsSchemaFile(upstreams: string): Promise<NewFile> {
  const text = await runEnforcementPoint(["--schema"], "The installation is incomplete.");
  return { path: join(dirname(upstreams), ".svc", "upstreams.schema.json"), text, isKept: true };
}

const documentsOf = (offers: readonly Offer[], manifest: string): readonly NewFile[] =>
  offers
    .filter(({ endpoint }) => endpoint.protocol === "http")
    .map((offer) => ({
      path: join(dirname(manifest), `${offer.name}.discovery.json`),
      text: discoveryDocument(offer),
    }));
