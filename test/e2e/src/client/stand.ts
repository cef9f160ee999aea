import { AuthzClient, type AuthzClientOptions } from "@svc/client";
import {
  aManifest,
  aScope,
  aTool,
  createMigratedDatabase,
  type EchoUpstream,
  type FaultProxy,
  type ManifestDocument,
  patience,
  startControlPlane,
  startEchoUpstream,
  startFaultProxy,
  testBearers,
} from "@svc/test-support";

export const bearers = {
  adminToken: testBearers.admin,
  auditToken: testBearers.audit,
  identityToken: testBearers.identity,
};

export const consent = { scope: "expenses", userSub: "alice" } as const;
export const read = { target: "http:ledger/read", targetKind: "tool", dataClass: "finance.entries" } as const;
export const post = { target: "http:ledger/post", targetKind: "tool", dataClass: "finance.entries" } as const;
/** Its results are untrusted. */
export const browse = { target: "http:web/browse", targetKind: "tool", dataClass: "finance.entries" } as const;
/** Declared under another scope only. */
export const pay = { target: "http:bank/pay", targetKind: "tool", dataClass: "payroll" } as const;
export const planner = { target: "planner", targetKind: "agent", dataClass: "finance.entries" } as const;
export const auditor = { target: "auditor", targetKind: "agent", dataClass: "finance.entries" } as const;

const expenses = aScope({
  tools: [
    aTool(read.target),
    aTool(post.target, { access: "write", privileged: true }),
    aTool(browse.target, { result_taint: "untrusted_external" }),
  ],
  downstream_agents: ["auditor"],
});

const manifests: Readonly<Record<string, Pick<ManifestDocument, "scopes">>> = {
  planner: { scopes: { expenses, payroll: aScope({ tools: [aTool(pay.target, { data_classes: ["payroll"] })] }) } },
  auditor: aManifest("expenses", { entry: false, tools: [aTool(read.target)] }),
};

/** A control plane with two agents, and a tool that records its requests. */
export interface ClientStand {
  readonly url: string;
  readonly tool: EchoUpstream;
  stop(): Promise<void>;
}

export const overrideReason = "nothing to discover in a test";

/** @param redis its cache store; in process where absent */
export async function startClientStand(
  env: Readonly<Record<string, string>> = {},
  redis?: { readonly url: string },
): Promise<ClientStand> {
  const [database, tool] = await Promise.all([createMigratedDatabase(), startEchoUpstream()]);
  const controlPlane = await startControlPlane({ database, ...(redis && { redis }) }, env);
  const { url } = controlPlane;
  await using svc = clientOf(url);
  for (const [name, manifest] of Object.entries(manifests)) {
    await svc.admin.registerAgent({ name, manifest, overrideReason });
  }
  return {
    url,
    tool,
    stop: async () => {
      await Promise.all([controlPlane.stop(), tool.stop()]);
      await database.drop();
    },
  };
}

export const clientOf = (url: string, options: Partial<AuthzClientOptions> = {}): AuthzClient =>
  new AuthzClient({ baseUrl: url, ...bearers, timeout: patience.clientSeconds, ...options });

/** A client whose connection to the control plane can be broken; both end with their block. */
export async function clientOnLine(
  { url }: ClientStand,
  options: Partial<AuthzClientOptions> = {},
): Promise<AsyncDisposable & { readonly svc: AuthzClient; readonly line: FaultProxy }> {
  const line = await startFaultProxy(Number(new URL(url).port));
  const svc = clientOf(`http://127.0.0.1:${line.port}`, options);
  return {
    svc,
    line,
    [Symbol.asyncDispose]: async () => {
      await svc.close();
      await line.stop();
    },
  };
}

/** The error that a promise rejects with. */
export const errorOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => {
      throw new Error("the promise resolved");
    },
    (error: unknown) => error,
  );
