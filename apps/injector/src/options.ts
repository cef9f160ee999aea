import { agentName } from "@svc/core";
import type { InjectorPodSettingName } from "@svc/host";
import { defaulted, flag, oneOf, optional, type SettingsTable, type SettingValues, wholeNumber } from "@svc/host";
import { z } from "zod";

/** RFC 1123: names of ConfigMaps and Secrets. */
export const objectName = z
  .string()
  .max(253)
  .regex(/^[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?$/, "must be the name of a Kubernetes object");

const quantity = z.string().regex(/^\d+(?:\.\d+)?(?:m|[KMGT]i?)?$/, "must be a quantity such as 50m or 128Mi");

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
    "After how long without a call renewed tokens are forgotten.",
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
  "pep.svc/cpu-request": defaulted(quantity, "50m", "CPU request of the sidecar."),
  "pep.svc/memory-request": defaulted(quantity, "128Mi", "Its memory request."),
  "pep.svc/memory-limit": defaulted(quantity, "256Mi", "Memory that it may use."),
} satisfies SettingsTable;

export type PodOptions = SettingValues<typeof podOptions>;
export type OptionName = keyof typeof podOptions;
export const optionNames = Object.keys(podOptions) as readonly OptionName[];

/** `pep.svc/bind-cap-bytes` to `SVC_INJECTOR_PEP_BIND_CAP_BYTES`. */
export const settingOf = (name: OptionName): InjectorPodSettingName =>
  `SVC_INJECTOR_PEP_${name.slice("pep.svc/".length).toUpperCase().replaceAll("-", "_")}` as InjectorPodSettingName;
