import { agentName, type ChainMember, type DenyReason, denyReasons, quoted, scopeName } from "@svc/core";
import { z } from "zod";
import type { DriftError, ScopedEdge, UndeclaredEdge } from "./drift-report.ts";

/** A call whose deny a test expects (docs/reference/drift.md#expected-denials). */
export interface ExpectedDenial {
  readonly scope: string;
  /** Null for the human. */
  readonly caller: ChainMember;
  readonly target: string;
  /** Absent: of any data class. */
  readonly dataClass?: string;
  /** Absent: for any reason. */
  readonly reason?: DenyReason;
  /** Its path, for reports. */
  readonly file?: string;
}

/** The list in a file, in wire form. */
export const expectedDenialList = z.array(
  z
    .strictObject({
      scope: scopeName,
      caller: agentName.nullable(),
      target: z.string().min(1),
      data_class: z.exactOptional(z.string().min(1)),
      reason: z.exactOptional(z.enum(denyReasons)),
    })
    .transform(
      ({ data_class, ...same }): ExpectedDenial => ({
        ...same,
        ...(data_class !== undefined && { dataClass: data_class }),
      }),
    ),
);

/** Undeclared edges, without those whose deny is expected, and the expectations that the run does not meet. */
export function applyExpectedDenials(
  expected: readonly ExpectedDenial[],
  edges: readonly ScopedEdge[],
  refused: readonly UndeclaredEdge[],
) {
  const isExpected = (each: UndeclaredEdge): boolean => expected.some((one) => excuses(one, each));
  const expectedDenials = refused.filter(isExpected);
  const undeclared = refused.filter((each) => !isExpected(each));
  const errors = expected.flatMap((one): DriftError[] => {
    const isReported =
      expectedDenials.some((each) => excuses(one, each)) || undeclared.some((each) => names(one, each.edge));
    return isReported ? [] : [unmetError(one, edges, expectedDenials)];
  });
  return { undeclared, expectedDenials, errors };
}

const names = ({ scope, caller, target, dataClass }: ExpectedDenial, edge: ScopedEdge): boolean =>
  edge.scope === scope &&
  (edge.chain.at(-1) ?? null) === caller &&
  edge.target === target &&
  (dataClass === undefined || edge.dataClass === dataClass);

/** One allowed call of the edge is drift, whatever a test expects. */
const excuses = (expected: ExpectedDenial, { edge, reason }: UndeclaredEdge): boolean =>
  names(expected, edge) &&
  edge.outcomes.every((outcome) => outcome === "deny") &&
  (expected.reason === undefined || expected.reason === reason);

function unmetError(
  expected: ExpectedDenial,
  edges: readonly ScopedEdge[],
  otherwise: readonly UndeclaredEdge[],
): DriftError {
  const { caller, target, dataClass, scope, file } = expected;
  const what = `${quoted(target)}${dataClass === undefined ? "" : ` (${quoted(dataClass)})`}`;
  const words = `the deny of ${caller ?? "human"} -> ${what} in scope ${quoted(scope)} is expected`;
  const error = (kind: DriftError["kind"], why: string): DriftError => ({
    kind,
    message: `${words}, and ${why}`,
    ...(file !== undefined && { file }),
  });
  const other = otherwise.find(({ edge }) => names(expected, edge));
  if (other) return error("expected_denial_unmet", `its reason is ${other.reason}: correct the reason`);
  if (!edges.some((edge) => names(expected, edge)))
    return error("expected_denial_unmet", "no such call was recorded: run its test, or remove the expectation");
  return error("expected_denial_admitted", "the manifests admit it: remove the expectation, or the declaration");
}
