import type { TestTime } from "@svc/test-support/test-time";
import { decodeUnverifiedHopToken, type HopClaims, siblingClaims } from "@svc/tokens";
import type { HopCredential, RenewalSource, RenewResult } from "../../src/index.ts";
import { freshJti, narrowed, rootClaims, sessionId, signed } from "./tokens.ts";

/** What becomes of one renewal on the wire. */
export type Fate = "answered" | "request_lost" | "answer_lost" | "refused_connect" | "guard_unavailable";

const lost = { kind: "unusable", fault: "timeout" } as const;

/** The control plane's single use, without HTTP: it knows every token spent, and everyone presented once too often. */
export class SimulatedPlane {
  readonly spent = new Set<string>();
  readonly presentedAgain: string[] = [];
  readonly renewals: number[] = [];
  fateOf: () => Fate = () => "answered";
  isReady = true;
  refusal: RenewResult | undefined;
  readonly #time: TestTime;
  readonly #maybeSpent = new Set<string>();
  #sessionEndsAt: number;

  constructor(time: TestTime, sessionSeconds = 3600) {
    this.#time = time;
    this.#sessionEndsAt = time.now() / 1000 + sessionSeconds;
  }

  /** A root grant, or an agent's token that lives 60 s. */
  async issue(kind: "root" | "agent"): Promise<HopCredential> {
    const nowSeconds = this.#time.now() / 1000;
    const root = rootClaims(nowSeconds, this.#sessionEndsAt - nowSeconds);
    const claims = kind === "root" ? root : narrowed(root, "planner", { nowSeconds });
    return { sessionId, token: await signed(claims) };
  }

  readonly source: RenewalSource = {
    renew: (presented, count) => this.#renew(presented, count),
    ready: async () => this.isReady,
  };

  /** The exchange: true where the token was good for it. */
  exchange(token: string): boolean {
    const claims = this.#claims(token);
    return this.#isLive(claims) && this.#spend(claims);
  }

  /** A hop in one trip: the sibling that its answer brings; undefined where the token was not good for it. */
  async takeHop(token: string): Promise<{ token: string; expiresInSeconds: number } | undefined> {
    if (!this.exchange(token)) return undefined;
    const sibling = this.#siblingOf(this.#claims(token));
    return { token: await signed(sibling), expiresInSeconds: this.#secondsLeft(sibling) };
  }

  #siblingOf(claims: HopClaims): HopClaims {
    return siblingClaims(claims, "trusted_internal", {
      jti: freshJti(),
      nowSeconds: this.#time.now() / 1000,
      sessionExpiresAtSeconds: this.#sessionEndsAt,
    });
  }

  #secondsLeft = ({ exp }: HopClaims): number => exp - Math.floor(this.#time.now() / 1000);

  async #renew({ token }: HopCredential, count: number): Promise<RenewResult> {
    const fate = this.fateOf();
    if (fate === "refused_connect") return { kind: "unusable", fault: "refused" };
    if (fate === "guard_unavailable") {
      return { kind: "unusable", fault: "status", response: { status: 503, code: "guard_unavailable" } };
    }
    const claims = this.#claims(token);
    if (this.refusal) return this.refusal;
    if (fate === "request_lost") return this.#losing(claims);
    this.renewals.push(count);
    if (!this.#isLive(claims)) return { kind: "unauthorized", response: { status: 401, code: "unauthorized" } };
    if (!this.#spend(claims)) return { kind: "token_spent", response: { status: 409, code: "token_spent" } };
    const siblings = Array.from({ length: count }, () => this.#siblingOf(claims));
    const tokens = await Promise.all(siblings.map(signed));
    const expiresInSeconds = this.#secondsLeft(siblings[0] as HopClaims);
    return fate === "answer_lost" ? lost : { kind: "renewed", tokens, expiresInSeconds };
  }

  #claims(token: string): HopClaims {
    const claims = decodeUnverifiedHopToken(token);
    if (!claims) throw new Error("not a hop token");
    return claims;
  }

  #isLive = ({ exp }: HopClaims): boolean => this.#time.now() / 1000 < exp;

  #losing({ jti }: HopClaims): RenewResult {
    this.#present(jti);
    return lost;
  }

  #present(jti: string): void {
    if (this.#maybeSpent.has(jti)) this.presentedAgain.push(jti);
    this.#maybeSpent.add(jti);
  }

  #spend({ jti }: HopClaims): boolean {
    this.#present(jti);
    if (this.spent.has(jti)) return false;
    this.spent.add(jti);
    return true;
  }
}
