import type { ControlPlane } from "./control-plane.ts";

export async function scopeNames(plane: ControlPlane): Promise<readonly string[]> {
  return (await plane.all("audit", (svc, page) => svc.audit.scopes(page))).map(({ scope }) => scope);
}
