import { ask, bodyAs, type StepPorts, type Unusable, unusable } from "@svc/hop";
import type { z } from "zod";
import { type Asked, ControlPlaneUnavailable } from "./errors.ts";
import { errorOf, rejection } from "./refusal.ts";

/** What every call takes besides its arguments. */
export interface CallOptions {
  /** Where it aborts, the call rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
}

export type QueryValue = string | number | boolean | Date | undefined;

export interface PlaneRequest extends Asked {
  readonly query?: Readonly<Record<string, QueryValue>>;
  readonly body?: object;
  /** The one status that is an answer. Default 200. */
  readonly expected?: number;
}

/** Asks one group of routes under one bearer. */
export interface Plane {
  /**
   * @throws {ControlPlaneRejected} where the control plane refuses, {ControlPlaneUnavailable} for anything else that is
   * not `expected` with a body that `schema` reads
   */
  ask<Schema extends z.ZodType>(
    request: PlaneRequest,
    schema: Schema,
    options: CallOptions | undefined,
  ): Promise<z.output<Schema>>;
}

export interface PlanePorts {
  readonly steps: StepPorts;
  readonly timeoutMs: number;
}

/** A page of 200 decisions, or a manifest of 1 MiB with every character escaped. */
const maxResponseBytes = 8 * 1024 * 1024;

type Refusal = (asked: Asked, refused: Unusable, signal?: AbortSignal) => unknown;

/** @param refuse what to throw for an answer that is not the expected one */
export function createPlane(ports: PlanePorts, bearer: string | undefined, refuse: Refusal = errorOf): Plane {
  const headers = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
  return {
    async ask({ method, path, query, body, expected = 200 }, schema, { signal } = {}) {
      const asked = { method, path };
      const heard = await ask(
        ports.steps,
        {
          method,
          path: path + queryText(query),
          headers: body === undefined ? headers : { ...headers, "content-type": "application/json" },
          ...(body !== undefined && { body: JSON.stringify(body) }),
          maxResponseBytes,
        },
        { deadlineMs: ports.timeoutMs, ...(signal && { signal }) },
      );
      if (heard.kind === "unusable") throw refuse(asked, heard, signal);
      if (heard.response.status !== expected) throw refuse(asked, unusable("status", heard.response), signal);
      const read = bodyAs(schema, heard.response);
      // Without the answer: the body of a success may hold a token.
      if (read === undefined) throw new ControlPlaneUnavailable(asked, "malformed");
      return read;
    },
  };
}

/** Consent's own rule: a 401 is a refusal, anything else an outage that says why (specification: Client exceptions). */
export const consentErrorOf: Refusal = (asked, refused, signal) => {
  const { fault, answer, cause } = refused;
  if (fault === "aborted" && signal?.aborted) return signal.reason;
  return answer?.status === 401 ? rejection(asked, answer) : new ControlPlaneUnavailable(asked, fault, answer, cause);
};

function queryText(query: PlaneRequest["query"] = {}): string {
  const given = Object.entries(query).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, value instanceof Date ? value.toISOString() : String(value)]],
  );
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}

/**
 * One segment of a path.
 *
 * @throws {TypeError} for `.` and `..`, which every URL parser takes for another path, and for a lone surrogate
 */
export function segment(name: string): string {
  if (/^\.{0,2}$/.test(name) || !name.isWellFormed()) throw new TypeError("this name cannot stand in a path");
  return encodeURIComponent(name);
}
