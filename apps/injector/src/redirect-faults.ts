import type { Injection } from "./config.ts";
import { isMeshContainer } from "./mesh.ts";
import type { Container, Pod } from "./pod.ts";
import { sidecarUid } from "./sidecar.ts";

/**
 * Why the redirect would not hold: whoever may change the network's rules, or may run as the user that it lets pass, is
 * not redirected. What a pod leaves open is held against it: an image may choose that user, and a container's default
 * capabilities let root become anybody.
 */
export function redirectFaults(spec: Pod["spec"], { redirectImage }: Injection, others: readonly Container[]) {
  const mesh = others.find(({ name }) => isMeshContainer(name));
  return [
    redirectImage === undefined &&
      "pep.svc/redirect-ports needs SVC_INJECTOR_REDIRECT_IMAGE, which the injector was not given",
    mesh !== undefined &&
      `pep.svc/redirect-ports does not go with ${mesh.name}, which redirects the same packets: use pep.svc/proxy-env`,
    ...others.flatMap(({ name, securityContext }) => {
      const user = securityContext?.runAsUser ?? spec.securityContext?.runAsUser;
      const { add = [], drop = [] } = securityContext?.capabilities ?? {};
      const isPrivileged = securityContext?.privileged === true;
      return [
        user === undefined && `container ${name} does not say as which user it runs: set runAsUser, not ${sidecarUid}`,
        user === sidecarUid && `container ${name} runs as user ${sidecarUid}, which is not redirected: choose another`,
        (isPrivileged || add.some(changesNetwork)) &&
          `container ${name} may change the network's rules, and so undo the redirect: take the capability out`,
        (isPrivileged || add.some(changesUser) || !drop.some(changesUser)) &&
          `container ${name} may become user ${sidecarUid}, which is not redirected: drop ALL capabilities, or SETUID`,
      ];
    }),
  ];
}

/** Kubernetes takes both spellings. */
const among =
  (...capabilities: readonly string[]) =>
  (name: string): boolean =>
    capabilities.includes(name.toUpperCase().replace(/^CAP_/, ""));

const changesNetwork = among("ALL", "NET_ADMIN", "SYS_ADMIN");
const changesUser = among("ALL", "SETUID");
