import { describe, expect, test } from "vitest";
import type { Container, Pod, SecurityContext } from "../src/pod.ts";
import { review } from "../src/review.ts";
import { aContainer, aPod, creation, injectionOf, restricted, restrictedPod } from "./pods.ts";

const injection = injectionOf();
type Spec = Partial<Pod["spec"]>;

const agent = (more: Partial<Container>): Spec => ({ containers: [aContainer(more)] });
const context = (more: object): Spec => agent({ securityContext: { ...restricted, ...more } });
const ofPod = (more: NonNullable<SecurityContext>): Spec => ({ securityContext: { ...restrictedPod, ...more } });
const volume = (type: string): Spec => ({ volumes: [{ name: "data", [type]: {} }] });
const capabilities = (add: string[], drop: string[]): Spec => context({ capabilities: { add, drop } });

/** Row by row the controls of the standard (Kubernetes: Pod Security Standards, 1.37), and who has to change what. */
const below: readonly (readonly [control: string, fault: string, spec: Spec])[] = [
  ["host processes of Windows", "windowsOptions.hostProcess", context({ windowsOptions: { hostProcess: true } })],
  ["host namespaces", "hostIPC must be false", { hostIPC: true }],
  ["host namespaces", "hostPID", { hostPID: true }],
  ["host namespaces", "hostNetwork", { hostNetwork: true }],
  ["privileged containers", "container agent must not be privileged", context({ privileged: true })],
  ["capabilities", "container agent must drop ALL capabilities", capabilities([], ["SETUID", "NET_RAW"])],
  ["capabilities", "container agent must drop ALL capabilities", capabilities([], ["all"])],
  ["capabilities", "may add no capability but NET_BIND_SERVICE, not SYS_PTRACE", capabilities(["SYS_PTRACE"], ["ALL"])],
  ["capabilities", "container agent must drop ALL capabilities", agent({ securityContext: undefined })],
  ["volumes", "volume data may not be of type hostPath", volume("hostPath")],
  ["volumes", "volume data may not be of type nfs", volume("nfs")],
  ["volumes", "volume data may not be of type someLaterType", volume("someLaterType")],
  ["host ports", "container agent may not use a hostPort", agent({ ports: [{ containerPort: 80, hostPort: 80 }] })],
  ["hosts of probes", "may not name a host in probes", agent({ livenessProbe: { httpGet: { host: "192.0.2.1" } } })],
  ["hosts of probes", "may not name a host in probes", agent({ startupProbe: { tcpSocket: { host: "192.0.2.1" } } })],
  ["hosts of handlers", "lifecycle handlers", agent({ lifecycle: { preStop: { httpGet: { host: "h" } } } })],
  ["AppArmor", "container agent must set appArmorProfile.type", context({ appArmorProfile: { type: "Unconfined" } })],
  ["AppArmor", "the pod must set appArmorProfile.type", ofPod({ appArmorProfile: { type: "Unconfined" } })],
  ["SELinux", "container agent may not set seLinuxOptions.type: spc_t", context({ seLinuxOptions: { type: "spc_t" } })],
  ["SELinux", "the pod may not set user or role in seLinuxOptions", ofPod({ seLinuxOptions: { role: "system_r" } })],
  ["/proc", "container agent must set procMount: Default", context({ procMount: "Unmasked" })],
  ["seccomp", "container agent must set seccompProfile.type", { securityContext: { runAsNonRoot: true } }],
  ["seccomp", "container agent must set seccompProfile.type", context({ seccompProfile: { type: "Unconfined" } })],
  ["seccomp", "the pod must set seccompProfile.type", ofPod({ seccompProfile: { type: "Unconfined" } })],
  ["sysctls", "route_localnet may not be set", ofPod({ sysctls: [{ name: "net.ipv4.conf.all.route_localnet" }] })],
  ["privilege escalation", "must set allowPrivilegeEscalation: false", context({ allowPrivilegeEscalation: true })],
  ["users", "container agent must set runAsNonRoot: true", ofPod({ runAsNonRoot: undefined })],
  ["users", "container agent may not set runAsNonRoot: false", context({ runAsNonRoot: false })],
  ["users", "the pod may not set runAsUser: 0", ofPod({ runAsUser: 0 })],
  [
    "users",
    "setup",
    { initContainers: [aContainer({ name: "setup", securityContext: { ...restricted, runAsUser: 0 } })] },
  ],
  ["a mesh's container", "istio-init", { initContainers: [aContainer({ name: "istio-init", securityContext: {} })] }],
];

describe("below the restricted standard", () => {
  test.each(below)("%s: %s is refused where enforcement is strict", (_control, fault, spec) => {
    const { allowed, message } = review(creation(aPod(spec)), injection, "strict");
    expect([allowed, message]).toEqual([false, expect.stringContaining(fault)]);
    expect(message).toMatch(/hostPID|hostNetwork|needs the label pep\.svc\/allow-weaker: "true" on the namespace/);
  });

  test("a profile is named by an annotation too", () => {
    const annotations = { "container.apparmor.security.beta.kubernetes.io/agent": "unconfined" };
    expect(review(creation(aPod({}, { annotations })), injection, "strict").message).toContain("runtime/default");
  });

  test("a pod is warned about where the namespace may be weaker, in one line", () => {
    const { allowed, warnings = [] } = review(creation(aPod(volume("hostPath"))), injection, "may_be_weaker");
    expect([allowed, warnings]).toEqual([true, ["svc-pep: not restricted: volume data may not be of type hostPath"]]);
  });
});

test.each<readonly [string, Spec]>([
  ["as each of its containers says", { securityContext: {}, ...context({ ...restrictedPod }) }],
  ["that binds a low port", capabilities(["NET_BIND_SERVICE"], ["ALL"])],
  ["with profiles of the node", ofPod({ seccompProfile: { type: "Localhost", localhostProfile: "p" } })],
  ["with safe sysctls", ofPod({ sysctls: [{ name: "net.ipv4.tcp_keepalive_time", value: "60" }] })],
  ["with a level of SELinux", ofPod({ seLinuxOptions: { level: "s0:c1,c2" } })],
  [
    "with volumes that hold no host",
    {
      volumes: [
        { name: "a", emptyDir: {} },
        { name: "b", csi: { driver: "d" } },
      ],
    },
  ],
  ["whose probes ask itself", agent({ livenessProbe: { httpGet: { path: "/", port: 3000 } } })],
])("a restricted pod %s is injected where enforcement is strict", (_name, spec) => {
  expect(review(creation(aPod(spec)), injection, "strict")).toMatchObject({ allowed: true, patch: expect.any(Array) });
});
