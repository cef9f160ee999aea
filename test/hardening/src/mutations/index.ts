import { ofClients } from "./clients.ts";
import { ofConsole, ofControlPlane, ofEmbedded } from "./control-plane.ts";
import { ofDecisions } from "./decisions.ts";
import {
  ofClassification,
  ofClient,
  ofDriftGate,
  ofEnforcementPoint,
  ofHop,
  ofHost,
  ofInjector,
  ofRun,
} from "./enforcement.ts";
import { ofDrift, ofSeals, ofTelemetry, ofVerifier } from "./evidence.ts";
import type { Mutation } from "./mutation.ts";
import { ofReaders } from "./parsers.ts";
import { ofPeople } from "./people.ts";
import { ofSignals } from "./signals.ts";
import { ofFeed, ofSinks } from "./sinks.ts";
import { ofTokens } from "./tokens.ts";

/** Every mutation, the quick ones first. */
export const mutations: readonly Mutation[] = [
  ...ofTokens,
  ...ofDecisions,
  ...ofClassification,
  ...ofVerifier,
  ...ofSeals,
  ...ofDrift,
  ...ofTelemetry,
  ...ofHop,
  ...ofHost,
  ...ofClient,
  ...ofInjector,
  ...ofEnforcementPoint,
  ...ofDriftGate,
  ...ofRun,
  ...ofReaders,
  ...ofControlPlane,
  ...ofPeople,
  ...ofClients,
  ...ofSignals,
  ...ofSinks,
  ...ofFeed,
  ...ofEmbedded,
  ...ofConsole,
];
