#!/usr/bin/env node
import "@svc/host/require-node";
import { keepCompiled } from "@svc/host/compile-cache";

keepCompiled(import.meta.url);
// What is imported above is compiled before any of it runs: the program comes after.
await import("./program.ts");
