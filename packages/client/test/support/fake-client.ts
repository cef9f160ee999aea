import { onTestFinished } from "vitest";
import { AuthzClient, type AuthzClientOptions, type Session } from "../../src/index.ts";
import { baseUrl, FakePlane } from "./fake-plane.ts";

export const consent = { scope: "expenses", userSub: "user-1" } as const;
export const read = { target: "http:ledger/read", targetKind: "tool", dataClass: "finance.entries" } as const;
export const post = { target: "http:ledger/post", targetKind: "tool", dataClass: "finance.entries" } as const;
export const planner = { target: "planner", targetKind: "agent", dataClass: "finance" } as const;

export const bearers = { adminToken: "admin-bearer", auditToken: "audit-bearer", identityToken: "identity-bearer" };

/** A client of a fake control plane; `post` is privileged there. */
export function fakeClient(options: Partial<AuthzClientOptions> = {}): { svc: AuthzClient; plane: FakePlane } {
  const plane = new FakePlane();
  plane.targets.set(post.target, { privileged: true });
  const svc = new AuthzClient({ baseUrl, fetch: plane.fetch, ...bearers, ...options });
  onTestFinished(() => svc.close());
  return { svc, plane };
}

export async function fakeSession(
  options: Partial<AuthzClientOptions> = {},
): Promise<{ svc: AuthzClient; plane: FakePlane; session: Session }> {
  const { svc, plane } = fakeClient(options);
  return { svc, plane, session: await svc.consent(consent) };
}

/** What a promise rejects with. */
export const errorOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) => {
      throw new Error(`resolved with ${JSON.stringify(value)}`);
    },
    (error: unknown) => error,
  );
