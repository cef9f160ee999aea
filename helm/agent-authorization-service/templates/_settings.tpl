{{- /* Environment of the control plane: [{name, value}]. Secrets are files, so that neither a description of the pod nor a child process shows them. */ -}}
{{- define "svc.controlPlane.env" -}}
{{- $settings := .Values.controlPlane -}}
{{- $env := dict
      "HOST" "::"
      "PORT" "8080"
      "SVC_TLS_CERT_FILE" "/etc/svc/tls/tls.crt"
      "SVC_TLS_KEY_FILE" "/etc/svc/tls/tls.key"
      "SVC_ISSUER" (default (include "svc.controlPlane.url" .) $settings.issuer)
      "SVC_MIGRATE" "never"
      "SVC_WORKERS" (toString (int $settings.workers))
      "SVC_DATABASE_CONNECTIONS" (toString (int $settings.databaseConnections))
      "SVC_CONSENT_TTL_SECONDS" (toString (int $settings.consentTtlSeconds))
      "SVC_CONSENT_TTL_BY_SCOPE" (join "," $settings.consentTtlByScope)
      "SVC_CONSENT_WEBHOOK" $settings.consentWebhook
      "SVC_SINK_WEBHOOK" $settings.sinks.webhook
      "SVC_SINK_WEBHOOK_FORMAT" (ternary $settings.sinks.webhookFormat "" (ne $settings.sinks.webhook ""))
      "SVC_SINK_OTLP" $settings.sinks.otlp
      "SVC_OAUTH_RESOURCES" (join "," $settings.oauthResources)
      "SVC_OBSERVE_SCOPES" (default "none" (join "," $settings.observeScopes))
      "SVC_IDENTITY_REQUIRED" (toString $settings.identityRequired)
      "SVC_IDP_ISSUER" $settings.identityProvider.issuer
      "SVC_IDP_AUDIENCE" $settings.identityProvider.audience
      "SVC_IDP_CLIENT_ID" $settings.identityProvider.clientId
      "SVC_SIGNALS_AUDIENCE" $settings.signals.audience
      "SVC_SIGNALS_POLL_URL" $settings.signals.pollUrl
      "SVC_CONSOLE_ROLES" (join "," $settings.consoleRoles)
      "SVC_CONSOLE_ROLES_CLAIM" $settings.consoleRolesClaim
      "SVC_TRACE_URL" $settings.traceUrl
      "SVC_DISCOVERY_ALLOW" (join "," $settings.discoveryAllow)
      "SVC_RATE_LIMIT_PER_BEARER" $settings.rateLimits.perBearer
      "SVC_RATE_LIMIT_PER_SESSION" $settings.rateLimits.perSession
      "SVC_LOG_LEVEL" $settings.logLevel
      "SVC_TELEMETRY_DISCLOSE_IDENTITIES" (toString $settings.discloseIdentities)
      "PROMETHEUS_MULTIPROC_DIR" (ternary "/var/run/svc-metrics" "" (gt (int $settings.workers) 1)) -}}
{{- range $value, $setting := include "svc.controlPlane.secrets" . | fromYaml -}}
{{- if get $settings.secrets.keys $value -}}
{{- $_ := set $env (printf "%s_FILE" $setting) (printf "/etc/svc/secrets/%s" $setting) -}}
{{- end -}}
{{- end -}}
{{- include "svc.env" (merge $env $settings.otel) -}}
{{- end -}}

{{- /* Which setting each key of the Secret is. */ -}}
{{- define "svc.controlPlane.secrets" -}}
databaseUrl: DATABASE_URL
auditDatabaseUrl: AUDIT_DATABASE_URL
redisUrl: REDIS_URL
adminToken: SVC_ADMIN_TOKEN
auditToken: SVC_AUDIT_TOKEN
identityToken: SVC_IDENTITY_TOKEN
enforcementToken: SVC_ENFORCEMENT_TOKEN
telemetryKey: SVC_TELEMETRY_KEY
keyEncryptionKey: SVC_KEY_ENCRYPTION_KEY
issuerPrivateKey: SVC_ISSUER_PRIVATE_KEY
discoveryCredentials: SVC_DISCOVERY_CREDENTIALS
identityProviderClientSecret: SVC_IDP_CLIENT_SECRET
oauthClients: SVC_OAUTH_CLIENTS
consentWebhookSecret: SVC_CONSENT_WEBHOOK_SECRET
signalsToken: SVC_SIGNALS_TOKEN
signalsPollToken: SVC_SIGNALS_POLL_TOKEN
sinkWebhookSecret: SVC_SINK_WEBHOOK_SECRET
sinkWebhookAuthorization: SVC_SINK_WEBHOOK_AUTHORIZATION
sinkOtlpAuthorization: SVC_SINK_OTLP_AUTHORIZATION
{{- end -}}

{{- /* Environment of the injector: its own, and pep.<name> as SVC_INJECTOR_PEP_<NAME>. */ -}}
{{- define "svc.injector.env" -}}
{{- $env := dict
      "HOST" "::"
      "PORT" "8443"
      "SVC_INJECTOR_TLS_CERT_FILE" "/etc/svc/tls/tls.crt"
      "SVC_INJECTOR_TLS_KEY_FILE" "/etc/svc/tls/tls.key"
      "SVC_INJECTOR_PEP_IMAGE" (include "svc.image" (dict "root" . "image" .Values.pep.image))
      "SVC_INJECTOR_REDIRECT_IMAGE" .Values.injector.redirectImage
      "SVC_CONTROL_PLANE_URL" (include "svc.controlPlane.url" .) -}}
{{- range $name, $value := omit .Values.pep "image" -}}
{{- $text := "" -}}
{{- if kindIs "slice" $value }}{{ $numbers := list }}{{ range $value }}{{ $numbers = append $numbers (int .) }}{{ end }}{{ $text = join "," $numbers -}}
{{- else if kindIs "float64" $value }}{{ $text = toString (int64 $value) -}}
{{- else if not (kindIs "invalid" $value) }}{{ $text = toString $value -}}
{{- end -}}
{{- $_ := set $env (printf "SVC_INJECTOR_PEP_%s" (snakecase $name | upper)) $text -}}
{{- end -}}
{{- include "svc.env" $env -}}
{{- end -}}

{{- /* A dict as environment, sorted by name; what is empty is not given. A lone $ could begin a reference to another variable. */ -}}
{{- define "svc.env" -}}
{{- range $name, $value := . }}
{{- if ne (toString $value) "" }}
- name: {{ $name }}
  value: {{ toString $value | replace "$" "$$" | quote }}
{{- end }}
{{- end }}
{{- end -}}
