{{- define "svc.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- /* 40 characters and the longest suffix stay below the 63 of a Service's name. */ -}}
{{- define "svc.controlPlane.name" -}}{{ include "svc.fullname" . }}-control-plane{{- end -}}
{{- define "svc.injector.name" -}}{{ include "svc.fullname" . }}-injector{{- end -}}

{{- /* Of a pod: what a selector may rely on for good. Takes {root, component}. */ -}}
{{- define "svc.selector" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- /* Of every object. Takes {root, component}. */ -}}
{{- define "svc.labels" -}}
{{ include "svc.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- define "svc.controlPlane.host" -}}{{ include "svc.controlPlane.name" . }}.{{ .Release.Namespace }}.svc{{- end -}}
{{- define "svc.controlPlane.url" -}}https://{{ include "svc.controlPlane.host" . }}:8080{{- end -}}

{{- /* Takes {root, image}: registry/repository:tag@digest, what is empty left out. */ -}}
{{- define "svc.image" -}}
{{- $tag := default (default .root.Chart.AppVersion .root.Values.image.tag) .image.tag -}}
{{- with .root.Values.image.registry }}{{ . }}/{{ end }}{{ .image.repository }}
{{- if .image.digest }}@{{ .image.digest }}{{ else }}:{{ $tag }}{{ end -}}
{{- end -}}

{{- /* Takes {root, switch, api}: "true" where a monitoring object is wanted and, with auto, the cluster knows its kind. */ -}}
{{- define "svc.isMonitored" -}}
{{- if or (eq (toString .switch) "true") (and (eq (toString .switch) "auto") (.root.Capabilities.APIVersions.Has .api)) -}}true{{- end -}}
{{- end -}}
