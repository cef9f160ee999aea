/** Returns the median of a figure by `trial/subject/figure`; NaN where unmeasured. */
export type ReadFigure = (key: string) => number;

type Ratio = (figure: ReadFigure) => number;

export interface Comparison {
  readonly of: string;
  readonly ratio: Ratio;
  readonly target: number;
  readonly isAtMost: boolean;
  /** The skeleton's figure for the same, without any guarantee: a lower bound. It decides nothing. */
  readonly ceiling?: Ratio;
}

export interface TargetDefinition {
  readonly id: number;
  readonly name: string;
  readonly comparisons: readonly Comparison[];
}

type Sides = readonly [over: string, under: string];

/** @param ceiling the sides of the skeleton's ratio */
const atMost = (target: number, of: string, sides: Sides, ceiling?: Sides): Comparison => ({
  ...between(of, sides, ceiling),
  target,
  isAtMost: true,
});
const atLeast = (target: number, of: string, sides: Sides, ceiling?: Sides): Comparison => ({
  ...between(of, sides, ceiling),
  target,
  isAtMost: false,
});
const between = (of: string, sides: Sides, ceiling: Sides | undefined) => ({
  of,
  ratio: ratioOf(sides),
  ...(ceiling && { ceiling: ratioOf(ceiling) }),
});
const ratioOf =
  ([over, under]: Sides): Ratio =>
  (figure) =>
    figure(over) / figure(under);

const verdict = (rules: number, engine: string): Comparison =>
  atMost(1 / 140, `verdict / ${engine} at ${rules} rules`, [
    `verdict/ours at ${rules}/p50Ms`,
    `verdict/${engine} at ${rules}/p50Ms`,
  ]);

const grown = (read: string): Comparison =>
  atMost(2, `${read} on many rows / on few`, [`audit/${read} on many/p50Ms`, `audit/${read} on few/p50Ms`]);

