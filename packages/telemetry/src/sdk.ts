import { createRequire } from "node:module";
import type * as Core from "@opentelemetry/core";
import type * as OtlpOverHttp from "@opentelemetry/exporter-trace-otlp-http";
import type * as Resources from "@opentelemetry/resources";
import type * as Trace from "@opentelemetry/sdk-trace-node";

const load = createRequire(import.meta.url);

/**
 * The parts of OpenTelemetry's SDK, each loaded at its first use: two hundred files that a process without an exporter
 * does not need. Synchronous, so that the first span is exported like any other.
 */
export const sdk = {
  core: (): typeof Core => load("@opentelemetry/core"),
  exporter: (): typeof OtlpOverHttp => load("@opentelemetry/exporter-trace-otlp-http"),
  resources: (): typeof Resources => load("@opentelemetry/resources"),
  trace: (): typeof Trace => load("@opentelemetry/sdk-trace-node"),
} as const;
