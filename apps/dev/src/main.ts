#!/usr/bin/env node
import "@svc/host/require-node";
import { keepCompiled } from "@svc/host/compile-cache";

keepCompiled(import.meta.url);
// Imported after the compile cache is on: static imports would be compiled before.
await import("./program.ts");
