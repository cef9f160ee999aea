{{- define "svc.tls.controlPlaneSecret" -}}
{{- if eq .Values.tls.source "secret" }}{{ .Values.tls.secrets.controlPlane }}{{ else }}{{ include "svc.controlPlane.name" . }}-tls{{ end -}}
{{- end -}}

{{- define "svc.tls.injectorSecret" -}}
{{- if eq .Values.tls.source "secret" }}{{ .Values.tls.secrets.injector }}{{ else }}{{ include "svc.injector.name" . }}-tls{{ end -}}
{{- end -}}

{{- /* {names: [...]}: every name by which a Service is called, shortest first. Takes {root, service, more}. */ -}}
{{- define "svc.tls.names" -}}
{{- $namespace := .root.Release.Namespace -}}
names:
  - {{ .service }}
  - {{ .service }}.{{ $namespace }}
  - {{ .service }}.{{ $namespace }}.svc
  - {{ .service }}.{{ $namespace }}.svc.cluster.local
  {{- range .more }}
  - {{ . | quote }}
  {{- end }}
{{- end -}}