/** In the order of the published targets. */
export const targets: readonly TargetDefinition[] = [
  {
    id: 1,
    name: "hop p50 at one client / the skeleton's",
    comparisons: [atMost(1.8, "hop / skeleton", ["hop at 1/hop/p50Ms", "hop at 1/skeleton/p50Ms"])],
  },
  {
    id: 2,
    name: "CPU per hop at 32 of our processes and stores / the skeleton's",
    comparisons: [atMost(2.2, "hop / skeleton", ["hop at 32/hop/cpu us", "hop at 32/skeleton/cpu us"])],
  },
  {
    id: 3,
    name: "hops/s at 32 / the naive reference",
    comparisons: [
      atLeast(
        2.8,
        "hop / reference",
        ["hop at 32/hop/rate", "hop at 32/naive reference/rate"],
        ["hop at 32/skeleton/rate", "hop at 32/naive reference/rate"],
      ),
    ],
  },
  {
    id: 4,
    name: "hops/s at 32 / nginx auth_request in front of Cerbos",
    comparisons: [
      atLeast(
        1,
        "hop / nginx + Cerbos",
        ["hop at 32/hop/rate", "hop at 32/nginx + Cerbos/rate"],
        ["hop at 32/skeleton/rate", "hop at 32/nginx + Cerbos/rate"],
      ),
    ],
  },
  {
    id: 5,
    name: "authorize p50 at one client / pgbench single insert",
    comparisons: [
      atMost(
        3.5,
        "authorize / pgbench",
        ["hop at 1/authorize/p50Ms", "hop at 1/pgbench/p50Ms"],
        ["hop at 1/skeleton authorize/p50Ms", "hop at 1/pgbench/p50Ms"],
      ),
    ],
  },
  {
    id: 6,
    name: "rows/s of hops, decision and spend, at 64 / pgbench rows at 64",
    comparisons: [
      atLeast(
        1.5,
        "rows / pgbench",
        ["rows at 64/hop rows/rate", "rows at 64/pgbench/rate"],
        ["rows at 64/skeleton/rate", "rows at 64/pgbench/rate"],
      ),
    ],
  },
  {
    id: 7,
    name: "hops/s of the control plane alone at 32 / oidc-provider issuing in memory",
    comparisons: [
      atLeast(
        1,
        "hops / grants",
        ["tokens/hops/rate", "tokens/oidc-provider/rate"],
        ["tokens/skeleton/rate", "tokens/oidc-provider/rate"],
      ),
    ],
  },
  {
    id: 8,
    name: "PEP pass-through at 32 / nginx proxy_pass; / http-proxy-3",
    comparisons: [
      atLeast(
        0.55,
        "PEP / nginx",
        ["proxies/PEP/rate", "proxies/nginx/rate"],
        ["proxies/skeleton/rate", "proxies/nginx/rate"],
      ),
      atLeast(
        1.4,
        "PEP / http-proxy-3",
        ["proxies/PEP/rate", "proxies/http-proxy-3/rate"],
        ["proxies/skeleton/rate", "proxies/http-proxy-3/rate"],
      ),
    ],
  },
  {
    id: 9,
    name: "verifier admit per second of one core / HAProxy jwt_verify; / jose",
    comparisons: [
      atLeast(
        1,
        "admit / HAProxy",
        ["admission/HAProxy/cpu us", "admission/admit/cpu us"],
        ["admission/HAProxy/cpu us", "admission/signature alone/cpu us"],
      ),
      atLeast(
        1.8,
        "admit / jose",
        ["admission/jose/cpu us", "admission/admit/cpu us"],
        ["admission/jose/cpu us", "admission/signature alone/cpu us"],
      ),
    ],
  },
  {
    id: 10,
    name: "verdict / cedar-wasm and casbin; / Cerbos; flat to 10,000 tools",
    comparisons: [
      verdict(40, "cedar"),
      verdict(400, "cedar"),
      verdict(40, "casbin"),
      verdict(400, "casbin"),
      atMost(1 / 500, "verdict / Cerbos round trip", ["verdict/ours at 400/p50Ms", "verdict/Cerbos/p50Ms"]),
      atMost(2, "verdict at 10,000 tools / at 10", ["verdict/ours at 10000/p50Ms", "verdict/ours at 10/p50Ms"]),
    ],
  },
  {
    id: 11,
    name: "audit page, filtered page, chain and would-block at 10^7 rows / at 10^4",
    comparisons: [grown("page"), grown("filtered page"), grown("chain"), grown("would-block")],
  },
  {
    id: 12,
    name: "hops/s at 256 connections / at 32; p50 at a chain of 16 / of 1",
    comparisons: [
      atLeast(0.95, "256 / 32 connections", ["more of it/256 connections/rate", "more of it/32 connections/rate"]),
      atMost(1.1, "chain of 16 / of 1", ["more of it/chain of 16/p50Ms", "more of it/chain of 1/p50Ms"]),
    ],
  },
  {
    id: 13,
    name: "1 GiB through the PEP: MB/s / nginx; extra memory in units of 32 MiB",
    comparisons: [
      atLeast(0.9, "PEP / nginx", ["stream/PEP/MB per s", "stream/nginx/MB per s"]),
      {
        of: "extra memory / 32 MiB",
        ratio: (figure) => figure("stream/PEP/extra MiB") / 32,
        target: 1,
        isAtMost: true,
      },
    ],
  },
  {
    id: 14,
    name: "CPU that telemetry adds to a hop at 32 / CPU of the skeleton's hop",
    comparisons: [
      {
        of: "telemetry / skeleton",
        ratio: (figure) =>
          (figure("telemetry/on/cpu us") - figure("telemetry/off/cpu us")) / figure("telemetry/skeleton/cpu us"),
        target: 0.12,
        isAtMost: true,
      },
    ],
  },
  {
    id: 15,
    name: "the hop / the first release's: CPU at 32; p50 at one client",
    comparisons: [
      atMost(0.4, "CPU at 32", ["hop at 32/hop/cpu us", "hop at 32/first release/cpu us"]),
      atMost(0.55, "p50 at one client", ["hop at 1/hop/p50Ms", "hop at 1/first release/p50Ms"]),
    ],
  },
];
