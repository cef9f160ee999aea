/**
 * The variables that Kubernetes sets in every pod for a Service of its namespace, unless `enableServiceLinks` is false.
 * A Service may have any name (Kubernetes documentation: Accessing the Service, environment variables).
 */
export function serviceLinks(service: string, port = 8080): Readonly<Record<string, string>> {
  const name = service.toUpperCase().replaceAll("-", "_");
  const address = "10.0.0.1";
  return {
    [`${name}_SERVICE_HOST`]: address,
    [`${name}_SERVICE_PORT`]: String(port),
    [`${name}_SERVICE_PORT_HTTPS`]: String(port),
    [`${name}_PORT`]: `tcp://${address}:${port}`,
    [`${name}_PORT_${port}_TCP`]: `tcp://${address}:${port}`,
    [`${name}_PORT_${port}_TCP_PROTO`]: "tcp",
    [`${name}_PORT_${port}_TCP_PORT`]: String(port),
    [`${name}_PORT_${port}_TCP_ADDR`]: address,
  };
}

/** The worst Service names: those of each setting, and of each prefix of one. */
export function confusingServices(settings: readonly string[]): readonly string[] {
  const beginnings = settings.flatMap((setting) => {
    const words = setting.toLowerCase().split("_");
    return words.map((_, at) => words.slice(0, at + 1).join("-"));
  });
  return [...new Set(beginnings)];
}
