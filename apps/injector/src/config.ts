import {
  defaulted,
  type Environment,
  everySettingName,
  httpUrl,
  type InjectorPodSettingName,
  type InjectorSettingName,
  optional,
  readSettings,
  required,
  type Setting,
  text,
  wholeNumber,
} from "@svc/host";
import { isBelow, limits, type OptionName, optionNames, type PodOptions, podOptions, settingOf } from "./options.ts";

const own = {
  HOST: defaulted(text, "::", "Address to listen on; `::` serves IPv4 too."),
  PORT: defaulted(wholeNumber({ min: 0, max: 65_535 }), "8443", "Port to listen on; 0 takes a free one."),
  SVC_INJECTOR_TLS_CERT_FILE: required(text, "Certificate chain; read again when it changes."),
  SVC_INJECTOR_TLS_KEY_FILE: required(text, "Its private key; read again when it changes."),
  SVC_INJECTOR_PEP_IMAGE: required(text, "The enforcement point's image. No annotation overrides it."),
  SVC_INJECTOR_REDIRECT_IMAGE: optional(text, "An image with `sh` and `iptables`, for pods that ask for a redirect."),
  SVC_CONTROL_PLANE_URL: required(httpUrl, "Where the sidecars find the control plane. No annotation overrides it."),
};

const defaults = Object.fromEntries(optionNames.map((name) => [settingOf(name), podOptions[name]])) as Record<
  InjectorPodSettingName,
  Setting<unknown>
>;

export const injectorSettings = { ...own, ...defaults } satisfies Record<InjectorSettingName, Setting<unknown>>;

const rules = limits.map(
  ([limit, request]) =>
    (values: Readonly<Record<string, unknown>>) =>
      isBelow(values[settingOf(limit)], values[settingOf(request)])
        ? `${settingOf(limit)}: is below ${settingOf(request)}`
        : undefined,
);

/** The same for every sidecar. */
export interface Injection {
  readonly pepImage: string;
  readonly redirectImage: string | undefined;
  readonly controlPlaneUrl: string;
  readonly defaults: PodOptions;
}

export type Config = Extract<ReturnType<typeof readConfig>, { readonly ok: true }>["config"];

export function readConfig(environment: Environment) {
  const read = readSettings(injectorSettings, environment, { knownElsewhere: everySettingName, rules });
  if (!read.ok) return read;
  const { values } = read;
  const optionOf = (name: OptionName): unknown => values[settingOf(name)];
  return {
    ok: true as const,
    warnings: read.warnings,
    config: {
      host: values.HOST,
      port: values.PORT,
      tls: { certFile: values.SVC_INJECTOR_TLS_CERT_FILE, keyFile: values.SVC_INJECTOR_TLS_KEY_FILE },
      injection: {
        pepImage: values.SVC_INJECTOR_PEP_IMAGE,
        redirectImage: values.SVC_INJECTOR_REDIRECT_IMAGE,
        controlPlaneUrl: values.SVC_CONTROL_PLANE_URL.href.replace(/\/$/, ""),
        defaults: Object.fromEntries(optionNames.map((name) => [name, optionOf(name)])) as unknown as PodOptions,
      } satisfies Injection,
    },
  };
}
