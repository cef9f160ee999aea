import { agentName } from "@svc/core";
import type { InjectorPodSettingName } from "@svc/host";
import { defaulted, flag, oneOf, optional, type SettingsTable, type SettingValues, wholeNumber } from "@svc/host";
import { z } from "zod";
import { amountOf } from "./quantity.ts";

/** RFC 1123: names of ConfigMaps and Secrets. */
export const objectName = z
  .string()
  .max(253)
  .regex(/^[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?$/, "must be the name of a Kubernetes object");

const cpu = z.string().regex(/^\d+(?:\.\d+)?m?$/, "must be a quantity of CPUs such as 50m or 0.5");
const memory = z.string().regex(/^\d+(?:\.\d+)?(?:k|[MGT]|[KMGT]i)?$/, "must be a quantity of bytes such as 128Mi");

/** Linux has no greater one; 0 is root. */
const userId = wholeNumber({ min: 1, max: 2_147_483_647 });
const groupId = wholeNumber({ min: 0, max: 2_147_483_647 });

/** As the enforcement point reads it, kept as text for its environment. */
const publicUrl = z.string().refine((text) => {
  const url = URL.parse(text);
  return (
    url !== null && /^https?:$/.test(url.protocol) && `${url.username}${url.password}${url.search}${url.hash}` === ""
  );
}, "must be an http or https URL without credentials, query or fragment");

const portList = z
  .string()
  .transform((list) => list.split(",").map((port) => Number(port.trim())))
  .refine(
    (ports) => ports.length <= 15 && ports.every((port) => Number.isInteger(port) && port > 0 && port <= 65_535),
    "must be 1-15 ports, comma-separated",
  );

/** `SVC_INJECTOR_PEP_MODE` sets every pod's default, annotation `pep.svc/mode` overrides it; the chart's: `pep.mode`. */
export const podOptions = {
  "pep.svc/mode": defaulted(oneOf(["enforce", "observe"]), "enforce", "The mode of upstreams that name none."),
  "pep.svc/config": defaulted(objectName, "svc-pep", "The ConfigMap whose `pep.yaml` lists the upstreams."),
  "pep.svc/secret": defaulted(
    objectName,
    "svc-pep",
    "The Secret with `telemetry-key`; `ca.crt` in it is the authority of the control plane's certificate.",
  ),
  "pep.svc/session-secret": optional(
    objectName,
    "A Secret whose `session.json` is the session of calls that present none (`SVC_PEP_SESSION_FILE`).",
  ),
  "pep.svc/agent-name": optional(agentName, "Whose key `pep.svc/agent-key-secret` holds."),
  "pep.svc/agent-key-secret": optional(objectName, "A Secret whose `key.pem` signs the agent's proofs."),
  "pep.svc/observe-undecided": defaulted(
    oneOf(["block", "forward"]),
    "block",
    "What observe mode does with a call that got no decision.",
  ),
  "pep.svc/observe-unlisted": optional(
    oneOf(["block", "forward"]),
    "What observe mode does with a call that no route lists; unset, it forwards.",
  ),
  "pep.svc/bind-cap-bytes": optional(wholeNumber({ min: 1, max: 786_432 }), "The largest body that is bound."),
  "pep.svc/grace-seconds": optional(
    wholeNumber({ min: 0, max: 3600 }),
    "How long calls are served after SIGTERM; unset, 2 in a native sidecar, whose agent has ended by then, else the enforcement point's 25.",
  ),
  "pep.svc/upstream-timeout-seconds": optional(
    wholeNumber({ min: 1, max: 3600 }),
    "How long an upstream may take to begin its answer.",
  ),
  "pep.svc/renewal-idle-seconds": optional(
    wholeNumber({ min: 1, max: 86_400 }),
    "After how long without a call renewed tokens shrink to the two that keep a session alive.",
  ),
  "pep.svc/log-level": defaulted(oneOf(["debug", "info", "warn", "error"]), "info", "The sidecar's log level."),
  "pep.svc/proxy-env": defaulted(flag, "false", "Sets `HTTP_PROXY` and `http_proxy` of the agent's containers."),
  "pep.svc/native-sidecar": defaulted(
    flag,
    "true",
    "An init container that is always restarted, which starts before the agent and ends after it; `false` on clusters before 1.29.",
  ),
  "pep.svc/redirect-ports": optional(
    portList,
    "Redirects what the agent sends to these TCP ports into the enforcement point, by an init container with `NET_ADMIN`.",
  ),
  "pep.svc/quit": defaulted(
    flag,
    "false",
    "Lets the agent end the sidecar by `POST http://127.0.0.1:16001/__svc/quit` (`SVC_PEP_QUIT`): for pods that complete, where the sidecar is not native.",
  ),
  "pep.svc/enforcement-secret": optional(
    objectName,
    "A Secret whose `token` is a bearer of the enforcement plane (`SVC_PEP_ENFORCEMENT_TOKEN`): acts end calls under way at once.",
  ),
  "pep.svc/public-url": optional(
    publicUrl,
    "Where OAuth clients reach the sidecar (`SVC_PEP_PUBLIC_URL`); needs `pep.svc/enforcement-secret`.",
  ),
  "pep.svc/user-id": defaulted(
    userId,
    "10001",
    "The user that the sidecar runs as, which a redirect lets pass; on OpenShift one of the namespace's range.",
  ),
  "pep.svc/group-id": defaulted(groupId, "10001", "Its group."),
  "pep.svc/cpu-request": defaulted(cpu, "50m", "CPU request of the sidecar."),
  "pep.svc/cpu-limit": optional(cpu, "CPU that it may use; at least its request."),
  "pep.svc/memory-request": defaulted(memory, "128Mi", "Its memory request."),
  "pep.svc/memory-limit": defaulted(memory, "256Mi", "Memory that it may use; at least its request."),
} satisfies SettingsTable;

export type PodOptions = SettingValues<typeof podOptions>;
export type OptionName = keyof typeof podOptions;
export const optionNames = Object.keys(podOptions) as readonly OptionName[];

/** `pep.svc/bind-cap-bytes` to `SVC_INJECTOR_PEP_BIND_CAP_BYTES`. */
export const settingOf = (name: OptionName): InjectorPodSettingName =>
  `SVC_INJECTOR_PEP_${name.slice("pep.svc/".length).toUpperCase().replaceAll("-", "_")}` as InjectorPodSettingName;

/** The API server refuses a container whose limit is below its request. */
export const limits = [
  ["pep.svc/cpu-limit", "pep.svc/cpu-request"],
  ["pep.svc/memory-limit", "pep.svc/memory-request"],
] as const satisfies readonly (readonly [OptionName, OptionName])[];

export const isBelow = (limit: unknown, request: unknown): boolean =>
  typeof limit === "string" && typeof request === "string" && amountOf(limit) < amountOf(request);
