import { type Command, Option } from "commander";
import { Fault } from "./fault.ts";
import { type Call, call } from "./http.ts";

/** Which of the control plane's bearers a call needs. */
export type Plane = "admin" | "audit" | "identity";

export interface ControlPlaneFlags {
  readonly controlPlane?: string;
}

/** One control plane, asked with the bearers of the environment. */
export interface ControlPlane {
  readonly url: string;
  /** The JSON of a 2xx answer. @throws {Fault} for anything else, with what to do next. */
  ask<Body>(plane: Plane, path: string, options?: Omit<Call, "bearer" | "headers">): Promise<Body>;
}

/** Adds what every command that speaks to a control plane takes. */
export const withControlPlane = (command: Command): Command =>
  command.addOption(
    new Option("--control-plane <url>", "the control plane's address")
      .env("SVC_CONTROL_PLANE_URL")
      .default("http://127.0.0.1:8080"),
  );

/** An audit reader may be the admin, an identity reader either (specification: Authentication). */
const bearerSettings: Readonly<Record<Plane, readonly string[]>> = {
  admin: ["SVC_ADMIN_TOKEN"],
  audit: ["SVC_AUDIT_TOKEN", "SVC_ADMIN_TOKEN"],
  identity: ["SVC_IDENTITY_TOKEN", "SVC_AUDIT_TOKEN", "SVC_ADMIN_TOKEN"],
};

export function openControlPlane({ controlPlane }: ControlPlaneFlags, environment: NodeJS.ProcessEnv): ControlPlane {
  const url = (controlPlane ?? "http://127.0.0.1:8080").replace(/\/+$/, "");
  return {
    url,
    async ask<Body>(plane: Plane, path: string, options: Omit<Call, "bearer" | "headers"> = {}): Promise<Body> {
      const bearer = bearerOf(plane, environment);
      const reply = await call<Body & ErrorBody>(`${url}${path}`, { ...options, bearer }).catch((cause: unknown) => {
        throw new Fault(`${url} cannot be reached`, "Check --control-plane, and that it runs: svc check.", { cause });
      });
      if (reply.status >= 200 && reply.status < 300) return reply.body;
      throw faultOf(reply.status, reply.body, plane);
    },
  };
}

function bearerOf(plane: Plane, environment: NodeJS.ProcessEnv): string {
  const [named = ""] = bearerSettings[plane];
  for (const name of bearerSettings[plane]) {
    // A service may be given several; the first is as good as any.
    const [first] = (environment[name] ?? "").split(",");
    if (first) return first.replace(/^[^=]*=/, "");
  }
  throw new Fault(`no bearer of the ${plane} plane`, `Put it into the environment: export ${named}=...`);
}

interface ErrorBody {
  readonly error?: { readonly code?: string; readonly message?: string };
}

function faultOf(status: number, { error }: ErrorBody, plane: Plane): Fault {
  const said = `${error?.message ?? "no explanation was given"} (${error?.code ?? "no code"}, HTTP ${status})`;
  if (status === 401) {
    return new Fault(
      `the ${plane} bearer is refused`,
      `Check ${bearerSettings[plane].join(" or ")} in the environment.`,
    );
  }
  if (status === 429) return new Fault(said, "Wait a moment and ask again, or raise the control plane's rate limit.");
  if (status >= 500) return new Fault(said, "Nothing was changed unless it says so. svc check tells what is wrong.");
  return new Fault(said, "Correct what it names and ask again; --help shows examples.");
}
