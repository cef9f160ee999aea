import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createMetrics } from "@svc/telemetry";
import { createVerifier } from "@svc/verifier";

/** A resource server behind the enforcement points, which verifies every call offline and is scraped. */
export interface Shop {
  readonly url: string;
  stop(): Promise<void>;
}

export interface ShopOptions {
  readonly controlPlaneUrl: string;
  readonly identityToken: string;
  readonly audience: string;
  readonly dataClass: string;
}

export async function startShop({ controlPlaneUrl, identityToken, audience, dataClass }: ShopOptions): Promise<Shop> {
  const metrics = createMetrics("verifier", "0.0.0");
  const verifier = createVerifier({
    issuer: controlPlaneUrl,
    audience,
    jwksUrl: `${controlPlaneUrl}/.well-known/jwks.json`,
    identityView: { url: controlPlaneUrl, token: identityToken, refreshSeconds: 1 },
    sink: {
      count(...sample) {
        // Distinguished, so that each name has its own labels.
        if (sample[0] === "svc_admissions") metrics.inc(sample[0], sample[1]);
        else metrics.inc(sample[0], sample[1]);
      },
      gauge: (name, value) => metrics.set(name, value),
    },
  });
  await verifier.ready();
  const statusFor = async (headers: NodeJS.Dict<string | string[]>): Promise<number> => {
    try {
      await verifier.admit({ headers, dataClass });
      return 200;
    } catch {
      return 401;
    }
  };
  const server = createServer(async ({ url, headers }, response) => {
    if (url === "/metrics") response.end((await metrics.render()).body);
    else response.writeHead(await statusFor(headers)).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      verifier.close();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
