export {
  type ControlPlaneSettingName,
  controlPlaneSettingNames,
  everySettingName,
  type InjectorPodSettingName,
  type InjectorSettingName,
  injectorSettingNames,
  type PepSettingName,
  pepSettingNames,
  sharedSettingNames,
  sharedSettings,
  telemetryKeyRule,
} from "./app-settings.ts";
export { bareEnvironment } from "./bare-environment.ts";
export { pepEnvironment, pepSecretNames, withoutSettings } from "./child-environment.ts";
export { createHttpServer, type HttpHandlers, pathOf, type SocketListener } from "./http/http-server.ts";
export { type Listening, listen } from "./listen.ts";
export { isLoopback } from "./loopback.ts";
export { type Environment, type ReadOptions, readSettings } from "./read-settings.ts";
export {
  defaulted,
  optional,
  required,
  type Setting,
  type SettingsTable,
  type SettingValues,
  settingsMarkdown,
  settingsReference,
} from "./setting.ts";
export { readTls, reloadTls, type TlsFiles } from "./tls-files.ts";
export {
  commaList,
  flag,
  httpUrl,
  type ListenAddress,
  listenAddress,
  oneOf,
  text,
  wholeNumber,
} from "./values.ts";
export { watchFiles } from "./watch-files.ts";
export { within } from "./within.ts";
