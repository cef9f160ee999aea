import type { Injection } from "./config.ts";
import type { PodOptions } from "./options.ts";
import { agentPort, redirectName, sidecarUid } from "./sidecar.ts";

/**
 * Sends what every user but the enforcement point's connects to on those ports to its listener. IPv6 goes to `::1`, where
 * nothing listens: refused rather than unguarded. Undefined where the pod asked for none.
 */
export function redirectOf({ redirectImage }: Injection, options: PodOptions) {
  const ports = options["pep.svc/redirect-ports"];
  if (ports === undefined) return undefined;
  const rule = `-t nat -A OUTPUT -p tcp -m owner ! --uid-owner ${sidecarUid} -m multiport --dports ${ports.join(",")}`;
  return {
    name: redirectName,
    image: redirectImage,
    command: ["/bin/sh", "-euc"],
    args: [
      [
        `iptables ${rule} ! -d 127.0.0.0/8 -j REDIRECT --to-ports ${agentPort}`,
        `ip6tables ${rule} ! -d ::1/128 -j REDIRECT --to-ports ${agentPort}`,
      ].join("\n"),
    ],
    resources: { limits: { memory: "32Mi" }, requests: { cpu: "10m", memory: "16Mi" } },
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    imagePullPolicy: "IfNotPresent",
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { add: ["NET_ADMIN", "NET_RAW"], drop: ["ALL"] },
      readOnlyRootFilesystem: false,
      runAsNonRoot: false,
      runAsUser: 0,
      seccompProfile: { type: "RuntimeDefault" },
    },
  };
}
